//! Tables whose rows are made by templates: how many distinct texts one call merges, and how many edited copies it finds.
//!
//! Every family says in its comment why two of its rows are distinct. The first half is for developing; the rules of
//! `core/src/details/templates` were not chosen on the second.

use dedup_core::dedup::{Comparable, DEDUP, EqualTexts, Keep, Limits, Rows, Written, find};
use dedup_core::external::{MemoryHost, MemorySpill};
use dedup_core::features::TextRecipe;
use dedup_core::random::SplitMix64;
use serde_json::json;
use std::collections::HashSet;

/// Words that a slot takes; `|` parts them.
type List = (&'static str, &'static str);

const LISTS: [List; 25] = [
    (
        "street",
        "Ashford|Birch|Canal|Dover|Elm|Foundry|Grange|Harbour|Iris|Juniper|King|Linden|Maple|Nelson|Orchard|Priory|Quarry|Rowan|Station|Thorn|Union|Victoria|Willow|York",
    ),
    (
        "fault",
        "the lift is stuck|the heating is off|water drips from the ceiling|the front door does not lock|the stairs are not lit|rats are in the yard|the bins overflow|a window is broken",
    ),
    ("colour", "black|white|navy|olive|red|grey|sand|teal|wine|mint"),
    ("size", "XS|S|M|L|XL|XXL"),
    ("motif", "fox|moon|bicycle|mountain|cactus|whale|guitar|lighthouse|rocket|owl|anchor|tiger"),
    (
        "crate",
        "serde|tokio|rand|clap|hyper|regex|syn|quote|bytes|tower|axum|libc|mio|ring|time|url|log|nom|itoa|memchr",
    ),
    (
        "trade",
        "electrician|plumber|accountant|nurse|welder|teacher|driver|cook|carpenter|receptionist|mechanic|surveyor",
    ),
    (
        "town",
        "Leeds|Bath|Derby|Truro|Wells|Ripon|Hull|York|Exeter|Durham|Lincoln|Preston|Salford|Norwich|Oxford",
    ),
    ("user", "root|admin|oracle|test|guest|ubuntu|git|ftp|nagios|deploy|pi|mysql"),
    ("service", "billing|search|gateway|mailer|auth|catalog|ledger|images|queue|report"),
    (
        "course",
        "algebra|botany|cartography|drama|economics|French|geology|history|Italian|journalism|knitting|logic|music|pottery",
    ),
    ("team", "Rovers|United|Athletic|Wanderers|Albion|City|Harriers|Rangers|Town|Swifts"),
    ("weather", "light rain|heavy snow|bright sun|dense fog|strong wind|drizzle|hail|thunder"),
    ("drug", "Amoxil|Zestra|Corvadin|Lumetra|Novapril|Seretol|Tavomax|Ulbrex|Vexin|Wardox"),
    (
        "first",
        "Anna|Ben|Clara|David|Emma|Frank|Grace|Henry|Ivy|Jack|Kate|Leo|Mia|Noah|Olive|Paul|Ruth|Sam|Tess|Will",
    ),
    (
        "last",
        "Archer|Bell|Carter|Dixon|Ellis|Fisher|Grant|Howard|Irwin|Jones|Knight|Lloyd|Mason|Nash|Owen|Price|Reid|Stone",
    ),
    (
        "小区",
        "翠湖春天|金桂嘉园|阳光水岸|东方名城|绿地香颂|滨江一号|书香门第|锦绣华庭|紫荆花园|云溪雅苑|和谐家园|万象新城|桃源里|星河湾|枫林小镇|御景台",
    ),
    (
        "公司",
        "鑫拓建筑|恒远物流|华美服饰|天宇电子|宏达食品|博雅教育|瑞丰装饰|安捷保安|盛世传媒|联创科技|德邦机械|春雨家政",
    ),
    ("商品", "电饭煲|扫地机器人|羽绒服|蓝牙耳机|按摩椅|空气炸锅|行车记录仪|儿童手表|电动牙刷|净水器"),
    ("问题", "噪音扰民|楼道堆物|电梯停运|下水道堵塞|路灯不亮|消防通道被占|垃圾无人清运|外墙脱落"),
    ("路", "解放路|人民路|中山路|建设路|和平路|新华路|胜利路|文化路|长江路|光明路"),
    ("线路", "12路|36路|108路|215路|夜7路|K3路|509路|旅游2号线"),
    ("科目", "语文|数学|英语|物理|化学|生物|历史|地理|政治"),
    ("人", "张伟|王芳|李秀英|刘洋|陈静|杨建国|赵丽|黄勇|周敏|吴强|徐明|孙艳|胡军|朱玉兰|高磊|林霞"),
    ("区", "东湖区|西城区|南山区|北岭区|江口区|河阳区|新港区|高新区"),
];

