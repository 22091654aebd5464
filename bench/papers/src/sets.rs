//! The collections of P2, P3 and P4, for the same experiments as SQL.

use crate::data::{Data, Doc};
use crate::edits;
use crate::p4::edited;
use std::path::Path;

/// Writes each collection with its paper, its part, and what are duplicates in it.
pub fn write(data: &Data, path: &Path, quick: bool) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_path(path)?;
    writer.write_record(["paper", "part", "petitioner", "department", "title", "body", "cluster"])?;
    let mut add = |paper: &str, part: &str, docs: Vec<Doc>| {
        docs.iter().try_for_each(|doc| {
            let cluster = doc.cluster.to_string();
            writer.write_record([
                paper,
                part,
                &doc.petitioner,
                &doc.department,
                &doc.title,
                &doc.body,
                &cluster,
            ])
        })
    };
    let (p2, p3) = if quick { ((300, 1_000), (300, 1_000)) } else { ((300, 4_700), (1_000, 5_000)) };
    for (paper, topics, (similar, others)) in [("P2", 3, p2), ("P3", 5, p3)] {
        for topic in data.topics().into_iter().take(topics) {
            add(paper, &topic, data.mixture(&topic, similar, others, false).into_iter().cloned().collect())?;
        }
    }
    let texts = data.different(if quick { 200 } else { 1_000 }, 120);
    let parts = [
        ("5 % put in", edited(&texts, 1, |text, other, rng| edits::insert(text, other, 0.05, rng))),
        ("5 % taken out", edited(&texts, 2, |text, _, rng| edits::delete(text, 0.05, rng))),
        ("clauses reordered", edited(&texts, 3, |text, _, rng| edits::reorder(text, rng))),
    ];
    for (part, pairs) in parts {
        let docs = (0..).zip(pairs).flat_map(|(cluster, (one, other))| {
            [one, other].map(|body| Doc { body, cluster, ..Doc::default() })
        });
        add("P4", part, docs.collect())?;
    }
    Ok(writer.flush()?)
}
