//! The template of texts that say the same but for what stands in its gaps.
//!
//! Each text is aligned with the first one, word by word, and in scripts without spaces to the character: the template is
//! what all of them have of the first. It must stay half of every text, so that texts are of one template and not merely
//! alike in pairs; and once some texts agree on it, others may only say more before and behind it.

use super::tokens::{Ids, Text, Unit};
use super::{Differences, Kinds, Replaced, push};
use crate::hash::murmur3_128;
use crate::interrupt::checked;
use crate::memory::{self, OrRaise, Room};
use std::ops::Range;

/// Texts, the first one too, that make a template; those after them have to fit it.
const MAKERS: u32 = 8;

/// What stands for a gap.
const GAP: &str = "__";

/// A template.
#[derive(Debug, Clone, Default)]
pub struct Template {
    /// Whether all texts have a unit of the first.
    kept: Vec<bool>,
    /// Whether a text says more before a unit of the first, and behind the last.
    more: Vec<bool>,
    /// Texts that were taken.
    texts: u32,
    /// Characters of the longest text.
    longest: usize,
    /// Whether two of them name different things.
    differs: bool,
}

/// Two texts, their units aligned.
struct Aligned {
    differences: Differences,
    /// Whether the first text is the second one of `differences`.
    turned: bool,
    units: [Vec<Unit>; 2],
    /// The units of the first text that are replaced by units of the second.
    replaced: Vec<Replaced>,
}

impl Aligned {
    fn new(first: &str, other: &str) -> Aligned {
        let turned = first > other;
        let (a, b) = if turned { (other, first) } else { (first, other) };
        let differences = Differences::new(a, b, &mut Ids::default());
        let ((a, of_a), (b, of_b)) = (differences.a.units(), differences.b.units());
        let mut aligned = Aligned { differences, turned, units: [a, b], replaced: Vec::new() };
        if turned {
            aligned.units.swap(0, 1);
        }
        let mut replaced: Vec<Replaced> = Vec::new();
        for (x, y) in checked(&aligned.differences.replaced) {
            let (x, y) = (of_a[x.start]..of_a[x.end], of_b[y.start]..of_b[y.end]);
            let (x, y) = aligned.trim(if turned { (y, x) } else { (x, y) });
            match replaced.last_mut() {
                _ if x.is_empty() && y.is_empty() => {}
                // Only a break was between them.
                Some(last) if last.0.end == x.start && last.1.end == y.start => {
                    *last = (last.0.start..x.end, last.1.start..y.end);
                }
                _ => push(&mut replaced, (x, y)),
            }
        }
        aligned.replaced = replaced;
        aligned
    }

    fn text(&self, side: usize) -> &Text {
        if (side == 0) != self.turned { &self.differences.a } else { &self.differences.b }
    }

    /// Two stretches without what both begin and end with: words may have been cut wrongly around a name.
    fn trim(&self, (mut x, mut y): Replaced) -> Replaced {
        let same =
            |x: usize, y: usize| self.text(0).unit(&self.units[0][x]) == self.text(1).unit(&self.units[1][y]);
        while !x.is_empty() && !y.is_empty() && same(x.end - 1, y.end - 1) {
            (x.end, y.end) = (x.end - 1, y.end - 1);
        }
        while !x.is_empty() && !y.is_empty() && same(x.start, y.start) {
            (x.start, y.start) = (x.start + 1, y.start + 1);
        }
        (x, y)
    }

    /// Characters of a text.
    fn length(&self, side: usize) -> usize {
        self.units[side].iter().map(|unit| self.characters(side, unit)).sum()
    }

    fn characters(&self, side: usize, unit: &Unit) -> usize {
        self.text(side).unit(unit).chars().count()
    }

    /// The units of the second text in the place of those of the first, which it has.
    fn place(&self, at: usize) -> usize {
        let behind = self.replaced.partition_point(|(x, _)| x.end <= at);
        let (x, y) = behind
            .checked_sub(1)
            .map_or((0, 0), |last| (self.replaced[last].0.end, self.replaced[last].1.end));
        y + at - x
    }
}

