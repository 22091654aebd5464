//! Records of several columns that are of one thing: what agreement in each tells is learned from the table itself, without
//! labels.
//!
//! Columns are compared by what their values are (`values`). Each row is compared with those that share most with it by rare
//! keys (`candidates`). A model (`model`) gives any two rows the probability that they are of one thing, which depends on
//! nothing but the two rows and the model.

mod candidates;
mod linkage;
mod model;
mod table;
mod values;

use crate::hash::{city64, mix64};
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{OrRaise, Room, collect, filled};
use candidates::candidates;
use linkage::linked;
use model::{Model, probability};
use table::Table;
use values::{NONE, Strings};

/// Two rows are of one thing from this probability on.
pub const SURE: f64 = 0.9;
/// Columns that are compared, at most.
pub const MOST_COLUMNS: usize = 32;
/// Fields that are of no column.
const BEYOND_COLUMNS: usize = 1;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// A column, by its place.
    Column(usize),
    /// Model numbers and the like, wherever they stand.
    Identifiers,
    /// Whether too many pairs differ in the same columns for that to be faults: households, series.
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

/// The rows of a table of several columns.
#[derive(Debug, Default)]
pub struct Rows {
    values: Vec<Strings>,
}

impl Rows {
    /// Rows of so many columns: so many that are not compared.
    pub fn new(columns: usize, empty: usize) -> Rows {
        let mut rows = Rows { values: (0..columns).map(|_| Strings::default()).collect() };
        (0..empty).for_each(|_| rows.add_empty());
        rows
    }

    /// Adds a row that is not compared.
    pub fn add_empty(&mut self) {
        self.values.iter_mut().for_each(|values| values.add(""));
    }

    /// Adds a row, a value for each column; they are numbered in order.
    pub fn add<'t>(&mut self, values: impl Iterator<Item = Option<&'t str>>) {
        let given = values.map(|value| value.unwrap_or("").trim());
        self.values
            .iter_mut()
            .zip(given.chain(std::iter::repeat("")))
            .for_each(|(values, value)| values.add(value));
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
                marks.room(1).or_raise();
                marks.push((mark, row as u32));
            }
        }
        sort_unstable_by(&mut marks, Ord::cmp);
        collect(marks.into_iter().map(|it| it.1)).or_raise()
    }
}

/// A table of records whose model is learned.
pub struct Records {
    table: Table,
    model: Model,
    /// The rows that are compared, as they came, and where each stands among them.
    order: Vec<u32>,
    places: Vec<u32>,
    /// Pairs of rows that are more likely of one thing than not.
    likely: Vec<[u32; 2]>,
    compared: usize,
}

/// Levels and what they tell, for as many fields as there are.
type Fields<T> = [T; MOST_COLUMNS + BEYOND_COLUMNS];
const NO_LEVELS: Fields<u8> = [0; MOST_COLUMNS + BEYOND_COLUMNS];
const NOTHING: Fields<f64> = [0.0; MOST_COLUMNS + BEYOND_COLUMNS];

impl Records {
    /// Learns from the rows.
    pub fn learn(rows: Rows) -> Records {
        let order = rows.order();
        let count = rows.values.first().map_or(0, Strings::count);
        let mut places = filled(NONE, count).or_raise();
        checked(order.iter().zip(0..)).for_each(|(&row, place)| places[row as usize] = place);
        let table = Table::new(&rows.values[..rows.values.len().min(MOST_COLUMNS)], &order);
        drop(rows);
        let candidates = candidates(&table);
        let model = Model::learn(&table, &candidates);
        let compared = candidates.len();
        let mut records = Records { table, model, order, places, likely: Vec::new(), compared };
        let mut likely = Vec::new();
        for candidate in checked(&candidates) {
            if records.score(candidate.rows) >= 0.5 {
                likely.room(1).or_raise();
                likely.push(candidate.rows);
            }
        }
        records.likely = likely;
        records
    }

    /// How many pairs of rows were compared.
    pub fn compared(&self) -> usize {
        self.compared
    }

    fn fields(&self) -> impl Iterator<Item = Field> {
        let columns = self.table.columns.iter().map(|column| Field::Column(column.at));
        columns.chain(self.table.identifiers.iter().map(|_| Field::Identifiers))
    }

    /// What was compared, and what of it tells: the odds by which agreement in it multiplies those that rows are of one
    /// thing, as their logarithms, from no agreement to a full one.
    pub fn weights(&self) -> impl Iterator<Item = (Field, f64, f64)> {
        self.fields().zip(self.model.weights()).map(|(field, (none, full))| (field, none, full))
    }

    /// What makes two rows one thing, or two.
    pub fn evidence(&self, a: u32, b: u32) -> Evidence {
        let rows = [a, b].map(|row| self.places[row as usize]);
        let (mut levels, mut told) = (NO_LEVELS, NOTHING);
        let kept = self.told(rows, &mut levels, &mut told);
        let agreement = |level: u8, top: u8| match level {
            0 => Agreement::Missing,
            1 => Agreement::None,
            _ if level == top => Agreement::Full,
            _ => Agreement::Partial,
        };
        let all = self.fields().zip(levels.iter().zip(self.table.tops())).zip(&told);
        let mut told: Vec<_> =
            all.map(|((field, (&level, top)), &tells)| (field, agreement(level, top), tells)).collect();
        let prior = self.model.prior();
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

    /// Levels of two rows and what they tell; what is kept of the probability.
    fn told(&self, [a, b]: [u32; 2], levels: &mut Fields<u8>, told: &mut Fields<f64>) -> f64 {
        let (rows, count) =
            ([a.min(b), a.max(b)], self.table.columns.len() + usize::from(self.table.identifiers.is_some()));
        let (levels, told) = (&mut levels[..count], &mut told[..count]);
        self.table.levels(rows, levels);
        self.model.told(levels, |field| self.table.commonness(rows, levels, field), told);
        self.model.kept(levels)
    }

    fn score(&self, rows: [u32; 2]) -> f64 {
        let (mut levels, mut told) = (NO_LEVELS, NOTHING);
        let kept = self.told(rows, &mut levels, &mut told);
        kept * probability(self.model.prior() + told.iter().sum::<f64>())
    }

    /// The kept row of each row. The rows come in `order`, the best first. Rows that are of one thing on average are a
    /// group, and of a group each repeats the first kept row that it is surely of one thing with, or is kept.
    pub fn keepers(&self, order: &[u32]) -> Vec<u32> {
        let mut keepers: Vec<u32> = collect(0..self.places.len() as u32).or_raise();
        let mut rank = filled(u32::MAX, self.order.len()).or_raise();
        for (&row, at) in checked(order).zip(0..) {
            if let Some(rank) = rank.get_mut(self.places[row as usize] as usize) {
                *rank = at;
            }
        }
        let mut score = |rows: [u32; 2]| self.score(rows);
        for mut group in linked(self.order.len(), &self.likely, &mut score) {
            group.sort_unstable_by_key(|&row| rank[row as usize]);
            let mut kept: Vec<u32> = Vec::new();
            for row in checked(group) {
                match kept.iter().find(|&&keeper| self.score([keeper, row]) >= SURE) {
                    Some(&keeper) => keepers[self.order[row as usize] as usize] = self.order[keeper as usize],
                    None => kept.push(row),
                }
            }
        }
        keepers
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

#[cfg(test)]
mod tests;
