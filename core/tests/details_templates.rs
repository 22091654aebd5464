//! Templates are learned from rows, and what stands in their slots tells two texts apart.

use dedup_core::details::{Comparer, Fillings, Kinds, Learner, Statistics, Templates};
use dedup_core::hash::mix64;
use dedup_core::random::SplitMix64;
use proptest::prelude::*;
use std::sync::Arc;

fn learned(texts: &[String]) -> Arc<Templates> {
    let mut learner = Learner::default();
    texts.iter().for_each(|text| learner.add(text));
    learner.learn(3).templates
}

fn fillings(templates: &Arc<Templates>, texts: &[String], tells: bool) -> Fillings {
    let mut fillings = Fillings::new(templates, tells);
    let mut filler = fillings.filler();
    for (text, number) in texts.iter().zip(0..) {
        filler.read(text).into_iter().for_each(|it| fillings.add(number, it).unwrap());
    }
    fillings
}

fn complaints(streets: &[&str]) -> Vec<String> {
    let text = |(number, street): (usize, &&str)| {
        format!(
            "Dear office, the lift in {street} Court, flat {}, is broken again and nobody comes to mend it.",
            3 + number % 7
        )
    };
    streets.iter().enumerate().map(text).collect()
}

const STREETS: [&str; 12] = [
    "Ashford", "Birch", "Canal", "Dover", "Elm", "Foundry", "Grange", "Harbour", "Iris", "Juniper",
    "Kestrel", "Linden",
];
const SLOTS: Kinds = Kinds { names: false, dates: false, numbers: false, slots: true };

/// Protects that other values tell apart, and that what is misspelt, inserted, or outside of slots does not.
#[test]
fn values_of_slots_tell_apart() {
    let texts = complaints(&STREETS);
    let templates = learned(&texts);
    assert_eq!(templates.count(), 1);
    let mut comparer = Comparer::new(Some(Arc::clone(&templates)));
    let mut kinds = |a: &str, b: &str| {
        comparer.differing(a, b, SLOTS).into_iter().map(|it| (it.kind, it.a, it.b)).collect::<Vec<_>>()
    };
    let of = |street: &str| complaints(&[street])[0].clone();
    assert_eq!(kinds(&of("Quarry"), &of("Rowan")), [("slot", "Quarry".into(), "Rowan".into())]);
    assert_eq!(kinds(&of("Harbour"), &of("Harbuor")), []);
    assert_eq!(kinds(&of("Harbour"), &of("Old Harbour")), []);
    assert_eq!(kinds(&of("Elm"), &of("Elm").replace("broken again", "stuck")), []);
    assert_eq!(kinds("The library opens at nine.", "The library opens at ten."), []);
    // One that nobody filled in.
    let blank = of("____ ").replace("flat 3", "flat __");
    assert_eq!(kinds(&blank, &of("Elm")), [("slot", "".into(), "Elm".into())]);
    assert_eq!(kinds(&of("Elm"), &blank), [("slot", "Elm".into(), "".into())]);
    assert_eq!(kinds(&blank, &blank.replace("broken", "stuck")), []);
    // What is known for certain without the texts is what comparing them says.
    let texts: Vec<String> = texts.into_iter().chain([blank]).collect();
    let fillings = fillings(&templates, &texts, true);
    let mut certain = 0;
    for (a, b) in (0..texts.len()).flat_map(|b| (0..b).map(move |a| (a, b))) {
        if fillings.differ([a as u32, b as u32]) {
            certain += 1;
            assert!(!kinds(&texts[a], &texts[b]).is_empty(), "{a} {b}");
        }
    }
    assert!(certain > 50, "{certain}");
    assert!((0..12).all(|row| fillings.differ([row, 12])));
}

