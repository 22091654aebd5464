//! Text to measure with: made-up petitions of about 200 characters, the same
//! at every run, put together from clauses so that no two are equal.

use dedup_core::random::SplitMix64;

const WHERE: [&str; 10] = [
    "岳麓区梅溪湖街道",
    "开福区四方坪小区",
    "天心区南门口附近",
    "雨花区万家丽路沿线",
    "望城区月亮岛安置房",
    "芙蓉区马王堆菜市场",
    "浏阳市淮川街道",
    "宁乡市玉潭镇",
    "长沙县星沙大道",
    "高新区尖山路工地",
];
const WHAT: [&str; 12] = [
    "夜间施工噪音严重扰民",
    "自来水连续停水三天没有任何通知",
    "物业公司长期不作为，垃圾堆积如山",
    "电梯经常发生故障，老人和孩子出行困难",
    "开发商拖延交房时间，业主多次协商无果",
    "路灯损坏多日无人维修，存在安全隐患",
    "油烟直排影响居民正常生活",
    "拖欠农民工工资超过半年",
    "学校附近占道经营现象屡禁不止",
    "房产证迟迟办不下来",
    "公交线路调整以后上下班极不方便",
    "医保报销手续繁琐，窗口互相推诿",
];
const THEN: [&str; 10] = [
    "我们多次拨打12345热线反映",
    "去年10月曾经向社区居委会投诉",
    "相关部门答复正在处理，可是至今没有结果",
    "几十户居民联名写信要求解决",
    "工作人员态度冷淡，让我们回家等消息",
    "对方拿出的整改方案根本没有执行",
    "业主群里大家意见很大",
    "每次检查过后又恢复原样",
    "合同里写得清清楚楚，他们却不承认",
    "现在问题越来越严重",
];
const PLEASE: [&str; 6] = [
    "恳请领导高度重视，尽快派人现场核查。",
    "希望有关部门给老百姓一个明确的说法！",
    "请问什么时候能够彻底解决？",
    "请依法查处并公开处理结果，谢谢。",
    "盼望早日恢复正常的生活秩序。",
    "请将处理意见回复到我的手机，联系人李先生。",
];

/// `count` petitions of about 200 characters.
pub fn petitions(count: usize) -> Vec<String> {
    let mut random = SplitMix64::new(42);
    let mut roll = move |below: usize| random.below(below);
    let petition = |number: usize| {
        let mut text = format!("尊敬的领导：您好！我是{}的居民，编号{number}。", WHERE[roll(10)]);
        while text.chars().count() < 175 {
            text += &format!("{}{}，{}。", WHERE[roll(10)], WHAT[roll(12)], THEN[roll(10)]);
        }
        text + PLEASE[roll(6)]
    };
    (0..count).map(petition).collect()
}
