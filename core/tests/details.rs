//! The details in which nearly equal texts differ: names, dates, numbers.

mod common;

use common::interrupted_after;
use dedup_core::details::{Comparer, Kinds, Passage, differing, passages};
use dedup_core::hash::mix64;
use dedup_core::random::SplitMix64;
use proptest::prelude::*;

fn found(a: &str, b: &str) -> Vec<(String, String, String)> {
    let all = differing(a, b, Kinds::ALL).into_iter();
    all.map(|p| (p.kind.to_owned(), p.a, p.b)).collect()
}

fn one(kind: &str, a: &str, b: &str) -> Vec<(String, String, String)> {
    vec![(kind.to_owned(), a.to_owned(), b.to_owned())]
}

/// Protects what is called another thing: each pair differs in one name.
#[test]
fn another_name_is_another_matter() {
    for (a, b, x, y) in [
        ("我们是翠湖春天小区的居民", "我们是金桂嘉园小区的居民", "翠湖春天小区", "金桂嘉园小区"),
        ("住在K3区的人都没有水", "住在K5区的人都没有水", "K3区", "K5区"),
        ("从B市到A市的地铁", "从C市到A市的地铁", "B市", "C市"),
        ("东区停水三天", "西区停水三天", "东区", "西区"),
        ("地铁3号线停运", "地铁5号线停运", "3号线", "5号线"),
        ("地铁三号线停运", "地铁十二号线停运", "三号线", "十二号线"),
        ("坐12路公交上班", "坐28路公交上班", "12路公交", "28路公交"),
        ("第二小学的食堂", "第三小学的食堂", "二小学", "三小学"),
        ("孩子在瑞锦实验小学上学", "孩子在博雅实验小学上学", "瑞锦", "博雅"),
        ("鑫拓公司拖欠工资", "博衍公司拖欠工资", "鑫拓公司", "博衍公司"),
    ] {
        assert_eq!(found(a, b), one("name", x, y));
        assert_eq!(found(b, a), one("name", y, x));
    }
}

/// Protects true duplicates: other wordings, spellings, additions, people addressed.
#[test]
fn wordings_additions_and_misspellings_are_not() {
    for (a, b) in [
        ("尊敬的领导，小区停水", "小区停水，请尊敬的领导处理"),
        ("楚帆社区停水", "楚范社区停水"),
        ("书记您好，停水三天", "市长您好，停水三天"),
        ("小区停水", "Ａ小区停水！"),
        ("贵县的路坏了", "西地省的路坏了"),
        ("本小区停水三天", "翠湖春天小区停水三天"),
        ("翠湖春天小区停水三天", "翠湖春晓小区停水三天"),
        ("地铁3号线停运", "地铁三号线停运"),
        ("", "停水"),
    ] {
        assert_eq!(found(a, b), [], "{a} {b}");
    }
}