impl Template {
    /// Takes a text in, if it is of this template; `first` is the first text. Which `kinds` of particulars must differ
    /// somewhere is for [`Template::differs`].
    pub fn take(&mut self, first: &str, other: &str, kinds: Kinds) -> bool {
        let both = Aligned::new(first, other);
        let units = both.units[0].len();
        let mut new = self.clone();
        if self.texts == 0 {
            new.kept = memory::filled(true, units).or_raise();
            new.more = memory::filled(false, units + 1).or_raise();
        }
        for (x, y) in &both.replaced {
            new.kept[x.clone()].fill(false);
            new.more[x.start] |= x.is_empty() && !y.is_empty();
        }
        let kept = both.units[0].iter().zip(&new.kept).filter(|(_, kept)| **kept);
        let kept: usize = kept.map(|(unit, _)| both.characters(0, unit)).sum();
        new.longest = self.longest.max(both.length(0)).max(both.length(1));
        let half = 2 * kept >= new.longest && kept > 0;
        if !half || self.texts + 1 >= MAKERS && new.runs() != self.runs() {
            return false;
        }
        new.texts += 1;
        new.differs = new.differs || !both.differences.found(kinds).is_empty();
        *self = new;
        true
    }

    /// Says that two of the texts differ in a particular, which other texts than the first have told.
    pub fn tell_apart(&mut self) {
        self.differs = true;
    }

    /// Whether texts differ in a particular: else they are of one matter.
    pub fn differs(&self) -> bool {
        self.differs
    }

    /// The units of the first text that follow each other in all texts.
    fn runs(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (at, _) in self.kept.iter().enumerate().filter(|(_, kept)| **kept) {
            match runs.last_mut() {
                Some(last) if last.end == at && !self.more[at] => last.end = at + 1,
                _ => push(&mut runs, at..at + 1),
            }
        }
        runs
    }

    /// Whether there is a gap before all runs, and one behind them.
    fn open(&self, runs: &[Range<usize>]) -> (bool, bool) {
        let (first, last) = (runs.first().map_or(0, |run| run.start), runs.last().map_or(0, |run| run.end));
        (
            first > 0 || self.more.first() == Some(&true),
            last < self.kept.len() || self.more.last() == Some(&true),
        )
    }

    /// A hash of what all texts have, in small letters, and of where the gaps are: of the whole, where `text` is shortened.
    pub fn hash(&self, first: &str) -> u128 {
        let of_first = Text::new(first, &mut Ids::default());
        let (units, _) = of_first.units();
        let runs = self.runs();
        let (before, behind) = self.open(&runs);
        let mut whole = String::new();
        whole.room(of_first.low.len() + 2 * units.len() + 2).or_raise();
        // No unit has either character.
        for (number, run) in runs.iter().enumerate() {
            if number > 0 || before {
                whole.push('_');
            }
            for unit in checked(&units[run.clone()]) {
                whole.push(' ');
                whole.push_str(of_first.unit(unit));
            }
        }
        if behind {
            whole.push('_');
        }
        let [high, low] = murmur3_128(whole.as_bytes(), 0).map(u128::from);
        high << 64 | low
    }

    /// It as a text, with a mark for each gap; long passages are shortened. A blank of the texts themselves, to be filled in
    /// by hand, is no mark.
    pub fn text(&self, first: &str) -> String {
        let of_first = Text::new(first, &mut Ids::default());
        let (units, _) = of_first.units();
        let runs = self.runs();
        let (before, behind) = self.open(&runs);
        let mut parts: Vec<String> = Vec::new();
        for run in &runs {
            let words = of_first.passage_of(&units[run.clone()]);
            words.into_iter().for_each(|words| push(&mut parts, without_marks(words)));
        }
        let mut text = parts.join(format!(" {GAP} ").as_str());
        if before {
            text.insert_str(0, &format!("{GAP} "));
        }
        if behind {
            text.push_str(&format!(" {GAP}"));
        }
        text
    }