/// Protects what somebody says of a slot: one that is freed tells nothing, whatever kind of detail stands in it; one that is
/// named tells at the foot of a letter and where the texts learned from do not differ; what fits no template is said.
#[test]
fn slots_that_are_named() {
    let text = |street: &str, who: &str, day: &str| {
        format!(
            "Dear office, the lift in {street} Court is broken again since {day}, says tenant {who} to all of us."
        )
    };
    let texts: Vec<String> =
        STREETS.iter().enumerate().map(|(at, it)| text(it, STREETS[11 - at], "Monday")).collect();
    let with = |slots: &[(&str, bool)], kinds: Kinds, a: &str, b: &str| {
        let mut learner = Learner::default();
        texts.iter().for_each(|text| learner.add(text));
        let mut statistics = learner.learn(3);
        let slots: Vec<_> = slots.iter().map(|(name, tells)| ((*name).to_owned(), *tells)).collect();
        let unknown: Vec<String> =
            statistics.name_slots(&slots, Default::default()).into_iter().map(str::to_owned).collect();
        let statistics = Statistics::read(&statistics.write()).unwrap();
        let mut comparer = Comparer::new(Some(statistics.templates));
        let mut told: Vec<String> = comparer.differing(a, b, kinds).into_iter().map(|it| it.b).collect();
        told.dedup();
        (unknown, told, comparer.slot(a, b))
    };
    let one = text("Elm", "Iris", "Monday");
    let other =
        [text("Quarry", "Iris", "Monday"), text("Elm", "Rowan", "Monday"), text("Elm", "Iris", "Tuesday")];
    let none: Vec<String> = Vec::new();
    let says = |word: &str| (none.clone(), vec![word.to_owned()]);
    let plain = |slots: &[(&str, bool)], other: &str| {
        let (unknown, told, _) = with(slots, Kinds::ALL, &one, other);
        (unknown, told)
    };
    assert_eq!((plain(&[], &other[0]), plain(&[], &other[1])), (says("Quarry"), says("Rowan")));
    for name in ["tenant ___", "says tenant _ to all", "＿＿ to all of us"] {
        assert_eq!(plain(&[(name, false)], &other[1]).1, none, "{name}");
        assert_eq!(plain(&[(name, false)], &other[0]), says("Quarry"), "{name}");
    }
    let longest = [("tenant ___", false), ("says tenant ___", true)];
    assert_eq!(plain(&longest, &other[1]), says("Rowan"), "the longest name counts");
    assert_eq!(with(&[("since ___", true)], SLOTS, &one, &other[2]).1, ["Tuesday"]);
    assert_eq!(with(&[], SLOTS, &one, &other[2]).1, none);
    let between = one.replace("again since", "once before");
    assert_eq!(with(&[("broken ___ Monday", true)], SLOTS, &one, &between).1.len(), 1);
    assert_eq!(with(&[("broken ___ Tuesday", true)], SLOTS, &one, &between).1, none);
    assert_eq!(with(&[("nobody says ___", true)], SLOTS, &one, &other[2]).0, ["nobody says ___"]);
    // A free slot frees nothing beside it: a word between two slots that both rows have otherwise, another paragraph, a code elsewhere.
    let free = [("tenant ___", false)];
    let moved = |street: &str, who: &str| {
        let text = text(street, who, "Monday");
        text.replace(
            "Court is broken again since Monday, says tenant",
            "House is stuck since Sunday, so tenant",
        )
    };
    assert!(!plain(&free, &format!("Flat 9, Quarry Yard.\n{one}")).1.contains(&"Iris".to_owned()));
    let (_, told, _) = with(&free, Kinds::ALL, &moved("Elm", "Iris"), &moved("Quarry", "Rowan"));
    assert!(!told.is_empty(), "the street differs too");
    let code = |who: &str, mail: &str| {
        one.replace("Iris", who).replace("all of us", &format!("all of us at {mail}"))
    };
    let (_, told, _) =
        with(&free, Kinds::ALL, &code("AB-1037", "a@town.gov"), &code("QX-9912", "b@county.org"));
    assert!(!told.is_empty(), "the address differs too");
    let (_, told, _) =
        with(&free, Kinds::ALL, &code("AB-1037", "a@town.gov"), &code("AB-9912", "a@town.gov"));
    assert_eq!(told, none);
    // A slot is named by as few words as tell it from the others.
    assert_eq!(with(&[], SLOTS, &one, &other[0]).2.as_deref(), Some("lift in ___"));
    assert_eq!(with(&[], SLOTS, &one, &other[1]).2.as_deref(), Some("says tenant ___"));
    assert_eq!(with(&[], SLOTS, &one, &one).2, None);
}