/// Protects English: names by capitals, by words behind, and numbers behind a word such as order.
#[test]
fn english_names() {
    for (a, b, x, y) in [
        ("The lamps along Oak Street are out.", "The lamps along Linden Street are out.", "Oak", "Linden"),
        ("Riverside Court has had no heat.", "Lakeview Court has had no heat.", "Riverside", "Lakeview"),
        ("The bus to Ashford was late again.", "The bus to Wexcombe was late again.", "Ashford", "Wexcombe"),
        (
            "I bought it from Brightway Ltd in May.",
            "I bought it from Corfield Ltd in May.",
            "Brightway",
            "Corfield",
        ),
        ("My order number 48213 never came.", "My order number 77120 never came.", "48213", "77120"),
        ("The drivers of route 12 do not stop.", "The drivers of route 64 do not stop.", "12", "64"),
        ("no water in linden street since monday", "no water in oak street since monday", "linden", "oak"),
    ] {
        assert_eq!(found(a, b), one("name", x, y));
        assert_eq!(found(b, a), one("name", y, x));
    }
    for (text, x, y) in [
        // Names made of words for places, or that begin with a common word.
        ("We met along {} last night.", "Station Road", "Bishop Street"),
        ("The people of {} are tired.", "Old Harbour", "Hollybank"),
        // Lanes and closes are everywhere: they make no name known.
        ("The lamps at {} are out, and in Baker Close too.", "Foundry Lane", "Orchard Close"),
    ] {
        let (a, b) = (text.replace("{}", x), text.replace("{}", y));
        assert_eq!(found(&a, &b), one("name", x, y));
        assert_eq!(found(&b.replace("Close too", "Lane too"), &a), one("name", y, x));
    }
    let shouted = "I WRITE AS A RESIDENT OF HOLLYBANK THE LAMP IS OUT";
    let said = "I write as a resident of Briarwood. The lamp is out.";
    assert_eq!(found(said, shouted), one("name", "Briarwood", "HOLLYBANK"));
    let (long, families) =
        ("We have waited for so long that nobody can tell. Please help.", "with weaker claims were let in.");
    let before = format!("Families from Harbour Road {families} {long}");
    assert_eq!(
        found(&before, &format!("{long} Families from Cromwell Road {families}")),
        one("name", "Harbour", "Cromwell")
    );
    // The other text has one of them elsewhere.
    let moved = |a, b| format!("He has been living in {a} since then, and she went from there to {b} again.");
    let both = [one("name", "Eastmoor", "Stonewell"), one("name", "Sandpit", "Eastmoor")].concat();
    assert_eq!(found(&moved("Eastmoor", "Sandpit"), &moved("Stonewell", "Eastmoor")), both);
    for (a, b) in [
        ("Dear Mayor Brown, the lamps are out.", "Dear Councillor Smith, the lamps are out."),
        ("The lamps along Linden Street are out.", "The lamps along Lindne Street are out."),
        ("The lamps along Linden Street are out.", "The lamps along Linden St are out."),
        ("The big lamps are out again.", "The little lamps are broken again."),
        ("It is out. Yours sincerely, John Barker", "It is out. Yours sincerely, Mary Finch"),
        ("The lamps in the street are out.", "The lamps in the road are out."),
        ("The lamps are out in our old Street.", "The lamps are out in our new Street."),
        ("The lamps are out. Fix them.", "The lights are out. Mend them."),
    ] {
        assert_eq!(found(a, b), [], "{a} {b}");
    }
    assert_eq!(found("It cost 40 pounds.", "It cost 45 pounds."), one("number", "40", "45"));
    assert_eq!(found("It broke on 3 May.", "It broke on 5 May."), one("date", "3", "5"));
    assert_eq!(found("I live at 12 Oak Street.", "I live at 14 Oak Street."), one("number", "12", "14"));
}

/// Protects what no list of names has: closed shapes, persons a text is about, places whose kind nobody tells, numerals.
#[test]
fn names_that_no_list_has() {
    let name = |a: &str, b: &str| !differing(a, b, Kinds::NAMES).is_empty();
    for (text, x, y) in [
        ("请访问 {} 查看", "www.alpha-shop.com", "www.beta-mart.com"),
        ("the site {} is down again", "news.example.org", "mail.example.org"),
        ("write to {} please", "anna.bell@mail.org", "ben.carter@mail.org"),
        ("see {} for details", "https://x.org/issue/alpha", "https://x.org/issue/omega"),
        ("server {} does not answer", "10.0.0.12", "10.0.0.57"),
        ("update to {} breaks the build", "2.3.1", "2.4.0"),
        ("车牌{}乱停", "湘A12345", "湘B98765"),
        ("国道{}堵车严重", "G107", "G320"),
        ("the {} is closed", "A38", "M5"),
        ("村主任{}贪污扶贫款", "张建国", "李桂芳"),
        ("举报{}违法占地", "张建国", "李桂芳"),
        ("有个叫{}的人到处骗钱", "张建国", "李桂芳"),
        ("村支书{}私分集体土地", "王大明", "刘小军"),
        ("老板{}拖欠工资", "欧阳建国", "司马相如"),
        ("Dr. {} did not see me for hours", "Barker", "Finch"),
        ("在{}火锅店吃饭拉肚子", "小肥羊", "海底捞"),
        ("孩子在{}上学，学校乱收费", "育英", "启明"),
        ("Part {} of the manual is missing", "II", "IV"),
        ("二期工程停工 Phase {}", "II", "III"),
        ("Vitamin {} tablets are too small", "B", "C"),
        // A word that closes a letter elsewhere.
        ("we wait for the bus and we sincerely hope for one to {} Hospital", "Leeds", "Truro"),
    ] {
        let (a, b) = (text.replace("{}", x), text.replace("{}", y));
        assert!(name(&a, &b) && name(&b, &a), "{a} / {b}");
    }
    for (a, b) in [
        ("从长沙、株洲、湘潭出发", "从湘潭、长沙、株洲出发"),
        ("床前明月光，疑是地上霜", "床前看月光，疑是地上霜"),
        ("裏面没有燈", "里面没有灯"),
        ("བཀྲ་ཤིས་བདེ་ལེགས་ཞུས།", "བཀྲ་ཤིས་བདེ་ལེགས་གནང་།"),
        ("我叫张建国，是本村村民", "我叫李桂芳，是本村村民"),
        ("尊敬的主任李桂芳：村里停水", "尊敬的主任张建国：村里停水"),
        ("举报人张建国，停水三天", "举报人李桂芳，停水三天"),
        ("It is done.Next please look at it", "It is done. Then please look at it"),
        ("Fixed on 2024.03.05 at last", "Fixed on 05.03.2024 at last"),
        ("see https://x.org/issue/alpha for details", "see x.org/issue/alpha for details"),
        ("update to v2.3.1 breaks it", "update to 2.3.1 breaks it"),
        ("我在家里买了沙发", "我在网上买了沙发"),
    ] {
        assert!(!name(a, b) && !name(b, a), "{a} / {b}");
    }
}

