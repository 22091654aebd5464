//! The last stage of `dedup`: a group all of whose rows stand in the kept row of another one, or have it in them, goes
//! over to it.

use super::{Found, Precedence};
use crate::external::{Host, Result, Spill};
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{Grow, OfKey, Room, collect, filled};
use crate::words::{Contained, PARTNERS, Texts};
use std::collections::HashMap;

impl<F: Spill> Found<F> {
    /// Joins groups by their kept rows. Each row that goes over is verified against the row that is kept for it then.
    pub(super) fn join_contained<H: Host>(&mut self, least: f64, host: &mut H) -> Result<()> {
        host.stage("finding texts in longer ones", "rows", Some(self.rows.count() as u64));
        // The first row of each text, and where the kept row of its group stands if it has this text.
        let texts: Vec<usize> = collect(self.rows.firsts())?;
        let mut words = Texts::default();
        let mut kept: Vec<Option<Precedence>> = Vec::new();
        kept.room(texts.len())?;
        for &row in &texts {
            host.step();
            words.add(&self.options.alike.form(&self.rows.texts.content(row)?));
            let keeper = self.keeper(row);
            let is_kept = self.rows.first[keeper] as usize == row;
            kept.push(is_kept.then(|| self.rows.order.precedence(keeper)));
        }
        let words = words.weigh();
        let found = words.pairs(PARTNERS, least, |text| kept[text as usize].is_some());
        let stands = |text: u32| kept[text as usize];
        // The later text of each pair, the earlier one, and the share.
        let ordered = |Contained { part, whole, share }| {
            if stands(part) < stands(whole) { (whole, part, share) } else { (part, whole, share) }
        };
        let mut pairs: Vec<(u32, u32, f64)> = collect(checked(found).map(ordered))?;
        sort_unstable_by(&mut pairs, |a, b| {
            let best = b.2.total_cmp(&a.2);
            stands(a.0).cmp(&stands(b.0)).then(best).then(stands(a.1).cmp(&stands(b.1)))
        });
        let mut members: HashMap<usize, Vec<u32>> = HashMap::new();
        for pair in checked(&pairs) {
            members.of_key(self.group_of(texts[pair.0 as usize]))?;
        }
        for (text, &row) in checked((0u32..).zip(&texts)) {
            if let Some(members) = members.get_mut(&self.group_of(row)) {
                members.grow(text)?;
            }
        }
        let alike = self.options.alike.clone();
        let (mut gone, mut joined) = (filled(false, texts.len())?, 0u64);
        for &(later, earlier, _) in &pairs {
            host.step();
            if gone[later as usize] || gone[earlier as usize] {
                continue;
            }
            let kept_row = texts[earlier as usize];
            let kept_text = self.rows.texts.content(kept_row)?;
            // Nobody has gone over to the later one yet.
            let group = self.group_of(texts[later as usize]);
            let own = members.get(&group).map_or(&[][..], Vec::as_slice);
            let mut repeat = own.iter().all(|&text| {
                let (row, sets) = (texts[text as usize] as u32, &self.groups.sets);
                self.rows.decided.may_join(row, kept_row as u32, |text| sets.find(text))
            });
            for &text in own {
                host.step();
                if !repeat {
                    break;
                }
                let row = texts[text as usize];
                if self.rows.decided.follows(row as u32) {
                    continue;
                }
                let content = self.rows.texts.content(row)?;
                let near =
                    || alike.similarity > 0.0 && alike.likeness(&content, &kept_text) >= alike.similarity;
                repeat = (words.share(text, earlier) >= least || near())
                    && alike.differing(&content, &kept_text).is_empty();
            }
            if repeat {
                self.groups.sets.union(group as u32, kept_row as u32);
                gone[later as usize] = true;
                joined += 1;
            }
        }
        host.end(&format!("{} texts stand in longer ones, {joined} groups joined", pairs.len()));
        self.choose_keepers()
    }
}
