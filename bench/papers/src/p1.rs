//! P1 (Gao and Li 2014): Bloom filter against digit trie, then SimHash.

use crate::data::Data;
use crate::report::{Section, percent, time, timed};
use dedup_core::external::MemoryHost;
use dedup_core::features::{Extractor, TextRecipe};
use dedup_core::fingerprint::hamming;
use dedup_core::groups::{PairSearch, Pairs};
use dedup_detectors::exact::{Bloom, DigitTrie, ExactSet, Hashing, Rule, Shape};
use dedup_plot::Plot;
use serde_json::json;

/// Runs the experiments.
pub fn run(data: &Data, quick: bool) -> Section {
    let mut section = Section::new("P1: exact stages on short texts, then SimHash");
    speed(&mut section, data, quick);
    accuracy(&mut section, data);
    growing(&mut section, data);
    simhash(&mut section, data, quick);
    section
}

/// Short texts of which a share repeats an earlier one: titles with numbers.
fn texts(data: &Data, count: usize, repeated: f64) -> Vec<String> {
    let every = if repeated > 0.0 { (1.0 / repeated).round() as usize } else { usize::MAX };
    let text = |at: usize| {
        let doc = &data.docs[at % data.docs.len()];
        let title =
            if doc.title.is_empty() { doc.body.chars().take(24).collect() } else { doc.title.clone() };
        format!("{title}{at}")
    };
    (0..count)
        .map(|at| if at % every == every - 1 { text(at / 2 / every * every) } else { text(at) })
        .collect()
}

/// Bloom filter, trie and exact set: time and memory with growing numbers.
fn speed(section: &mut Section, data: &Data, quick: bool) {
    let sizes: &[usize] = if quick {
        &[50_000, 100_000]
    } else {
        &[250_000, 500_000, 1_000_000, 1_500_000, 2_000_000, 2_500_000]
    };
    let mut rows = Vec::new();
    let mut curves: [Vec<(f64, f64)>; 5] = Default::default();
    for (&count, repeated) in sizes.iter().flat_map(|count| [(count, 0.01), (count, 0.1)]) {
        let all = texts(data, count, repeated);
        let shape = Shape::for_items(count as u64, 0.001).expect("a shape");
        let mut bloom = Bloom::new(shape);
        let (bloom_time, bloom_found) =
            timed(|| all.iter().filter(|text| bloom.add(text.as_bytes())).count());
        let mut trie = DigitTrie::new();
        let (trie_time, trie_found) = timed(|| all.iter().filter(|text| trie.seen(text)).count());
        let mut set = ExactSet::new();
        let (set_time, set_found) = timed(|| all.iter().filter(|text| set.seen(text.as_bytes())).count());
        let mut paper_trie = DigitTrie::paper();
        let paper_found = all.iter().filter(|text| paper_trie.seen(text)).count();
        let paper = match count {
            2_500_000 if repeated == 0.01 => "3,526.8 ms / 14,429.8 ms".to_owned(),
            _ => "–".to_owned(),
        };
        let times: &[(usize, f64)] = match repeated {
            0.01 => &[(0, bloom_time), (1, trie_time), (2, set_time)],
            _ => &[(3, bloom_time), (4, trie_time)],
        };
        times.iter().for_each(|&(curve, seconds)| curves[curve].push((count as f64, seconds * 1e3)));
        rows.push([
            count.to_string(),
            percent(repeated),
            time(bloom_time),
            time(trie_time),
            time(set_time),
            paper,
            format!("{:+}", bloom_found as i64 - set_found as i64),
            format!(
                "{:+} / {:+}",
                trie_found as i64 - set_found as i64,
                paper_found as i64 - set_found as i64
            ),
            format!("{:.1} MB", shape.bits() as f64 / 8e6),
        ]);
    }
    section.table(
        "Exact duplicates among short texts; r of them repeat an earlier one. The filter is sized for one error in a thousand; \
         wrongly dropped: beside the exact set, which is never wrong. The trie compares texts at its leaves; as printed it \
         does not.",
        ["texts", "r", "Bloom", "trie", "exact set", "paper: Bloom / trie", "wrong: Bloom", "wrong: trie / as printed", "filter"],
        rows,
    );
    let [bloom, trie, set, bloom_10, trie_10] = curves;
    let plot = Plot::new("P1: time to find exact duplicates", "texts", "ms");
    let plot = plot.line("Bloom filter", bloom).line("digit trie", trie).line("exact set", set);
    section
        .plot("speed", plot.line("Bloom filter, r = 10 %", bloom_10).line("digit trie, r = 10 %", trie_10));
}

/// The share of different texts that a filter keeps: those that it drops are what P1 loses in accuracy.
fn kept(texts: &[String], bits: u64, hashing: Hashing, rule: Rule) -> f64 {
    let mut bloom = Bloom::new(Shape::new(bits, 2, hashing).expect("a shape"));
    let kept = texts.iter().filter(|text| !bloom.add_under(text.as_bytes(), rule)).count();
    kept as f64 / texts.len() as f64
}

