//! Records of several columns that are of one thing: what agreement in each tells is learned from the table itself, without
//! labels.
//!
//! Columns are compared by what their values are (`values`). Each row is compared with those that share most with it by rare
//! keys (`candidates`). A model (`model`, learned by `learning`) gives any two rows the probability that they are of one thing, which depends on
//! nothing but the two rows and the model. Its limits are by judgement.

mod candidates;
mod column;
mod fitting;
mod identifiers;
mod learning;
mod model;
mod table;
mod values;

use crate::external::{Host, Result};
use crate::groups::UnionFind;
use crate::hash::{city64, mix64};
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{Grow, OrRaise, Room, collect, filled};
pub use candidates::Keys;
use candidates::{Candidate, candidates, meet, on_candidates, short};
use column::{Known, NONE, Strings};
pub use fitting::STRONG;
use model::{ANOTHER, Weights, probability};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use table::{Columns, Table};
pub use values::MOST_COLUMNS;
#[cfg(test)]
pub(crate) use values::edits;
use values::{FIELDS, Kind};

/// Two rows are of one thing from this probability on.
pub const SURE: f64 = 0.9;
/// Two rows may be of one thing from this probability on, which a person should look at.
pub const UNSURE: f64 = 0.5;
/// Two rows of two sides are, each of which has no other.
pub const LIKELY: f64 = 0.3;
/// Kept rows that a row is compared with, at most.
const KEPT: usize = 1000;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// A column, by its place.
    Column(usize),
    /// Model numbers and the like, wherever they stand.
    Identifiers,
    /// Whether too many pairs differ in the same columns for that to be faults (households, series), or a date is another.
    Relatives,
}

/// How far a field of two rows agrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// One of the rows does not have it, which tells nothing.
    Missing,
    /// Not at all, or by chance.
    None,
    /// By some of its words, or nearly.
    Partial,
    /// As far as it can.
    Full,
}

/// What two rows are told to be by, in logarithms of odds: their sum decides.
pub struct Evidence {
    /// Of any pair.
    pub prior: f64,
    /// How far each field agrees, and what that tells.
    pub told: Vec<(Field, Agreement, f64)>,
}

/// What the columns of a table are, by its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// Those of records: these identify by themselves.
    Records(Vec<usize>),
    /// This one is running text, and the others tell about it.
    Text(usize),
    /// This one says what a row is of, and no other does.
    Title(usize),
    /// That cannot be told.
    Unclear,
}

/// Rows by which that is told, at least.
const FEWEST: usize = 100;
/// How often a column that identifies agrees by chance, at most.
const SELDOM: f64 = 0.005;
/// Rows that agree with one in all columns by chance, at most.
const ALIKE: f64 = 0.5;

/// The rows of a table of several columns.
#[derive(Debug, Default)]
pub struct Rows {
    values: Vec<Strings>,
    sides: Vec<bool>,
}

impl Rows {
    /// Rows of so many columns: so many that are not compared.
    pub fn new(columns: usize, empty: usize) -> Rows {
        let values = (0..columns).map(|_| Strings::default()).collect();
        let mut rows = Rows { values, sides: Vec::new() };
        (0..empty).for_each(|_| rows.add_empty());
        rows
    }

    /// Adds a row that is not compared.
    pub fn add_empty(&mut self) {
        self.values.iter_mut().for_each(|values| values.add(""));
    }

