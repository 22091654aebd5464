//! P5's sentences: length strings, blocks that two texts share, similarity.

use super::{LastUsed, last_of, without_null};
use crate::pg::{Output, Texts};
use dedup_core::features::stop_words;
use dedup_core::interrupt::checked;
use dedup_core::text::normalize;
use dedup_detectors::sentence::{self, Sentence};
use pgrx::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

type Stop = sentence::StopWords;

fn stop(words: Option<Texts>) -> Rc<Stop> {
    thread_local!(static LAST: LastUsed<(), Stop> = const { RefCell::new(Vec::new()) });
    last_of(&LAST, words, (), |words| match words {
        Some(words) => checked(words.iter()).map(normalize).collect(),
        None => stop_words().map(str::to_owned).collect(),
    })
}

fn split(content: &str, stop: &Rc<Stop>) -> Vec<Sentence> {
    sentence::split(content, stop)
}

#[pg_extern(sql = "")]
fn sentence_string(content: Option<&str>, stop_words: Option<Texts>) -> Option<String> {
    Some(sentence::length_string(&split(content?, &stop(stop_words))))
}

#[pg_extern(sql = "")]
fn sentence_lengths(content: Option<&str>, stop_words: Option<Texts>) -> Option<Vec<i32>> {
    let sentences = split(content?, &stop(stop_words));
    Some(sentences.iter().map(|sentence| sentence.words as i32).collect())
}

#[pg_extern(sql = "")]
fn sentence_length_similarity(a: Array<'_, i32>, b: Array<'_, i32>) -> f64 {
    let lengths = |array: Array<'_, i32>| -> Vec<u32> {
        let lengths = array.iter().map(|length| Some(length? as u32));
        without_null("sentence lengths", lengths, "Pass what sentence_lengths() returned.")
    };
    sentence::length_similarity(&lengths(a), &lengths(b))
}

#[pg_extern(sql = "")]
fn sentence_similarity(a: Option<&str>, b: Option<&str>, stop_words: Option<Texts>) -> Option<f64> {
    let stop = stop(stop_words);
    Some(sentence::similarity(&split(a?, &stop), &split(b?, &stop)))
}

#[pg_extern(sql = "")]
fn sentence_blocks(
    a: Option<&str>,
    b: Option<&str>,
    stop_words: Option<Texts>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let mut output = Output::begin(fcinfo);
    let (Some(a), Some(b)) = (a, b) else { return };
    let stop = stop(stop_words);
    let (left, right) = (split(a, &stop), split(b, &stop));
    let number = |sentences: &[Sentence], at: usize| sentences[at].number as i32;
    let text = |content: &str, sentences: &[Sentence], at: usize, length: usize| {
        content[sentences[at].range.start..sentences[at + length - 1].range.end].to_owned()
    };
    for block in sentence::blocks(&left, &right) {
        let row = [
            number(&left, block.a).into_datum(),
            number(&right, block.b).into_datum(),
            (block.length as i32).into_datum(),
            text(a, &left, block.a, block.length).into_datum(),
            text(b, &right, block.b, block.length).into_datum(),
        ];
        // SAFETY: declared as three of integer, two texts.
        unsafe { output.add(row) };
    }
}