    /// What a text that was taken says in each gap; `None`: nothing.
    pub fn gaps(&self, first: &str, other: &str) -> Vec<Option<String>> {
        let aligned = Aligned::new(first, other);
        let runs = self.runs();
        let (before, behind) = self.open(&runs);
        let mut gaps = Vec::new();
        let mut from = 0;
        for (number, run) in runs.iter().enumerate() {
            let to = aligned.place(run.start);
            if number > 0 || before {
                push(
                    &mut gaps,
                    aligned.text(1).passage_of(aligned.units[1].get(from..to).unwrap_or_default()),
                );
            }
            from = aligned.place(run.end - 1) + 1;
        }
        if behind {
            push(&mut gaps, aligned.text(1).passage_of(aligned.units[1].get(from..).unwrap_or_default()));
        }
        gaps
    }
}

/// A passage whose blanks are one character long.
fn without_marks(mut passage: String) -> String {
    let mut last = ' ';
    passage.retain(|c| std::mem::replace(&mut last, c) != '_' || c != '_');
    passage
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The template of texts, and what each says in its gaps; those that are not taken are left out.
    fn made(texts: &[&str]) -> (String, Vec<String>) {
        let mut template = Template::default();
        let taken: Vec<_> = texts
            .iter()
            .filter(|text| *text == &texts[0] || template.take(texts[0], text, Kinds::ALL))
            .collect();
        let shown = |gap: &Option<String>| gap.clone().unwrap_or_default();
        let gaps =
            |text: &&&str| template.gaps(texts[0], text).iter().map(shown).collect::<Vec<_>>().join("|");
        (template.text(texts[0]), taken.iter().map(gaps).collect())
    }

    #[track_caller]
    fn makes(texts: &[&str], template: &str, gaps: &[&str]) {
        assert_eq!(made(texts), (template.to_owned(), gaps.iter().map(|gap| (*gap).to_owned()).collect()));
    }

    #[test]
    fn what_all_say_and_what_each_says() {
        makes(
            &[
                "如何评价皇马对阵巴萨的比赛？",
                "如何评价曼城对阵利物浦的比赛",
                "如何评价《热火》对阵湖人的比赛",
            ],
            "如何评价 __ 对阵 __ 的比赛",
            &["皇马|巴萨", "曼城|利物浦", "热火|湖人"],
        );
        makes(
            &[
                "Bus 12 to Ashford was late on Monday",
                "bus 7 to Wexcombe was late on Monday!",
                "Bus 12 to New Malden was late on Monday",
            ],
            "Bus __ to __ was late on Monday",
            &["12|Ashford", "7|Wexcombe", "12|New Malden"],
        );
        // At either end, and where the first says nothing.
        makes(
            &["上海今天的天气怎么样", "乌鲁木齐今天的天气怎么样呢", "今天的天气怎么样"],
            "__ 今天的天气怎么样 __",
            &["上海|", "乌鲁木齐|呢", "|"],
        );
        // A break between two gaps makes them one.
        makes(
            &["北京,5月停水通知公告全文", "上海,6月停水通知公告全文"],
            "__ 月停水通知公告全文",
            &["北京,5", "上海,6"],
        );
    }

    /// A form with blanks to fill in.
    #[test]
    fn a_blank_in_a_text_is_no_mark() {
        makes(
            &["姓名____申请办理3号楼的__电梯卡", "姓名＿＿＿＿申请办理5号楼的__电梯卡"],
            "姓名_申请办理 __ 号楼的_电梯卡",
            &["3", "5"],
        );
        // Filled in, it is a gap.
        makes(
            &[
                "I, ____, hereby ask for room 12 for my_club",
                "I, Anna Teil, hereby ask for room 12 for my_club",
            ],
            "I __ hereby ask for room 12 for my_club",
            &["", "Anna Teil"],
        );
    }

    #[test]
    fn a_template_is_half_of_each_text() {
        makes(&["如何评价这部电影", "如何评价昨天晚上十点在体育馆举行的音乐会"], "", &[""]);
        makes(&["停水", "停电"], "停 __", &["水", "电"]);
        makes(&["停水", ""], "", &[""]);
        makes(&["", ""], "", &["", ""]);
        assert!(!Template::default().take("？！", "。", Kinds::ALL));
    }

    /// Protects a template that many texts made from the odd one.
    #[test]
    fn once_made_it_stays() {
        let texts: Vec<String> = (1..30).map(|day| format!("第{day}路公交车几点发车")).collect();
        let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        texts.push("第31路公交车几时发车");
        let (template, gaps) = made(&texts);
        assert_eq!((template.as_str(), gaps.len()), ("第 __ 路公交车几点发车", 29));
    }

    proptest! {
        /// Whatever the texts: each that is taken is the template with its gaps filled, units compared; and
        /// the template is half of each.
        #[test]
        fn gaps_fill_the_template(
            texts in prop::collection::vec("([天气停水上海北京，。]{0,4}|[ab]{1,2} |[0-9] ?){0,6}", 1..14),
        ) {
            let first = texts[0].as_str();
            let mut template = Template::default();
            let mut taken = vec![first];
            for text in &texts[1..] {
                if template.take(first, text, Kinds::ALL) {
                    taken.push(text);
                }
            }
            let units = |text: &str| -> Vec<String> {
                let aligned = Aligned::new(text, text);
                aligned.units[0].iter().map(|unit| aligned.text(0).unit(unit).to_owned()).collect()
            };
            if template.texts == 0 {
                prop_assert_eq!(template.text(first), "");
                return Ok(());
            }
            let own = units(first);
            let runs: Vec<&[String]> = template.runs().into_iter().map(|run| &own[run]).collect();
            let (before, behind) = template.open(&template.runs());
            let length = |units: &[String]| units.iter().map(|unit| unit.chars().count()).sum::<usize>();
            for text in taken {
                let gaps = template.gaps(first, text);
                prop_assert_eq!(gaps.len(), runs.len() - 1 + usize::from(before) + usize::from(behind));
                let mut gaps = gaps.iter().map(|gap| units(gap.as_deref().unwrap_or_default()));
                let mut filled = if before { gaps.next().unwrap() } else { Vec::new() };
                for (at, run) in runs.iter().enumerate() {
                    filled.extend_from_slice(run);
                    if at + 1 < runs.len() || behind {
                        filled.extend(gaps.next().unwrap());
                    }
                }
                prop_assert_eq!(&filled, &units(text));
                prop_assert!(2 * runs.iter().map(|run| length(run)).sum::<usize>() >= length(&filled));
            }
        }

        /// The hash is equal where what all texts have is, and the gaps.
        #[test]
        fn the_hash_is_of_the_whole(
            texts in prop::collection::vec("[天气]{0,3}[ab]{0,2}(，|__| )?[天气水]{0,3}", 4),
        ) {
            let whole = |first: &str, other: &str| -> Option<(u128, Vec<Option<String>>)> {
                let mut template = Template::default();
                template.take(first, other, Kinds::ALL).then_some(())?;
                let (text, runs) = (Text::new(first, &mut Ids::default()), template.runs());
                let units: Vec<_> = text.units().0.iter().map(|unit| Some(text.unit(unit).to_owned())).collect();
                let (before, behind) = template.open(&runs);
                let mut parts: Vec<_> = runs.iter().map(|run| units[run.clone()].to_vec()).collect();
                if before {
                    parts.insert(0, Vec::new());
                }
                if behind {
                    parts.push(Vec::new());
                }
                Some((template.hash(first), parts.join(&None)))
            };
            let both = [whole(&texts[0], &texts[1]), whole(&texts[2], &texts[3])];
            if let [Some((a, x)), Some((b, y))] = both {
                prop_assert_eq!(a == b, x == y);
            }
        }
    }

    /// What differs where it is not shown.
    #[test]
    fn the_hash_is_of_what_is_not_shown() {
        let middle = |word: &str| format!("{} {word} {}", "the street lamp ".repeat(9), "is out ".repeat(9));
        let made = |word: &str| {
            let (first, other) = (format!("{} at 3", middle(word)), format!("{} at 5", middle(word)));
            let mut template = Template::default();
            assert!(template.take(&first, &other, Kinds::ALL));
            (template.text(&first), template.hash(&first))
        };
        let [a, b, again] = ["again", "still", "AGAIN"].map(made);
        assert_eq!((a.0 == b.0, a.1 == b.1, a.1 == again.1), (true, false, true));
    }
}
