//! What agreement in the columns of two rows tells: the sum of the weights of evidence (Fellegi and Sunter 1969), of which patterns
//! of differences that are too many for faults take away.

use super::table::Columns;
use super::values::{Kind, MOST, SLIP};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// What is kept of the probability where a date that identifies is quite another, all names are, a name where most have versions, or
/// names stand in each other's place that both columns have: a person looks at them first.
pub(super) const ANOTHER: f64 = 0.85;
/// No answers shift the odds or weigh by more.
const MOST_FITTED: f64 = 1000.0;
pub(super) const WIDTH: usize = MOST + 1;

pub(super) type Levels = [f64; WIDTH];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Field {
    pub top: usize,
    pub cap: f64,
    /// `None`: of identifiers.
    pub kind: Option<Kind>,
    /// As [`super::column::Known::is_called`].
    #[serde(default)]
    pub is_called: bool,
    /// Most pairs that agree otherwise have other values here (of small numbers many): they are of a series.
    pub in_series: bool,
    /// How often each level is of one thing, and of two.
    pub m: Levels,
    pub u: Levels,
    /// The logarithm of their ratio, which never falls.
    pub tells: Levels,
    /// How often it speaks against pairs of one thing.
    pub against: f64,
    /// The column that tells most about its chance, and that chance by the levels of both.
    pub parent: Option<(usize, Box<[Levels; WIDTH]>)>,
    /// By how much it agrees more often where the parent does.
    pub tie: f64,
}

/// What agreement of each field tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Weights {
    pub fields: Vec<Field>,
    /// Parents first.
    pub order: Vec<usize>,
    /// The logarithm of the odds of any pair.
    pub prior: f64,
    /// Of patterns of differences, as bits of fields, what is kept of the probability.
    pub kept: FxHashMap<u64, f64>,
    /// Patterns of pairs that agree in all other fields that identify and are two things, and how many there are: the most
    /// frequent first.
    pub apart: Vec<(u64, usize)>,
    /// For each two fields, how much more often one agrees where the other does.
    pub ties: Vec<f64>,
    /// What people's answers changed.
    #[serde(default)]
    pub fitted: Fitted,
}

/// By how much what each field tells counts, and what is added to the odds; nothing: as it was learned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Fitted {
    pub shift: f64,
    pub factors: Vec<f64>,
}

pub(super) fn probability(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds.clamp(-50.0, 50.0)).exp())
}

impl Field {
    fn differs(&self, level: u8) -> bool {
        level > 0 && usize::from(level) < self.top
    }

    /// Whether a level is of another date, where these identify or one thing seldom has two of one, of a name with other words where most names have versions, or of another year in a
    /// series of them, which is not all in which the rows differ.
    fn is_another(&self, level: u8, differing: usize) -> bool {
        match self.kind {
            Some(Kind::Date) if self.cap < 1.0 => [1, 2].contains(&level),
            Some(Kind::Date) => self.in_series && self.differs(level),
            Some(Kind::Name) => self.in_series && (1..SLIP).contains(&level),
            Some(Kind::Number { small: true }) => self.in_series && self.differs(level) && differing > 1,
            _ => false,
        }
    }
}

impl Weights {
    /// What each field adds to the odds that a pair is of one thing, in logarithms. `common`: how common equal values are.
    pub fn told(&self, levels: &[u8], common: impl Fn(usize) -> f64, told: &mut [f64]) {
        told.fill(0.0);
        for &at in &self.order {
            let (field, level) = (&self.fields[at], usize::from(levels[at]));
            if level == 0 {
                continue;
            }
            let own = field.u[level];
            let mut tied = own;
            if let Some((parent, chance)) = &field.parent {
                let beside = usize::from(levels[*parent]);
                if beside > 0 {
                    tied = chance[beside][level];
                }
                // What comes together changes together.
                if field.tells[level] < 0.0 && self.fields[*parent].tells[beside] < 0.0 {
                    let against = field.against.max(1e-9);
                    told[at] += (1.0 + (1.0 - against) * field.tie / against).ln();
                }
            }
            // By chance this value, or tied to the parent.
            let chance = if level == field.top { own * common(at) + (tied - own).max(0.0) } else { tied };
            told[at] += field.tells[level] + own.ln() - chance.max(1e-12).ln();
        }
        told.iter_mut().zip(&self.fitted.factors).for_each(|(told, factor)| *told *= factor);
    }