/// P1's filter of 50,000 bits under growing numbers of texts of which a share r repeats another.
fn growing(section: &mut Section, data: &Data) {
    const SHARES: [f64; 4] = [0.01, 0.1, 0.5, 0.9];
    let unique = texts(data, 100_000, 0.0);
    let mut rows = Vec::new();
    let mut curves: [Vec<(f64, f64)>; SHARES.len()] = Default::default();
    for count in [5_000, 10_000, 20_000, 50_000, 100_000] {
        let mut row = vec![count.to_string()];
        for (curve, repeated) in curves.iter_mut().zip(SHARES) {
            let different = &unique[..(count as f64 * (1.0 - repeated)).round() as usize];
            let [all, any] =
                [Rule::All, Rule::Any].map(|rule| kept(different, 50_000, Hashing::BkdrAp, rule));
            curve.push((count as f64, all * 100.0));
            row.push(format!("{} / {}", percent(all), percent(any)));
        }
        row.push(if count == 50_000 { "56 %, r = 10 %" } else { "–" }.to_owned());
        rows.push(row.try_into().unwrap_or_default());
    }
    section.table(
        "P1's filter of 50,000 bits: the share of different texts kept, by the number of texts and the share r of them that repeat \
         another, under the rules all / any. The paper: accuracy falls with the number of texts and with the share that repeats \
         none; it gives one figure, without saying of what.",
        ["texts", "r = 1 %", "r = 10 %", "r = 50 %", "r = 90 %", "paper"],
        rows,
    );
    let mut plot = Plot::new("P1: different texts kept in 50,000 bits", "texts", "% kept");
    for (repeated, curve) in SHARES.into_iter().zip(curves) {
        plot = plot.line(&format!("r = {}", percent(repeated)), curve);
    }
    section.plot("repeated", plot);
}

/// The same by the filter's size.
fn accuracy(section: &mut Section, data: &Data) {
    let unique = texts(data, 50_000, 0.0);
    let mut rows = Vec::new();
    let mut curves: [Vec<(f64, f64)>; 3] = Default::default();
    for bits in [10_000, 40_000, 160_000, 640_000, 2_500_000, 20_000_000] {
        let shares = [
            kept(&unique, bits, Hashing::BkdrAp, Rule::All),
            kept(&unique, bits, Hashing::BkdrAp, Rule::Any),
            kept(&unique, bits, Hashing::City, Rule::All),
        ];
        for (curve, share) in curves.iter_mut().zip(shares) {
            curve.push((bits as f64, share * 100.0));
        }
        let paper = match bits {
            160_000 => "90 %",
            20_000_000 => "100 %",
            _ => "–",
        };
        let [all, any, city] = shares.map(percent);
        rows.push([bits.to_string(), all, any, city, paper.to_owned()]);
    }
    section.table(
        "Share of 50,000 different texts that a Bloom filter of two functions keeps (P1's memory experiment: 500,000 texts, \
         10 % of them different). P1 prints the rule \"any bit set\"; its figure is that of \"all bits set\".",
        ["bits", "BKDR + AP, all", "BKDR + AP, any", "CityHash64, all", "paper"],
        rows,
    );
    let [all, any, city] = curves;
    let plot = Plot::new("P1: different texts kept, by size of the filter", "bits", "% kept")
        .logarithmic(true, false);
    section.plot(
        "accuracy",
        plot.line("BKDR + AP, all", all).line("BKDR + AP, any", any).line("CityHash64, all", city),
    );
}

/// Fingerprints of word pairs and all pairs below distance 5.
fn simhash(section: &mut Section, data: &Data, quick: bool) {
    let sizes: &[usize] = if quick {
        &[100, 500, 1_000, 2_000, 20_000]
    } else {
        &[100, 500, 1_000, 2_000, 10_000, 100_000, 1_000_000]
    };
    let recipe = TextRecipe::from_json(&json!({"tokens": "shingles", "n": 2})).expect("a recipe");
    let mut rows = Vec::new();
    let (mut pairwise_curve, mut index_curve) = (Vec::new(), Vec::new());
    for &count in sizes {
        let all = texts(data, count, 0.1);
        let mut extractor = Extractor::new();
        let (print_time, prints) =
            timed(|| all.iter().filter_map(|text| extractor.simhash(text, &recipe)).collect::<Vec<u64>>());
        let (join_time, joined) = timed(|| join(&prints, 4));
        let pairwise = (count <= 100_000).then(|| timed(|| pairs_by_comparing(&prints, 4)));
        if let Some((_, compared)) = pairwise {
            assert_eq!(compared, joined, "both ways find the same pairs");
        }
        let paper = match count {
            100 => "≈ 2 s",
            1_000 => "≈ 1 min",
            _ => "–",
        };
        let pairwise_time = pairwise.map(|(seconds, _)| seconds);
        pairwise_curve.extend(pairwise_time.map(|seconds| (count as f64, (print_time + seconds) * 1e3)));
        index_curve.push((count as f64, (print_time + join_time) * 1e3));
        rows.push([
            count.to_string(),
            time(print_time),
            pairwise_time.map_or("–".to_owned(), time),
            time(join_time),
            joined.to_string(),
            paper.to_owned(),
        ]);
    }
    section.table(
        "SimHash of runs of two words, no weights, distance below 5, on short texts. The paper's time is for all of it.",
        ["texts", "fingerprints", "each with each", "near_dup_pairs", "pairs", "paper"],
        rows,
    );
    let plot = Plot::new("P1: SimHash, fingerprints and pairs", "texts", "ms").logarithmic(true, true);
    section.plot("simhash", plot.line("each with each", pairwise_curve).line("near_dup_pairs", index_curve));
}

fn pairs_by_comparing(prints: &[u64], distance: u32) -> u64 {
    let below =
        |at: usize| prints[..at].iter().filter(|&&other| hamming(prints[at], other) <= distance).count();
    (0..prints.len()).map(|at| below(at) as u64).sum()
}

/// How many pairs the pair join finds.
pub fn join(prints: &[u64], distance: u32) -> u64 {
    let mut host = MemoryHost;
    let mut pairs = Pairs::new(PairSearch { distance, memory: 1 << 30, threads: 1 });
    for (at, &print) in prints.iter().enumerate() {
        pairs.add(at as i64, print, &mut host).expect("memory does not fail");
    }
    let mut count = 0;
    pairs
        .finish(&mut host, |_, _| {
            count += 1;
            Ok(())
        })
        .expect("memory does not fail");
    count
}