/// Protects values that are a letter or a word apart and come again; what is misspelt or inserted in a copy does not tell.
#[test]
fn values_that_come_again_tell_apart() {
    let text = |name: &str, street: &str| {
        format!("The parcel for {name} was left at the {street} depot and has to be fetched within a week.")
    };
    let names = ["Jensen", "Jansen", "Apex", "Apex Pro", "翠湖花园", "翠湖花园二期"];
    let places = names.iter().flat_map(|name| STREETS.iter().map(move |street| (name, street)));
    let mut texts: Vec<String> = places.map(|(name, street)| text(name, street)).collect();
    texts.extend(["Jnesen", "really Apex"].iter().flat_map(|it| STREETS[..3].iter().map(|at| text(it, at))));
    let mut comparer = Comparer::new(Some(learned(&texts)));
    let mut told =
        |a: &str, b: &str| !comparer.differing(&text(a, "Birch"), &text(b, "Birch"), SLOTS).is_empty();
    let pairs = [[0, 1], [2, 3], [4, 5]].map(|[a, b]| told(names[a], names[b]));
    let copies = ["Jnesen", "really Apex"].map(|it| [told(it, "Jensen"), told(it, "Apex")]);
    assert_eq!((pairs, copies), ([true; 3], [[false, true], [true, false]]));
}

/// Protects long forms, which are no letters: what stands at their beginning tells.
#[test]
fn a_long_form_is_no_letter() {
    let form = |code: usize| {
        format!(
            "Your code is {code}. Do not give this code to anybody, not even to somebody who says that he works for us. It is \
                 valid for ten minutes and for a single login. If you did not ask for it, somebody may know your password; please \
                 change it at once under settings. We never ask for your password by mail, by telephone or in the shop, nor do \
                 we sincerely hope to see you again."
        )
    };
    let texts: Vec<String> = (0..30).map(|at| form(100_000 + at * 7919)).collect();
    let mut comparer = Comparer::new(Some(learned(&texts)));
    assert!(!comparer.differing(&texts[1], &texts[2], SLOTS).is_empty());
    let letters: Vec<String> = texts.iter().map(|text| format!("Dear customer, {text}")).collect();
    let mut comparer = Comparer::new(Some(learned(&letters)));
    assert_eq!(comparer.differing(&letters[1].replace("Dear customer", "Dear Ann"), &letters[1], SLOTS), []);
}

