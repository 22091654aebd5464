//! Composes the body of a petition: which sentences, in which order.

use crate::context::Context;
use crate::grammar::{Grammar, Topic};
use crate::rng::Rng;
use crate::template::Template;
use std::ops::Range;

/// What a sentence is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Salutation.
    Greeting,
    /// Who writes and why.
    Opening,
    /// The matter itself.
    Fact,
    /// More about it.
    Detail,
    /// What comes of it.
    Harm,
    /// What was tried before.
    Prior,
    /// What is asked for.
    Ask,
    /// Last words.
    Closing,
}
use Part::{Ask, Closing, Detail, Fact, Greeting, Harm, Opening, Prior};

/// A sentence of a body.
#[derive(Clone, Debug)]
pub struct Sentence {
    /// What it is for.
    pub part: Part,
    /// Where it stands in the body's text.
    pub range: Range<usize>,
    /// Whether a new paragraph begins with it.
    pub paragraph: bool,
}

/// A body, sentence by sentence.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// The sentences one after the other, without line breaks.
    pub text: String,
    /// Where they stand.
    pub sentences: Vec<Sentence>,
}

/// How people write.
pub const TONES: [&str; 3] = ["angry", "polite", "formal"];

/// In which order the parts may stand.
const ORDERS: [[Part; 8]; 7] = [
    [Greeting, Opening, Fact, Detail, Harm, Prior, Ask, Closing],
    [Greeting, Opening, Fact, Prior, Detail, Harm, Ask, Closing],
    [Greeting, Opening, Fact, Ask, Detail, Prior, Harm, Closing],
    [Greeting, Opening, Fact, Harm, Detail, Ask, Prior, Closing],
    [Greeting, Opening, Detail, Fact, Harm, Prior, Ask, Closing],
    [Greeting, Opening, Prior, Fact, Detail, Harm, Ask, Closing],
    [Greeting, Fact, Opening, Detail, Prior, Harm, Ask, Closing],
];

/// Parts, how much they are liked, and how many of them a body may have.
const LIKED: [(Part, f64, usize); 7] = [
    (Opening, 0.8, 1),
    (Detail, 1.6, 6),
    (Harm, 1.0, 6),
    (Prior, 1.0, 5),
    (Ask, 1.1, 5),
    (Closing, 0.6, 3),
    (Fact, 0.5, 2),
];

/// Bytes after which no sentence is added; a character has three.
const FULL: usize = 710 * 3;

/// How many sentences a body gets: mostly seven to nine, sometimes one, sometimes twenty.
fn sentence_count(rng: &mut Rng) -> usize {
    match rng.below(100) {
        0..=2 => 1,
        3..=9 => rng.between(2, 3) as usize,
        10..=22 => rng.between(4, 6) as usize,
        23..=66 => rng.between(7, 9) as usize,
        67..=90 => rng.between(10, 13) as usize,
        _ => rng.between(14, 28) as usize,
    }
}

/// Picks templates of one pool without picking one twice.
struct Picker<'g> {
    pool: &'g [Template],
    at: usize,
    step: usize,
}

impl<'g> Picker<'g> {
    fn new(pool: &'g [Template], rng: &mut Rng) -> Self {
        let step = if pool.len() > 2 && rng.chance(0.5) { pool.len() - 1 } else { 1 };
        Picker { pool, at: rng.below(pool.len()), step }
    }

    fn next(&mut self) -> &'g Template {
        self.at = (self.at + self.step) % self.pool.len();
        &self.pool[self.at]
    }
}

