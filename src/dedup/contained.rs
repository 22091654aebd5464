//! The last stage of `dedup`: a group all of whose rows stand in the kept row of another one, or have it in them, goes
//! over to it.

use super::Found;
use super::input::standing;
use crate::pg::progress::Progress;
use dedup_core::dedup::{Kind, Standing, Words};
use dedup_core::interrupt::{checked, sort_unstable_by};
use dedup_core::memory::{OrRaise, Room, filled};
use std::collections::HashMap;

impl Found {
    /// Joins groups by their kept rows. Each row that goes over is verified against the row that is kept for it then.
    pub(super) fn join_contained(&mut self, least: f64, progress: &Progress) {
        let rows = self.input.rows();
        progress.stage("finding texts in longer ones", "rows", Some(rows as u64));
        // Texts by number, and where the row stands that is kept of a text's group if it is this.
        let (mut words, mut texts) = (Words::default(), Vec::new());
        let mut kept: Vec<Option<Standing>> = Vec::new();
        for row in 0..rows {
            progress.step();
            if self.first_equal[row] as usize != row || self.input.kinds[row] == Kind::Empty {
                continue;
            }
            words.add(&self.options.alike.normal.form(&self.input.content(row)));
            texts.room(1).or_raise();
            texts.push(row as u32);
            let keeper = self.keeper(row);
            let is_kept = self.first_equal[keeper] as usize == row;
            kept.room(1).or_raise();
            kept.push(is_kept.then(|| standing(&self.input.ranks, keeper, &self.options.keep)));
        }
        let words = words.weigh();
        let found = words.pairs(least, |text| kept[text as usize].is_some());
        // The later text of each pair, the earlier one, and the share.
        let mut pairs: Vec<(u32, u32, f64)> = Vec::new();
        pairs.room(found.len()).or_raise();
        let stands = |text: u32| kept[text as usize];
        pairs.extend(checked(&found).map(|it| {
            let (a, b) = (it.part, it.whole);
            if stands(a) < stands(b) { (b, a, it.share) } else { (a, b, it.share) }
        }));
        drop(found);
        sort_unstable_by(&mut pairs, |a, b| {
            let best = b.2.total_cmp(&a.2);
            stands(a.0).cmp(&stands(b.0)).then(best).then(stands(a.1).cmp(&stands(b.1)))
        });
        let mut members: HashMap<u32, Vec<u32>> = HashMap::new();
        for pair in checked(&pairs) {
            members.room(1).or_raise();
            members.entry(self.sets.find(texts[pair.0 as usize])).or_default();
        }
        for (text, &row) in checked(texts.iter().enumerate()) {
            if let Some(members) = members.get_mut(&self.sets.find(row)) {
                members.room(1).or_raise();
                members.push(text as u32);
            }
        }
        let alike = self.options.alike;
        let (mut gone, mut joined) = (filled(false, texts.len()).or_raise(), 0u64);
        for &(later, earlier, _) in &pairs {
            progress.step();
            if gone[later as usize] || gone[earlier as usize] {
                continue;
            }
            let center = self.input.content(texts[earlier as usize] as usize);
            // Nobody has gone over to the later one yet.
            let group = self.sets.find(texts[later as usize]);
            let repeats = members.get(&group).into_iter().flatten().all(|&text| {
                progress.step();
                let content = self.input.content(texts[text as usize] as usize);
                let near = || alike.similarity > 0.0 && alike.jaccard(&content, &center) >= alike.similarity;
                (words.share(text, earlier) >= least || near())
                    && alike.differing(&content, &center).is_empty()
            });
            if repeats {
                self.sets.union(texts[later as usize], texts[earlier as usize]);
                gone[later as usize] = true;
                joined += 1;
            }
        }
        progress.end(&format!("{} texts stand in longer ones, {joined} groups joined", pairs.len()));
        self.kept = self.keepers();
    }
}
