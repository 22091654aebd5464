//! The pipeline from the rows of a source to their groups. What is between is [`dedup_core::dedup`].

use super::ahead::{Ahead, Guess, Rows};
use super::shape::{Shape, Sides};
use crate::banding::raise_lengths;
use crate::pg::{
    Argument, Column, Progress, QueryHost, TempFile, UniqueIds, ValueType, Values, for_each_of_query, notice,
    raise_too_much, sketch_memory, threads, unwrap_or_raise, within_memory_limit, work_memory,
};
use crate::similarity::check_length;
use crate::table::{
    DecisionTable, Options, SAMPLE, Sampler, Settings, Source, Written, announce_implied, choose_columns,
    distance_of_hashes, key,
};
use dedup_core::dedup::{self, Comparable, EqualTexts, Limits, Method, Sink, making};
use dedup_core::evaluate::emptying;
use dedup_core::fingerprint::{Prints, parts_of_written};
use dedup_core::interrupt::checked;
use dedup_core::memory::{OrRaise, Room, collect};
use dedup_core::records::{Field, Records, SURE, UNSURE, Unsure};
use pgrx::pg_sys;
use std::f64::consts::LN_2;

/// What is found of the rows of a source.
pub(crate) type Found = dedup::Found<TempFile>;

pub(super) type Write<'i> = Box<dyn FnMut(&Values<'_>, &mut Vec<u8>) + 'i>;

/// What writes the ids of a source, which are kept as `of` and given back as the type `result`; `call` is how the function is called.
pub(super) fn writes<'i>(
    of: &'i mut Option<ValueType>,
    result: pg_sys::Oid,
    call: &'i str,
) -> impl FnOnce(&[Column]) -> Write<'i> {
    move |columns| {
        let of = &*of.insert(ValueType::of_result(&columns[0], result, call));
        Box::new(|row, bytes| of.write_id(row, bytes))
    }
}

/// How ids are kept once the rows are read: a query that returns rows has columns.
pub(super) fn told(ids: Option<ValueType>) -> ValueType {
    ids.unwrap_or_else(|| unreachable!("the columns are told before the rows"))
}

/// All stages. `begin` gets the columns of the query, and what it returns writes a row's id; `beside` and `others` are
/// columns that are read besides. Returns the options too, with those that the table's settings or the texts decided.
pub(crate) fn find<E: FnMut(&Values<'_>, &mut Vec<u8>)>(
    function: Sink,
    source: &Source,
    mut written: Written,
    (beside, others): (Vec<String>, Vec<String>),
    progress: &Progress,
    begin: impl FnOnce(&[Column]) -> E,
) -> (Written, Found) {
    if let Source::Table(table) = source {
        choose_columns(function.name, table, &mut written);
    }
    let settings = Settings::complete(source.oid(), &mut written);
    let mut options = Options::of(&written);
    settings.iter().for_each(|it| it.tell_age());
    // What is learned of one table is not what two sides tell.
    let known = settings.filter(|_| !(options.sides && options.method == Method::Records));
    options.know(known.and_then(|it| it.statistics(&options.columns, options.alike.normal)));
    (options.beside, options.others) = (beside, others);
    if options.method == Method::Records {
        // What is compared is read anyway: all columns of a query, those of a table that are named.
        match source {
            Source::Table(table) => {
                let compared = table.texts(options.id.as_deref(), &options.columns);
                options.others.retain(|name| !compared.contains(&name.as_str()));
            }
            Source::Query(_) => options.others.clear(),
        }
    }
    let query = options.query(source);
    find_in(function, vec![(&query, source, begin)], (written, options, true), None, progress)
}