    /// Adds a row, a value for each column; they are numbered in order.
    pub fn add<'t>(&mut self, values: impl Iterator<Item = Option<&'t str>>) {
        let given = values.map(|value| value.unwrap_or("").trim()).chain(std::iter::repeat(""));
        self.values.iter_mut().zip(given).for_each(|(values, value)| values.add(value));
    }

    /// What the columns are: running text that most rows have is compared alone, or a title that all have and most alone, if nothing else identifies;
    /// otherwise all are those of records, if two identify or by chance few rows agree in all.
    pub fn look(&self) -> Look {
        let order = self.distinct();
        let known = Table::learned(&self.values[..self.values.len().min(MOST_COLUMNS)], &order).1.known;
        let rows = order.len();
        let places = |is: &dyn Fn(&Known) -> bool| -> Vec<usize> {
            known.iter().filter(|it| is(it)).map(|it| it.at).collect()
        };
        let is_full = |it: &Known| it.filled * 20 >= rows * 19;
        let texts = places(&|it| it.kind == Kind::Text && it.filled * 10 >= rows * 9);
        let has_full_text = known.iter().any(|it| it.kind == Kind::Text && is_full(it));
        let identify = places(&|it| {
            let is_short = matches!(it.kind, Kind::Name | Kind::Code | Kind::Date);
            is_short && it.same <= SELDOM && it.filled * 5 >= rows * 4
        });
        let titles = places(&|it| it.is_wordy() && is_full(it));
        let agree = known.iter().map(|it| {
            let both = (it.filled as f64 / rows as f64).powi(2);
            1.0 - both * (1.0 - it.same)
        });
        match (&texts[..], &identify[..]) {
            _ if rows < FEWEST => Look::Unclear,
            (_, &[title]) if !has_full_text && titles.contains(&title) && self.stand_alone(title, &order) => {
                Look::Title(title)
            }
            (&[text], _) => Look::Text(text),
            ([], _) if identify.len() > 1 || agree.product::<f64>() * rows as f64 <= ALIKE => {
                Look::Records(identify)
            }
            _ => Look::Unclear,
        }
    }

    /// Whether most rows have a value there that no other has: courses of many days do not.
    fn stand_alone(&self, column: usize, order: &[u32]) -> bool {
        let values = &self.values[column];
        let mut values: Vec<&str> = collect(order.iter().map(|&row| values.get(row as usize))).or_raise();
        sort_unstable_by(&mut values, Ord::cmp);
        values.chunk_by(|a, b| a == b).filter(|it| it.len() == 1).count() * 2 >= order.len()
    }

    /// The rows but copies, as those are learned from that are compared.
    pub fn without_copies(mut self) -> Rows {
        let mut order = self.distinct();
        sort_unstable_by(&mut order, Ord::cmp);
        for values in &mut self.values {
            let all = std::mem::take(values);
            order.iter().for_each(|&row| values.add(all.get(row as usize)));
        }
        self
    }

    /// Takes the side of each row: only rows of two sides are compared, and learned from.
    pub fn of_sides(&mut self, sides: Vec<bool>) {
        self.sides = sides;
    }

    fn sides_in(&self, order: &[u32]) -> Vec<bool> {
        let known = if self.sides.is_empty() { &[] } else { order };
        collect(known.iter().map(|&row| self.sides[row as usize])).or_raise()
    }

    /// The same without copies, which are no evidence of what agrees by chance.
    fn distinct(&self) -> Vec<u32> {
        let mut order = self.order();
        order.dedup_by_key(|row| self.values.iter().map(|it| it.get(*row as usize)).collect::<Vec<_>>());
        order
    }

    /// Rows that have something, in an order that is not that in which they came.
    fn order(&self) -> Vec<u32> {
        let count = self.values.first().map_or(0, Strings::count);
        let mut marks: Vec<(u64, u32)> = Vec::new();
        for row in checked(0..count) {
            let mut mark = 0u64;
            for values in self.values.iter().map(|values| values.get(row)) {
                mark = mix64(mark.rotate_left(1) ^ city64(values.as_bytes()));
            }
            if self.values.iter().any(|values| !values.get(row).is_empty()) {
                marks.grow((mark, row as u32)).or_raise();
            }
        }
        sort_unstable_by(&mut marks, Ord::cmp);
        collect(marks.into_iter().map(|it| it.1)).or_raise()
    }
}

/// What is learned of a table of records: it gives any two rows a probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    columns: Columns,
    weights: Weights,
    /// Keys that so many rows have that they find nothing, by their hashes.
    common: Vec<u32>,
}