/// A family of texts: its name and its template. `{n}` is a number up to 99, `{nn}` up to 9,999, `{v}` a version, `{ip}`
/// an address, `{d}` a day.
type Family = (&'static str, &'static str);

#[rustfmt::skip]
const FAMILIES: [Family; 20] = [
    // Another street, flat or fault is another complaint.
    ("complaints", "Dear housing office, I live in {street} Court, flat {n}, and since {d} {fault}. I have called the caretaker twice and nothing has happened. Please send somebody."),
    // Another motif, colour or size is another article.
    ("T-shirts", "Organic cotton T-shirt with {motif} print, {colour}, size {size}, machine washable, made in Portugal"),
    // Another package or version is another release.
    ("releases", "{crate} {v} released: bug fixes and performance improvements. See the changelog for details and upgrade notes."),
    // Another trade or town is another job.
    ("job ads", "We are looking for an experienced {trade} in {town}. Full time, permanent, good pay and a friendly team. Send your application with a short letter to our office."),
    // Another user, address or port is another event.
    ("log: logins", "sshd: Failed password for invalid user {user} from {ip} port {nn} ssh2"),
    // Another service or number is another event.
    ("log: retries", "WARN {service} request {nn} timed out after {nn} ms, retrying ({n} of 100)"),
    // Another estate or problem is another complaint.
    ("小区投诉", "您好，我是{小区}的业主，我们小区{问题}已经有{n}天了，多次向物业反映一直没有人处理，希望有关部门尽快解决，谢谢。"),
    // Another firm is another case.
    ("拖欠工资", "我在{公司}有限公司上班，公司拖欠我们{n}名员工工资{n}个月，老板一直说没有钱，请劳动监察部门帮我们讨要工资。"),
    // Another article or order is another case.
    ("网购投诉", "我在网上买了一台{商品}，订单号{nn}，收到货以后发现有质量问题，商家拒绝退货退款，请帮忙处理。"),
    // Another line or street is another suggestion.
    ("公交建议", "建议{线路}公交车在{路}增设一个站点，附近居民出行很不方便，早晚高峰等车时间太长。"),
    // From here on: kept apart.
    // Another course or day is another course.
    ("courses", "Evening course in {course} for beginners, room {n}, starts on {d}. Bring pen and paper; the fee is paid at the first meeting."),
    // Another match is another result.
    ("matches", "{town} {team} beat {town} {team} {n} to {n} in front of {nn} spectators after a goalless first half."),
    // Another day and place is another report.
    ("weather", "Forecast for {town} on {d}: {weather} in the morning, {weather} in the afternoon, highs of {n} degrees, moderate wind from the west."),
    // Another preparation or strength is another one.
    ("medicines", "{drug} {nn} mg film-coated tablets. Read all of this leaflet carefully before you start taking this medicine because it contains important information for you."),
    // Another person is another contract.
    ("contracts", "This agreement is made on {d} between the landlord and {first} {last} for the flat in {street} Street {n}. The rent is due on the first day of each month and amounts to {nn} pounds."),
    // Another block or node is another event.
    ("log: blocks", "INFO dfs.DataNode: Received block blk_{nn}{nn} of size {nn}{n} from /{ip}"),
    // Another subject and grade is another lesson.
    ("课程表", "高{n}班{科目}老师周末在校外违规补课，每节课收费{nn}元，要求全班学生参加，家长敢怒不敢言。"),
    // Another street is another lamp.
    ("路灯", "{区}{路}{n}号附近的路灯坏了{n}盏，晚上漆黑一片，老人孩子出行很不安全，请尽快派人维修。"),
    // Another place and article is another inspection.
    ("抽检", "经抽检，{区}{公司}有限公司生产的{商品}不符合国家标准要求，已责令该企业停止销售并召回不合格产品。"),
    // Another person is another applicant.
    ("证明", "兹证明{区}{小区}居民{n}号楼住户家庭人均月收入{nn}元，符合低保申请条件，特此证明。"),
];

