//! Turns jieba's dictionary, a file of the crate jieba-rs, into data that the library has ready: see `text/cell.rs`.

#[path = "src/text/cell.rs"]
mod cell;

use cell::{CHARACTERS, Cell, NO_CODE, UNKNOWN};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let variable = |name| PathBuf::from(env::var_os(name).expect("a variable that cargo sets"));
    let (out, here) = (variable("OUT_DIR"), variable("CARGO_MANIFEST_DIR"));
    let lock = here.join("../Cargo.lock");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/text/cell.rs");
    println!("cargo::rerun-if-changed={}", lock.display());

    let file = jieba(&out.join("jieba"), &lock, &here).join("src/data/dict.txt");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    println!("cargo::rustc-env=JIEBA_DICTIONARY={}", file.display());
    let dictionary = Dictionary::read(&text);
    let trie = dictionary.trie();
    let write =
        |name: &str, bytes: Vec<u8>| fs::write(out.join(name), bytes).expect("OUT_DIR can be written");
    write("cells", trie.cells.iter().flat_map(|cell| cell.0.to_le_bytes()).collect());
    write("tags", trie.tags);
    write("codes", dictionary.codes.iter().flat_map(|code| code.to_le_bytes()).collect());
    write(
        "frequencies",
        dictionary.frequencies.iter().flat_map(|frequency| frequency.to_le_bytes()).collect(),
    );
    // As jieba-rs computes it when it loads the dictionary.
    let logarithms = dictionary.frequencies.iter().map(|&frequency| (frequency as f64).ln());
    write("logarithms", logarithms.flat_map(|logarithm| logarithm.to_bits().to_le_bytes()).collect());
    let names: Vec<&str> = dictionary.tags.iter().copied().collect();
    let total = dictionary.total;
    let constants = format!(
        "pub const TOTAL: u64 = {total};\npub const LOG_TOTAL_BITS: u64 = {};\npub const TAGS: &[&str] = &{names:?};\n",
        (total as f64).ln().to_bits()
    );
    write("constants.rs", constants.into_bytes());
}

/// The folder of jieba-rs's source. Cargo knows it, wherever it comes from; it is asked about a package that depends
/// on nothing else, so that what this build does not need is not looked for.
fn jieba(package: &Path, lock: &Path, here: &Path) -> PathBuf {
    let manifest = "[package]\nname = \"dictionary\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n\
                    [dependencies]\njieba-rs = { version = \"*\", default-features = false }\n";
    fs::create_dir_all(package).expect("OUT_DIR can be written");
    fs::write(package.join("Cargo.toml"), manifest).expect("OUT_DIR can be written");
    fs::write(package.join("lib.rs"), "").expect("OUT_DIR can be written");
    fs::copy(lock, package.join("Cargo.lock")).unwrap_or_else(|error| panic!("{}: {error}", lock.display()));
    let target = env::var("TARGET").expect("a variable that cargo sets");
    let asked = Command::new(env::var_os("CARGO").expect("a variable that cargo sets"))
        .args([
            "metadata",
            "--offline",
            "--format-version=1",
            "--filter-platform",
            &target,
            "--manifest-path",
        ])
        .arg(package.join("Cargo.toml"))
        .current_dir(here)
        .output()
        .expect("cargo can be run");
    let answer = String::from_utf8_lossy(&asked.stdout);
    // Paths of the manifests are all that is wanted of the answer.
    let paths = answer.split("\"manifest_path\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    let folders = paths.filter_map(|manifest| Path::new(manifest).parent());
    let mut found = folders.filter(|folder| {
        folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("jieba-rs"))
    });
    found.next().map(Path::to_path_buf).unwrap_or_else(|| {
        panic!("cargo does not say where jieba-rs is: {}", String::from_utf8_lossy(&asked.stderr))
    })
}

struct Dictionary<'a> {
    /// Each word as codes, its frequency's rank and its tag, in order.
    words: BTreeMap<Vec<u16>, (u64, u8)>,
    /// The code of each character.
    codes: Vec<u16>,
    /// The different frequencies, by rank; of rank 0, which is that of no word, none.
    frequencies: Vec<u32>,
    tags: BTreeSet<&'a str>,
    total: u64,
}