#[test]
fn numbers_and_dates_by_value() {
    assert_eq!(found("2019年公租房何时摇号", "2020年公租房何时摇号"), one("date", "2019", "2020"));
    assert_eq!(found("罚款500元", "罚款1500元"), one("number", "500", "1500"));
    assert_eq!(found("罚款1,500元", "罚款1500元"), []);
    assert_eq!(found("小区停水三天", "小区停水五天"), one("number", "三", "五"));
    assert_eq!(found("停水十二天了", "停水二十天了"), one("number", "十二", "二十"));
    assert_eq!(found("二〇一九年停水", "二〇二〇年停水"), one("date", "二〇一九", "二〇二〇"));
    assert_eq!(found("停水十二天了", "停水12天了"), []);
    assert_eq!(found("欠费三千五百元", "欠费3500元"), []);
    assert_eq!(found("涨到2.5元", "涨到2.9元"), one("number", "2.5", "2.9"));
    assert_eq!(found("一直停水", "三番停水"), []);
    for (number, value) in [
        ("三亿五千万零二十", 350_000_020u64),
        ("十", 10),
        ("三万亿", 3_000_000_000_000),
        ("5百", 500),
        ("007", 7),
    ] {
        let of = |value: u64| found(&format!("欠费{number}元"), &format!("欠费{value}元"));
        assert!(of(value).is_empty() && !of(value + 1).is_empty(), "{number}");
    }
}

/// Protects that what is written otherwise is no other number or date, and that what is only counted is no name.
#[test]
fn a_number_written_otherwise_is_no_other() {
    for (a, b) in [
        ("Order 4711 0815 has not arrived", "Order 47110815 has not arrived"),
        ("Order 4711 has not arrived", "Order 47l1 has not arrived"),
        ("Order 4700 has not arrived", "Order 47O0 has not arrived"),
        ("Your reference 2024-03-05, thank you", "Your reference 5 March 2024, thank you"),
        ("It broke on March 5, 2024 again", "It broke on 2024/3/5 again"),
        ("2024年3月5日小区停水", "2024-03-05小区停水"),
        ("自2024年3月5日起停水", "自2024-03-05起停水"),
        ("call 138 1234 5678 today", "call 13812345678 today"),
        ("0o0o0", "0o0o0"),
        ("0o0o0", ""),
    ] {
        assert_eq!(found(a, b), [], "{a} / {b}");
        assert_eq!(found(b, a), [], "{b} / {a}");
    }
    for (a, b) in [
        ("I placed my order 3 March and wait", "I placed my order 4 March and wait"),
        ("we order 3 pizzas a week", "we order 4 pizzas a week"),
        ("2024年3月5日小区停水", "2024-03-06小区停水"),
    ] {
        assert_eq!(differing(a, b, Kinds::NAMES), [], "{a} / {b}");
        assert!(!found(a, b).is_empty(), "{a} / {b}");
    }
    assert_eq!(found("It broke on 5 March.", "It broke on 3 May."), one("date", "5", "3"));
    assert_eq!(found("my order no. 3 is late", "my order no. 4 is late"), one("name", "3", "4"));
    assert_eq!(found("my ticket #12 is open", "my ticket #13 is open"), one("name", "12", "13"));
}