fn value(slot: &str, random: &mut SplitMix64) -> String {
    let below = |random: &mut SplitMix64, most: usize| random.below(most);
    match slot {
        "n" => (1 + below(random, 99)).to_string(),
        "nn" => (100 + below(random, 9900)).to_string(),
        "v" => format!("{}.{}.{}", below(random, 4), below(random, 30), below(random, 12)),
        "ip" => format!(
            "{}.{}.{}.{}",
            10 + below(random, 200),
            below(random, 256),
            below(random, 256),
            below(random, 256)
        ),
        "d" => format!(
            "{} {}",
            1 + below(random, 28),
            ["January", "March", "May", "June", "August", "October"][below(random, 6)]
        ),
        _ => {
            let list = LISTS.iter().find(|list| list.0 == slot).map_or("", |list| list.1);
            let values: Vec<&str> = list.split('|').collect();
            values[below(random, values.len())].to_owned()
        }
    }
}

/// A text of the family, and how its slots were filled.
fn text(template: &str, random: &mut SplitMix64) -> String {
    let mut parts = template.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (slot, rest) = part.split_once('}').unwrap_or((part, ""));
        text += &value(slot, random);
        text += rest;
    }
    text
}

/// A copy of a text with its frame edited: a word added, one left out, a letter misspelt, other punctuation.
fn edited(text: &str, template: &str, random: &mut SplitMix64) -> String {
    let chinese = template.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    match random.below(4) {
        0 if chinese => format!("{text}麻烦了。"),
        0 => format!("{text} Thank you!"),
        1 if chinese => format!("请问，{text}"),
        1 => format!("Hello, {text}"),
        2 => text.replace(". ", "! ").replace('。', "！").replace(", ", " ").replace('，', " "),
        _ => {
            // The longest word of the frame, with two letters changed about; of Chinese one character left out.
            let frame: String = template
                .split('{')
                .map(|part| part.split_once('}').map_or(part, |part| part.1))
                .collect::<Vec<_>>()
                .join(" ");
            if chinese {
                let run = frame
                    .split(|c: char| !c.is_alphanumeric())
                    .max_by_key(|run| run.len())
                    .unwrap_or_default();
                let less: String = run.chars().take(1).chain(run.chars().skip(2)).collect();
                return text.replacen(run, &less, 1);
            }
            let word =
                frame.split(|c: char| !c.is_alphabetic()).max_by_key(|word| word.len()).unwrap_or_default();
            let mut letters: Vec<char> = word.chars().collect();
            if letters.len() > 4 {
                letters.swap(2, 3);
            }
            text.replacen(word, &letters.into_iter().collect::<String>(), 1)
        }
    }
}

struct Made {
    texts: Vec<String>,
    /// The distinct text that each is or repeats.
    matter: Vec<usize>,
}

fn make(template: &str, rows: usize, random: &mut SplitMix64) -> Made {
    let mut seen = HashSet::new();
    let mut made = Made { texts: Vec::new(), matter: Vec::new() };
    for _ in 0..20 * rows {
        let text = text(template, random);
        if made.texts.len() < rows && seen.insert(text.clone()) {
            made.matter.push(made.texts.len());
            made.texts.push(text);
        }
    }
    for matter in (0..made.texts.len()).step_by(5) {
        let copy = edited(&made.texts[matter], template, random);
        if seen.insert(copy.clone()) {
            made.texts.push(copy);
            made.matter.push(matter);
        }
    }
    made
}

