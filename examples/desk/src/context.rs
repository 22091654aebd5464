//! What the slots of a template stand for: the place, the people, the dates.

use crate::calendar;
use crate::names::*;
use crate::people::{AVOIDED, GIVEN, SURNAMES};
use crate::rng::Rng;
use crate::template::{Pools, Template, push_number};

/// What kind of place a topic is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A housing estate.
    Estate,
    /// A village.
    Village,
    /// A road.
    Road,
    /// A school.
    School,
    /// An employer.
    Firm,
}

macro_rules! slots {
    ($($name:literal $slot:ident),* $(,)?) => {
        /// A slot of a template.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Slot { $(#[doc = $name] $slot,)* }

        impl Slot {
            /// The slot of that name.
            pub fn named(name: &str) -> Option<Slot> {
                match name { $($name => Some(Slot::$slot),)* _ => None }
            }
        }
    };
}

slots! {
    "city" City, "dist" District, "street" Street, "road" Road, "no" Number, "estate" Estate,
    "bldg" Building, "unit" Unit, "town" Town, "village" Village, "group" Group, "school" School,
    "firm" Firm, "at" At, "area" Area, "subj" Subject, "name" Name, "phone" Phone, "prop" Property,
    "dev" Developer, "ym" YearMonth, "date" Date, "y" Year,
}

/// Everything local to a petition; a place_swapped petition gets another one.
#[derive(Clone, Debug)]
pub struct Place {
    city: &'static str,
    district: &'static str,
    street: &'static str,
    road: [&'static str; 2],
    number: u64,
    estate: [&'static str; 2],
    building: u64,
    unit: u64,
    town: &'static str,
    village: &'static str,
    group: u64,
    school: &'static str,
    firm: [&'static str; 2],
}

impl Place {
    /// Draws a place.
    pub fn draw(rng: &mut Rng) -> Self {
        Place {
            city: rng.pick(CITIES),
            district: rng.pick(DISTRICTS),
            street: rng.pick(STREETS),
            road: [rng.pick(ROADS), rng.pick(ROAD_ENDS)],
            number: rng.between(1, 399),
            estate: [rng.pick(ESTATES), rng.pick(ESTATE_ENDS)],
            building: rng.between(1, 38),
            unit: rng.between(1, 5),
            town: rng.pick(TOWNS),
            village: rng.pick(VILLAGES),
            group: rng.between(1, 14),
            school: rng.pick(SCHOOLS),
            firm: [rng.pick(FIRMS), rng.pick(FIRM_ENDS)],
        }
    }

    /// Draws a place that has nothing in common with `other`.
    pub fn draw_unlike(rng: &mut Rng, other: &Place) -> Self {
        loop {
            let p = Place::draw(rng);
            let same = p.city == other.city
                || p.district == other.district
                || p.street == other.street
                || p.road[0] == other.road[0]
                || p.number == other.number
                || p.estate[0] == other.estate[0]
                || p.building == other.building
                || p.town == other.town
                || p.village == other.village
                || p.group == other.group
                || p.school == other.school
                || p.firm[0] == other.firm[0];
            if !same {
                // The trade and the unit are part of the story, not of the place.
                let firm = [p.firm[0], other.firm[1]];
                return Place { firm, unit: other.unit, ..p };
            }
        }
    }
}

/// A person.
#[derive(Clone, Debug)]
pub struct Person {
    /// Surname and given name.
    pub name: String,
    /// The last four digits of the telephone number; the rest is masked.
    pub phone: u64,
}

impl Person {
    /// Draws a person.
    pub fn draw(rng: &mut Rng) -> Self {
        let mut name = String::new();
        while name.is_empty() || AVOIDED.contains(&name.as_str()) {
            name.clear();
            name.push_str(rng.pick(SURNAMES));
            name.push_str(rng.pick(GIVEN));
            if rng.chance(0.78) {
                name.push_str(rng.pick(GIVEN));
            }
        }
        Person { name, phone: rng.between(1000, 9999) }
    }
}

/// What the slots of one petition stand for.
#[derive(Debug)]
pub struct Context<'a> {
    /// Where it is.
    pub place: Place,
    /// Who writes.
    pub person: Person,
    /// What kind of place it is about.
    pub kind: Kind,
    /// The managing company, the developer.
    pub firms: [&'static str; 2],
    /// The day the original was filed, counted from 2019-01-01.
    pub day: i64,
    /// What the petition is about in a few words.
    pub subject: &'a Template,
    /// Which wording of the subject: drawn once, so that it stays the same.
    pub subject_rng: Rng,
}

impl Context<'_> {
    /// Appends what `slot` stands for.
    pub fn fill(&self, slot: Slot, pools: &Pools, rng: &mut Rng, out: &mut String) {
        let p = &self.place;
        match slot {
            Slot::City => out.push_str(p.city),
            Slot::District => out.push_str(p.district),
            Slot::Street => push_all(out, &[p.street, "街道"]),
            Slot::Road => push_all(out, &p.road),
            Slot::Number => push_number(p.number, out),
            Slot::Estate => push_all(out, &p.estate),
            Slot::Building => push_number(p.building, out),
            Slot::Unit => push_number(p.unit, out),
            Slot::Town => out.push_str(p.town),
            Slot::Village => push_all(out, &[p.village, "村"]),
            Slot::Group => push_number(p.group, out),
            Slot::School => push_all(out, &[p.school, if p.unit > 2 { "小学" } else { "中学" }]),
            Slot::Firm => push_all(out, &p.firm),
            Slot::At => {
                let main = match self.kind {
                    Kind::Estate => Slot::Estate,
                    Kind::Village => Slot::Village,
                    Kind::Road => Slot::Road,
                    Kind::School => Slot::School,
                    Kind::Firm => Slot::Firm,
                };
                self.fill(main, pools, rng, out);
            }
            Slot::Area => {
                out.push_str(p.district);
                let part = if self.kind == Kind::Village { Slot::Town } else { Slot::Street };
                self.fill(part, pools, rng, out);
            }
            Slot::Subject => pools.render(self.subject, &mut self.subject_rng.clone(), self, out),
            Slot::Name => out.push_str(&self.person.name),
            Slot::Phone => {
                out.push('1');
                push_number(30 + self.person.phone % 59, out);
                out.push_str("****");
                push_number(self.person.phone, out);
            }
            Slot::Property => push_all(out, &[self.firms[0], "物业"]),
            Slot::Developer => push_all(out, &[self.firms[1], "置业公司"]),
            Slot::YearMonth => {
                let (year, month, _) = calendar::date(self.day - 20 - rng.below(900) as i64);
                push_year(year, out);
                push_number(month, out);
                out.push('月');
            }
            Slot::Date => {
                let (_, month, day) = calendar::date(self.day - 2 - rng.below(70) as i64);
                push_number(month, out);
                out.push('月');
                push_number(day, out);
                out.push(if rng.chance(0.75) { '日' } else { '号' });
            }
            Slot::Year => {
                let (year, _, _) = calendar::date(self.day);
                push_year(year - rng.between(1, 9), out);
            }
        }
    }
}

fn push_year(year: u64, out: &mut String) {
    push_number(year, out);
    out.push('年');
}

fn push_all(out: &mut String, parts: &[&str]) {
    parts.iter().for_each(|part| out.push_str(part));
}