impl Model {
    /// As JSON, which [`Model::read`] reads.
    pub fn write(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// A model out of JSON; `None`: this is none.
    pub fn read(json: &str) -> Option<Model> {
        let model: Model = serde_json::from_str(json).ok()?;
        let in_order = model.columns.known.is_sorted_by(|a, b| a.at < b.at);
        let few = model.columns.known.last().is_none_or(|it| it.at < MOST_COLUMNS);
        (in_order && few && model.weights.are_of(&model.columns)).then_some(model)
    }

    /// Whether answers changed it.
    pub fn is_fitted(&self) -> bool {
        !self.weights.fitted.factors.is_empty()
    }

    /// Takes over what answers changed of another model; false: its columns are others.
    pub fn adopt(&mut self, other: &Model) -> bool {
        if !other.is_fitted() {
            return true;
        }
        let kinds = |it: &Model| it.columns.known.iter().map(|it| (it.at, it.kind)).collect::<Vec<_>>();
        let have_identifiers = |model: &Model| model.columns.identifiers.is_some();
        let are_same = kinds(self) == kinds(other) && have_identifiers(self) == have_identifiers(other);
        if are_same {
            self.weights.fitted = other.weights.fitted.clone();
        }
        are_same
    }

    fn fields(&self) -> impl Iterator<Item = Field> {
        let columns = self.columns.known.iter().map(|it| Field::Column(it.at));
        columns.chain(self.columns.identifiers.iter().map(|_| Field::Identifiers))
    }

    /// By how much what each field tells counts, as far as answers changed it.
    pub fn factors(&self) -> impl Iterator<Item = (Field, f64)> {
        self.fields().zip(self.weights.fitted.factors.iter().copied())
    }

    /// The keys by which rows are found that may be of one thing.
    pub fn keys(&self) -> Keys {
        Keys::of(&self.columns.known)
    }

    /// What finds the rows that may be of one thing with a record.
    pub fn query(&self, content: &str) -> Vec<i64> {
        let mut keys = self.keys().of_row(columns(content));
        let whole = keys.first().copied();
        let is_rare = |key: &i64| self.common.binary_search(&short(key.cast_unsigned())).is_err();
        keys.retain(|key| Some(*key) == whole || is_rare(key));
        keys
    }

    /// The probability that a record is of one thing with each of others, their columns [`joined`], 0 to 1; equal ones are.
    pub fn of_contents(self: &Arc<Model>, one: &str, others: &[&str]) -> Vec<f64> {
        let mut rows = Rows::new(columns(one).count(), 0);
        [one].iter().chain(others).for_each(|content| rows.add(columns(content)));
        let records = Records::read(Arc::clone(self), rows);
        let probability =
            |(other, at): (&&str, u32)| if *other == one { 1.0 } else { records.probability(0, at) };
        checked(others.iter().zip(1..)).map(probability).collect()
    }
}

/// What a person should look at: how many pairs stay apart that may be of one thing, and how many rows repeat one that is not
/// surely of the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unsure {
    /// Pairs from [`UNSURE`] on.
    pub apart: usize,
    /// Rows below [`SURE`].
    pub joined: usize,
}

/// Records of which the model is known.
pub struct Records {
    /// What their keepers leave to a person.
    pub unsure: Unsure,
    table: Table,
    /// The model.
    pub model: Arc<Model>,
    /// The rows that are compared, as they came, and where each stands among them.
    order: Vec<u32>,
    places: Vec<u32>,
}

/// Pairs of rows that are worth comparing.
pub struct Pairs(Vec<Candidate>);

impl Pairs {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl Records {
    /// Learns from the rows, on threads; what finds pairs among them too.
    pub fn learn<H: Host>(rows: Rows, threads: usize, host: &mut H) -> Result<(Records, Pairs)> {
        let order = rows.order();
        let (mut table, columns) =
            Table::learned(&rows.values[..rows.values.len().min(MOST_COLUMNS)], &order);
        table.sides = rows.sides_in(&order);
        let (candidates, common) = candidates(&table, &Keys::of(&columns.known), threads, host)?;
        let weights = learning::learn(&table, &columns, &candidates, threads, host)?;
        let model = Arc::new(Model { columns, weights, common });
        Ok((Records::new(table, model, order, rows), Pairs(candidates)))
    }

    /// Rows, of which it was learned before.
    pub fn read(model: Arc<Model>, rows: Rows) -> Records {
        let order = rows.order();
        let mut table = Table::read(&model.columns, &rows.values, &order);
        table.sides = rows.sides_in(&order);
        Records::new(table, model, order, rows)
    }