/// As [`find`], of rows that queries read of their sources, with these options: those that are open are chosen, if they may
/// be. The second of two is the other side.
pub(super) fn find_in<B: FnOnce(&[Column]) -> E, E: FnMut(&Values<'_>, &mut Vec<u8>)>(
    function: Sink,
    of: Vec<(&str, &Source, B)>,
    (mut written, mut options, may_choose): (Written, Options, bool),
    hashed: Option<&mut Vec<i64>>,
    progress: &Progress,
) -> (Written, Found) {
    let table = of.first().and_then(|it| it.1.oid());
    let mut sampler = (may_choose && written.lets_texts_choose()).then(Sampler::default);
    let guess = (sampler.is_some() && !written.has("recipe") && !written.has("fp")).then(Guess::default);
    let proven = |source: &Source| source.has_unique_ids(options.id.as_deref());
    let inputs =
        of.into_iter().map(|(query, source, begin)| (query, &[][..], proven(source), begin)).collect();
    let sampling = (sampler.as_mut(), guess.as_ref());
    let (mut rows, hashes) = read(inputs, &options, sampling, hashed, progress);
    if let Some(sampler) = sampler {
        let near = |row: &usize| rows.has_fp(*row);
        let prints = || (0..rows.count()).filter(near).map(|row| rows.fps[row]).take(SAMPLE).collect();
        let chosen = sampler.suggest(Some(&written), options.fp.as_ref().map(|_| prints()));
        if guess.is_some_and(|guess| !guess.is(chosen.as_ref().map(|chosen| &chosen.recipe))) {
            checked(&mut rows.kinds)
                .filter(|kind| **kind == Comparable::Near)
                .for_each(|kind| *kind = Comparable::Plain);
        }
        if let Some(chosen) = chosen {
            chosen.complete(&mut written, function.name);
            options = Options::of(&written);
        }
        // What some recipe leaves nothing of counts as empty until one is chosen.
        for row in
            checked(0..rows.count()).filter(|&row| rows.kinds[row] == Comparable::Empty).collect::<Vec<_>>()
        {
            if Comparable::of(&unwrap_or_raise(rows.texts.content(row)), &options.recipe) != Comparable::Empty
            {
                rows.kinds[row] = Comparable::Plain;
            }
        }
    }
    if may_choose && options.method == Method::Hash && !written.has("distance") {
        let count = rows.count();
        let some = (0..count).filter(|&row| rows.has_fp(row)).step_by(count.div_ceil(SAMPLE).max(1));
        let words = collect(some.flat_map(|row| rows.hash(row))).or_raise();
        let prints = Prints::of_parts(&words, rows.parts());
        written.add("distance", distance_of_hashes(function.name, prints, count as u64).into());
        let chosen = Options::of(&written);
        (options, options.beside, options.others) = (chosen, options.beside, options.others);
    }
    announce_implied(function.name, written.implied);
    options.of_rows = Settings::count_more(table, options.fp.as_deref());
    let found = stages(&options, rows, hashes, progress);
    if let Some(records) = &found.groups.records {
        if options.alike.records().is_none() {
            announce(function.name, records, &found.rows.columns);
        }
        announce_unsure(function.name, records.unsure);
    }
    (written, found)
}

/// The stages after reading.
pub(super) fn stages(
    options: &Options,
    rows: Rows,
    hashes: EqualTexts<TempFile>,
    progress: &Progress,
) -> Found {
    if options.method == Method::Text
        && let Some(row) = (0..rows.count()).max_by_key(|&row| rows.texts.bytes(row))
    {
        check_length(&row.to_string(), rows.texts.bytes(row));
    }
    if options.method == Method::Fingerprint && options.distance.is_some() {
        within_memory_limit(rows.bytes_to_compare(&options.alike));
    }
    let (recipe, by_fp, mut host) =
        (&options.recipe, options.compares_rows(), QueryHost::reporting(progress));
    unwrap_or_raise(dedup::find((**options).clone(), recipe, rows, hashes, by_fp, limits(), &mut host))
}

pub(crate) fn limits() -> Limits {
    Limits { memory: work_memory(), sketches: sketch_memory(), threads: threads() }
}

/// Pairs that differ in the same columns and nothing else from which on that is told.
const MANY: usize = 10;

