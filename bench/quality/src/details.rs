//! Details on made pairs: texts of the directory with a sentence or two about a named thing put in, and the same
//! text about another thing (to be told apart), or about the same one spelt, shortened or worded otherwise (not to be).
//!
//! Names are generated. Kinds marked "held out" were not looked at while the rules were written.

use crate::data::Data;
use dedup_core::details::{Kinds, differing};
use petition_desk::rng::Rng;
use petition_desk::vary;

/// Pairs of each kind.
const PAIRS: usize = 400;
/// Characters of the texts that are taken.
const LENGTHS: std::ops::Range<usize> = 80..1200;

/// A kind of pair.
struct Kind {
    name: &'static str,
    held_out: bool,
    /// Sentences of the one text, `{}` for the name; several are several mentions.
    says: &'static [&'static str],
    /// How names are made.
    make: Make,
    /// What the other text has in the name's place.
    other: Other,
}

#[derive(Clone, Copy)]
enum Make {
    /// Chinese characters, from so many to so many.
    Han(u64, u64),
    /// A Chinese person.
    Person,
    /// A number from so much to so much.
    Number(u64, u64),
    /// A Chinese numeral below ten.
    Numeral,
    /// An English name of two syllables.
    Word,
    /// The same in small letters.
    Small,
    /// An English person.
    Name,
}

#[derive(Clone, Copy)]
enum Other {
    /// Another name.
    Another,
    /// A wrong character, or two letters that changed places.
    Misspelt,
    /// The name's first part, as people shorten it.
    Short,
    /// These words.
    Words(&'static str),
}

const HAN: &str =
    "瑞锦鸿盛景翠澜泰御悦龙湘润铭尚福嘉融恒凯博雅枫丹曦玉碧丽江湖滨泉溪竹梅兰桂塘岭浦岚樾棠荷芦";
const SURNAMES: &str = "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高罗郑梁谢宋唐许";
const GIVEN: &str = "伟芳娜敏静强磊军洋勇艳杰娟涛明超秀霞刚桂英华萍红玲梅建国俊燕雪琴";
const STARTS: [&str; 20] = [
    "Ash", "Bram", "Cor", "Dun", "Elder", "Fen", "Glas", "Hart", "Ing", "Kel", "Lang", "Mor", "Nether", "Ox",
    "Pem", "Quar", "Ros", "Sal", "Thorn", "Wex",
];
const ENDS: [&str; 14] = [
    "ford", "wick", "ley", "combe", "bury", "field", "mere", "ham", "worth", "stead", "dale", "croft",
    "holm", "gate",
];

const fn kind(
    name: &'static str,
    held_out: bool,
    make: Make,
    other: Other,
    says: &'static [&'static str],
) -> Kind {
    Kind { name, held_out, says, make, other }
}