/// Protects telephones, orders and meters: numbers side by side are compared as one, and so are those among words that
/// differ too. What only has more numbers is no other.
#[test]
fn a_changed_neighbour_hides_no_number() {
    for (kind, a, b, x, y) in [
        ("name", "Order 4711 88 is late", "Order 5622 99 is late", "4711 88", "5622 99"),
        ("name", "Order 4711 88 is late", "Order 5622 is late", "4711 88", "5622"),
        ("name", "Order 4711 for Ann is late", "Order 5622 to Ann is late", "4711", "5622"),
        ("name", "订单 1234 5678 没有到", "订单 9234 9678 没有到", "1234 5678", "9234 9678"),
        ("name", "去第二小学吃饭", "到第三小学吃饭", "二小学", "三小学"),
        ("number", "call 0113 4960123", "call 0114 7770456", "0113 4960123", "0114 7770456"),
        ("number", "a phone of 14 128 GB", "a phone of 13 256 GB", "14 128", "13 256"),
        ("number", "Flat 12 34 is cold", "Flat 15 36 is cold", "12 34", "15 36"),
        ("number", "Flat 12 34 is cold", "Flat 15 12 is cold", "12 34", "15 12"),
        ("number", "box 12-34", "box 56-78", "12 34", "56 78"),
        ("number", "meter 12 345", "meter 67 890", "12 345", "67 890"),
        ("number", "电话 0571 8888 1234", "电话 0571 9999 5678", "8888 1234", "9999 5678"),
        ("number", "电话142****8921，停水", "电话184****4243，停水", "142 8921", "184 4243"),
        ("number", "to DE89 3704 0044", "to FR76 3000 6000", "89 3704 0044", "76 3000 6000"),
        ("number", "shoes size 42 blue", "shoes size 43 red", "42", "43"),
        ("number", "Backport HADOOP-17653 for 3.2", "Backport HADOOP-17837 to 3.2", "17653", "17837"),
        ("date", "It broke on 3 May 2020.", "It broke on 5 June 2021.", "3 May 2020", "5 June 2021"),
    ] {
        assert_eq!(found(a, b), one(kind, x, y));
        assert_eq!(found(b, a), one(kind, y, x));
    }
    for (a, b) in [("Order 5622 99 is late", "Order 5622 is late"), ("call 0113 496", "call 113 496.0")] {
        assert_eq!(found(a, b), [], "{a} {b}");
    }
}

#[test]
fn house_numbers_are_no_dates() {
    for (kind, a, b, x, y) in [
        ("number", "青山小区3号楼停水", "青山小区5号楼停水", "3号楼", "5号楼"),
        ("name", "3号院没有路灯", "5号院没有路灯", "3号院", "5号院"),
        ("number", "解放路3号漏水", "解放路5号漏水", "3", "5"),
        ("date", "从3号开始停水", "从5号开始停水", "3", "5"),
        ("date", "5月3号楼道停电", "5月5号楼道停电", "3", "5"),
    ] {
        assert_eq!(found(a, b), one(kind, x, y), "{a}");
    }
    let of = |kinds| differing("5月3号停水", "5月6号停水", kinds).len();
    assert_eq!((of(Kinds::NAMES), of(Kinds { dates: false, ..Kinds::ALL }), of(Kinds::ALL)), (0, 0, 1));
    let of = |kinds| differing("青山小区三号楼停水", "青山小区五号楼停水", kinds).len();
    assert_eq!(
        (of(Kinds::NAMES), of(Kinds { numbers: true, names: false, dates: false, slots: false })),
        (0, 1)
    );
}

#[test]
fn kinds_have_names() {
    assert_eq!(Kinds::parse(["name"]), Ok(Kinds::NAMES));
    assert_eq!(Kinds::parse(["number", "slot", "date", "name", "date"]), Ok(Kinds::ALL));
    assert_eq!(Kinds::parse(["date", "dates"]), Err("dates"));
}

/// Protects the server: long texts that have nothing in common, or the same few words, end and can be ended.
#[test]
fn long_texts_are_bounded() {
    let text = |words: [&str; 3], count: u64| -> String {
        (0..count).map(|n| words[(mix64(n) % 3) as usize]).collect()
    };
    let (a, b) = (text(["小区", "停水，", "3号线"], 60_000), text(["小区", "停电，", "5号线"], 60_000));
    assert!(interrupted_after(1000, || drop(differing(&a, &b, Kinds::ALL))).0);
    differing(&a, &b, Kinds::ALL);
}