/// The name of what is compared.
pub(crate) fn name_of(field: Field, columns: &[String]) -> String {
    match field {
        Field::Column(column) => format!("\"{}\"", columns[column]),
        Field::Identifiers => "identifiers".to_owned(),
        Field::Relatives => "relatives".to_owned(),
    }
}

/// Emits a notice of what agreement tells.
fn announce(function: &str, records: &Records, columns: &[String]) {
    let name = |field| name_of(field, columns);
    let weight = |(field, none, full)| format!("{} {:.1} to {:.1}", name(field), none / LN_2, full / LN_2);
    let told: Vec<String> = records.weights().map(weight).collect();
    let what = format!("{function} learned what agreement tells");
    let detail = match &told[..] {
        [] => "No column tells one row from another.".to_owned(),
        told => format!("Weights in bits, from no agreement to a full one: {}.", told.join(", ")),
    };
    notice(what, detail, "");
    let apart = |(fields, pairs): (Vec<Field>, usize)| {
        format!("{pairs} pairs differ in {}", fields.into_iter().map(name).collect::<Vec<_>>().join(" and "))
    };
    let many: Vec<String> = records.apart().filter(|it| it.1 >= MANY).map(apart).collect();
    if !many.is_empty() {
        notice(
            format!("{function} leaves rows apart that agree in whatever else identifies"),
            format!("Too often for faults, {}.", many.join(", ")),
            "A column that does not tell what a row is of, as the day when it was written, is left out by naming the others with columns.",
        );
    }
}

/// Emits a notice of what a person should look at before rows go.
fn announce_unsure(function: &str, Unsure { apart, joined }: Unsure) {
    if apart + joined > 0 {
        notice(
            format!("{function} is not sure of all pairs"),
            format!(
                "Of one thing with a probability from {UNSURE} to {SURE}: kept apart {apart}, taken together {joined}."
            ),
            "dedup_review shows those whose answer tells most; dedup_explain, what each column told.",
        );
    }
}

/// What it is given. Its bound makes a closure that begins to read a query one of columns of any lifetime, which the compiler
/// does not infer of a variable.
pub(super) fn once<B: FnOnce(&[Column]) -> E, E: FnMut(&Values<'_>, &mut Vec<u8>)>(begin: B) -> B {
    begin
}