    /// What full agreement of a field in so common a value tells at most.
    pub fn most(&self, field: usize, common: f64) -> f64 {
        let Field { tells, top, .. } = &self.fields[field];
        (tells[*top] - common.max(1e-12).ln()) * self.fitted.factors.get(field).unwrap_or(&1.0)
    }

    /// The logarithm of the odds of any pair, as answers have it.
    pub fn prior(&self) -> f64 {
        self.prior + self.fitted.shift
    }

    /// What is kept of the probability of a pair: less than 1 if too many differ so, or a date or name is another.
    pub fn kept(&self, levels: &[u8]) -> f64 {
        let kept = self.kept.get(&self.pattern(levels)).copied().unwrap_or(1.0);
        let differing = self.fields.iter().zip(levels).filter(|it| it.0.differs(*it.1)).count();
        let is_another = |(field, &level): (&Field, &u8)| field.is_another(level, differing);
        let is_another = self.fields.iter().zip(levels).any(is_another);
        // The offices of one house have its address and its telephone.
        let mut names =
            self.fields.iter().zip(levels).filter(|(field, level)| field.is_called && **level > 0).peekable();
        let is_called_otherwise = names.peek().is_some() && names.all(|(_, &level)| level == 1);
        if is_another || is_called_otherwise { kept.min(ANOTHER) } else { kept }
    }

    /// The columns of days of one course in which a pair differs.
    pub fn days(&self, levels: &[u8]) -> u64 {
        let is_day = |field: &Field| field.kind == Some(Kind::Date) && field.cap >= 1.0 && field.in_series;
        let bits = self.fields.iter().zip(levels).enumerate();
        bits.filter(|(_, (field, level))| is_day(field) && field.differs(**level))
            .fold(0, |bits, (at, _)| bits | 1 << at)
    }

    /// The columns that identify in which a pair differs.
    pub fn pattern(&self, levels: &[u8]) -> u64 {
        let differs = |(field, &level): (&Field, &u8)| {
            let is_next = field.in_series && field.kind != Some(Kind::Name) && field.differs(level);
            field.cap < 1.0 && (field.tells[usize::from(level)] < 0.0 || is_next)
        };
        let bits = self.fields.iter().zip(levels).enumerate().filter(|(_, it)| differs(*it));
        bits.fold(0, |bits, (at, _)| bits | 1 << at)
    }

    /// Whether they are of such fields, as what was read may not be.
    pub fn are_of(&self, columns: &Columns) -> bool {
        let tops: Vec<usize> = columns.tops().iter().map(|it| usize::from(it.0)).collect();
        let place = |field: usize| self.order.iter().position(|&it| it == field);
        let is_behind = |at: usize| {
            let parent = self.fields[at].parent.as_ref();
            parent.is_none_or(|it| place(it.0).is_some_and(|before| Some(before) < place(at)))
        };
        let Fitted { shift, factors } = &self.fitted;
        let is_fit = factors.is_empty() || factors.len() == tops.len();
        let is_sound =
            shift.abs() <= MOST_FITTED && factors.iter().all(|it| (0.0..=MOST_FITTED).contains(it));
        self.fields.iter().map(|field| field.top).eq(tops.iter().copied())
            && is_fit
            && is_sound
            && self.order.len() == tops.len()
            && (0..tops.len()).all(|at| place(at).is_some() && is_behind(at))
    }

    /// What no agreement and a full one tell.
    pub fn weights(&self) -> impl Iterator<Item = (f64, f64)> {
        let factors = self.fitted.factors.iter().copied().chain(std::iter::repeat(1.0));
        self.fields.iter().zip(factors).map(|(field, by)| (by * field.tells[1], by * field.tells[field.top]))
    }
}