const CHINESE: [Kind; 39] = [
    kind("estate", false, Make::Han(2, 4), Other::Another, &["我是{}小区的业主，"]),
    kind("road", false, Make::Han(2, 2), Other::Another, &["{}路这一段每天都是这样，"]),
    kind("village", false, Make::Han(2, 2), Other::Another, &["我家在{}村，"]),
    kind("company", false, Make::Han(2, 3), Other::Another, &["{}公司一直不处理，"]),
    kind("metro line", false, Make::Number(1, 20), Other::Another, &["就在地铁{}号线旁边，"]),
    kind("estate of a telling end", true, Make::Han(2, 2), Other::Another, &["我住在{}名苑，"]),
    kind(
        "estate without an end",
        true,
        Make::Han(3, 4),
        Other::Another,
        &["我住在{}，", "{}的居民都很着急。"],
    ),
    kind("school", false, Make::Han(2, 2), Other::Another, &["孩子在{}实验小学上学，"]),
    kind("numbered school", true, Make::Numeral, Other::Another, &["孩子在第{}中学上学，"]),
    kind("hospital", true, Make::Han(2, 2), Other::Another, &["当时送到{}医院，"]),
    kind("bank branch", true, Make::Han(2, 2), Other::Another, &["钱是在{}支行取的，"]),
    kind(
        "platform, twice",
        true,
        Make::Han(3, 3),
        Other::Another,
        &["我在{}上借了钱，", "{}的客服不接电话。"],
    ),
    kind(
        "product, twice",
        true,
        Make::Han(2, 3),
        Other::Another,
        &["买的是{}牌净水器，", "{}牌根本不能用。"],
    ),
    kind("project", true, Make::Han(2, 3), Other::Another, &["{}项目停工了，"]),
    kind("person in question", true, Make::Person, Other::Another, &["老板{}不给工资，"]),
    kind("bus", true, Make::Number(1, 300), Other::Another, &["{}路公交总是不来，"]),
    kind("order number", true, Make::Number(10_000, 9_999_999), Other::Another, &["订单号{}，"]),
    kind("city without an end", true, Make::Han(2, 2), Other::Another, &["我在{}打工，"]),
    kind("village head", false, Make::Person, Other::Another, &["村主任{}多占宅基地，"]),
    kind("accused", false, Make::Person, Other::Another, &["举报{}违法占地，"]),
    kind("called", false, Make::Person, Other::Another, &["有个叫{}的人到处收钱，"]),
    kind("shop", false, Make::Han(2, 3), Other::Another, &["昨天在{}火锅店吃的饭，"]),
    kind("school without an end", false, Make::Han(2, 2), Other::Another, &["孩子在{}上学，"]),
    kind("road number", false, Make::Number(101, 399), Other::Another, &["就在国道G{}旁边，"]),
    kind("host", false, Make::Small, Other::Another, &["网址是www.{}.com，"]),
    kind("e-mail", false, Make::Small, Other::Another, &["发到{}@mail.org没有人回，"]),
    kind("machine", false, Make::Number(1, 255), Other::Another, &["服务器10.0.3.{}连不上，"]),
    kind("version", false, Make::Number(1, 30), Other::Another, &["升级到{}.4.1以后就打不开，"]),
    kind("model", false, Make::Number(10_000, 99_999), Other::Another, &["型号是KDL-{}，"]),
    kind("= misspelt estate", false, Make::Han(3, 4), Other::Misspelt, &["我是{}小区的业主，"]),
    kind("= misspelt company", true, Make::Han(3, 3), Other::Misspelt, &["{}公司一直不处理，"]),
    kind("= shortened estate", false, Make::Han(4, 4), Other::Short, &["我是{}小区的业主，"]),
    kind("= our estate", false, Make::Han(3, 4), Other::Words("我们"), &["请到{}小区看看，"]),
    kind("= your county", true, Make::Han(2, 2), Other::Words("贵"), &["我是{}县人，"]),
    kind("= who is addressed", true, Make::Person, Other::Another, &["尊敬的{}书记：您好！"]),
    kind("= who writes", true, Make::Person, Other::Another, &["我叫{}，"]),
    kind("= amount", true, Make::Number(100, 9_000), Other::Another, &["前后花了{}元，"]),
    kind("= date", true, Make::Number(1, 28), Other::Another, &["从5月{}日开始，"]),
    kind("= nothing but edits", false, Make::Han(3, 4), Other::Short, &["{}"]),
];

const ENGLISH: [Kind; 27] = [
    kind("street", false, Make::Word, Other::Another, &["It is about {} Street. "]),
    kind("court", false, Make::Word, Other::Another, &["We rent a flat in {} Court. "]),
    kind("company", false, Make::Word, Other::Another, &["The works are done by {} Ltd. "]),
    kind("order number", false, Make::Number(10_000, 999_999), Other::Another, &["My order number is {}. "]),
    kind("school", true, Make::Word, Other::Another, &["My daughter goes to {} Primary School. "]),
    kind("hospital", true, Make::Word, Other::Another, &["They took her to {} Hospital. "]),
    kind("town", true, Make::Word, Other::Another, &["This is the second letter from {} about it. "]),
    kind("product", true, Make::Word, Other::Another, &["I had bought a new {} boiler. "]),
    kind("person in question", true, Make::Name, Other::Another, &["The foreman, {}, laughed at us. "]),
    kind("route", true, Make::Number(2, 400), Other::Another, &["Passengers of route {} see it daily. "]),
    kind("in small letters", true, Make::Word, Other::Another, &["it is about {} road. "]),
    kind("doctor", false, Make::Word, Other::Another, &["I was seen by Dr. {} at last. "]),
    kind("road number", false, Make::Number(2, 700), Other::Another, &["The noise of the A{} is constant. "]),
    kind("host", false, Make::Small, Other::Another, &["The page www.{}.org is gone. "]),
    kind("page", false, Make::Small, Other::Another, &["It is at https://town.org/{}/form now. "]),
    kind("e-mail", false, Make::Small, Other::Another, &["I wrote to {}@town.org about it. "]),
    kind("machine", false, Make::Number(1, 255), Other::Another, &["The server 10.0.3.{} is down. "]),
    kind("version", false, Make::Number(1, 30), Other::Another, &["Since version {}.4.1 it fails. "]),
    kind("= misspelt street", false, Make::Word, Other::Misspelt, &["It is about {} Street. "]),
    kind("= misspelt company", true, Make::Word, Other::Misspelt, &["The works are done by {} Ltd. "]),
    kind("= shortened name", true, Make::Word, Other::Short, &["We live in {} Gardens. "]),
    kind("= our street", true, Make::Word, Other::Words("our"), &["Please come to {} street. "]),
    kind("= who is addressed", true, Make::Name, Other::Another, &["Dear Councillor {}, "]),
    kind("= who writes", true, Make::Name, Other::Another, &["My name is {}. "]),
    kind("= amount", true, Make::Number(100, 9_000), Other::Another, &["So far it has cost me {} pounds. "]),
    kind("= date", true, Make::Number(1, 28), Other::Another, &["It began on {} May. "]),
    kind("= nothing but edits", false, Make::Word, Other::Short, &["{} "]),
];