/// The groups of texts by one call: for each the kept row.
fn groups(texts: &[String], details: &[&str]) -> Vec<usize> {
    let options = json!({"method": "text", "similarity": 0.5, "n": 2, "details": details});
    let options = Written::new(DEDUP, Some(options)).and_then(|written| written.read());
    let mut options = options.unwrap_or_else(|wrong| super::fail("options", wrong.what));
    let recipe = TextRecipe::default();
    options.alike.normal = recipe.normal;
    let mut rows = Rows::new(MemorySpill::default(), Keep::First);
    let mut hashes = EqualTexts::new(1 << 24, MemorySpill::default());
    let run = || -> dedup_core::external::Result<Vec<usize>> {
        for text in texts {
            let number = rows.add(b"", text, Comparable::Near, 0)?;
            hashes.add(number, text.as_bytes())?;
        }
        let limits = Limits { memory: 1 << 26, sketches: 0, threads: 2 };
        let mut found = find(options, &recipe, rows, hashes, false, limits, &mut MemoryHost)?;
        Ok((0..texts.len()).map(|row| found.keeper(row)).collect())
    };
    run().unwrap_or_else(|error| super::fail("groups", format!("{error:?}")))
}

/// The share of distinct texts that lie in a group with another one, and the share of copies that lie in a group with theirs.
fn measure(made: &Made, kept: &[usize]) -> [f64; 2] {
    let distinct: Vec<usize> = (0..kept.len()).filter(|&row| made.matter[row] == row).collect();
    let mut of = std::collections::HashMap::<usize, HashSet<usize>>::new();
    for (row, kept) in kept.iter().enumerate() {
        of.entry(*kept).or_default().insert(made.matter[row]);
    }
    let merged = distinct.iter().filter(|&&row| of[&kept[row]].len() > 1).count();
    let copies: Vec<usize> = (0..kept.len()).filter(|&row| made.matter[row] != row).collect();
    let found = copies.iter().filter(|&&row| kept[row] == kept[made.matter[row]]).count();
    [merged as f64 / distinct.len() as f64, found as f64 / copies.len().max(1) as f64]
}

/// Letters that many send: `{}` parts the head, the body and the foot. The same letter signed by fifty people is one matter, the same
/// letter from fifty estates is fifty.
const LETTERS: [(&str, &str, usize); 8] = [
    (
        "signed letter",
        "Dear Councillor, {} {} Yours sincerely, {first} {last}, {street} Street {n}, telephone {nn} {nn}, {d}",
        1,
    ),
    (
        "letter of estates",
        "Dear Councillor, I write as a resident of {street} {town} Court. {} {} Yours sincerely, a resident",
        50,
    ),
    (
        "letterhead",
        "{first} {last}\n{n} {street} Street\n{d}\n\nDear Councillor,\n\n{}{}\n\nYours sincerely,\n",
        1,
    ),
    (
        "estate above",
        "{first} {last}\n{n} {street} Street\n\nRe: {last} {town} Court, {street} Street\n\nDear Councillor,\n\n{}{}\n\nYours sincerely,\n",
        50,
    ),
    ("联名信", "尊敬的领导：{}{}此致敬礼！{小区}{n}号楼{nn}室 联系电话138{nn}{nn} {d}", 1),
    ("各小区来信", "尊敬的领导：我是{区}{小区}的业主。{}{}此致敬礼！一名业主", 50),
    ("投诉人", "投诉人：{人}\n电话：138{nn}{nn}\n尊敬的领导：您好！{}{}\n此致\n敬礼", 1),
    ("标题", "{区}{路}{小区}\n尊敬的领导：您好！{}{}\n此致\n敬礼", 50),
];
const BODIES: [&str; 2] = [
    "for many years the bus that serves our part of the town has come every ten minutes, and children, workers and the old have relied on it. Since the new timetable came it stops at seven in the evening, and whoever works late, visits a friend or comes home from the hospital has to walk for half an hour along a road without a pavement. The operator says that too few people travel at night, but nobody has counted them, and nobody has asked us. We ask the council to have the passengers counted for a month, to publish the figures, and to keep the evening bus until then.",
    "我们小区旁边的垃圾中转站每天凌晨三点开始作业，车辆轰鸣、臭气熏天，居民长期无法开窗，老人和孩子的健康受到严重影响。我们曾多次向街道办和环卫部门反映，得到的答复都是正在研究，至今没有任何实质性的改善。中转站距离最近的居民楼不到二十米，不符合国家有关规定的卫生防护距离。恳请政府尽快组织环保部门进行检测，公布检测结果，并将中转站搬迁到远离居民区的地方，还居民一个安静清洁的生活环境。",
];

