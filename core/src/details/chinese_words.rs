//! Words of Chinese that say what stands beside them: kinds of places, people addressed, function words.

use crate::text::tag as part_of_speech;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// What a word for a place or an office is about: names before words of one class are compared with each other. Villages
/// and neighbourhoods, towns and sub-districts, provinces, cities, districts and counties are three; companies are banks
/// and shops too, houses flats and rooms; waters, sights, authorities and parts of something are others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    Estate,
    Road,
    Village,
    Town,
    Area,
    School,
    Hospital,
    Company,
    Line,
    House,
    Other,
}

/// A word after which a name ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    pub word: &'static str,
    /// What it is about.
    pub class: Class,
    /// Whether what stands before it is nearly always a name.
    pub strong: bool,
    /// Whether a number before it is a name.
    pub numbered: bool,
    /// Whether words before it are a name.
    pub named: bool,
}

/// The words of each class. `*`: nearly always after a name; `#`: a number before it is a name; `=`: only a number is.
const UNITS: [(Class, &str); 11] = [
    (
        Class::Estate,
        "小区* 花园* 家园* 公寓* 苑* 山庄* 嘉园* 佳苑* 名苑* 雅苑* 新村* 雅居* 公馆* 华庭* 华府* 府 庭 湾 湾里 郡 城 新城 国际 庭院 \
         期#",
    ),
    (Class::Road, "路*# 街* 大道* 巷* 胡同*"),
    (Class::Village, "村*# 社区*# 屯 寨 组# 队# 片区="),
    (Class::Town, "镇* 乡* 街道*"),
    (Class::Area, "省 市# 区# 县#"),
    (Class::School, "学校* 小学*# 中学* 幼儿园* 学院* 大学* 中= 班="),
    (Class::Hospital, "医院* 卫生院 诊所 药店"),
    (
        Class::Company,
        "公司* 有限公司* 集团* 酒店* 宾馆* 银行* 支行* 分行 超市* 厂 店 馆 物业 影院 餐馆 饭店 餐厅 机构 食堂 平台",
    ),
    (Class::Line, "号线*# 线# 路公交= 路车= 公交= 标段="),
    (Class::House, "栋# 幢# 楼# 号 单元# 号楼= 座= 房= 室="),
    (
        Class::Other,
        "广场* 大厦* 公园* 派出所* 号院= 市场 法院 车站 工地 项目 桥 站 寺 湖 河 江 岛 坪 水库 院 中心",
    ),
];

static BY_WORD: LazyLock<FxHashMap<&'static str, Unit>> = LazyLock::new(|| {
    let read = |class, written: &'static str| {
        let word = written.trim_end_matches(['*', '#', '=']);
        let has = |mark| written[word.len()..].contains(mark);
        (word, Unit { word, class, strong: has('*'), numbered: has('#') || has('='), named: !has('=') })
    };
    UNITS.iter().flat_map(|&(class, words)| words.split(' ').map(move |word| read(class, word))).collect()
});

/// Characters of the longest of them.
const LONGEST_UNIT: usize = 4;

pub fn unit(word: &str) -> Option<Unit> {
    BY_WORD.get(word).copied()
}

/// As [`unit()`], if words before it are a name.
pub fn place(word: &str) -> Option<Unit> {
    unit(word).filter(|unit| unit.named)
}

/// The longest word for a place that `text` begins with.
pub fn place_before(text: &str) -> Option<Unit> {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).take(LONGEST_UNIT);
    ends.filter_map(|end| place(&text[..end])).last()
}

/// The longest word for a place that `text` ends with.
pub fn place_behind(text: &str) -> Option<Unit> {
    let starts = text.char_indices().rev().map(|(at, _)| at).take(LONGEST_UNIT);
    starts.filter_map(|start| place(&text[start..])).last()
}

/// The longest unit that `text` begins with and that a number before makes a name.
pub fn numbered_before(text: &str) -> Option<Unit> {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).take(LONGEST_UNIT);
    ends.filter_map(|end| unit(&text[..end])).filter(|unit| unit.numbered).last()
}

