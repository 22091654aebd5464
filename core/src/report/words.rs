//! What the page says, in each of its languages.

/// A language of the page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Language {
    /// English, `en`.
    #[default]
    English,
    /// Simplified Chinese, `zh`.
    Chinese,
}

impl Language {
    /// The language of this code.
    pub fn parse(code: &str) -> Option<Language> {
        match code {
            "en" => Some(Language::English),
            "zh" => Some(Language::Chinese),
            _ => None,
        }
    }

    pub(super) fn words(self) -> &'static Words {
        match self {
            Language::English => &ENGLISH,
            Language::Chinese => &CHINESE,
        }
    }
}

/// Sentences; {0}, {1}, … are filled in.
#[derive(Debug)]
pub(super) struct Words {
    pub code: &'static str,
    pub title: &'static str,
    pub made: &'static str,
    pub made_from: &'static str,
    pub rows: &'static str,
    pub groups: &'static str,
    pub duplicates: &'static str,
    pub largest: &'static str,
    pub lead: &'static str,
    pub lead_none: &'static str,
    pub empty_rows: &'static str,
    pub sizes: &'static str,
    pub sizes_note: &'static str,
    pub sizes_axis: &'static str,
    pub distances: &'static str,
    pub distances_note: &'static str,
    pub near: &'static str,
    pub near_note: &'static str,
    pub near_some_note: &'static str,
    pub nearest: &'static str,
    pub nearest_note: &'static str,
    pub random: &'static str,
    pub random_note: &'static str,
    pub true_pairs: &'static str,
    pub true_pairs_note: &'static str,
    pub bits: &'static str,
    pub bar: &'static str,
    pub nothing_to_draw: &'static str,
    pub threshold: &'static str,
    pub rule: &'static str,
    pub rule_unverified: &'static str,
    pub rule_text: &'static str,
    pub rule_records: &'static str,
    pub rule_exact: &'static str,
    pub rule_contained: &'static str,
    pub rule_particulars: &'static str,
    pub taken_in: &'static str,
    pub taken_exact: &'static str,
    pub taken_near: &'static str,
    pub left_out: &'static str,
    pub left_out_note: &'static str,
    pub left_text: &'static str,
    pub left_particulars: &'static str,
    pub left_grouping: &'static str,
    pub left_beyond: &'static str,
    pub left_farther: &'static str,
    pub unrelated_within: &'static str,
    pub labels: &'static str,
    pub labels_note: &'static str,
    pub precision: &'static str,
    pub recall: &'static str,
    pub f1: &'static str,
    pub misses: &'static str,
    pub misses_note: &'static str,
    pub misses_none: &'static str,
    pub more: &'static str,
    pub because_text: &'static str,
    pub because_particulars: &'static str,
    pub because_grouping: &'static str,
    pub because_distance: &'static str,
    pub same_label: &'static str,
    pub groups_heading: &'static str,
    pub groups_note: &'static str,
    pub legend: &'static str,
    pub only_in_kept: &'static str,
    pub only_in_row: &'static str,
    pub deciding: &'static str,
    pub groups_cut: &'static str,
    pub no_script: &'static str,
    pub options: &'static str,
    pub limits: &'static str,
    pub kinds: [(&'static str, &'static str); 3],
    pub list_comma: &'static str,
    /// What the script of the page says too, by name.
    pub script: &'static [(&'static str, &'static str)],
}

impl Words {
    /// A sentence of the script.
    pub fn of_script(&self, name: &str) -> &'static str {
        self.script.iter().find(|(known, _)| *known == name).map_or("", |(_, words)| words)
    }

    /// A kind of particulars.
    pub fn kind<'k>(&self, kind: &'k str) -> &'k str {
        self.kinds.iter().find(|(known, _)| *known == kind).map_or(kind, |(_, words)| words)
    }
}

/// Fills in what {0}, {1}, … stand for.
pub(super) fn fill(sentence: &str, values: &[&str]) -> String {
    let mut filled = String::new();
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once('{') {
        let (number, after) = after.split_once('}').unwrap_or_default();
        filled += before;
        filled += number.parse().ok().and_then(|at: usize| values.get(at)).copied().unwrap_or_default();
        rest = after;
    }
    filled + rest
}

/// A number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut written = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    written
}