fn letters(template: &str, body: &str, random: &mut SplitMix64) -> Vec<String> {
    let mut seen = HashSet::new();
    let made = (0..1000).map(|_| {
        text(&template.replacen("{}", "", 1).replacen("{}", "\u{1}", 1), random).replace('\u{1}', body)
    });
    // Who stands in the first line signs.
    let signed = |mut text: String| {
        if text.ends_with('\n') {
            text.extend(text.clone().lines().next());
        }
        text
    };
    made.map(signed).filter(|text| seen.insert(text.clone())).take(50).collect()
}

pub fn report(rows: usize, seed: u64) {
    println!(
        "Distinct texts merged / edited copies found; {rows} texts of each template, and one in five edited\n"
    );
    println!("{:14} {:>15} {:>15} {:>15}", "", "no details", "names", "names, slots");
    for (half, families) in [("developing", &FAMILIES[..10]), ("kept apart", &FAMILIES[10..])] {
        let mut sums = [[0.0; 2]; 3];
        let mut worst = [[0.0f64, 1.0]; 3];
        for (name, template) in families {
            let mut random = SplitMix64::new(seed);
            let made = make(template, rows, &mut random);
            let cells: Vec<[f64; 2]> = [&[][..], &["name"], &["name", "slot"]]
                .iter()
                .map(|details| measure(&made, &groups(&made.texts, details)))
                .collect();
            let shown: Vec<String> =
                cells.iter().map(|[merged, found]| format!("{merged:.3} / {found:.3}")).collect();
            println!("{name:14} {:>15} {:>15} {:>15}", shown[0], shown[1], shown[2]);
            for (at, cell) in cells.iter().enumerate() {
                sums[at] = [sums[at][0] + cell[0], sums[at][1] + cell[1]];
                worst[at] = [worst[at][0].max(cell[0]), worst[at][1].min(cell[1])];
            }
        }
        let n = families.len() as f64;
        for (what, cells) in [("mean", sums.map(|sum| sum.map(|sum| sum / n))), ("worst", worst)] {
            let shown = cells.map(|[merged, found]| format!("{merged:.3} / {found:.3}"));
            println!("{:14} {:>15} {:>15} {:>15}", format!("{what}, {half}"), shown[0], shown[1], shown[2]);
        }
        println!();
    }
    println!("Groups of 50 letters\n");
    println!("{:20} {:>8} {:>15} {:>15} {:>15}", "", "wanted", "no details", "names", "names, slots");
    for (name, template, wanted) in LETTERS {
        let body = BODIES[usize::from(!name.is_ascii())];
        let texts = letters(template, body, &mut SplitMix64::new(seed));
        let count = |details: &[&str]| groups(&texts, details).into_iter().collect::<HashSet<_>>().len();
        let counts = [count(&[]), count(&["name"]), count(&["name", "slot"])];
        println!("{name:20} {wanted:>8} {:>15} {:>15} {:>15}", counts[0], counts[1], counts[2]);
    }
}
