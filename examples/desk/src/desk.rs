//! The desk: any row of it, computed from the row's number.

use crate::calendar;
use crate::compose::{Body, compose, end};
use crate::context::{Context, Person, Place};
use crate::grammar::{Grammar, Topic};
use crate::names::FIRMS;
use crate::plan::{Role, Settings, stream};
use crate::rng::Rng;
use crate::vary::{self, Variant};

/// A row of the desk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Counted from 1.
    pub id: u64,
    /// Who filed it.
    pub petitioner: String,
    /// Where it was sent.
    pub department: &'static str,
    /// The title.
    pub title: String,
    /// The text.
    pub body: String,
    /// When it was filed.
    pub filed_at: String,
    /// The id of the first row of its cluster.
    pub cluster: u64,
    /// How it was made.
    pub variant: Variant,
    /// The topic, for measuring; not written out.
    pub topic: &'static str,
}

/// The desk.
#[derive(Debug)]
pub struct Desk {
    settings: Settings,
    grammar: Grammar,
}

impl Desk {
    /// A desk with these settings.
    pub fn new(settings: Settings) -> Self {
        Desk { settings, grammar: Grammar::new() }
    }

    /// The rows in order.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        (0..self.settings.rows).map(|row| self.row(row))
    }

    fn rng(&self, stream: u64, number: u64) -> Rng {
        Rng::new(self.settings.seed, stream, number)
    }

    fn filed(&self, row: u64) -> (i64, u64) {
        calendar::filed(row, self.settings.rows, self.rng(stream::TIME, row).unit())
    }

    fn place(&self, row: u64) -> Place {
        Place::draw(&mut self.rng(stream::PLACE, row))
    }

    /// Row `row`, counted from 0.
    pub fn row(&self, row: u64) -> Row {
        let role = self.settings.role(row);
        let source = match role {
            Role::Original => row,
            Role::DuplicateOf(source) | Role::MovedFrom(source) => source,
        };
        let mut rng = self.rng(stream::VARIANT, row);

        // What the original says, and how its slots are filled for this row.
        let mut text_rng = self.rng(stream::TEXT, source);
        let topic = &self.grammar.topics[text_rng.below(self.grammar.topics.len())];
        let issue = text_rng.below(topic.issues.len());
        let firms = [text_rng.pick(FIRMS), text_rng.pick(FIRMS)];
        let subject_rng = text_rng.clone();
        let mut context = Context {
            place: self.place(source),
            person: Person::draw(&mut self.rng(stream::PERSON, source)),
            kind: topic.text.kind,
            firms,
            day: self.filed(source).0,
            subject: &topic.issues[issue].subject,
            subject_rng,
        };
        if let Role::MovedFrom(_) = role {
            context.place = Place::draw_unlike(&mut self.rng(stream::PLACE, row), &context.place);
        }
        let draft = |context: &Context| {
            let mut body = Body::default();
            compose(&self.grammar, topic, issue, context, &mut text_rng.clone(), &mut body);
            body
        };
        let mut body = draft(&context);
        let mut variant = match role {
            Role::Original => Variant::Original,
            Role::DuplicateOf(_) => Variant::draw(&mut rng, &body),
            Role::MovedFrom(_) => Variant::PlaceSwapped,
        };
        let somebody_else = match variant {
            Variant::Original => false,
            Variant::Refiled | Variant::PlaceSwapped => true,
            _ => rng.chance(0.5),
        };
        if somebody_else {
            context.person = Person::draw(&mut self.rng(stream::PERSON, row));
            body = draft(&context);
        }
        let text = self.vary(topic, &context, &mut variant, &mut body, &mut rng);

        let as_before = rng.chance(0.65);
        let form = self.rng(stream::FORM, if as_before { source } else { row });
        let (day, second) = self.filed(row);
        let mut filed_at = String::with_capacity(19);
        calendar::push_timestamp(day, second, &mut filed_at);
        Row {
            id: row + 1,
            department: department(topic, &mut form.clone()),
            title: self.title(&context, form),
            body: text,
            filed_at,
            cluster: if let Role::DuplicateOf(source) = role { source + 1 } else { row + 1 },
            variant,
            topic: topic.text.name,
            petitioner: context.person.name,
        }
    }

    /// Writes the body in the way `variant` says.
    fn vary(
        &self,
        topic: &Topic,
        context: &Context,
        variant: &mut Variant,
        body: &mut Body,
        rng: &mut Rng,
    ) -> String {
        match variant {
            Variant::SentenceAdded => {
                let sentence = self.another_sentence(topic, context, body.text.len() / 2, rng);
                vary::add_sentence(body, &sentence, rng);
            }
            Variant::SentenceDropped => vary::drop_sentence(body, rng),
            Variant::Reordered => vary::reorder(body, rng),
            _ => {}
        }
        let mut text = String::with_capacity(body.text.len() + 64);
        vary::write(body, &mut text);
        let mut other = String::new();
        match variant {
            Variant::WordsSwapped => {
                other.reserve(text.len() + 64);
                if !vary::swap_words(&text, rng, &mut other) {
                    *variant = Variant::Punctuation;
                    other.clear();
                    vary::repunctuate(&text, rng, &mut other);
                }
                other
            }
            Variant::Punctuation => {
                other.reserve(text.len() + 64);
                vary::repunctuate(&text, rng, &mut other);
                other
            }
            _ => text,
        }
    }

    /// A sentence of at most about `most` bytes that somebody might add.
    fn another_sentence(&self, topic: &Topic, context: &Context, most: usize, rng: &mut Rng) -> String {
        let pools = &self.grammar.pools;
        let mut best = String::new();
        for _ in 0..8 {
            let pool = match rng.below(4) {
                0 => &topic.harms,
                1 => &topic.asks,
                2 => pools.pool("prior"),
                _ => pools.pool("close_polite"),
            };
            let mut text = String::new();
            pools.render(&pool[rng.below(pool.len())], rng, context, &mut text);
            end(&mut text, '。');
            if best.is_empty() || text.len() < best.len() {
                best = text;
            }
            if best.len() <= most {
                break;
            }
        }
        best
    }

    /// A title of 8 to 40 characters.
    fn title(&self, context: &Context, mut rng: Rng) -> String {
        let pool = self.grammar.pools.pool("title");
        let mut title = String::new();
        for _ in 0..20 {
            title.clear();
            let template = &pool[rng.below(pool.len())];
            self.grammar.pools.render(template, &mut rng, context, &mut title);
            if (8..=40).contains(&title.chars().count()) {
                break;
            }
        }
        title
    }
}

/// The department, mostly under the first of its names.
fn department(topic: &Topic, rng: &mut Rng) -> &'static str {
    let names = topic.text.departments;
    if rng.chance(0.6) { names[0] } else { rng.pick(names) }
}