word_sets! {
    /// Who a petition speaks to or for: these change when it is filed again.
    addressed "书记 市长 县长 区长 局长 省长 镇长 主任 主席 部长 厅长 处长 科长 队长 所长 站长 院长 校长 行长 领导 领导们 政府 市政府
        县政府 区政府 市委 县委 市委书记 部门 有关部门 相关部门 相关 有关 上级 贵局 贵办 贵司 贵单位 尊敬 您好 你好 大人 父母官 同志 各位
        先生 女士 人民政府 局 委 平台 问政 网友 市领导 市民 群众 居民 业主 百姓 老百姓 住户 市里 县里 区里 全体"
    /// Words after which a person's name is what the text is about, and not who wrote it.
    before_person "女儿 儿子 孩子 小孩 学生 患者 病人 老人 父亲 母亲 丈夫 妻子 老公 老婆 爷爷 奶奶 外婆 老板 司机 包工头 村民 被告 死者
        伤者 同学 老师 教师 医生 房东 女 子 儿 父 母 弟弟 妹妹 哥哥 姐姐 孙子 孙女 举报 检举 控告 投诉 状告 起诉 揭发 叫 名叫 叫做 村主任 支书
        村支书 村长 村干部 会计 经理 总经理 董事长 法人 负责人 中介 邻居 同事 主任 校长 院长 局长 所长 队长 组长"
    /// Words before such a word that say that it is about who writes or is written to.
    personal "我 本人 尊敬 敬爱 亲爱"
    /// Words between a name and the word for a school, a hospital or a company.
    between "实验 附属 希望 中心 职业 外国语 双语 人民 中医 妇幼 骨科 口腔 建筑 建设 置业 地产 房地产 商贸 贸易 食品 服饰 餐饮 物流 电子
        科技 网络 教育 培训 装饰 劳务 物业 汽车 旅游 国际 健身"
    /// Words before a number that is the name of a thing.
    before_number "订单 订单号 单号 运单号 工单 工单号 编号 合同 合同号 案号 票号 保单 保单号 受理号 航班 车次"
    /// Words before the place at which something is.
    before_where "在 到 去 找 于 向 进"
    /// Words before the letter and the number of a road.
    before_road "国道 省道 县道 高速 高速公路"
    /// What stands before a word for a place in the stead of its name.
    generic "贵 本 我 我们 该 您 咱 咱们 各 全 你 你们 这 那 此 某 敝 当地 本地 所在"
}

/// Function words of one character: no part of a name, and no coincidence within one.
pub fn is_function(word: &str) -> bool {
    const FUNCTION: &str = "的了在是我你他她它们不这那被把让吗呢吧啊也还很又从到对向与及或请给未没该此每";
    if single(word).is_some() {
        return FUNCTION.contains(word);
    }
    part_of_speech(word).is_some_and(|part| part.starts_with(['d', 'p', 'c', 'u', 'r', 'y']))
}

/// Characters that an accident of wording leaves between two different stretches, if they are none of these.
pub fn holds_apart(word: &str) -> bool {
    const MORE: &str = "有和就为等都要能会可以将已于之所再呀哦嘛者其本各某望盼说去来无";
    word.is_ascii() || unit(word).is_some() || is_function(word) || MORE.contains(word)
}

pub fn single(word: &str) -> Option<char> {
    let mut characters = word.chars();
    characters.next().filter(|_| characters.next().is_none())
}

/// Whether a word says where in relation to something: 家里, 网上.
pub fn is_locative(word: &str) -> bool {
    word.ends_with(['里', '上', '中', '下', '内', '外', '边', '前', '后', '时', '处'])
}

pub fn is_long(word: &str) -> bool {
    single(word).is_none() && !word.is_empty()
}

/// Whether a character is a digit or a numeral.
pub fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || "零〇两一二三四五六七八九十百千万亿".contains(c)
}

pub fn is_part(c: char) -> bool {
    is_digit(c) || c == '.'
}

/// Characters that count or order: one in the place of another makes another name.
pub fn orders(character: char) -> bool {
    "东西南北中上下左右前后一二三四五六七八九十甲乙丙丁".contains(character)
}

/// Whether a word of more than a character acts, describes, counts or tells a time.
pub fn is_verb(word: &str) -> bool {
    const VERBS: [&str; 13] = ["v", "vd", "vi", "vq", "l", "i", "a", "ad", "z", "b", "t", "m", "mq"];
    is_long(word) && part_of_speech(word).is_some_and(|part| VERBS.contains(&part))
}

/// Whether a word of more than a character tells a time.
pub fn is_time(word: &str) -> bool {
    is_long(word) && part_of_speech(word).is_some_and(|part| part.starts_with('t'))
}

pub fn is_name(part: &str) -> bool {
    ["ns", "nt", "nz", "nr"].iter().any(|name| part.starts_with(name))
}

pub fn is_common_noun(word: &str) -> bool {
    part_of_speech(word) == Some("n")
}

const SURNAMES: &str = "王李张刘陈杨黄赵吴周徐孙马朱胡林郭何高罗郑梁谢宋唐许邓冯韩曹曾彭萧肖蔡潘田董袁于余叶蒋杜苏魏程吕丁沈任姚卢傅\
    钟姜崔谭廖范汪陆金石戴贾韦夏邱方侯邹熊孟秦白江阎薛尹段雷黎史龙陶贺顾毛郝龚邵万钱严赖覃洪武莫孔汤向常温康施文牛樊葛邢安齐易乔伍\
    庞颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌毕单裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳管柴蒙鲍华喻祁蒲房滕屈饶\
    解牟艾尤阳时穆农司卓古吉缪简车项连芦麦褚娄窦戚岑景党宫费卜冷晏席卫米柏宗瞿桂全佟应臧闵苟邬边卞姬师和仇栾隋商刁沙荣巫寇桑郎甄丛\
    仲虞敖巩明佘池查麻迟邝";

/// Whether `text`, which is these words, may be a person's name.
pub fn is_person<'a>(text: &str, mut words: impl Iterator<Item = &'a str>) -> bool {
    let length = text.chars().count();
    (2..=4).contains(&length)
        && text.starts_with(|c| SURNAMES.contains(c))
        && place_behind(text).is_none()
        && words.all(|word| {
            word.chars().count() <= 2 || part_of_speech(word).is_none_or(|part| part.starts_with("nr"))
        })
}
