//! Indexes on disk stay readable, and what is written stays what was read: beside this file are the pages of two
//! indexes as version 0.2.0 wrote them.
//!
//! A format that changes on purpose gets files of its own beside these, which stay. `ACCEPT=1` writes the present version's.

mod common;

use common::Rng;
use common::banding::*;
use dedup_core::banding::{Index, PageSink, Pages, RangeScan};
use std::path::PathBuf;

const BODY: usize = 512;
const VERSION: &str = "0.2.0";

fn file(what: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "format", &format!("{VERSION}.{what}.pages")].iter().collect()
}

/// The pages one after another, each as its length without the zeroes at its end, and that.
fn packed(pages: &MemoryPages) -> Vec<u8> {
    let mut out = Vec::new();
    for block in 0..pages.len().unwrap() {
        let page = pages.read(block).unwrap();
        let used = page.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        out.extend((used as u16).to_le_bytes());
        out.extend(&page[..used]);
    }
    out
}

fn unpacked(mut bytes: &[u8]) -> MemoryPages {
    let pages = MemoryPages::new(BODY);
    let mut block = 0;
    while let Some((len, rest)) = bytes.split_first_chunk() {
        let (used, rest) = rest.split_at(usize::from(u16::from_le_bytes(*len)));
        let mut page = used.to_vec();
        page.resize(BODY, 0);
        (&pages).write(block, &page).unwrap();
        (bytes, block) = (rest, block + 1);
    }
    pages
}

/// What the stored pages hold: leaves of several widths, splits, second levels, removed rows, rows without a fingerprint.
fn plain() -> (MemoryPages, Rows, Vec<u64>) {
    let mut rng = Rng::new(200);
    let mut fps = fingerprints(Shape::NearDuplicates, 900, &mut rng);
    fps.iter_mut().step_by(2).for_each(|fp| *fp = *fp >> 16 | 0x5eed << 48);
    let (pages, index, mut rows) = index_by_insert(BODY, &fps);
    assert!(index.maintain(&pages).unwrap().promoted > 0, "no second level: the file would not show one");
    for n in 900..940 {
        index.insert(&pages, 0, None, tid(n)).unwrap();
    }
    index.bulk_delete(&pages, |row| row.offset() % 9 == 0).unwrap();
    rows.retain(|row, _| row.offset() % 9 != 0);
    (pages, rows, fps)
}

fn scoped() -> (MemoryPages, Rows, Vec<u64>) {
    let mut rng = Rng::new(201);
    let fps = fingerprints(Shape::NearDuplicates, 500, &mut rng);
    let pages = MemoryPages::new(BODY);
    let index = Index::create(&pages, Default::default(), true).unwrap();
    let mut rows = Rows::new();
    for (n, fp) in fps.iter().enumerate() {
        let scope = [7, 0xdead_beef, u32::MAX][n % 3];
        index.insert(&pages, scope, *fp, tid(n)).unwrap();
        if scope == 7 {
            rows.insert(tid(n), *fp);
        }
    }
    (pages, rows, fps)
}

fn agrees(what: &str, pages: &MemoryPages, rows: &Rows, fps: &[u64], scope: Option<u32>) {
    assert_sound(pages, what);
    let index = Index::open(pages).unwrap();
    for query in queries(fps, 12, &mut Rng::new(202)) {
        for d in [0, 3, 6, 10, 15, 64] {
            let mut scan = RangeScan::new(&index, query, d).in_scope(scope);
            let mut hits = Vec::new();
            while scan.next_batch(pages, 50, &mut hits).unwrap() {}
            hits.sort_unstable();
            assert!(hits == brute(rows, query, d), "{what}, d={d}");
        }
    }
}

/// Protects indexes made before an upgrade of the library, and those that an older library reads afterwards on a standby.
#[test]
fn banding_pages_of_version_0_2_0_are_read_and_written_as_they_were() {
    for (what, (made, mut rows, fps), scope) in [("plain", plain(), None), ("scoped", scoped(), Some(7))] {
        let now = packed(&made);
        if std::env::var_os("ACCEPT").is_some() {
            std::fs::write(file(what), &now).unwrap();
        }
        let stored = std::fs::read(file(what)).unwrap();
        assert!(stored == now, "{what}: other pages are written than by {VERSION}");

        let pages = unpacked(&stored);
        agrees(what, &pages, &rows, &fps, scope);
        let index = Index::open(&pages).unwrap();
        for (n, fp) in fps.iter().enumerate().take(300) {
            index.insert(&pages, scope.unwrap_or(0), !fp, tid(10_000 + n)).unwrap();
            rows.insert(tid(10_000 + n), !fp);
        }
        index.bulk_delete(&pages, |row| row.offset() % 7 == 0).unwrap();
        rows.retain(|row, _| row.offset() % 7 != 0);
        agrees(what, &pages, &rows, &fps, scope);
    }
}

/// Protects indexes of builds whose metapage ended where the lists of free pages begin: they are read, and pages that are
/// emptied come into the lists and out of them.
#[test]
fn banding_an_index_without_lists_of_free_pages_gets_them() {
    const USED: std::ops::Range<usize> = 6..8;
    let stored = std::fs::read(file("scoped")).unwrap();
    let (_, mut rows, fps) = scoped();
    let pages = unpacked(&stored);
    pages.overwrite(0, |meta| meta[USED].copy_from_slice(&188u16.to_le_bytes())).unwrap();
    agrees("before", &pages, &rows, &fps, Some(7));
    let index = Index::open(&pages).unwrap();
    let freed = index.bulk_delete(&pages, |row| !rows.contains_key(&row)).unwrap().freed;
    agrees("pages are free", &pages, &rows, &fps, Some(7));
    let before = index.stats(&pages).unwrap().unused;
    assert_eq!(before, freed);
    for (n, fp) in fps.iter().enumerate().take(200) {
        index.insert(&pages, 7, !fp, tid(10_000 + n)).unwrap();
        rows.insert(tid(10_000 + n), !fp);
    }
    let after = index.stats(&pages).unwrap().unused;
    assert!(after < before, "{after} pages are free, {before} were");
    agrees("pages are used again", &pages, &rows, &fps, Some(7));
    // An older library would take a free page for a damaged one: it has to refuse the index.
    assert_eq!(pages.read(0).unwrap()[92], 3, "features: scopes, and free pages");
}