/// Protects that who signs does not tell two letters apart, behind a closing formula and nowhere else.
#[test]
fn who_signs_does_not_tell_letters_apart() {
    let names = |a: &str, b: &str| differing(a, b, Kinds::NAMES).len();
    let letter = |at: &str, signed: &str| {
        format!(
            "The lamps at the {at} playground are out and children walk home in the dark. Yours sincerely, {signed}"
        )
    };
    assert_eq!(
        names(
            &letter("Ashford", "R. Hollybank, Linden Street 4"),
            &letter("Ashford", "M. Corfield, Birch Street 12")
        ),
        0
    );
    assert!(names(&letter("Ashford", "R. Hollybank"), &letter("Eastmoor", "R. Hollybank")) > 0);
    let letter = |at: &str, signed: &str| {
        format!("{at}小区门口的路灯坏了一个月，孩子放学要摸黑走路，请尽快维修。此致敬礼！{signed}")
    };
    assert_eq!(
        names(&letter("翠湖春天", "金桂嘉园小区王先生"), &letter("翠湖春天", "阳光水岸小区李女士")),
        0
    );
    assert!(names(&letter("翠湖春天", "王先生"), &letter("阳光水岸", "王先生")) > 0);
}

/// Protects that codes tell things apart, however they are cut, and that one that both have is enough.
#[test]
fn codes_tell_things_apart() {
    let codes = |a: &str, b: &str| {
        differing(a, b, Kinds::NAMES).into_iter().map(|it| (it.a, it.b)).collect::<Vec<_>>()
    };
    let pair = |a: &str, b: &str| vec![(a.to_owned(), b.to_owned())];
    assert_eq!(
        codes("Sony LCD Monitor - KDL32S3000", "Sony Bravia television KDL40V3000B with stand"),
        pair("KDL32S3000", "KDL40V3000B")
    );
    assert_eq!(codes("Sony monitor KDL-32S3000 silver", "Silver KDL32S3000/B by Sony, a monitor"), []);
    assert_eq!(codes("Canon toner GPR-15 for iR2270", "Toner for the Canon iR2270"), []);
    assert_eq!(codes("车牌京A12345的车挡住了消防通道", "有人举报京A67890占用盲道"), pair("A12345", "A67890"));
    assert_eq!(codes("Meeting at 10am in room b2", "We met at 11am, room c3"), []);
}