/// Protects letters that many sign at their beginning: one matter, but from many estates many.
#[test]
fn who_signs_at_the_beginning_does_not_tell() {
    let body = "for years the bus came every ten minutes and the old relied on it. ".repeat(6);
    let first = ["Anna", "Ben", "Clara", "David", "Emma"];
    let letters = |head: &dyn Fn(usize) -> String| -> Vec<String> {
        (0..30).map(|at| format!("Dear Councillor, {}{body} Yours sincerely", head(at))).collect()
    };
    let signed = letters(&|at| {
        let (name, street) = (first[at % 5], STREETS[at * 7 % 12]);
        format!("I, {name} {}, living at {} {street} Street, write to you because ", STREETS[at % 12], at + 2)
    });
    let estates = letters(&|at| format!("I live in {} Court, and ", STREETS[at % 12]));
    let told = |texts: &[String]| {
        let kinds = Kinds { names: true, ..SLOTS };
        !Comparer::new(Some(learned(texts))).differing(&texts[1], &texts[2], kinds).is_empty()
    };
    assert_eq!([told(&signed), told(&estates)], [false, true]);
    // Letterheads: who sends is the same matter, what stands under a word of its own or alone is another.
    let letters = |head: &dyn Fn(usize) -> String, foot: &dyn Fn(usize) -> String| -> Vec<String> {
        (0..30).map(|at| format!("{}\n\nDear Councillor,\n\n{body}\n{}", head(at), foot(at))).collect()
    };
    let name = |at: usize| format!("{} {}son", first[at % 5], STREETS[at % 12]);
    let address = |at: usize| format!("{}\n{} {} Street", name(at), at + 2, STREETS[at * 7 % 12]);
    let yours = |at: usize| format!("Yours sincerely,\n{}", name(at));
    let tenants = |_| "Yours sincerely,\nthe tenants".to_owned();
    let list = |at: usize| {
        (0..9).map(|of| format!("{}, {}\n", name(at * 3 + of), address(at + of))).collect::<String>()
    };
    let one: [Vec<String>; 3] = [
        letters(&address, &yours),
        letters(
            &|at| {
                format!(
                    "From: {}\nTelephone: {}\nTo: the council\nDate: {} May 2024",
                    name(at),
                    5550 + at * 77,
                    at % 28 + 1
                )
            },
            &yours,
        ),
        letters(&|_| "The bus".to_owned(), &|at| format!("Yours sincerely,\n{}", list(at))),
    ];
    let many: [Vec<String>; 9] = [
        letters(&|at| format!("{} Court", STREETS[at % 12]), &tenants),
        letters(&|at| format!("{}\nRe: {} Court", address(at), STREETS[at * 5 % 12]), &yours),
        letters(&|at| format!("{}\nThe bus to {} Court", address(at), STREETS[at * 5 % 12]), &yours),
        letters(&|at| format!("From: {}\nEstate: {} Court", name(at), STREETS[at * 5 % 12]), &yours),
        letters(
            &|at| {
                format!(
                    "From: {}\n\nDear Councillor,\n\n{} Court has no bus.",
                    name(at),
                    STREETS[at * 5 % 12]
                )
            },
            &yours,
        ),
        // One sender writes about many, and so do those who sign nothing, or what is above is not who signs.
        letters(&|at| format!("Anna Bell\n12 Mill Street\n\n{} Manor", STREETS[at % 12]), &|_| {
            "Yours sincerely,\nAnna Bell".to_owned()
        }),
        letters(&|at| format!("From: the office\nAddress: {} Cottage", STREETS[at % 12]), &|_| {
            "Yours sincerely,\nthe office".to_owned()
        }),
        letters(&|at| format!("{} Lodge\n{} Mill Street", STREETS[at % 12], at + 2), &tenants),
        letters(&|_| "The bus".to_owned(), &|at| {
            format!("Signed: the tenants\nHouse: {} Court", STREETS[at % 12])
        }),
    ];
    assert_eq!((one.map(|it| told(&it)), many.map(|it| told(&it))), ([false; 3], [true; 9]));
}

/// Protects German letters: who signs one does not tell, the street that it is about does.
#[test]
fn who_signs_a_german_letter_does_not_tell() {
    let letter = |street: &str, at: usize| {
        let name = format!("{}er {}mann", STREETS[at * 5 % 12], STREETS[at % 12]);
        let body = "und die Kinder laufen auf dem Weg zur Schule über den Damm, ohne dass ein Wagen hält, "
            .repeat(4);
        format!(
            "Sehr geehrte Damen und Herren,\n\ndie Ampel in der {street}gasse geht nicht, {body}bitte richten Sie sie.\n\n\
             Mit freundlichen Grüßen\n{name}"
        )
    };
    let told = |texts: Vec<String>| {
        !Comparer::new(Some(learned(&texts))).differing(&texts[1], &texts[2], SLOTS).is_empty()
    };
    let signed = (0..30).map(|at| letter("Mühlen", at)).collect();
    let streets = (0..30).map(|at| letter(STREETS[at % 12], at)).collect();
    assert_eq!([told(signed), told(streets)], [false, true]);
}

