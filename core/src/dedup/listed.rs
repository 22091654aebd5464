//! From where on the log of a database says which rows a reader has not seen yet.

/// A place of the log, and the number of the next transaction when it was the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Whatever was written before it, a transaction of a number below `next` wrote.
    pub log: u64,
    /// Numbers are given in order.
    pub next: u64,
}

/// What a reader keeps who has seen all rows that were committed, to see the others the next time: those on pages whose
/// last change ends behind `log`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Rows on pages that were last changed before this place were seen, or will never be there; 0: not known of any.
    pub log: u64,
    /// So they will be once the transactions have ended that had begun here.
    waits: Point,
}

impl Listed {
    /// After a reading that began at a point and then saw whatever was committed, as far as it had to: behind `before`.
    /// `oldest`: when it looked, after it had begun, all transactions of lower numbers had ended.
    ///
    /// Whoever changed a page before `began.log` has a number below `began.next`. If all of these had ended, their rows
    /// were seen, or are of no one. Else a place that an earlier reading began at may be old enough by now.
    pub fn after(before: Option<Listed>, began: Point, oldest: u64) -> Listed {
        match before {
            _ if oldest >= began.next => Listed { log: began.log, waits: began },
            None => Listed { log: 0, waits: began },
            Some(Listed { waits, .. }) if oldest >= waits.next => Listed { log: waits.log, waits: began },
            Some(listed) => listed,
        }
    }

    /// In words: what [`Listed::read`] takes if the place is the same.
    pub fn write(self, place: &str) -> String {
        format!("{place} {} {} {}", self.log, self.waits.log, self.waits.next)
    }

    /// What was written of a place, if this is what it is.
    pub fn read(written: &str, place: &str) -> Option<Listed> {
        let parts = written.strip_prefix(place)?.strip_prefix(' ')?.split(' ');
        let parts: Vec<u64> = parts.map(str::parse).collect::<Result<_, _>>().ok()?;
        let [log, at, next] = parts[..] else { return None };
        Some(Listed { log, waits: Point { log: at, next } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// A table and those who write to it.
    #[derive(Default)]
    struct Database {
        log: u64,
        next: u64,
        running: BTreeSet<u64>,
        committed: BTreeSet<u64>,
        /// The end of a page's last change, and the writers of its rows.
        pages: Vec<(u64, Vec<(u64, u32)>)>,
        rows: u32,
    }

    impl Database {
        fn step(&mut self, (what, which): (u8, usize)) {
            let running = self.running.iter().nth(which % self.running.len().max(1)).copied();
            match (what, running) {
                (0..2, _) => {
                    self.running.insert(self.next);
                    self.next += 1;
                }
                (2..6, Some(writer)) => {
                    let page = which % 5;
                    self.pages.resize(self.pages.len().max(page + 1), (0, Vec::new()));
                    self.log += 1;
                    self.rows += 1;
                    self.pages[page].1.push((writer, self.rows));
                    self.pages[page].0 = self.log;
                }
                (6, Some(writer)) => drop(self.running.remove(&writer)),
                (_, Some(writer)) => {
                    self.log += 1;
                    self.running.remove(&writer);
                    self.committed.insert(writer);
                }
                _ => {}
            }
        }

        fn seen(&self, page: usize) -> impl Iterator<Item = u32> {
            let seen = self.pages[page].1.iter().filter(|(writer, _)| self.committed.contains(writer));
            seen.map(|&(_, row)| row)
        }
    }

    proptest! {
        /// Whoever writes, commits and fails meanwhile: a reader of pages behind what is kept has seen each row that was
        /// committed when it looked.
        #[test]
        fn no_row_is_missed(
            readings in prop::collection::vec(prop::array::uniform4(prop::collection::vec((0u8..10, 0usize..100), 0..12)), 1..12),
        ) {
            let mut database = Database { log: 1, next: 3, ..Database::default() };
            let (mut kept, mut taken) = (None, BTreeSet::new());
            for [before, begun, looked, found] in readings {
                let run = |database: &mut Database, steps: Vec<_>| steps.into_iter().for_each(|step| database.step(step));
                run(&mut database, before);
                let began = Point { log: database.log, next: database.next };
                run(&mut database, begun);
                let oldest = database.running.first().copied().unwrap_or(database.next);
                let committed: Vec<u32> = (0..database.pages.len()).flat_map(|page| database.seen(page).collect::<Vec<_>>()).collect();
                run(&mut database, looked);
                let since = kept.map_or(0, |kept: Listed| kept.log);
                let pages: Vec<usize> = (0..database.pages.len()).filter(|&page| database.pages[page].0 > since).collect();
                run(&mut database, found);
                taken.extend(pages.into_iter().flat_map(|page| database.seen(page).collect::<Vec<_>>()));
                for row in committed {
                    prop_assert!(taken.contains(&row));
                }
                kept = Some(Listed::after(kept, began, oldest));
            }
        }
    }

    /// Protects that a place is kept as soon as that is right, and not sooner.
    #[test]
    fn a_place_is_kept_once_all_have_ended_that_had_begun() {
        let point = |log, next| Point { log, next };
        let first = Listed::after(None, point(100, 10), 10);
        assert_eq!(first.log, 100);
        let waits = Listed::after(None, point(100, 10), 9);
        assert_eq!(waits.log, 0);
        // It has ended, others run.
        let later = Listed::after(Some(waits), point(200, 20), 15);
        assert_eq!((later.log, later.waits), (100, point(200, 20)));
        assert_eq!(Listed::after(Some(waits), point(200, 20), 9), waits);
        assert_eq!(Listed::after(Some(waits), point(200, 20), 20).log, 200);
    }

    /// Protects that a place is never taken for that of another table.
    #[test]
    fn what_is_written_is_read_of_the_same_place_alone() {
        let listed = Listed { log: 5, waits: Point { log: 6, next: 7 } };
        assert_eq!(Listed::read(&listed.write("1/2/3"), "1/2/3"), Some(listed));
        for place in ["1/2/33", "1/2", "1/2/4", "9 1/2/3"] {
            assert_eq!(Listed::read(&listed.write("1/2/3"), place), None, "{place}");
        }
        assert_eq!(Listed::read(&format!("9 {}", listed.write("1/2/3")), "1/2/3"), None);
        assert_eq!(Listed::read("1/2/3 4 5", "1/2/3"), None);
    }
}