/// Protects the evidence: every word of both texts once, in order, and what decides.
#[test]
fn passages_say_what_is_shared_and_what_differs() {
    let rows = |a: &str, b: &str| {
        let shown = |it: Passage| {
            let sign = if it.shared { "=" } else { it.detail.unwrap_or("") };
            format!("{}|{}|{sign}", it.a.unwrap_or_default(), it.b.unwrap_or_default())
        };
        passages(a, b).into_iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(
        rows("我们是翠湖春天小区的居民，停水3天。", "我们是金桂嘉园小区的居民，停水5天，请处理。"),
        [
            "我们是|我们是|=",
            "翠湖春天小区|金桂嘉园小区|name",
            "小区的居民,停水|小区的居民,停水|=",
            "3|5|number",
            "天|天|=",
            "|请处理|"
        ]
    );
    assert_eq!(
        rows("The lamps in Oak Street are out.", "The lamps in Linden Street are out again."),
        ["The lamps in|The lamps in|=", "Oak|Linden|name", "Street are out|Street are out|=", "|again|"]
    );
    assert_eq!(rows("", ""), [""; 0]);
}

/// Words, and names; no word makes another a name.
const ENGLISH: [&str; 4] = [
    "the a to in for and of on lamp broken water window noisy carpet arrived never again check barks loudly month closed early \
     fence paint delivery blue red size shoes heavy cold with by at from nor dim leaking kindly ledge quiet bucket landed always",
    "Ashford Linden Wexcombe Brightway Corfield Hollybank Eastmoor Sandpit Stonewell Cromwell Quarley Thornbury Glasmere Oxgate",
    "",
    "",
];
const CHINESE: [&str; 4] = [
    "停水 我们 不断 没有 人 处理 物业 电话 昨天 晚上 已经 老人 孩子 垃圾 坏了 噪音 很大 希望 尽快 解决 的 在 了 收费 断电 他们 \
     总是 员工 维修 投诉 早晨 傍晚 曾经 妇女 学生 污水 破损 灰尘 严重 请求 马上 答复 和 从 过 罚款",
    "",
    "",
    "",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 16))]
    #[test]
    fn equal_texts_have_none_and_the_order_does_not_matter(
        a in "[东西路区号楼天月年0-9a三五十水，. oK湖]{0,12}", b in "[东西路区号楼天月年0-9a三五十水，. oK湖]{0,12}",
    ) {
        prop_assert_eq!(found(&a, &a), []);
        let turned = |(kind, a, b)| (kind, b, a);
        prop_assert_eq!(found(&a, &b), found(&b, &a).into_iter().map(turned).collect::<Vec<_>>());
    }

    /// Protects what was told apart: one more word, number or name in the place of another never makes one matter of two.
    /// The words that make something a name or a date stay (Street, order, 月), each word is in the place of one, and not all of
    /// a long clause is another: its numbers are then not compared. Chinese names do not keep to it: what stands beside them
    /// may be taken for a part of them.
    #[test]
    fn one_more_change_never_makes_two_texts_the_same(seed: u64, chinese: bool, changes in 1usize..4) {
        let words = if chinese { CHINESE } else { ENGLISH };
        let mut random = SplitMix64::new(seed);
        let mut pools = words.map(|words| words.split_whitespace().collect::<Vec<_>>());
        let mut number = 10;
        let mut another = |class: usize, random: &mut SplitMix64| {
            number += 1 + random.below(90);
            let pool = &mut pools[class];
            if pool.is_empty() { number.to_string() } else { pool.swap_remove(random.below(pool.len())).to_owned() }
        };
        // Words with their classes: 0 a word, 1 a name; 2 a number, of which there is no pool; 3 stays.
        let mut a: Vec<(usize, String)> = Vec::new();
        for _ in 0..3 + random.below(3) {
            let shape: &[&str] = match (random.below(6), chinese) {
                (0, _) => &["2", "2", "0"],
                (1, true) => &["地铁", "2", "号线"],
                (1, false) => &["order", "2"],
                (2, true) => &["2", "月"],
                (2, false) => &["2", "May"],
                (3, false) => &["1", "Street"],
                _ => &["0", "0"],
            };
            a.extend(shape.iter().map(|part| match part.parse() {
                Ok(class) => (class, another(class, &mut random)),
                Err(_) => (3, (*part).to_owned()),
            }));
        }
        let of = |parts: &[(usize, String)]| {
            let parts = parts.iter().map(|(_, part)| part.as_str()).collect::<Vec<_>>().join(" ");
            if chinese { parts } else { format!("we told them {parts} and nobody answered these letters") }
        };
        let mut b = a.clone();
        for step in 0..=changes {
            let near = |at: &usize| step == 0 || (at.saturating_sub(2)..a.len().min(at + 3)).any(|at| a[at] != b[at]);
            let free: Vec<usize> = (0..a.len()).filter(|&at| a[at].0 < 3 && a[at] == b[at]).filter(near).collect();
            let Some(at) = free.get(random.below(free.len().max(1))) else { break };
            let mut next = b.clone();
            next[*at].1 = another(a[*at].0, &mut random);
            for kinds in [["name"], ["date"], ["number"]] {
                let kinds = Kinds::parse(kinds).expect("a kind");
                let differ = |other| !differing(&of(&a), &of(other), kinds).is_empty();
                prop_assert!(!differ(&b) || differ(&next), "{kinds:?}\n{}\n{}\n{}\n{:?}\n{:?}", of(&a), of(&b), of(&next), differing(&of(&a), &of(&b), Kinds::ALL), differing(&of(&a), &of(&next), Kinds::ALL));
            }
            b = next;
        }
    }

    /// Whatever was compared before.
    #[test]
    fn a_comparer_remembers_nothing_wrong(
        texts in prop::collection::vec("[东西路区楼月翠湖年0-9三，. oK]{0,12}", 2..6),
    ) {
        let mut comparer = Comparer::default();
        for (a, b) in texts.iter().flat_map(|a| texts.iter().map(move |b| (a, b))) {
            prop_assert_eq!(comparer.differing(a, b, Kinds::ALL), differing(a, b, Kinds::ALL));
        }
    }

    #[test]
    fn any_text_goes(a in "\\PC{0,40}", b in "\\PC{0,40}") {
        found(&a, &b);
        prop_assert!(passages(&a, &a).iter().all(|it| it.shared) && passages(&a, &b).iter().all(|it| !it.shared || it.a.is_some()));
    }
}