/// Protects that Chinese letters with many signers, or a sender in their heads, are one matter, and those of other estates, or of
/// other phases of one, are others.
#[test]
fn who_sends_a_chinese_letter_does_not_tell() {
    let body = "公交车站自今年春天起被取消，没有任何部门事先通知，去最近的车站要走两公里，路上没有人行道。"
        .repeat(4);
    let family = ["王", "李", "张", "刘", "陈", "杨", "赵", "黄", "周", "吴", "徐", "孙"];
    let given = ["伟", "芳", "娜", "敏", "静", "丽", "强", "磊", "军", "洋", "勇"];
    let name = |at: usize| format!("{}{}{}", family[at % 12], given[at % 11], given[at * 5 % 11]);
    let names = |at: usize| (0..9 + at % 5).map(|of| name(at * 7 + of)).collect::<Vec<_>>().join("、");
    let estate = |at: usize| {
        let of = ["翠湖", "阳光", "金色", "滨江", "幸福", "锦绣", "海棠", "星河"][at % 8];
        let phase = if at < 16 { String::new() } else { format!("{}期", at / 8) };
        format!("{of}{}{phase}", ["花园", "家园"][at / 8 % 2])
    };
    let letters = |of: &dyn Fn(usize) -> String| -> Vec<String> { (0..32).map(of).collect() };
    let sent = letters(&|at| {
        format!(
            "投诉人：{}\n电话：{}\n尊敬的领导：\n您好！{body}\n此致\n敬礼",
            name(at),
            13_800_000 + at * 7919
        )
    });
    let signed = letters(&|at| format!("尊敬的领导：\n您好！{body}\n此致\n敬礼\n{}", names(at)));
    let listed = letters(&|at| format!("尊敬的领导：\n您好！{body}\n联名人：{}", names(at)));
    let titled = letters(&|at| format!("{}\n尊敬的领导：\n您好！{body}\n此致\n敬礼", estate(at)));
    let about = letters(&|at| {
        format!("投诉人：{}\n小区：{}\n尊敬的领导：\n您好！{body}\n此致\n敬礼", name(at), estate(at))
    });
    let told = |texts: &[String]| {
        let mut comparer = Comparer::new(Some(learned(texts)));
        let kinds = Kinds { names: true, ..SLOTS };
        (1..32).filter(|&at| !comparer.differing(&texts[0], &texts[at], kinds).is_empty()).count()
    };
    assert_eq!([sent, signed, listed, titled, about].map(|texts| told(&texts)), [0, 0, 0, 31, 31]);
}

/// Protects that copies of one long letter whose words were replaced by others are no template, and letters of streets are.
#[test]
fn a_letter_that_was_reworded_is_no_template() {
    let words = |street: &str, at: usize| {
        let reworded = |of: usize, word: &str| match (at + of) % 4 {
            0 => format!("{word}er"),
            1 if of.is_multiple_of(2) => format!("{word}ing"),
            _ => word.to_owned(),
        };
        let body = (0..66)
            .map(|of| if of % 11 == 5 { reworded(of, "mend") } else { format!("word{}", of * 7 % 66) });
        format!("Dear office, in {street} Court {}.", body.collect::<Vec<_>>().join(" "))
    };
    let copies: Vec<String> = (0..24).map(|at| words("Elm", at)).collect();
    assert_eq!(learned(&copies).count(), 0);
    let letters: Vec<String> = STREETS.iter().zip(0..).map(|(street, at)| words(street, at)).collect();
    assert_eq!(learned(&letters).count(), 1);
}

/// Protects forms with a list, in which words come and go: the number beside it tells two of them apart.
#[test]
fn a_list_hides_no_slot() {
    let ballot = |n: u64| {
        let mut random = SplitMix64::new(n);
        let mut names = STREETS.to_vec();
        names.sort_by_key(|_| random.next());
        format!(
            "Ballot number {} of the election of the board. I have read the notice, and rank those who stand for it as follows: {}. \
             I have filled in no other ballot than this one, and know that the count will be made in public.",
            7919 * (n + 13),
            names.join(", ")
        )
    };
    let texts: Vec<String> = (0..40).map(ballot).collect();
    let templates = learned(&texts);
    assert_eq!(templates.count(), 1);
    let mut comparer = Comparer::new(Some(templates));
    let again = texts[0].replace(&(7919 * 13).to_string(), "4711");
    assert_eq!(comparer.differing(&texts[0], &again, SLOTS)[0].a, (7919 * 13).to_string());
    assert_eq!(comparer.differing(&texts[0], &texts[0].replace("have filled in", "filled in"), SLOTS), []);
}