/// A share, 0 to 1, in percent.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = match percent {
        _ if percent == 0.0 || percent == 100.0 => 0,
        0.0..0.1 => 3,
        99.9..100.0 => 3,
        0.0..10.0 => 1,
        _ => 1,
    };
    format!("{percent:.digits$}%")
}

static ENGLISH: Words = Words {
    code: "en",
    title: "Duplicate report",
    made: "Made on {0}",
    made_from: "{0} · made on {1}",
    rows: "rows",
    groups: "groups",
    duplicates: "duplicates",
    largest: "rows in the largest group",
    lead: "Of {0} rows, {1} ({2}) repeat another row: {3} have an equal text, {4} a nearly equal one. They form {5} \
           groups; one row of each stays.",
    lead_none: "None of the {0} rows repeats another.",
    empty_rows: " Rows without a text, or without a word in it: {0}; they are compared with nothing.",
    sizes: "Sizes of the groups",
    sizes_note: "How many groups have two rows, three rows, and so on.",
    sizes_axis: "rows in a group",
    distances: "How far apart rows are",
    distances_note: "Every text has a fingerprint of 64 bits. The fewer bits two fingerprints differ in, the more alike \
                     the texts are. The line marks the limit of this report: {0} bits.",
    near: "Near-duplicates and the row that stays",
    near_note: "All {0} of them.",
    near_some_note: "The {0} of {1} that have a fingerprint.",
    nearest: "Rows that stay and the nearest other row that stays",
    nearest_note: "{0} of {1} rows that stay, drawn at random.",
    random: "Unrelated rows",
    random_note: "{0} random pairs of rows that stay.",
    true_pairs: "Pairs with the same label",
    true_pairs_note: "{0} of {1} pairs.",
    bits: "bits that differ",
    bar: "{0}: {1}",
    nothing_to_draw: "There are none.",
    threshold: "What the limits take in, and what they leave out",
    rule: "Two rows are near-duplicates if their fingerprints differ in at most {0} of 64 bits and their texts share at \
           least {1} of their runs of {2} characters (Jaccard).",
    rule_unverified: "Two rows are near-duplicates if their fingerprints differ in at most {0} of 64 bits.",
    rule_text: "Two rows are near-duplicates if their texts share at least {0} of their runs of {1} characters (Jaccard). All pairs of \
                texts that share so much were found.",
    rule_records: "Two rows are near-duplicates if, by what agreement in each column tells, they are one thing with a probability of at \
                   least {0}. What that tells was learned from the table.",
    rule_exact: "Two rows are duplicates if their texts are equal.",
    rule_contained: " A row is a duplicate, too, of a longer one that has at least {0} of its words, by their weight.",
    rule_particulars: " Rows that differ in one of these particulars are not: {0}.",
    taken_in: "Taken in",
    taken_exact: "Rows whose text equals that of the row that stays",
    taken_near: "Rows whose text is near",
    left_out: "Left out",
    left_out_note: "Of {0} rows that stay, how the nearest other row that stays was told apart. {1}",
    left_text: "Within {0} bits, but the texts share too little",
    left_particulars: "Within {0} bits and alike, but a particular differs",
    left_grouping: "Within {0} bits and alike, but kept apart by the rule for groups",
    left_beyond: "{0} to {1} bits: just beyond the limit",
    left_farther: "Farther",
    unrelated_within: "Of random pairs, {0} are within {1} bits.",
    labels: "Against the labels",
    labels_note: "Rows with the same label are taken as true duplicates. Pairs of rows: {0} found, {1} true, {2} both; so {3} \
                  were missed and {4} are wrong.",
    precision: "precision: found pairs that are true",
    recall: "recall: true pairs that were found",
    f1: "F1, their harmonic mean",
    misses: "The closest calls",
    misses_note: "Of the pairs left out above, the {0} whose texts are most alike. If they should be duplicates, the limits \
                  are too strict.",
    misses_none: "No pair that was looked at came close.",
    more: "{0} more",
    because_text: "The texts share too little: {0}, and {1} are asked for.",
    because_particulars: "Another matter:",
    because_grouping: "Kept apart by the rule for groups.",
    because_distance: "Distance {0}, and {1} is allowed.",
    same_label: "The labels say that these are duplicates.",
    groups_heading: "The groups",
    groups_note: "The row that stays comes first. Below it, each duplicate as it differs from that row.",
    legend: "Marked:",
    only_in_kept: "only in the row that stays",
    only_in_row: "only in this row",
    deciding: "the particular that decides",
    groups_cut: "This page has {0} of {1} groups, the largest ones.",
    no_script: "Without scripts only the first {0} groups are shown.",
    options: "The options, to do it again:",
    limits: "Found are texts with the same words, not texts with the same meaning. Where samples were drawn, it says so; \
             everything else was counted. A page holds at most {0} groups, {1} rows of each and {2} characters of a text.",
    kinds: [("name", "name"), ("date", "date"), ("number", "number")],
    list_comma: ", ",
    script: &[
        ("group", "Group {0}"),
        ("size", "{0} rows"),
        ("stays", "stays"),
        ("exact", "equal"),
        ("near", "near"),
        ("bits", "distance {0}"),
        ("alike", "{0}% alike"),
        ("sure", "{0}% sure"),
        ("identical", "The same text, character by character."),
        ("gap", " … {0} characters the same … "),
        ("cut", "The text is longer; its first {0} characters are compared here."),
        ("rest", "{0} more rows of this group are not shown."),
        ("label", "another label"),
        ("differs", "{0}: {1} / {2}"),
        ("search", "Search ids and texts"),
        ("order", "Order"),
        ("largest", "largest first"),
        ("least", "least alike first"),
        ("previous", "Previous"),
        ("next", "Next"),
        ("page", "Page {0} of {1}"),
        ("found", "groups: {0}"),
        ("none", "No group has that."),
    ],
};