/// Composes the body of a petition about one issue of a topic. `rng` must give
/// the same numbers for the same body; only the context may differ.
pub fn compose(
    grammar: &Grammar,
    topic: &Topic,
    issue: usize,
    context: &Context,
    rng: &mut Rng,
    body: &mut Body,
) {
    body.text.clear();
    body.sentences.clear();
    let pools = &grammar.pools;
    let tone = TONES[rng.below(3)];
    // Long petitions have a second matter.
    let second =
        &topic.issues[(issue + rng.between(1, topic.issues.len() as u64 - 1) as usize) % topic.issues.len()];
    let issue = &topic.issues[issue];
    let wanted = sentence_count(rng);

    let mut counts = [0usize; 8];
    counts[Fact as usize] = 1;
    for _ in 1..wanted {
        let weight = |(part, liked, most): &(Part, f64, usize)| {
            if counts[*part as usize] < *most { *liked } else { 0.0 }
        };
        let mut left = rng.unit() * LIKED.iter().map(weight).sum::<f64>();
        for entry in &LIKED {
            left -= weight(entry);
            if left < 0.0 {
                counts[entry.0 as usize] += 1;
                break;
            }
        }
    }
    counts[Greeting as usize] = usize::from(wanted > 3 && rng.chance(0.3));

    let mut facts = Picker::new(&issue.facts, rng);
    let mut details = Picker::new(&issue.details, rng);
    let mut other_facts = Picker::new(&second.facts, rng);
    let mut other_details = Picker::new(&second.details, rng);
    let mut harms = Picker::new(&topic.harms, rng);
    let mut asks = Picker::new(&topic.asks, rng);
    let mut own_asks = Picker::new(&issue.asks, rng);
    let mut priors = Picker::new(pools.pool("prior"), rng);
    let pool = |name: &str| pools.pool(name);
    let mut openings = Picker::new(pool(["open_angry", "open_polite", "open_formal"][index(tone)]), rng);
    let mut closings = Picker::new(pool(["close_angry", "close_polite", "close_formal"][index(tone)]), rng);
    let mut links = Picker::new(pool("link"), rng);
    let exclaim = if tone == "angry" { 0.3 } else { 0.02 };
    let paragraphs = wanted > 5 && rng.chance(0.35);
    let order = &ORDERS[rng.below(ORDERS.len())];
    let (mut placed, mut told) = (false, false);

    for &part in order {
        for n in 0..counts[part as usize] {
            if body.text.len() > FULL && part != Ask {
                break;
            }
            let start = body.text.len();
            let text = &mut body.text;
            let template = match part {
                Greeting => &pool("greeting")[rng.below(pool("greeting").len())],
                Opening => openings.next(),
                Fact if n == 0 => facts.next(),
                Fact => other_facts.next(),
                Detail if n < issue.details.len() => details.next(),
                Detail => other_details.next(),
                Harm => harms.next(),
                Prior => priors.next(),
                Ask if n == 0 && rng.chance(0.6) => own_asks.next(),
                Ask => asks.next(),
                Closing => closings.next(),
            };
            if part == Fact && n == 0 && !(placed && rng.chance(0.7)) {
                let leads = pool(if counts[Opening as usize] > 0 { "lead_short" } else { "lead" });
                pools.render(&leads[rng.below(leads.len())], rng, context, text);
            } else if (part == Detail || part == Harm || part == Fact) && (n > 0 || told && rng.chance(0.3)) {
                let second_matter = part == Fact && n > 0;
                let also = &pool("also")[rng.below(pool("also").len())];
                pools.render(if second_matter { also } else { links.next() }, rng, context, text);
            } else if part == Ask {
                let leads = pool(["ask_angry", "ask_polite", "ask_formal"][index(tone)]);
                pools.render(&leads[rng.below(leads.len())], rng, context, text);
            }
            placed |= part == Opening;
            told |= part == Fact;
            pools.render(template, rng, context, text);
            end(text, if rng.chance(exclaim) { '！' } else { '。' });
            let paragraph = start > 0
                && n == 0
                && (body.sentences.last().is_some_and(|s| s.part == Greeting)
                    || paragraphs && matches!(part, Detail | Prior | Ask | Closing) && rng.chance(0.6));
            body.sentences.push(Sentence { part, range: start..body.text.len(), paragraph });
        }
    }
    // A body of a few words gets a last word.
    let mut tries = 0;
    while body.text.len() < 45 * 3 && tries < 4 {
        let start = body.text.len();
        pools.render(closings.next(), rng, context, &mut body.text);
        end(&mut body.text, '。');
        body.sentences.push(Sentence { part: Closing, range: start..body.text.len(), paragraph: false });
        tries += 1;
    }
}

/// Ends a sentence that has no end yet.
pub fn end(text: &mut String, mark: char) {
    if !text.ends_with(['。', '？', '！', '：']) {
        text.push(mark);
    }
}

fn index(tone: &str) -> usize {
    TONES.iter().position(|t| *t == tone).unwrap_or(0)
}