/// Protects rankings and amounts in words: the same words in another order are another value where they have many orders, and
/// where they count.
#[test]
fn the_order_of_words_tells() {
    let ranking = |n: u64, count: usize| {
        let mut random = SplitMix64::new(n);
        let mut names = STREETS[..count].to_vec();
        names.sort_by_cached_key(|_| random.next());
        format!(
            "I have read the notice of the board about the election that is held in the spring, and rank those who stand for it as \
             follows: {}. I know that all is counted in public, that nobody but the clerk may open the box in which the ballots lie, \
             that those of people who live elsewhere are taken along if they came before noon, and that none counts twice.",
            names.join(", ")
        )
    };
    for count in [7, 12] {
        let texts: Vec<String> = (0..40).map(|n| ranking(n, count)).collect();
        let templates = learned(&texts);
        let fillings = fillings(&templates, &texts, true);
        let told = (1..40).filter(|&other| fillings.differ([0, other])).count();
        assert!(told > 35, "{told} of 39 lists of {count}");
        let mut comparer = Comparer::new(Some(templates));
        assert_ne!(comparer.differing(&texts[0], &texts[1], SLOTS), []);
        assert_eq!(comparer.differing(&texts[0], &texts[0].replace("have read", "read"), SLOTS), []);
    }

    // Copies of a few petitions whose signers stand in any order.
    let petition = |n: u64| {
        let lists = ranking(n, 12);
        let (_, names) = lists.split_once("follows: ").unwrap();
        let at = n as usize % 3;
        // Others sign for another street.
        let (street, own) = (STREETS[at], ["son", "well", "ham"][at]);
        let names = names.split_once('.').unwrap().0.replace(',', &format!("{own},")) + own;
        format!(
            "The lift in {street} Court is broken again, and all of us ask the office to mend it before the winter: {names}."
        )
    };
    let texts: Vec<String> = (0..40).map(petition).collect();
    let mut comparer = Comparer::new(Some(learned(&texts)));
    assert_eq!(comparer.differing(&texts[0], &texts[3], SLOTS), []);
    assert_ne!(comparer.differing(&texts[0], &texts[1], SLOTS), []);

    let cheque = |amount: &str| {
        format!(
            "The undersigned promises to pay the sum of {amount} dollars to the bearer of this note, at any office of the bank."
        )
    };
    let (ones, tens) =
        (["two", "three", "four", "six", "seven", "nine"], ["ten", "twenty", "thirty", "forty"]);
    let amounts = ones.iter().zip((0..4).cycle()).flat_map(|(one, at)| {
        [
            format!("{} thousand and {one}", tens[at]),
            format!("{one} hundred and {}", tens[at]),
            format!("{one} thousand {}", tens[at]),
        ]
    });
    let mut comparer =
        Comparer::new(Some(learned(&amounts.map(|amount| cheque(&amount)).collect::<Vec<_>>())));
    let mut differ = |a: &str, b: &str| !comparer.differing(&cheque(a), &cheque(b), SLOTS).is_empty();
    assert!(differ("two hundred and six thousand and four", "two hundred and four thousand and six"));
    assert!(differ("two thousand", "two thousand and two"));
    assert!(!differ("two thousand and six", "two thousand six"));
}