static CHINESE: Words = Words {
    code: "zh-CN",
    title: "查重报告",
    made: "生成时间：{0}",
    made_from: "{0} · 生成时间：{1}",
    rows: "条记录",
    groups: "个重复组",
    duplicates: "条重复记录",
    largest: "条记录（最大的一组）",
    lead: "{0} 条记录中，有 {1} 条（{2}）与其他记录重复：{3} 条文字相同，{4} 条文字相近。它们归为 {5} 组，每组保留一条。",
    lead_none: "{0} 条记录中没有发现重复。",
    empty_rows: "另有 {0} 条记录没有可比较的文字。",
    sizes: "重复组的大小",
    sizes_note: "两条一组的有多少组，三条一组的有多少组，依此类推。",
    sizes_axis: "组内记录数",
    distances: "记录之间的距离",
    distances_note: "每段文字对应一个 64 位的指纹。两个指纹不同的位数越少，文字越相近。竖线是本报告采用的上限：{0} 位。",
    near: "相近的记录与所属组的保留记录",
    near_note: "共 {0} 条，全部计入。",
    near_some_note: "{1} 条中有指纹的 {0} 条。",
    nearest: "保留记录与最接近它的另一条保留记录",
    nearest_note: "从 {1} 条保留记录中随机抽取 {0} 条。",
    random: "互不相关的记录",
    random_note: "从保留记录中随机抽取 {0} 对。",
    true_pairs: "标签相同的记录",
    true_pairs_note: "{1} 对中的 {0} 对。",
    bits: "不同的位数",
    bar: "{0}：{1}",
    nothing_to_draw: "没有这样的记录。",
    threshold: "判定标准：纳入了什么，排除了什么",
    rule: "两条记录的指纹最多相差 {0} 位（共 64 位），并且文字中连续 {2} 个字的片段至少有 {1} 相同（Jaccard 系数），即判为相近。",
    rule_unverified: "两条记录的指纹最多相差 {0} 位（共 64 位），即判为相近。",
    rule_text: "两条记录的文字中连续 {1} 个字的片段至少有 {0} 相同（Jaccard 系数），即判为相近。凡达到这一比例的记录对均已找出。",
    rule_records: "根据各列是否一致，两条记录为同一事物的概率至少为 {0}，即判为相近。各列一致能说明多少，是从表中学得的。",
    rule_exact: "两条记录的文字相同，即判为重复。",
    rule_contained: "另外，较长的记录若含有某条记录至少 {0} 的词（按权重计），后者也算重复。",
    rule_particulars: "但以下要素有出入的不算：{0}。",
    taken_in: "纳入",
    taken_exact: "文字与保留记录相同的记录",
    taken_near: "文字与保留记录相近的记录",
    left_out: "排除",
    left_out_note: "以 {0} 条保留记录为样本，看各自凭什么与最接近它的另一条保留记录区分开。{1}",
    left_text: "相差不超过 {0} 位，但文字相同的部分太少",
    left_particulars: "相差不超过 {0} 位，文字也相近，但某个要素不同",
    left_grouping: "相差不超过 {0} 位，文字也相近，但按分组规则不在一组",
    left_beyond: "相差 {0} 至 {1} 位，刚刚超过上限",
    left_farther: "相差更多",
    unrelated_within: "随机抽取的记录对中，相差不超过 {1} 位的占 {0}。",
    labels: "与标签对照",
    labels_note: "标签相同的记录视为真正的重复。按记录对计：找出 {0} 对，真正重复 {1} 对，两者一致 {2} 对；漏掉 {3} 对，误判 {4} 对。",
    precision: "精确率：找出的记录对中真正重复的比例",
    recall: "召回率：真正重复的记录对中被找出的比例",
    f1: "F1：两者的调和平均",
    misses: "最接近判定标准的记录",
    misses_note: "在上面排除的记录对中，文字最相近的 {0} 对。如果它们本应算作重复，说明标准过严。",
    misses_none: "所查看的记录对都与标准相去甚远。",
    more: "其余 {0} 对",
    because_text: "文字相同的部分太少：{0}，要求 {1}。",
    because_particulars: "说的不是一件事：",
    because_grouping: "按分组规则不在一组。",
    because_distance: "相差 {0} 位，上限是 {1} 位。",
    same_label: "按标签，这两条本是重复的。",
    groups_heading: "各组记录",
    groups_note: "每组先列保留的记录，其下逐条列出重复记录，并标出与保留记录的不同之处。",
    legend: "标记：",
    only_in_kept: "仅保留记录有",
    only_in_row: "仅本条有",
    deciding: "起决定作用的要素",
    groups_cut: "共 {1} 组，本页收录最大的 {0} 组。",
    no_script: "浏览器未启用脚本，只显示前 {0} 组。",
    options: "本次的选项，可照此重做：",
    limits: "这里查找的是用词相同的文字，而不是意思相同的文字。凡抽样之处均已注明，其余均为全部统计。一页最多收录 {0} 组，\
             每组 {1} 条，每段文字 {2} 个字符。",
    kinds: [("name", "名称"), ("date", "日期"), ("number", "数字")],
    list_comma: "、",
    script: &[
        ("group", "第 {0} 组"),
        ("size", "{0} 条记录"),
        ("stays", "保留"),
        ("exact", "相同"),
        ("near", "相近"),
        ("bits", "相差 {0} 位"),
        ("alike", "相似度 {0}%"),
        ("sure", "把握 {0}%"),
        ("identical", "文字完全相同。"),
        ("gap", " …… 相同的 {0} 个字符 …… "),
        ("cut", "原文较长，这里只比较前 {0} 个字符。"),
        ("rest", "本组还有 {0} 条记录未列出。"),
        ("label", "标签不同"),
        ("differs", "{0}：{1} / {2}"),
        ("search", "搜索编号或文字"),
        ("order", "排序"),
        ("largest", "从大组到小组"),
        ("least", "差别大的在前"),
        ("previous", "上一页"),
        ("next", "下一页"),
        ("page", "第 {0} 页，共 {1} 页"),
        ("found", "共 {0} 组"),
        ("none", "没有符合的组。"),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the script: it finds the same sentences in each language.
    #[test]
    fn languages_have_the_same_sentences() {
        let names = |words: &Words| words.script.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert_eq!(names(&ENGLISH), names(&CHINESE));
        assert_eq!(Language::parse("de"), None);
    }

    #[test]
    fn numbers_and_sentences() {
        assert_eq!([grouped(7), grouped(1234), grouped(123_456_789)], ["7", "1,234", "123,456,789"]);
        assert_eq!(
            [percent(0.0), percent(1.0), percent(0.12345), percent(0.00021)],
            ["0%", "100%", "12.3%", "0.021%"]
        );
        assert_eq!(fill("{1} of {0}, {2}", &["a{1}", "b"]), "b of a{1}, ");
    }
}