impl<'a> Dictionary<'a> {
    fn read(text: &'a str) -> Dictionary<'a> {
        let lines: Vec<(&str, u32, &str)> = text
            .lines()
            .filter_map(|line| {
                let mut fields = line.split_ascii_whitespace();
                let word = fields.next()?;
                let frequency =
                    fields.next().and_then(|number| number.parse().ok()).filter(|&number| number > 0);
                let frequency = frequency.unwrap_or_else(|| panic!("no frequency: {line}"));
                Some((word, frequency, fields.next().unwrap_or("")))
            })
            .collect();
        // The characters that most words go on with have the lowest codes, and so stand close together.
        let mut ways: HashMap<char, usize> = HashMap::new();
        lines.iter().flat_map(|(word, ..)| word.chars()).for_each(|c| *ways.entry(c).or_default() += 1);
        let mut by_ways: Vec<(char, usize)> = ways.into_iter().collect();
        by_ways.sort_unstable_by_key(|&(c, ways)| (usize::MAX - ways, c));
        let mut codes = vec![UNKNOWN; CHARACTERS];
        for (code, &(c, _)) in (UNKNOWN + 1..).zip(&by_ways) {
            codes[c as usize] = code;
        }
        let frequencies: BTreeSet<u32> = lines.iter().map(|&(_, frequency, _)| frequency).collect();
        let frequencies: Vec<u32> = [0].into_iter().chain(frequencies).collect();
        let tags: BTreeSet<&str> = lines.iter().map(|&(.., tag)| tag).collect();
        let tag_numbers: HashMap<&str, u8> = tags.iter().copied().zip(0..).collect();
        let mut words = BTreeMap::new();
        for &(word, frequency, tag) in &lines {
            let rank = frequencies.binary_search(&frequency).expect("a frequency of the list") as u64;
            let by_code = word.chars().map(|c| codes[c as usize]).collect();
            assert!(words.insert(by_code, (rank, tag_numbers[tag])).is_none(), "twice: {word}");
        }
        let total = lines.iter().map(|&(_, frequency, _)| u64::from(frequency)).sum();
        Dictionary { words, codes, frequencies, tags, total }
    }

    fn trie(&self) -> Trie {
        // The children of each prefix, prefixes in order.
        let mut nodes: Vec<Node> = vec![Node::default()];
        let mut path: Vec<(u16, usize)> = Vec::new();
        for (word, &(rank, tag)) in &self.words {
            let common = path.iter().zip(word).take_while(|((code, _), other)| code == *other).count();
            path.truncate(common);
            for &code in &word[common..] {
                let parent = path.last().map_or(0, |&(_, node)| node);
                let node = nodes.len();
                nodes[parent].children.push((code, node));
                nodes.push(Node::default());
                path.push((code, node));
            }
            let node = &mut nodes[path.last().expect("a word").1];
            (node.rank, node.tag) = (rank, tag);
        }
        let characters = self.codes.iter().max().expect("a character");
        let bases = place(&nodes, usize::from(*characters));
        let last = nodes
            .iter()
            .zip(&bases)
            .flat_map(|(node, &base)| node.children.iter().map(move |&(code, _)| base + usize::from(code)));
        let cells = last.max().expect("a word") + 1;
        let mut trie = Trie { cells: vec![Cell::EMPTY; cells], tags: vec![0; cells] };
        for (at, (node, base)) in nodes.iter().zip(&bases).enumerate() {
            for &(code, child) in &node.children {
                let cell = base + usize::from(code);
                assert!(trie.cells[cell] == Cell::EMPTY);
                let Node { rank, tag, children } = &nodes[child];
                let by = if at == 0 { NO_CODE } else { u64::from(code) };
                let codes = children.iter().map(|&(code, _)| code);
                trie.cells[cell] = Cell::new(by, bases[child] as u64, *rank, codes);
                trie.tags[cell] = *tag;
            }
        }
        trie
    }
}

#[derive(Default)]
struct Node {
    /// Codes, and the numbers of the nodes they lead to.
    children: Vec<(u16, usize)>,
    rank: u64,
    tag: u8,
}

struct Trie {
    cells: Vec<Cell>,
    tags: Vec<u8>,
}

/// A base for each node, so that no two have the same one, and no two children the same cell: for the nodes of most
/// children first, the lowest that fits, 64 bases looked at together.
fn place(nodes: &[Node], characters: usize) -> Vec<usize> {
    let mut bases = vec![0; nodes.len()];
    let mut order: Vec<usize> = (1..nodes.len()).filter(|&node| !nodes[node].children.is_empty()).collect();
    order.sort_by_key(|&node| usize::MAX - nodes[node].children.len());
    let (mut cells, mut used) = (Taken(Vec::new()), Taken(Vec::new()));
    used.take(0);
    cells.take(0);
    // Where a code leads from the root, whether or not a word begins with that character.
    (1..=characters).for_each(|code| cells.take(code));
    // A node looks where the last one of as many children found room: what lies before is full for its like.
    let (mut begin, mut many) = (0usize, usize::MAX);
    for node in order {
        let children = &nodes[node].children;
        if children.len() < many {
            (begin, many) = (0, children.len());
        }
        let first = usize::from(children[0].0);
        let fits = (begin.saturating_sub(first)..).step_by(64).find_map(|base| {
            let mut taken = used.from(base);
            for &(code, _) in children {
                taken |= cells.from(base + usize::from(code));
                if taken == u64::MAX {
                    return None;
                }
            }
            Some((base + first, base + taken.trailing_ones() as usize))
        });
        let (from, base) = fits.expect("there is always room after the last cell");
        children.iter().for_each(|&(code, _)| cells.take(base + usize::from(code)));
        used.take(base);
        bases[node] = base;
        begin = from;
    }
    bases
}

/// A set of numbers.
struct Taken(Vec<u64>);

impl Taken {
    fn take(&mut self, number: usize) {
        if self.0.len() <= number / 64 {
            self.0.resize(number / 64 + 1, 0);
        }
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Which of the 64 numbers from this one on are in it, the lowest bit the first.
    fn from(&self, number: usize) -> u64 {
        let word = |at: usize| self.0.get(at).copied().unwrap_or(0);
        let (at, shift) = (number / 64, number % 64);
        if shift == 0 { word(at) } else { word(at) >> shift | word(at + 1) << (64 - shift) }
    }
}