    fn new(table: Table, model: Arc<Model>, order: Vec<u32>, rows: Rows) -> Records {
        let count = rows.values.first().map_or(0, Strings::count);
        let mut places = filled(NONE, count).or_raise();
        checked(order.iter().zip(0..)).for_each(|(&row, place)| places[row as usize] = place);
        Records { unsure: Unsure::default(), table, model, order, places }
    }

    /// What finds pairs among these rows; on threads.
    pub fn pairs<H: Host>(&self, threads: usize, host: &mut H) -> Result<Pairs> {
        Ok(Pairs(candidates(&self.table, &self.model.keys(), threads, host)?.0))
    }

    /// The rows of each pair that is of one thing at least so likely, and how likely it is; on threads.
    pub fn likely<H: Host>(
        &self,
        pairs: &Pairs,
        least: f64,
        threads: usize,
        host: &mut H,
    ) -> Result<Vec<([u32; 2], f64)>> {
        let likely = |&Candidate { rows, .. }: &Candidate| {
            let score = self.score(rows);
            (score >= least).then(|| (rows.map(|row| self.order[row as usize]), score))
        };
        on_candidates(&self.table, &pairs.0, threads, host, likely)
    }

    /// The kept row of each row. The rows come in `order`, the best first, and each repeats the kept row that it is of one
    /// thing with most likely, if that is at least so likely, or is kept. It is compared with those that pairs lead to and `may`
    /// allows: that is asked with the keepers found so far, a kept row and the row. What that leaves to a person too.
    pub fn keepers<H: Host>(
        &self,
        pairs: &Pairs,
        order: &[u32],
        least: f64,
        (threads, host): (usize, &mut H),
        mut may: impl FnMut(&[u32], [u32; 2]) -> bool,
    ) -> Result<(Vec<u32>, Unsure)> {
        let mut keepers: Vec<u32> = collect(0..self.places.len() as u32).or_raise();
        let sets = UnionFind::new(self.places.len());
        let (mut near, mut joined) = (Vec::new(), 0);
        for (pair, score) in self.likely(pairs, least.min(UNSURE), threads, host)? {
            match score >= least {
                true => _ = sets.union(pair[0], pair[1]),
                false => near.grow(pair)?,
            }
        }
        let keys = self.model.keys();
        // Rows by what they are connected with, each at its place in the order.
        let mut ranked: Vec<(u32, u32)> = Vec::new();
        for (&row, rank) in checked(order.iter().zip(0..)) {
            ranked.grow((sets.find(row), rank)).or_raise();
        }
        sort_unstable_by(&mut ranked, Ord::cmp);
        let mut kept: Vec<u32> = Vec::new();
        for connected in ranked.chunk_by(|a, b| a.0 == b.0).filter(|it| it.len() > 1) {
            kept.clear();
            for &(_, rank) in checked(connected) {
                let row = order[rank as usize];
                let place = self.places[row as usize];
                let allowed = kept.iter().filter(|&&kept| may(&keepers, [self.order[kept as usize], row]));
                let scored = allowed.map(|&kept| (self.score([kept, place]), kept));
                // As a row alone has it, which looks at those that it finds.
                let found = |kept| meet(&self.table, &keys, &self.model.common, [kept, place]);
                let near = scored.filter(|it| it.0 >= least && found(it.1));
                let best = near.reduce(|best, next| if next.0 > best.0 { next } else { best });
                match best {
                    Some((score, keeper)) => {
                        keepers[row as usize] = self.order[keeper as usize];
                        joined += usize::from(score < SURE);
                    }
                    None if kept.len() < KEPT => kept.grow(place).or_raise(),
                    None => {}
                }
            }
        }
        let apart = checked(&near).filter(|it| keepers[it[0] as usize] != keepers[it[1] as usize]).count();
        Ok((keepers, Unsure { apart, joined }))
    }

    /// What was compared, and what of it tells: the odds by which agreement in it multiplies those that rows are of one
    /// thing, as their logarithms, from no agreement to a full one.
    pub fn weights(&self) -> impl Iterator<Item = (Field, f64, f64)> {
        self.model.fields().zip(self.model.weights.weights()).map(|(field, (none, full))| (field, none, full))
    }