/// Protects sheets of answers, of which each has few values: all of them together tell two sheets apart; and lists of the same words
/// that say other things with them.
#[test]
fn answers_and_what_is_counted_tell() {
    let form = |filled: &str| {
        format!(
            "I have seen the notice of the board, have understood what the meeting is about, and answer in my own name and in nobody \
             else's, as it was asked for. {filled} I know that what comes after noon is left out, that nobody but the clerk may open \
             the box, and that I shall be told what became of it before the end of the month that follows."
        )
    };
    let told = |texts: &[String]| {
        let mut comparer = Comparer::new(Some(learned(texts)));
        let pairs = texts.windows(2).filter(|pair| comparer.differ(&pair[0], &pair[1], SLOTS)).count();
        assert!(!comparer.differ(&texts[0], &texts[0].replace("have seen", "saw"), SLOTS));
        pairs
    };
    let random = |n: usize| {
        let mut random = SplitMix64::new(n as u64);
        move |most: u64| random.next() % most
    };
    let answers = |n: usize, each: fn(u64, &str) -> String| {
        let mut random = random(n);
        let all = (1..16).map(|at| each(at, ["yes", "no"][random(2) as usize])).collect::<Vec<_>>();
        form(&(all.join(" ") + "."))
    };
    let numbered: Vec<String> = (0..40).map(|n| answers(n, |at, it| format!("Item {at}: {it}."))).collect();
    assert_eq!(told(&numbered), 39);
    let in_order: Vec<String> = (0..40).map(|n| answers(n, |_, it| it.to_owned())).collect();
    assert!(told(&in_order) > 37);
    // Most say no; two that were copied with a slip are one.
    let rare = |n: usize| {
        let mut random = random(n);
        let all = (1..41).map(|at| {
            format!("Part {at} is worn: {}.", ["yes", "unknown", "no"][random(20).min(2) as usize])
        });
        form(&all.collect::<Vec<_>>().join(" "))
    };
    let rarely: Vec<String> = (0..100).map(rare).collect();
    assert!(told(&rarely) >= 97);
    assert!(!Comparer::new(Some(learned(&rarely))).differ(
        &rarely[0],
        &rarely[0].replace("Part 7", "Prat 7"),
        SLOTS
    ));
    // The same numbers of other things, and the same things in another order.
    let order = |n: usize| {
        let mut random = random(n);
        let mut goods: Vec<String> = (1..7).map(|at| format!("{} {}", 1 + random(9), STREETS[at])).collect();
        goods.sort_by_cached_key(|_| random(u64::MAX));
        form(&format!("I order {}.", goods.join(", ")))
    };
    let orders: Vec<String> = (0..40).map(order).collect();
    assert_eq!(told(&orders), 39);
    let mut comparer = Comparer::new(Some(learned(&orders)));
    let goods = |text: &str| {
        let (_, goods) = text.split_once("I order ").unwrap();
        goods.split_once('.').unwrap().0.to_owned()
    };
    let first = goods(&orders[0]);
    let turned: Vec<&str> = first.split(", ").collect::<Vec<_>>().into_iter().rev().collect();
    assert!(!comparer.differ(&orders[0], &form(&format!("I order {}.", turned.join(", "))), SLOTS));
}

/// Protects the speed of forms with long lists: that two of them are others is known without the texts.
#[test]
fn long_lists_are_told_at_a_glance() {
    let order = |at: usize| {
        let list =
            (0..8).map(|it| format!("{} {}", 1 + (at * 5 + it * 3) % 40, STREETS[(at + it * it) % 12]));
        let list = list.collect::<Vec<_>>().join(", ");
        format!(
            "Dear shop, please bring to my door this week: {list}. Leave the box with the neighbours if nobody is there."
        )
    };
    let texts: Vec<String> = (0..24).map(order).collect();
    let templates = learned(&texts);
    assert_eq!(templates.count(), 1);
    let fillings = fillings(&templates, &texts, true);
    let told = (1..24).filter(|&other| fillings.differ([0, other])).count();
    assert!(told >= 20, "{told} of 23");
}

