//! Forms groups anew out of rows of the result: where rows have left, and with a diameter where rows have come.

use super::super::Rows;
use super::batch::Batch;
use super::job::Job;
use super::rewrite::Columns;
use super::stored::StoredRows;
use crate::pg::host::{QueryHost, unwrap_or_raise};
use crate::pg::progress::Progress;
use crate::pg::spi::{Argument, for_each};
use crate::pg::spill::TempFile;
use crate::settings::{threads, work_memory};
use dedup_core::dedup::{self, Judge, Keep, Kind, Limits, Method, Standing};
use dedup_core::groups::{UnionFind, names};
use dedup_core::interrupt::checked;
use dedup_core::memory::{OrRaise, Room, collect};
use std::collections::HashMap;

/// Rows of equal content.
struct Class {
    /// The first of them.
    number: i64,
    fp: Option<u64>,
    /// The best of them.
    best: Standing,
    rows: i64,
    /// Their cluster, if it is the same, they have come to it before, and their component is called what it was.
    cluster: Option<i64>,
    /// Its kept row, if that is one of them, and the number of its rows.
    kept: Option<(i64, i64)>,
    /// Their component, or the cluster if there is no diameter.
    component: i64,
}

/// A new group.
struct Formed {
    best: Standing,
    /// The place of the class of its best row.
    class: usize,
    rows: i64,
    same: bool,
}

/// Forms the groups of some components anew, as `dedup` forms them of these rows in the order in which they arrived.
/// `components`: their names, and what they are called now; `split`: rows have left, so they may have fallen apart. Without
/// a diameter a component is a cluster. A row whose content is not there any more is near nothing.
pub(super) fn regroup(
    job: &Job,
    stored: &mut StoredRows<'_>,
    components: &HashMap<i64, i64>,
    split: bool,
    progress: &Progress,
) {
    if components.is_empty() {
        return;
    }
    let of = Argument::of(components.keys().copied().collect::<Vec<i64>>());
    let classes = classes(job, components, of);
    let mut groups = Groups::of(job, stored, &classes, split, progress);
    stored.load_contents(groups.formed.values().filter(|group| !group.same).map(|group| group.best.1));
    let mut columns = Columns::default();
    for (row, class) in checked(classes.iter().enumerate()) {
        let Some(placed) = groups.place(&classes, row) else { continue };
        let keeper = (placed.keeper, placed.class, placed.fp);
        let named = (placed.cluster, job.options.diameter.map(|_| placed.component));
        columns.add(
            stored,
            (class.number, class.fp),
            named,
            keeper,
            (Some(placed.members), placed.similarity),
        );
    }
    columns.write(job, of);
}

/// Where each text of new rows goes whose component, that `component` gives, has new rows only; as [`regroup`] forms groups.
pub(super) fn form(
    job: &Job,
    stored: &mut StoredRows<'_>,
    batch: &Batch,
    mut component: impl FnMut(u32) -> Option<i64>,
    progress: &Progress,
) -> HashMap<i64, Placed> {
    let (mut classes, mut places) = (Vec::new(), HashMap::new());
    for (number, row) in checked((0u32..).zip(&batch.rows)) {
        let Some(component) = component(number) else { continue };
        let (class, best) = (batch.class(number), (row.rank, batch.arrival(number)));
        classes.room(1).or_raise();
        places.room(1).or_raise();
        let place = *places.entry(class).or_insert_with(|| {
            classes.push(Class {
                number: class,
                fp: row.fp,
                best,
                rows: 0,
                cluster: None,
                kept: None,
                component,
            });
            classes.len() - 1
        });
        classes[place].best = classes[place].best.min(best);
        classes[place].rows += 1;
    }
    if classes.is_empty() {
        return HashMap::new();
    }
    let mut groups = Groups::of(job, stored, &classes, false, progress);
    let placed = |(row, class): (usize, &Class)| Some((class.number, groups.place(&classes, row)?));
    checked(classes.iter().enumerate()).filter_map(placed).collect()
}

/// Where a text goes.
pub(super) struct Placed {
    pub cluster: i64,
    pub component: i64,
    /// The kept row, its class and fingerprint, and how similar it is if that is known.
    pub keeper: i64,
    pub class: i64,
    pub fp: Option<u64>,
    pub similarity: Option<f64>,
    /// Rows of the group.
    pub members: i64,
}

/// Groups of classes.
struct Groups {
    sets: UnionFind,
    /// Has the sets of n-grams of those that were compared.
    judge: Option<Judge<TempFile>>,
    /// By their roots.
    formed: HashMap<usize, Formed>,
    /// What the component of each class is called.
    component: Vec<i64>,
    /// Whether a group is less than a component.
    divided: bool,
}

