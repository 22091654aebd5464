//! Products: title, maker, model number, price, description.
//!
//! Another shop orders the words otherwise, writes the model number in the title or without its hyphen or not at all, has
//! another price, a description of its own or none. Taken for it are the other colour, the next model, and what is sold for it.

use crate::records::{Thing, coined, mistype, percent};
use petition_desk::rng::Rng;

const MAKERS: [(&str, &str); 16] = [
    ("Sorvani", "Sorvani Electronics"),
    ("Kelt", "Kelt Audio"),
    ("Panavox", "Panavox"),
    ("Lumetek", "Lumetek Inc."),
    ("Ostra", "Ostra Home"),
    ("Brandt & Co", "Brandt"),
    ("Nordine", "Nordine"),
    ("Telmar", "Telmar Corporation"),
    ("Hikaru", "Hikaru"),
    ("Vega", "Vega Systems"),
    ("Acton", "Acton"),
    ("Mirelle", "Mirelle"),
    ("Dynaset", "Dynaset Software"),
    ("Graphon", "Graphon"),
    ("Quillsoft", "Quillsoft"),
    ("Zenda", "Zenda"),
];
const THINGS: [&str; 24] = [
    "digital camera",
    "LCD television",
    "washing machine",
    "headphones",
    "laser printer",
    "home theater system",
    "camcorder",
    "microwave oven",
    "cordless phone",
    "DVD player",
    "car stereo",
    "refrigerator",
    "projector",
    "speaker",
    "keyboard",
    "router",
    "photo editing software",
    "accounting software",
    "dictionary on CD",
    "vacuum cleaner",
    "monitor",
    "hard drive",
    "navigation system",
    "alarm clock radio",
];
const COLOURS: [(&str, &str); 6] = [
    ("black", "blk"),
    ("white", "wht"),
    ("silver", "slv"),
    ("red", "red"),
    ("blue", "blue"),
    ("stainless steel", "stainless"),
];
const FEATURES: [&str; 20] = [
    "wireless",
    "compact",
    "high definition",
    "energy saving",
    "waterproof",
    "dual",
    "portable",
    "rechargeable",
    "stackable",
    "programmable",
    "widescreen",
    "optical zoom",
    "noise cancelling",
    "remote control",
    "front loading",
    "flat panel",
    "professional",
    "deluxe",
    "standard edition",
    "upgrade",
];
const ACCESSORIES: [&str; 5] =
    ["carrying case for", "battery for", "wall mount for", "replacement filter for", "manual for"];
const PHRASES: [&str; 14] = [
    "easy to use",
    "one year warranty",
    "includes remote and cables",
    "with a large display",
    "designed for small rooms",
    "works with all common formats",
    "energy star certified",
    "sleek design",
    "quick start guide",
    "free shipping",
    "record and play at the same time",
    "safe for children",
    "fits under a cabinet",
    "lifetime support",
];

/// Something that is sold.
#[derive(Clone)]
pub struct Product {
    maker: usize,
    series: String,
    thing: usize,
    model: [String; 2],
    colour: usize,
    size: usize,
    features: [usize; 2],
    accessory: Option<usize>,
    price: usize,
}

fn model(random: &mut Rng) -> [String; 2] {
    let letters = ["A", "B", "C", "D", "E", "K", "L", "M", "P", "R", "S", "T", "V", "X", "Z"];
    let mut prefix = String::new();
    for _ in 0..1 + random.below(3) {
        prefix += random.pick(&letters);
    }
    let suffix = if percent(random, 40) { random.pick(&["A", "B", "S", "X", "/E", "LX"]) } else { "" };
    [prefix, format!("{}{suffix}", 10 * (1 + random.below(900)))]
}

impl Thing for Product {
    const COLUMNS: [&'static str; 5] = ["title", "maker", "model", "price", "description"];
    const BETWEEN: &'static str = " ";

    fn new(like: Option<&Product>, random: &mut Rng) -> Product {
        let new = Product {
            maker: random.below(MAKERS.len()),
            series: if percent(random, 40) { coined(random, 2) } else { String::new() },
            thing: random.below(THINGS.len()),
            model: model(random),
            colour: random.below(COLOURS.len()),
            size: 5 + random.below(60),
            features: [random.below(FEATURES.len()), random.below(FEATURES.len())],
            accessory: None,
            price: 900 + random.below(90_000),
        };
        let Some(other) = like else { return new };
        match random.below(4) {
            // The other colour, of which the model number tells or does not.
            0 if other.colour != new.colour => {
                let model = [
                    other.model[0].clone(),
                    format!("{}{}", other.model[1], &COLOURS[new.colour].0[..1].to_uppercase()),
                ];
                Product { colour: new.colour, model, ..other.clone() }
            }
            // What is sold for it.
            1 => Product {
                accessory: Some(random.below(ACCESSORIES.len())),
                price: new.price / 10,
                ..other.clone()
            },
            // The next model of the series.
            _ => Product {
                model: [other.model[0].clone(), new.model[1].clone()],
                size: new.size,
                price: new.price,
                ..other.clone()
            },
        }
    }

    fn row(&self, first: bool, random: &mut Rng) -> [String; 5] {
        let other = !first;
        let (maker, colour) = (MAKERS[self.maker], COLOURS[self.colour]);
        let [prefix, number] = &self.model;
        let written = match if other { random.below(4) } else { 0 } {
            0 | 1 => format!("{prefix}{number}"),
            2 => format!("{prefix}-{number}"),
            _ => format!("{prefix}{number}").to_lowercase(),
        };
        let known = percent(random, if other { 75 } else { 90 });
        // Where the model number stands: in the title, in its column, in both.
        let place = if known { 1 + random.below(3) } else { 0 };
        let mut words: Vec<String> = Vec::new();
        if percent(random, 80) {
            words.push(maker.0.to_owned());
        }
        words.push(self.series.clone());
        if place & 1 > 0 {
            words.push(written.clone());
        }
        for &feature in &self.features {
            if percent(random, if other { 55 } else { 80 }) {
                words.push(FEATURES[feature].to_owned());
            }
        }
        if percent(random, 60) {
            words.push(format!("{}\"", self.size));
        }
        words.push(THINGS[self.thing].to_owned());
        if percent(random, 60) {
            words.push(if other && percent(random, 40) { colour.1 } else { colour.0 }.to_owned());
        }
        words.retain(|word| !word.is_empty());
        if other && percent(random, 35) {
            random.shuffle(&mut words);
        }
        let mut title = words.join(" ");
        if other && percent(random, 8) {
            mistype(&mut title, random);
        }
        if let Some(accessory) = self.accessory {
            title = format!("{} {title}", ACCESSORIES[accessory]);
        }
        let sold_by = match random.below(10) {
            0 | 1 => "",
            2..=4 if other => maker.1,
            _ => maker.0,
        };
        let column = if place & 2 > 0 { written } else { String::new() };
        let cents = if other { self.price * (75 + random.below(45)) / 100 } else { self.price };
        let has = percent(random, if other { 60 } else { 85 });
        let price = if has { format!("{}.{:02}", cents / 100, cents % 100) } else { String::new() };
        let mut description = String::new();
        if percent(random, 50) {
            let mut parts: Vec<&str> = PHRASES.to_vec();
            random.shuffle(&mut parts);
            parts.truncate(1 + random.below(5));
            parts.push(FEATURES[self.features[0]]);
            parts.push(THINGS[self.thing]);
            description = parts.join(", ");
        }
        [title, sold_by.to_owned(), column, price, description]
    }
}
