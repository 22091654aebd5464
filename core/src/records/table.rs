//! The columns of records that are compared, and how far they agree in two rows.

use super::column::{Column, Known, Strings};
use super::identifiers::{Identifiers, KnownIdentifiers};
use super::values::Kind;
use serde::{Deserialize, Serialize};

/// The share of the names of two columns that stand in the wrong one, at most; of more both columns have the same.
const MISPLACED: f64 = 0.1;
/// How many times as common names are in their own columns as in each other's, from which on they belong there.
const BELONGS: f64 = 4.0;

/// What is known of the columns of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Columns {
    pub known: Vec<Known>,
    pub identifiers: Option<KnownIdentifiers>,
}

/// The columns of records that are compared, in some rows.
#[derive(Debug)]
pub(super) struct Table {
    pub rows: usize,
    pub columns: Vec<Column>,
    pub identifiers: Option<Identifiers>,
    /// The side of each, if only rows of two sides are compared.
    pub sides: Vec<bool>,
}

/// Names that stand in each other's place in two rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Swap {
    /// Their fields.
    pub fields: u64,
    /// Whether some stand there by intent.
    pub is_meant: bool,
}

impl Swap {
    /// Whether names were taken for each other.
    pub fn is_mistake(self) -> bool {
        self.fields != 0 && !self.is_meant
    }
}

impl Table {
    /// The rows, and what is learned of their columns.
    pub fn learned(values: &[Strings], order: &[u32]) -> (Table, Columns) {
        let (mut columns, mut known): (Vec<Column>, Vec<Known>) = Default::default();
        for (at, of) in values.iter().enumerate() {
            if let Some((column, it)) =
                Column::learned(at, of, order).filter(|it| !columns.iter().any(|other| it.0.repeats(other)))
            {
                columns.push(column);
                known.push(it);
            }
        }
        let single = columns.iter().enumerate().filter(|it| it.1.is_single());
        let single: Vec<(usize, &Column, Vec<u32>)> =
            single.map(|(at, column)| (at, column, column.counts())).collect();
        for (number, (two, other, counts)) in single.iter().enumerate() {
            for (one, column, own) in &single[..number] {
                if Column::misplaced([column, other], [own, counts]) <= MISPLACED {
                    known[*one].apart |= 1 << two;
                }
            }
        }
        let (identifiers, of_identifiers) = Identifiers::learned(&known, values, order).unzip();
        let table = Table { rows: order.len(), columns, identifiers, sides: Vec::new() };
        (table, Columns { known, identifiers: of_identifiers })
    }

    /// The rows, of whose columns this is known.
    pub fn read(of: &Columns, values: &[Strings], order: &[u32]) -> Table {
        let none = Strings::default();
        let column = |known: &Known| Column::read(known, values.get(known.at).unwrap_or(&none), order);
        let identifiers = of.identifiers.as_ref().map(|it| Identifiers::read(it, &of.known, values, order));
        let columns = of.known.iter().map(column).collect();
        Table { rows: order.len(), columns, identifiers, sides: Vec::new() }
    }

    pub fn may_be_one(&self, [a, b]: [u32; 2]) -> bool {
        self.sides.is_empty() || self.sides[a as usize] != self.sides[b as usize]
    }

    /// How many pairs of rows there are that can be compared.
    pub fn pairs(&self) -> f64 {
        let (all, one) = (self.rows as f64, self.sides.iter().filter(|side| **side).count() as f64);
        if self.sides.is_empty() { all * (all - 1.0) / 2.0 } else { one * (all - one) }.max(1.0)
    }

    /// How far each field of two rows agrees, and which names stand in each other's place.
    pub fn levels(&self, of: &Columns, rows: [u32; 2], levels: &mut [u8]) -> Swap {
        let all = self.columns.iter().map(|column| column.level(rows));
        let all = all.chain(self.identifiers.iter().map(|it| it.level(rows)));
        levels.iter_mut().zip(all).for_each(|(level, of)| *level = of);
        // A given name where the family's belongs.
        let names = || self.columns.iter().enumerate().filter(|it| it.1.kind == Kind::Name);
        let mut swap = Swap::default();
        for (one, column) in names() {
            for (two, other) in names().skip_while(|it| it.0 <= one) {
                let are_near = levels[one].max(levels[two]) >= Kind::Name.top() - 1;
                if are_near {
                    continue;
                }
                let Some(is_whole) = column.swapped(other, rows) else { continue };
                let known = [&of.known[one], &of.known[two]];
                let belong = |&row: &u32| column.belong(other, known, row) >= BELONGS;
                let is_mistake = known[0].apart >> two & 1 == 1 && (is_whole || rows.iter().any(belong));
                if is_whole || is_mistake {
                    levels[one] = Kind::Name.top() - 1;
                    levels[two] = Kind::Name.top() - 1;
                    swap.fields |= 1 << one | 1 << two;
                    swap.is_meant |= !is_mistake;
                }
            }
        }
        swap
    }

    /// As [`commonness`](Self::commonness), of a name in another's place: in one of the rows it is where it belongs.
    pub fn commonness_in_place(&self, rows: [u32; 2], field: usize) -> f64 {
        let common = |column: &Column| column.commonness(rows[0]).max(column.commonness(rows[1]));
        self.columns.get(field).map_or(1.0, common)
    }

    /// How common the value is in which a field of two rows fully agrees; 1 where it does not.
    pub fn commonness(&self, rows: [u32; 2], levels: &[u8], field: usize) -> f64 {
        match (self.columns.get(field), &self.identifiers) {
            (Some(column), _) if levels[field] == column.kind.top() => column.commonness(rows[0]),
            (None, Some(identifiers)) if levels[field] == Identifiers::TOP => identifiers.commonness(rows),
            _ => 1.0,
        }
    }
}

impl Columns {
    /// The level of full agreement of each field, and how often it may speak against one thing.
    pub fn tops(&self) -> Vec<(u8, f64)> {
        let columns = self.known.iter().map(|it| (it.kind.top(), it.cap));
        columns.chain(self.identifiers.iter().map(|_| (Identifiers::TOP, 1.0))).collect()
    }

    /// What agreement by chance would tell of each field, in nats.
    pub fn information(&self) -> impl Iterator<Item = f64> {
        let columns = self.known.iter().map(|it| it.same.max(1.0 / it.filled.max(2) as f64));
        columns.chain(self.identifiers.iter().map(|it| it.same.min(1.0))).map(|same| -same.ln())
    }
}