impl Groups {
    fn of(
        job: &Job,
        stored: &mut StoredRows<'_>,
        classes: &[Class],
        split: bool,
        progress: &Progress,
    ) -> Groups {
        let mut input = input(job, classes, stored);
        let mut options = (*job.options).clone();
        options.distance = job.distance();
        let limits = Limits { memory: work_memory(), threads: threads() };
        let mut near = |diameter: Option<u32>| {
            options.diameter = diameter;
            let mut host = QueryHost::reporting(progress);
            let groups = unwrap_or_raise(dedup::group(&options, &mut input, limits, &mut host));
            (groups.sets, groups.judge)
        };
        let arrivals: Vec<i64> = collect(classes.iter().map(|class| class.number)).or_raise();
        let mut component: Vec<i64> = collect(classes.iter().map(|class| class.component)).or_raise();
        let mut connected = split.then(|| near(None));
        if let Some((connected, _)) = &mut connected {
            let named = names(connected, &arrivals, &component).or_raise();
            component =
                collect((0..classes.len() as u32).map(|row| named[connected.find(row) as usize])).or_raise();
        }
        let divided = job.options.diameter;
        let (sets, judge) = match connected {
            Some(connected) if divided.is_none() => connected,
            _ => near(divided),
        };
        let divided = divided.is_some();
        let mut groups = Groups { sets, judge, formed: HashMap::new(), component, divided };
        for (row, class) in checked(classes.iter().enumerate()) {
            let (root, name) = groups.root(classes, row);
            groups.formed.room(1).or_raise();
            // Where rows have left others may be damaged that do not show here.
            let new = Formed { best: class.best, class: row, rows: 0, same: !split };
            let group = groups.formed.entry(root).or_insert(new);
            if class.best < group.best {
                (group.best, group.class) = (class.best, row);
            }
            group.rows += class.rows;
            group.same &= class.cluster == Some(name);
        }
        for group in groups.formed.values_mut() {
            group.same &= classes[group.class].kept == Some((group.best.1, group.rows));
        }
        groups
    }

    /// The root of a class, and the name of its group.
    fn root(&mut self, classes: &[Class], row: usize) -> (usize, i64) {
        let root = self.sets.find(row as u32) as usize;
        (root, if self.divided { classes[root].number } else { self.component[row] })
    }

    /// Where a class goes, if not all of its group is there already.
    fn place(&mut self, classes: &[Class], row: usize) -> Option<Placed> {
        let (root, cluster) = self.root(classes, row);
        let group = self.formed.get(&root).filter(|group| !group.same)?;
        let kept = &classes[group.class];
        let rows = [row as u32, group.class as u32];
        let similarity = self.judge.as_mut().and_then(|judge| unwrap_or_raise(judge.known(rows)));
        Some(Placed {
            cluster,
            component: self.component[row],
            keeper: group.best.1,
            class: kept.number,
            fp: kept.fp,
            similarity,
            members: group.rows,
        })
    }
}

/// The rows of components, those of equal content together, in the order of their arrival.
fn classes(job: &Job, components: &HashMap<i64, i64>, of: Argument) -> Vec<Class> {
    let sql = format!(
        "SELECT coalesce(t.same_as, t.arrival), t.arrival, t.rank, t.{0}, t.fp, \
             CASE WHEN t.stage OPERATOR(pg_catalog.=) 'kept' THEN t.members END, \
             CASE WHEN t.stage OPERATOR(pg_catalog.<>) 'kept' OR t.members IS NOT NULL THEN t.cluster END \
         FROM {1} AS t WHERE t.{0} OPERATOR(pg_catalog.=) ANY ($1) AND t.stage OPERATOR(pg_catalog.<>) 'empty' \
         ORDER BY 1, 2",
        job.component(),
        job.table.name
    );
    let mut classes: Vec<Class> = Vec::new();
    for_each(&sql, &[of], |row| {
        let value = |column| row.bigint(column);
        let (Some(number), Some(arrival), Some(rank)) = (value(0), value(1), value(2)) else { return };
        let Some(was) = value(3) else { return };
        let component = components.get(&was).copied().unwrap_or(was);
        let cluster = value(6).filter(|_| component == was);
        let kept = value(5).map(|members| (arrival, members));
        match classes.last_mut() {
            Some(last) if last.number == number => {
                last.best = last.best.min((rank, arrival));
                last.rows += 1;
                last.cluster = last.cluster.filter(|&other| cluster == Some(other));
                last.kept = last.kept.or(kept);
            }
            _ => {
                classes.room(1).or_raise();
                classes.push(Class {
                    number,
                    fp: value(4).map(i64::cast_unsigned),
                    best: (rank, arrival),
                    rows: 1,
                    cluster,
                    kept,
                    component,
                });
            }
        }
    });
    classes
}

/// The classes as `dedup` compares rows.
fn input(job: &Job, classes: &[Class], stored: &mut StoredRows<'_>) -> Rows {
    stored.load_contents(classes.iter().map(|class| class.number));
    let looks = job.options.alike.looks() || job.options.method == Method::Text;
    let mut input = Rows::new(TempFile::new(), Keep::First);
    for class in checked(classes) {
        let content = stored.content(class.number);
        let kind = match class.fp {
            _ if content.is_none() && looks => Kind::Empty,
            None => Kind::Plain,
            Some(_) => Kind::Near,
        };
        unwrap_or_raise(input.add(&[], content.as_deref().unwrap_or_default(), kind, class.fp.unwrap_or(0)));
    }
    input
}
