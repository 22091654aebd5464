//! The desk as a whole: what a user may rely on.

use petition_desk::csv;
use petition_desk::desk::{Desk, Row};
use petition_desk::measure::{background, quantile, share_from, to_source};
use petition_desk::names::{CITIES, DISTRICTS};
use petition_desk::plan::{Role, Settings};
use petition_desk::similarity::grams;
use petition_desk::vary::Variant;
use std::collections::HashSet;
use std::sync::LazyLock;

const ROWS: u64 = 20_000;

static ROWS_OF_ONE: LazyLock<Vec<Row>> = LazyLock::new(|| desk(1, ROWS).rows().collect());

fn desk(seed: u64, rows: u64) -> Desk {
    Desk::new(Settings { rows, seed, ..Settings::default() })
}

fn written(seed: u64, rows: u64) -> Vec<u8> {
    let mut out = Vec::new();
    csv::write(desk(seed, rows).rows(), &mut out).expect("a Vec takes everything");
    out
}

/// A strict reader of what COPY calls csv.
fn parse(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match (c, quoted) {
            ('"', true) if chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            ('"', true) => {
                quoted = false;
                assert!(matches!(chars.peek(), Some(',' | '\n')), "text after a closing quote");
            }
            ('"', false) => {
                assert!(field.is_empty(), "quote inside an unquoted field: {field}");
                quoted = true;
            }
            (',', false) => record.push(std::mem::take(&mut field)),
            ('\n', false) => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            _ => field.push(c),
        }
    }
    assert!(!quoted && field.is_empty() && record.is_empty(), "the last line is not complete");
    records
}

#[test]
fn same_options_give_the_same_bytes() {
    assert!(written(5, 1000) == written(5, 1000));
    assert!(written(5, 1000) != written(6, 1000));
}

#[test]
fn rows_do_not_depend_on_those_before_them() {
    assert_eq!(desk(1, ROWS).row(19_999), ROWS_OF_ONE[19_999]);
}

#[test]
fn csv_is_read_back_as_it_was() {
    let text = String::from_utf8(written(1, ROWS)).expect("UTF-8");
    let records = parse(&text);
    assert_eq!(records[0], csv::HEADER);
    assert_eq!(records.len(), ROWS as usize + 1);
    for (record, row) in records[1..].iter().zip(ROWS_OF_ONE.iter()) {
        let id = row.id.to_string();
        let cluster = row.cluster.to_string();
        let fields = [
            id.as_str(),
            &row.petitioner,
            row.department,
            &row.title,
            &row.body,
            &row.filed_at,
            &cluster,
            row.variant.name(),
        ];
        assert_eq!(record, &fields);
    }
    assert!(ROWS_OF_ONE.iter().filter(|row| row.body.contains('\n')).count() > 1000);
    assert!(!text.contains('\r') && !text.contains('\0'));
}

#[test]
fn fields_are_as_described() {
    let mut last = (0, "");
    for row in ROWS_OF_ONE.iter() {
        let length = row.title.chars().count();
        assert!((8..=40).contains(&length), "{}", row.title);
        let length = row.body.chars().count();
        assert!((30..=850).contains(&length), "{length}: {}", row.body);
        assert!((2..=4).contains(&row.petitioner.chars().count()));
        assert!(row.filed_at.as_str() >= "2019-01-01" && row.filed_at.as_str() < "2025-01-01");
        assert!((row.id, row.filed_at.as_str()) > last && row.filed_at.as_str() > last.1);
        last = (row.id, &row.filed_at);
        let odd = |c: char| "[]{}|".contains(c);
        assert!(!row.body.contains(odd) && !row.title.contains(odd), "{} {}", row.title, row.body);
        for twice in ["。。", "，，", "，。", "。，", "：。", "：，", "？。", "是是"] {
            let clumsy = row.variant != Variant::Punctuation && row.body.contains(twice);
            assert!(!clumsy, "{twice} in {}", row.body);
        }
    }
}

#[test]
fn shares_are_those_asked_for() {
    let share =
        |what: fn(&Row) -> bool| ROWS_OF_ONE.iter().filter(|row| what(row)).count() as f64 / ROWS as f64;
    let duplicates = share(|row| row.cluster != row.id);
    assert!((duplicates - 0.2).abs() < 0.01, "{duplicates}");
    let moved = share(|row| row.variant == Variant::PlaceSwapped);
    assert!((moved - 0.03).abs() < 0.005, "{moved}");
    let topics: HashSet<_> = ROWS_OF_ONE.iter().map(|row| row.topic).collect();
    assert!(topics.len() >= 12);
}

#[test]
fn clusters_hold_an_original_and_its_duplicates() {
    for row in ROWS_OF_ONE.iter() {
        let first = &ROWS_OF_ONE[row.cluster as usize - 1];
        match row.variant {
            Variant::Original | Variant::PlaceSwapped => assert_eq!(row.cluster, row.id),
            _ => {
                assert_eq!(first.variant, Variant::Original);
                assert!(first.id < row.id && first.filed_at < row.filed_at);
                assert_ne!(
                    (&first.body, &first.petitioner, &first.title),
                    (&row.body, &row.petitioner, &row.title)
                );
            }
        }
    }
}

#[test]
fn duplicates_are_like_their_originals() {
    let settings = Settings { rows: ROWS, seed: 1, ..Settings::default() };
    let mut found = to_source(&settings, &ROWS_OF_ONE);
    found.remove(&Variant::PlaceSwapped);
    assert_eq!(found.len(), 6);
    for (variant, similarities) in found {
        let near = share_from(&similarities, 0.5);
        assert!(near >= 0.99, "{variant:?}: {near}");
        let median = quantile(&similarities, 0.5);
        assert!(median > 0.8, "{variant:?}: {median}");
    }
}

#[test]
fn unrelated_petitions_of_a_topic_share_little() {
    let pairs = background(&ROWS_OF_ONE, 100_000, 1);
    let alike = share_from(&pairs, 0.2);
    assert!(alike < 0.001, "{alike}");
}

#[test]
fn moved_petitions_keep_the_story_and_lose_the_place() {
    let settings = Settings { rows: ROWS, seed: 1, ..Settings::default() };
    let mut moved = 0;
    for (n, row) in ROWS_OF_ONE.iter().enumerate() {
        if let Role::MovedFrom(source) = settings.role(n as u64) {
            let source = &ROWS_OF_ONE[source as usize];
            assert_ne!(grams(&row.body), grams(&source.body), "{}", row.body);
            assert_eq!(row.topic, source.topic);
            for place in [CITIES, DISTRICTS].concat() {
                let both = row.body.contains(place) && source.body.contains(place);
                assert!(!both, "{place} in {} and {}", row.body, source.body);
            }
            moved += 1;
        }
    }
    assert!(moved > 400);
    let similarities = &to_source(&settings, &ROWS_OF_ONE)[&Variant::PlaceSwapped];
    assert!(quantile(similarities, 0.5) > 0.6);
}
