//! Restaurants and companies: name, address, city, telephone, kind.
//!
//! Another directory abbreviates the street, writes the number otherwise, calls the kind by another word, leaves out or
//! adds what a company is, has a new telephone or none. Taken for it are a branch of the same chain and the neighbour
//! in the same house.

use crate::records::{Thing, capital, coined, mistype, percent};
use petition_desk::rng::Rng;

const ENDS: [&str; 14] = [
    "Cafe",
    "Restaurant",
    "Grill",
    "Bakery",
    "Hotel",
    "Motors",
    "Dry Cleaners",
    "Pharmacy",
    "Insurance",
    "Books",
    "Plumbing",
    "Bar and Grill",
    "Kitchen",
    "Travel",
];
const FORMS: [&str; 6] = ["Inc.", "Ltd", "and Sons", "Company", "LLC", ""];
const FIRST: [&str; 16] = [
    "Golden", "Blue", "Old Town", "Little", "Royal", "Green", "Corner", "Silver", "Garden", "Harbour",
    "Sunset", "Central", "Lucky", "White", "Mountain", "Lake",
];
const THEN: [&str; 14] = [
    "Dragon", "Rose", "Lion", "Palace", "Spoon", "Bridge", "Star", "Oak", "Door", "Wheel", "Moon", "Anchor",
    "Horse", "Lamp",
];
const STREETS: [(&str, &str); 6] = [
    ("Street", "St."),
    ("Avenue", "Ave."),
    ("Boulevard", "Blvd."),
    ("Road", "Rd."),
    ("Drive", "Dr."),
    ("Lane", "Ln."),
];
const SIDES: [(&str, &str); 5] = [("", ""), ("", ""), ("North ", "N. "), ("West ", "W. "), ("East ", "E. ")];
const CITIES: [(&str, &str); 9] = [
    ("Springfield", "Springfield"),
    ("Port Ellen", "Port Ellen"),
    ("Greater Marbury", "Marbury"),
    ("New Harlow", "N. Harlow"),
    ("Easton", "Easton Heights"),
    ("Saint Osric", "St. Osric"),
    ("Kingsmere", "Kingsmere"),
    ("Fairwater", "Fairwater City"),
    ("Stonebridge", "Stonebridge"),
];
const KINDS: [(&str, &str); 12] = [
    ("Italian", "trattoria"),
    ("Chinese", "Asian"),
    ("American", "steakhouse"),
    ("French", "bistro"),
    ("coffee shop", "cafe"),
    ("seafood", "fish"),
    ("car dealer", "automobiles"),
    ("laundry", "cleaning"),
    ("retail", "shop"),
    ("hotel", "lodging"),
    ("craftsman", "services"),
    ("Mexican", "Latin American"),
];

/// A restaurant or company.
#[derive(Clone)]
pub struct Place {
    name: String,
    end: usize,
    form: usize,
    number: usize,
    side: usize,
    street: String,
    street_kind: usize,
    city: usize,
    phone: [usize; 2],
    kind: usize,
}

fn phone(random: &mut Rng) -> [usize; 2] {
    [200 + random.below(800), random.below(10_000)]
}

impl Thing for Place {
    const COLUMNS: [&'static str; 5] = ["name", "address", "city", "phone", "kind"];
    const BETWEEN: &'static str = " ";

    fn new(like: Option<&Place>, random: &mut Rng) -> Place {
        let name = match random.below(5) {
            0 | 1 => format!("{} {}", random.pick(&FIRST), random.pick(&THEN)),
            2 => format!("{}'s", coined(random, 2)),
            3 => format!("{} and {}", coined(random, 2), coined(random, 1)),
            _ => coined(random, 2),
        };
        let syllables = 1 + random.below(2) as u64;
        let new = Place {
            name,
            end: random.below(ENDS.len()),
            form: random.below(FORMS.len()),
            number: 1 + random.below(9_000),
            side: random.below(SIDES.len()),
            street: coined(random, syllables),
            street_kind: random.below(STREETS.len()),
            city: random.below(CITIES.len()),
            phone: phone(random),
            kind: random.below(KINDS.len()),
        };
        let Some(other) = like else { return new };
        match random.below(3) {
            // A branch.
            0 | 1 => Place {
                name: other.name.clone(),
                end: other.end,
                form: other.form,
                kind: other.kind,
                city: if percent(random, 60) { other.city } else { new.city },
                ..new
            },
            // The neighbour.
            _ => Place {
                name: new.name,
                end: new.end,
                form: new.form,
                kind: new.kind,
                phone: new.phone,
                ..other.clone()
            },
        }
    }

    fn row(&self, first: bool, random: &mut Rng) -> [String; 5] {
        let other = !first;
        let mut name = self.name.clone();
        if other && percent(random, 15) {
            mistype(&mut name, random);
        }
        if other && percent(random, 10) {
            name = format!("The {name}");
        }
        if !(other && percent(random, 30)) {
            name = format!("{name} {}", ENDS[self.end]);
        }
        if percent(random, if other { 30 } else { 50 }) && !FORMS[self.form].is_empty() {
            name = format!("{name} {}", FORMS[self.form]);
        }
        if other && percent(random, 10) {
            name = capital(&name.to_lowercase());
        }
        let (side, street) = (SIDES[self.side], STREETS[self.street_kind]);
        let short = if other { percent(random, 60) } else { percent(random, 20) };
        let number = if other && percent(random, 6) { self.number + 2 } else { self.number };
        let mut address = match short {
            true => format!("{number} {}{} {}", side.1, self.street, street.1),
            false => format!("{number} {}{} {}", side.0, self.street, street.0),
        };
        if other && percent(random, 12) {
            address = format!("{address}, Suite {}", 1 + random.below(300));
        }
        if other && percent(random, 8) {
            address.clear();
        }
        let city = if other && percent(random, 40) { CITIES[self.city].1 } else { CITIES[self.city].0 };
        let [exchange, line] = if other && percent(random, 10) { phone(random) } else { self.phone };
        let area = 201 + 7 * self.city;
        let number = match if other { random.below(4) } else { 0 } {
            0 => format!("{area}-{exchange}-{line:04}"),
            1 => format!("({area}) {exchange}-{line:04}"),
            2 => format!("{area}/{exchange} {line:04}"),
            _ if percent(random, 50) => String::new(),
            _ => format!("{area}{exchange}{line:04}"),
        };
        let kind = if other && percent(random, 50) { KINDS[self.kind].1 } else { KINDS[self.kind].0 };
        [name, address, city.to_owned(), number, kind.to_owned()]
    }
}