fn han(pool: &str, count: u64, rng: &mut Rng) -> String {
    let pool: Vec<char> = pool.chars().collect();
    let mut pick = || pool[rng.below(pool.len())];
    (0..count).map(|_| pick()).collect()
}

fn make(kind: Make, rng: &mut Rng) -> String {
    match kind {
        Make::Han(least, most) => {
            let count = rng.between(least, most);
            han(HAN, count, rng)
        }
        Make::Person => han(SURNAMES, 1, rng) + &han(GIVEN, rng.between(1, 2), rng),
        Make::Number(least, most) => rng.between(least, most).to_string(),
        Make::Numeral => han("一二三四五六七八九", 1, rng),
        Make::Word => format!("{}{}", rng.pick(&STARTS), rng.pick(&ENDS)),
        Make::Small => make(Make::Word, rng).to_lowercase(),
        Make::Name => format!(
            "{} {}",
            rng.pick(&["John", "Mary", "Peter", "Susan", "Amir", "Nina"]),
            make(Make::Word, rng)
        ),
    }
}

fn other(kind: &Kind, name: &str, rng: &mut Rng) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    match kind.other {
        Other::Another => loop {
            let other = make(kind.make, rng);
            let alike = other.chars().filter(|c| c.len_utf8() > 1).any(|c| name.contains(c));
            if other != name && !alike {
                return other;
            }
        },
        Other::Misspelt if name.is_ascii() => {
            letters.swap(2, 3);
            letters.into_iter().collect()
        }
        Other::Misspelt => {
            let at = rng.below(letters.len());
            letters[at] = han(HAN, 1, rng).chars().next().unwrap_or(letters[at]);
            letters.into_iter().collect()
        }
        Other::Short => letters[..letters.len().div_ceil(2)].iter().collect(),
        Other::Words(words) => words.to_owned(),
    }
}

/// A text with the sentences in it, and an edited one with the other name.
fn pair(kind: &Kind, body: &str, rng: &mut Rng) -> [String; 2] {
    let name = make(kind.make, rng);
    let edits = kind.name == "= nothing but edits";
    let other = if edits { name.clone() } else { other(kind, &name, rng) };
    let ends: Vec<usize> =
        body.match_indices(['。', '！', '；', '.', '!']).map(|(at, end)| at + end.len()).collect();
    let middle = ends[ends.len() / 2];
    let with = |name: &str| {
        let says = |at: usize| kind.says.get(at).map_or(String::new(), |says| says.replace("{}", name));
        format!("{}{}{}{}", says(0), &body[..middle], says(1), &body[middle..])
    };
    let mut edited = String::new();
    if rng.chance(0.5) {
        vary::swap_words(&with(&other), rng, &mut edited);
    } else {
        let text = with(&other);
        // The last sentence goes.
        let end = text.trim_end_matches(['。', '！', '.', '!', ' ']).rfind(['。', '！', '.', '!']);
        edited.push_str(end.map_or(&text[..], |end| &text[..end]));
    }
    [with(&name), edited]
}

/// Prints the table; false if there are no texts.
pub fn report(data: &Data) -> bool {
    let Some(petitions) = data.petitions() else { return false };
    let usable = |body: &&str| {
        LENGTHS.contains(&body.chars().count()) && body.matches(['。', '！', '；', '.', '!']).count() > 2
    };
    let bodies: Vec<&str> = petitions.iter().map(|it| it.body.as_str()).filter(usable).collect();
    if bodies.is_empty() {
        return false;
    }
    let han = bodies
        .iter()
        .take(100)
        .filter(|body| body.contains(|c| ('\u{4E00}'..='\u{9FFF}').contains(&c)))
        .count();
    let kinds: &[Kind] = if han > 50.min(bodies.len() / 2) { &CHINESE } else { &ENGLISH };
    println!(
        "\n## Details on made pairs\n\n{PAIRS} pairs of each kind. Told apart: to be 1; of kinds with =, about one matter: to be 0.\n"
    );
    println!("| kind | held out | told apart |\n|---|---|---|");
    for (number, kind) in kinds.iter().enumerate() {
        let mut rng = Rng::new(1, 99, number as u64);
        let apart = (0..PAIRS).filter(|_| {
            let body = bodies[rng.below(bodies.len())];
            let [a, b] = pair(kind, body, &mut rng);
            !differing(&a, &b, Kinds::NAMES).is_empty()
        });
        let share = apart.count() as f64 / PAIRS as f64;
        println!("| {} | {} | {share:.3} |", kind.name, if kind.held_out { "yes" } else { "" });
    }
    true
}