/// Protects tables of forms that all are near each other: what is marked apart differs for certain, and few pairs that do are
/// left to be looked at; values that may be misspelt, and places left empty, are apart from nothing.
#[test]
fn rows_of_forms_are_marked_apart() {
    let pick =
        |row: u64, field: u64, of: &[&'static str]| of[(mix64(row << 8 | field) % of.len() as u64) as usize];
    let form = |row: u64| {
        let answer = |field: u64| pick(row, field, &["yes", "no", "none", ""]);
        format!(
            "Do you own a car: {}\nDo you rent a flat: {}\nHave you got a pet: {}\nNumber of the house: {}\nColour of its door: {}\nWho lives there: {} children",
            answer(1),
            answer(2),
            answer(3),
            mix64(row) % 900,
            pick(row, 4, &["purple", "purpel", "yellow", "orange"]),
            pick(row, 5, &["three", "seven", "eleven"]),
        )
    };
    let texts: Vec<String> = (0..1500).map(form).collect();
    let templates = learned(&texts);
    let marks = |texts: &[String], tells| fillings(&templates, texts, tells).marks(texts.len()).unwrap();
    let (few, untold) = (marks(&texts[..300], true), marks(&texts, false));
    let (fillings, marks) = (fillings(&templates, &texts, true), marks(&texts, true).unwrap());
    let (mut differ, mut apart) = (0, 0);
    for (a, b) in (0..texts.len()).flat_map(|b| (0..b).map(move |a| (a, b))) {
        let is_apart = marks[a].is_apart(&marks[b]);
        let certain = fillings.differ([a as u32, b as u32]);
        assert!(certain || !is_apart, "{} / {}", texts[a], texts[b]);
        differ += usize::from(certain && marks[a].known != 0 && marks[b].known != 0);
        apart += usize::from(is_apart);
    }
    assert!(apart > 500_000 && differ - apart < differ / 100, "{apart} of {differ}");
    // Few forms are not worth it, and where slots do not count nothing is apart.
    assert_eq!([few, untold], [None, None]);
}

/// Protects that few texts, and texts that have little in common, have no template.
#[test]
fn what_is_rare_or_loose_is_no_template() {
    assert_eq!(learned(&complaints(&STREETS[..8])).count(), 0);
    let loose = |at: usize| {
        (0..20).map(|word| STREETS[(at * 5 + word * 7 + at * word) % 12]).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(learned(&(0..40).map(loose).collect::<Vec<_>>()).count(), 0);
}

proptest! {
    /// What is written is read again, the order of the rows says nothing, and no bytes do harm.
    #[test]
    fn templates_outlive_being_written(order in Just((0..12usize).collect::<Vec<_>>()).prop_shuffle(), hex in "[0-9a-fg]{0,200}") {
        let texts = complaints(&STREETS);
        let templates = learned(&texts);
        let shuffled: Vec<String> = order.iter().map(|&at| texts[at].clone()).collect();
        let loud = texts.iter().map(|text| text.to_uppercase() + "!").chain(shuffled).collect::<Vec<_>>();
        prop_assert_eq!(&learned(&loud), &templates);
        let mut learner = Learner::default();
        texts.iter().for_each(|text| learner.add(text));
        let mut all = learner.learn(3);
        all.name_slots(&[("lift in ___".to_owned(), false)], Default::default());
        prop_assert_eq!(Statistics::read(&all.write()), Some(all));
        if let Some(read) = Statistics::read(&hex) {
            prop_assert_eq!(Statistics::read(&read.write()), Some(read));
        }
    }

    /// What is known for certain without the texts is what comparing them says, whatever the values.
    #[test]
    fn what_is_certain_is_so(values in prop::collection::vec("[a-d]{2,6}( [a-d]{1,5}){0,6}|[翠湖春天园]{1,4}|[a-c]{3}[0-9]{2}", 12..20)) {
        let values: Vec<&str> = values.iter().map(|it| &**it).collect();
        let texts = complaints(&values);
        let templates = learned(&texts);
        let fillings = fillings(&templates, &texts, true);
        let mut comparer = Comparer::new(Some(templates));
        for (a, b) in (0..texts.len()).flat_map(|b| (0..b).map(move |a| (a, b))) {
            if fillings.differ([a as u32, b as u32]) {
                prop_assert!(!comparer.differing(&texts[a], &texts[b], SLOTS).is_empty(), "{} / {}", values[a], values[b]);
            }
        }
    }

    /// Any texts may be compared, and the order of the two does not matter.
    #[test]
    fn any_two_texts_go(a in "\\PC{0,60}", b in "\\PC{0,60}") {
        let mut comparer = Comparer::new(Some(learned(&complaints(&STREETS))));
        let mixed = format!("Dear office, the lift in {a} Court, flat {b}, is broken again and nobody comes to mend it.");
        for (x, y) in [(&a, &b), (&a, &mixed), (&mixed, &b)] {
            let there = comparer.differing(x, y, Kinds::ALL).is_empty();
            prop_assert_eq!(there, comparer.differing(y, x, Kinds::ALL).is_empty());
        }
    }
}
