//! The columns of records that are compared, and how far they agree in two rows.

use super::values::{Column, Identifiers, Strings};

/// The columns of records that are compared.
#[derive(Debug)]
pub(super) struct Table {
    pub rows: usize,
    pub columns: Vec<Column>,
    pub identifiers: Option<Identifiers>,
}

impl Table {
    pub fn new(values: &[Strings], order: &[u32]) -> Table {
        let mut columns: Vec<Column> = Vec::new();
        for (at, of) in values.iter().enumerate() {
            if let Some(column) =
                Column::new(at, of, order).filter(|it| !columns.iter().any(|other| it.repeats(other)))
            {
                columns.push(column);
            }
        }
        let identifiers = Identifiers::new(&columns, values, order);
        Table { rows: order.len(), columns, identifiers }
    }

    /// The level of full agreement of each field.
    pub fn tops(&self) -> Vec<u8> {
        self.columns
            .iter()
            .map(Column::top)
            .chain(self.identifiers.iter().map(|_| Identifiers::TOP))
            .collect()
    }

    /// What agreement by chance would tell, in nats.
    pub fn information(&self) -> impl Iterator<Item = f64> {
        let columns = self.columns.iter().map(|column| column.same.max(1.0 / column.filled.max(2) as f64));
        columns.chain(self.identifiers.iter().map(|it| it.same.min(1.0))).map(|same| -same.ln())
    }

    pub fn levels(&self, rows: [u32; 2], levels: &mut [u8]) {
        let all = self.columns.iter().map(|column| column.level(rows));
        let all = all.chain(self.identifiers.iter().map(|it| it.level(rows)));
        levels.iter_mut().zip(all).for_each(|(level, of)| *level = of);
    }

    /// How common the value is in which a field of two rows fully agrees; 1 where it does not.
    pub fn commonness(&self, rows: [u32; 2], levels: &[u8], field: usize) -> f64 {
        match (self.columns.get(field), &self.identifiers) {
            (Some(column), _) if levels[field] == column.top() => column.commonness(rows[0]),
            (None, Some(identifiers)) if levels[field] == Identifiers::TOP => identifiers.commonness(rows),
            _ => 1.0,
        }
    }
}