/// Reads all rows, and makes fingerprints meanwhile. Returns the hashes of their contents too, which `hashed` gets as well: 0
/// of one that equals nothing. `sampler` sees the contents if options are to be chosen by them, `guess` stands for a recipe
/// that is one of these. Ids that are not `proven` to differ are compared.
pub(super) fn read<B: FnOnce(&[Column]) -> E, E: FnMut(&Values<'_>, &mut Vec<u8>)>(
    inputs: Vec<(&str, &[Argument], bool, B)>,
    options: &Options,
    (mut sampler, guess): (Option<&mut Sampler>, Option<&Guess>),
    mut hashed: Option<&mut Vec<i64>>,
    progress: &Progress,
) -> (Rows, EqualTexts<TempFile>) {
    let mut rows = Rows::new(TempFile::new(), options.keep.clone());
    rows.decisions =
        options.decisions.as_deref().map(|it| DecisionTable::named(it).all()).unwrap_or_default();
    let mut hashes = EqualTexts::new(work_memory(), TempFile::new());
    let mut sides = Sides::default();
    progress.stage("reading", "rows", None);
    let recipe = || guess.map_or(&options.recipe, Guess::recipe);
    let emptying = guess.map(|_| emptying());
    let kind = |content: &str| match (&emptying, content.chars().next()) {
        // No recipe that may be chosen has such stop words or markup that begins so: most texts of Chinese.
        (Some(_), Some('\u{4E00}'..='\u{9FFF}')) => Comparable::Near,
        (emptying, _) => Comparable::of(content, emptying.as_ref().unwrap_or(&options.recipe)),
    };
    let by_hash = options.method == Method::Hash;
    let makes = options.fp.is_none()
        && options.distance.is_some()
        && !matches!(options.method, Method::Records | Method::Hash);
    let reading = making(&recipe, threads(), &mut QueryHost::reporting(progress), |making| {
        let mut ahead = Ahead::new(making, guess);
        for (side, (query, arguments, proven, begin)) in inputs.into_iter().enumerate() {
            let mut unique = None;
            for_each_of_query(query, arguments, |columns| {
                let shape = Shape::of(columns, options);
                shape.tell_left_out(columns, options);
                let mut write_id = begin(columns);
                unique = (!proven).then(|| UniqueIds::new(&columns[0]));
                let unique = &mut unique;
                let (hashes, rows, ahead, sides) = (&mut hashes, &mut rows, &mut ahead, &mut sides);
                let (sampler, hashed) = (&mut sampler, &mut hashed);
                rows.columns = shape.names(columns);
                let id_type = (!rows.decisions.are_none()).then(|| columns[0].base_type());
                let mut bytes = Vec::new();
                move |row| {
                    progress.step();
                    bytes.clear();
                    write_id(row, &mut bytes);
                    unique.iter_mut().for_each(|unique| unique.add(row));
                    let content = shape.content(row);
                    if let (Some(sampler), Some(content)) = (&mut *sampler, &content) {
                        sampler.add(content);
                    }
                    let hash = content.as_deref().filter(|_| by_hash).and_then(parts_of_written);
                    let kind = match &hash {
                        Some(_) => Comparable::Near,
                        None => content.as_deref().map_or(Comparable::Empty, &kind),
                    };
                    let fp = hash.as_ref().map_or_else(|| shape.fp(row).flatten(), |it| it.first().copied());
                    let (kind, fp) = match (kind, fp) {
                        (Comparable::Near, None) => (Comparable::Plain, 0),
                        // Of other columns, which must be equal too.
                        (kind, fp) => (kind, fp.unwrap_or_default()),
                    };
                    let number = rows.count();
                    if number == u32::MAX as usize {
                        raise_too_much("dedup of more than 4294967295 rows", "Take the rows in parts.")
                    }
                    if !options.keep.is_by_number() {
                        let rank = shape.rank(row, &options.keep, number as i64, content.as_deref());
                        rows.order.ranks.room(1).or_raise();
                        rows.order.ranks.push(rank);
                    }
                    let number =
                        unwrap_or_raise(rows.add(&bytes, content.as_deref().unwrap_or(""), kind, fp));
                    if by_hash && !unwrap_or_raise(rows.add_rest(hash.as_ref().map(|it| &it[1..]))) {
                        raise_lengths(64 * rows.parts() as i32, 64 * hash.map_or(0, |it| it.len()) as i32)
                    }
                    if let Some(id) = id_type.and_then(|typoid| key(row, 0, typoid)) {
                        unwrap_or_raise(rows.decisions.meet(number, &id));
                    }
                    if options.sides {
                        rows.sides.room(1).or_raise();
                        rows.sides.push(shape.side(row).map_or(side > 0, |value| sides.of(value)));
                    }
                    let form = content.as_deref().and_then(|content| options.form(content));
                    let hash = form.map(|form| unwrap_or_raise(hashes.add(number, form.as_bytes())));
                    if let Some(hashed) = &mut *hashed {
                        hashed.room(1).or_raise();
                        hashed.push(hash.unwrap_or_default() as i64);
                    }
                    if let Some(content) = content.filter(|_| makes && kind != Comparable::Empty) {
                        unwrap_or_raise(ahead.add(number as usize, content, hash, rows));
                    }
                }
            });
            if let Some(unique) = unique {
                unique.check();
            }
        }
        ahead.finish(&mut rows)
    });
    unwrap_or_raise(reading);
    progress.end(&format!("{} rows", rows.count()));
    (rows, hashes)
}