    /// In what pairs differ that agree otherwise and are taken for two things, and how many pairs there are: the most frequent
    /// first, of the candidates that were learned from.
    pub fn apart(&self) -> impl Iterator<Item = (Vec<Field>, usize)> {
        self.model.weights.apart.iter().map(|&(pattern, pairs)| {
            let differ = self.model.fields().enumerate().filter(|it| pattern >> it.0 & 1 == 1);
            (differ.map(|it| it.1).collect(), pairs)
        })
    }

    /// What makes two rows one thing, or two.
    pub fn evidence(&self, a: u32, b: u32) -> Evidence {
        let rows = [a, b].map(|row| self.places[row as usize]);
        let (levels, told, kept) = self.told(rows);
        let agreement = |level: u8, top: u8| match level {
            0 => Agreement::Missing,
            1 => Agreement::None,
            _ if level == top => Agreement::Full,
            _ => Agreement::Partial,
        };
        let all = self.model.fields().zip(levels.iter().zip(self.model.columns.tops())).zip(&told);
        let mut told: Vec<_> =
            all.map(|((field, (&level, top)), &tells)| (field, agreement(level, top.0), tells)).collect();
        let prior = self.model.weights.prior();
        let odds = prior + told.iter().map(|it| it.2).sum::<f64>();
        if kept < 1.0 {
            let share = kept * probability(odds);
            told.push((Field::Relatives, Agreement::None, (share / (1.0 - share)).ln() - odds));
        }
        Evidence { prior, told }
    }

    /// The model numbers and the like of a row.
    pub fn identifiers(&self, row: u32) -> Vec<&str> {
        self.table.identifiers.as_ref().map(|it| it.of(self.places[row as usize])).unwrap_or_default()
    }

    /// The probability that two rows are of one thing, 0 to 1: a function of the rows and the model alone.
    pub fn probability(&self, a: u32, b: u32) -> f64 {
        let rows = [a, b].map(|row| self.places[row as usize]);
        if rows.contains(&NONE) { 0.0 } else { self.score(rows) }
    }

    /// How far the fields of two rows agree, what that tells, and what is kept of the probability.
    fn told(&self, [a, b]: [u32; 2]) -> ([u8; FIELDS], [f64; FIELDS], f64) {
        let rows = [a.min(b), a.max(b)];
        let count = self.table.columns.len() + usize::from(self.table.identifiers.is_some());
        let (mut all, mut told) = ([0; FIELDS], [0.0; FIELDS]);
        let swap = self.table.levels(&self.model.columns, rows, &mut all[..count]);
        let levels = &all[..count];
        let common = |field: usize| self.table.commonness(rows, levels, field);
        self.model.weights.told(levels, common, &mut told[..count]);
        // In another's place a name tells no more than in its own, however seldom names are swapped by chance.
        for field in (0..count).filter(|field| swap.fields >> field & 1 == 1) {
            let most = self.model.weights.most(field, self.table.commonness_in_place(rows, field));
            told[field] = told[field].min(most);
        }
        let kept = self.model.weights.kept(levels);
        // Who calls whom, from where to where: the way back is another.
        (all, told, if swap.is_meant { kept.min(ANOTHER) } else { kept })
    }

    fn score(&self, rows: [u32; 2]) -> f64 {
        let (_, told, kept) = self.told(rows);
        kept * probability(self.model.weights.prior() + told.iter().sum::<f64>())
    }
}

/// Stands between the columns of a record, and is a blank within one.
const BETWEEN: char = '\n';

/// The columns of a record as one text; `None` if there is none.
pub fn joined(columns: impl Iterator<Item = Option<String>>) -> Option<String> {
    let (mut content, mut is_there) = (String::new(), false);
    for (column, at) in columns.zip(0..) {
        let column = column.unwrap_or_default();
        content.room(column.len() + 1).or_raise();
        if at > 0 {
            content.push(BETWEEN);
        }
        is_there |= !column.is_empty();
        content.extend(checked(column.chars()).map(|c| if c == BETWEEN { ' ' } else { c }));
    }
    is_there.then_some(content)
}

/// The columns of a record that are joined; an empty one is none.
pub fn columns(content: &str) -> impl Iterator<Item = Option<&str>> {
    content.split(BETWEEN).map(|column| (!column.is_empty()).then_some(column))
}
