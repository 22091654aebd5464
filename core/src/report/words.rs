//! What the page says, in each of its languages.

use std::fmt::Display;

/// A language of the page: what it says of texts, and of hashes.
#[derive(Debug, Clone, Copy)]
pub struct Language(pub(super) &'static Words, &'static Words);

impl Language {
    /// The language of a code: English, or simplified Chinese, `zh`.
    pub fn of(code: Option<&str>) -> Language {
        if code == Some("zh") {
            Language(&CHINESE, &CHINESE_OF_HASHES)
        } else {
            Language(&ENGLISH, &ENGLISH_OF_HASHES)
        }
    }

    /// What it says of hashes.
    pub fn of_hashes(self) -> Language {
        Language(self.1, self.1)
    }
}

macro_rules! last {
    ($_:literal, $last:literal) => {
        $last
    };
    ($only:literal) => {
        $only
    };
}

macro_rules! sentences {
    ($($name:ident: $english:literal, $chinese:literal $(=> $english_of_hashes:literal, $chinese_of_hashes:literal)?;)*) => {
        /// Sentences; {0}, {1}, … are filled in.
        #[derive(Debug)]
        pub(super) struct Words {
            $(pub $name: &'static str,)*
        }

        impl Words {
            /// The sentence of this name, or the name.
            pub fn kind<'k>(&self, name: &'k str) -> &'k str {
                match name {
                    $(stringify!($name) => self.$name,)*
                    _ => name,
                }
            }
        }

        static ENGLISH: Words = Words { $($name: $english,)* };
        static CHINESE: Words = Words { $($name: $chinese,)* };
        static ENGLISH_OF_HASHES: Words = Words { $($name: last!($english $(, $english_of_hashes)?),)* };
        static CHINESE_OF_HASHES: Words = Words { $($name: last!($chinese $(, $chinese_of_hashes)?),)* };
    };
}

sentences! {
    code: "en", "zh-CN";
    title: "Duplicate report", "查重报告";
    made: "Made on {0}", "生成时间：{0}";
    made_from: "{0} · made on {1}", "{0} · 生成时间：{1}";
    rows: "rows", "条记录";
    groups: "groups", "个重复组";
    duplicates: "duplicates", "条重复记录";
    largest_group: "rows in the largest group", "条记录（最大的一组）";
    lead: "Of {0} rows, {1} ({2}) repeat another row: {3} have an equal text, {4} a nearly equal one. They form {5} groups; \
           one row of each stays.",
          "{0} 条记录中，有 {1} 条（{2}）与其他记录重复：{3} 条文字相同，{4} 条文字相近。它们归为 {5} 组，每组保留一条。"
        => "Of {0} rows, {1} ({2}) repeat another row: {3} have an equal hash, {4} a near one. They form {5} groups; one row of each stays.",
            "{0} 条记录中，有 {1} 条（{2}）与其他记录重复：{3} 条哈希值相同，{4} 条哈希值相近。它们归为 {5} 组，每组保留一条。";
    lead_none: "None of the {0} rows repeats another.", "{0} 条记录中没有发现重复。";
    empty_rows: " Rows without a text, or without a word in it: {0}; they are compared with nothing.",
                "另有 {0} 条记录没有可比较的文字。"
        => " Rows without a hash: {0}; they are compared with nothing.",
            "另有 {0} 条记录没有哈希值，不参与比较。";

    rule: "Two rows are near-duplicates if their fingerprints differ in at most {0} of 64 bits and their texts share at \
           least {1} of their runs of {2} characters (Jaccard).",
          "两条记录的指纹最多相差 {0} 位（共 64 位），并且文字中连续 {2} 个字的片段至少有 {1} 相同（Jaccard 系数），即判为相近。";
    rule_unverified: "Two rows are near-duplicates if their fingerprints differ in at most {0} of {1} bits.",
                     "两条记录的指纹最多相差 {0} 位（共 {1} 位），即判为相近。"
        => "Two rows are near-duplicates if their hashes differ in at most {0} of {1} bits.",
            "两条记录的哈希值最多相差 {0} 位（共 {1} 位），即判为相近。";
    rule_text: "Two rows are near-duplicates if their texts share at least {0} of their runs of {1} characters (Jaccard). \
                All pairs of texts that share so much were found.",
               "两条记录的文字中连续 {1} 个字的片段至少有 {0} 相同（Jaccard 系数），即判为相近。凡达到这一比例的记录对均已找出。";
    rule_records: "Two rows are near-duplicates if, by what agreement in each column tells, they are one thing with a \
                   probability of at least {0}. What that tells was learned from the table.",
                  "根据各列是否一致，两条记录为同一事物的概率至少为 {0}，即判为相近。各列一致能说明多少，是从表中学得的。";
    rule_exact: "Two rows are duplicates if their texts are equal.", "两条记录的文字相同，即判为重复。";
    rule_contained: " A row is a duplicate, too, of a longer one that has at least {0} of its words, by their weight.",
                    "另外，较长的记录若含有某条记录至少 {0} 的词（按权重计），后者也算重复。";
    rule_details: " Rows that differ in one of these details are not: {0}.", "但以下要素有出入的不算：{0}。";

    distances: "How far apart rows are", "记录之间的距离";
    distances_note: "Fingerprints have {1} bits. The fewer bits two of them differ in, the more alike is what they \
                     are of. The line marks the limit of this report: {0} bits.",
                    "指纹共 {1} 位。两个指纹不同的位数越少，所代表的内容越相近。竖线是本报告采用的上限：{0} 位。"
        => "Hashes have {1} bits. The fewer bits two of them differ in, the more alike is what they are of. The line marks the limit of this report: {0} bits.",
            "哈希值共 {1} 位。两个哈希值不同的位数越少，所代表的内容越相近。竖线是本报告采用的上限：{0} 位。";
    near_pairs: "Near-duplicates and the row that stays", "相近的记录与所属组的保留记录";
    near_note: "All {0} of them.", "共 {0} 条，全部计入。";
    near_some_note: "The {0} of {1} that have a fingerprint.", "{1} 条中有指纹的 {0} 条。"
        => "The {0} of {1} that have a hash.",
            "{1} 条中有哈希值的 {0} 条。";
    random: "Unrelated rows", "互不相关的记录";
    random_note: "{0} random pairs of rows that stay; {1} of them are within {2} bits.",
                 "从保留记录中随机抽取 {0} 对，其中相差不超过 {2} 位的占 {1}。";
    nearest: "Rows that stay and the nearest other row that stays", "保留记录与最接近它的另一条保留记录";
    nearest_note: "{0} of {1} rows that stay, evenly drawn.", "从 {1} 条保留记录中均匀抽取 {0} 条。";
    bits_axis: "bits that differ", "不同的位数";
    nothing_to_draw: "There are none.", "没有这样的记录。";

    labels: "Against the labels", "与标签对照";
    labels_note: "Rows with the same label are taken as true duplicates. Pairs of rows: {0} found, {1} true, {2} both; so {3} \
                  were missed and {4} are wrong.",
                 "标签相同的记录视为真正的重复。按记录对计：找出 {0} 对，真正重复 {1} 对，两者一致 {2} 对；漏掉 {3} 对，误判 {4} 对。";
    precision: "precision: found pairs that are true", "精确率：找出的记录对中真正重复的比例";
    recall: "recall: true pairs that were found", "召回率：真正重复的记录对中被找出的比例";
    f1: "F1, their harmonic mean", "F1：两者的调和平均";

    templates: "What many rows say alike", "许多记录共用的套话";
    templates_note: "Rows that say the same but for some places, those of the most texts first, as one of them has it. The words around \
                     ___ name a place for the option slots. What stands there is counted in up to 1,000 of the texts.",
                    "除个别位置外文字相同的记录，按数量从多到少排列，各取其中一条为例。___ 前后的文字就是该位置的名称，可用于 slots 选项。\
                     各位置的用词最多取 1,000 条统计。";
    texts: "{0} different texts", "{0} 条不同的文字";
    slot_tells: "other words here: another matter", "此处不同即为不同事项";
    slot_tells_nothing: "other words here tell nothing", "此处不同不影响判定";
    slot_values: "{0} different: {1}", "共 {0} 种：{1}";

    misses: "The closest calls", "最接近判定标准的记录";
    misses_note: "The {0} pairs of rows that stay whose texts are most alike, of those above. If they should be duplicates, \
                  the limits are too strict.",
                 "上面抽取的保留记录中文字最相近的 {0} 对。如果它们本应算作重复，说明标准过严。"
        => "The {0} pairs of rows that stay whose hashes are nearest, of those above. If they should be duplicates, the limit is too strict.",
            "上面抽取的保留记录中哈希值最接近的 {0} 对。如果它们本应算作重复，说明标准过严。";
    misses_none: "No pair that was looked at came close.", "所查看的记录对都与标准相去甚远。";
    more: "{0} more", "其余 {0} 对";
    too_far: "the fingerprints are too far apart", "指纹相差过多"
        => "the hashes are too far apart",
            "哈希值相差过多";
    too_little: "the texts share too little", "文字相同的部分太少";
    another_matter: "another matter", "说的不是一件事";
    decided_apart: "decided not to be the same", "已判定不是重复";
    not_grouped: "kept apart by the rule for groups", "按分组规则不在一组";
    same_label: "the same label", "标签相同";
    other_label: "another label", "标签不同";

    review: "Pairs to decide", "请您判断的记录对";
    review_note: "Of all pairs that nobody has decided, these {0} are worth an answer most: they stand nearest to the limits. \
                  The rows stand side by side; what only one of them says is marked.",
                 "在尚未判定的记录对中，这 {0} 对最值得判断：它们最接近判定标准。两条记录并排列出，只有一方写明的内容已标出。";
    review_cut: "This page has {0} of {1} such pairs: no more fit.", "此类记录对共 {1} 对，本页只容得下 {0} 对。";
    review_none: "There is no pair in doubt that nobody has decided.", "没有尚待判断的记录对。";
    review_script: "Without scripts the pairs cannot be answered here.", "浏览器未启用脚本，无法在此作答。";
    pair: "Pair {0}", "第 {0} 对";
    same_now: "taken for the same", "目前判为重复";
    apart_now: "told apart", "目前判为不重复";
    above: "just above the limit", "略高于标准";
    below: "just below the limit", "略低于标准";
    slot: "what stands in a form's place", "表格或套话中填写的内容";
    contained: "one has the text of the other", "一条包含另一条的文字";
    moves: "rows that the other answer moves: {0}", "若改判，涉及 {0} 条记录";
    answer_same: "Same", "是同一件";
    answer_not: "Not the same", "不是同一件";
    answer_skip: "Skip", "跳过";
    answer_back: "Back", "返回";
    progress: "{0} answered, {1} skipped, {2} left", "已答 {0} 对，跳过 {1} 对，还剩 {2} 对";
    answered_all: "That was the last pair. The answers are below.", "已是最后一对，答案见下。";
    not_kept: "This browser keeps nothing: hand the answers out before you close the page.",
              "本浏览器无法保存答案：关闭页面前请先导出。";
    answers: "The answers as SQL and CSV", "导出答案（SQL 或 CSV）";
    answers_note: "They are kept in this browser and count once they are in {0}. Run the SQL, or copy the CSV by the last line. \
                   Then dedup_setup with the option refit chooses limits by them.",
                  "答案只保存在本浏览器中，写入{0}后方能生效：执行这段 SQL，或用最后一行命令导入 CSV。之后可用 dedup_setup 的 \
                   refit 选项，按答案重新选定标准。";
    decisions: "the table of decisions, which dedup_setup makes with the option decisions",
               "判定表（用 dedup_setup 的 decisions 选项建立）";
    save_sql: "Save the SQL", "保存 SQL";
    save_csv: "Save the CSV", "保存 CSV";

    groups_heading: "The groups", "各组记录";
    groups_note: "The row that stays comes first. Below it, each duplicate as it differs from that row.",
                 "每组先列保留的记录，其下逐条列出重复记录，并标出与保留记录的不同之处。";
    legend: "Marked:", "标记：";
    only_in_kept: "only in the row that stays", "仅保留记录有";
    only_in_row: "only in this row", "仅本条有";
    deciding: "the detail that decides", "起决定作用的要素";
    groups_cut: "This page has {0} of {1} groups, the largest ones.", "共 {1} 组，本页收录最大的 {0} 组。";
    no_script: "Without scripts only the first {0} groups are shown.", "浏览器未启用脚本，只显示前 {0} 组。";
    group: "Group {0}", "第 {0} 组";
    size: "{0} rows", "{0} 条记录";
    stays: "stays", "保留";
    equal: "equal", "相同";
    near: "near", "相近";
    decided: "decided to be the same", "已判定为重复";
    bits: "distance {0}", "相差 {0} 位";
    alike: "{0}% alike", "相似度 {0}%";
    sure: "{0}% sure", "把握 {0}%";
    identical: "The same text, character by character.", "文字完全相同。"
        => "The same hash, bit by bit.",
            "哈希值完全相同。";
    picture_large: "The picture is not shown: it has {0} bytes, and a page takes {1} of one at most.",
                   "图片未显示：大小为 {0} 字节，每张最多收录 {1} 字节。";
    picture_kind: "The picture is not shown: it is neither PNG, JPEG, GIF nor WebP.",
                  "图片未显示：不是 PNG、JPEG、GIF 或 WebP 格式。";
    picture_address: "The picture is not shown: an address has no blanks and at most 2,000 characters, and begins with http:// or https:// \
                      or is relative to the page, as thumbs/1.jpg is: {0}",
                     "图片未显示：地址须以 http:// 或 https:// 开头，或为相对地址（如 thumbs/1.jpg），不含空白，最多 2,000 个字符：{0}";
    gap: " … {0} characters the same … ", " …… 相同的 {0} 个字符 …… ";
    cut: "The text is longer; its first {0} characters are compared here.", "原文较长，这里只比较前 {0} 个字符。";
    rest: "{0} more rows of this group are not shown.", "本组还有 {0} 条记录未列出。";
    differs: "{0}: {1} / {2}", "{0}：{1} / {2}";
    name: "name", "名称";
    date: "date", "日期";
    number: "number", "数字";
    list_comma: ", ", "、";

    search: "Search ids and texts", "搜索编号或文字"
        => "Search ids and hashes",
            "搜索编号或哈希值";
    order: "Order", "排序";
    largest: "largest first", "从大组到小组";
    least: "least alike first", "差别大的在前";
    previous: "Previous", "上一页";
    next: "Next", "下一页";
    page: "Page {0} of {1} · groups: {2}", "第 {0} 页，共 {1} 页 · 共 {2} 组";
    none: "No group has that.", "没有符合的组。";
    options: "The options, to do it again:", "本次的选项，可照此重做：";
    limits: "Found are texts with the same words, not texts with the same meaning. Where samples were drawn, it says so; \
             everything else was counted. A page holds at most {0} groups, {1} rows of each and {2} characters of a text.",
            "这里查找的是用词相同的文字，而不是意思相同的文字。凡抽样之处均已注明，其余均为全部统计。一页最多收录 {0} 组，\
             每组 {1} 条，每段文字 {2} 个字符。"
        => "Found are hashes that differ in few bits, whatever they are of. Where samples were drawn, it says so; everything else was counted. A page holds at most {0} groups and {1} rows of each.",
            "这里查找的是相差位数不多的哈希值。凡抽样之处均已注明，其余均为全部统计。一页最多收录 {0} 组，每组 {1} 条。";
}

/// Fills in what {0}, {1}, … stand for.
pub(super) fn fill(sentence: &str, values: &[&dyn Display]) -> String {
    let mut filled = String::new();
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once('{') {
        let (number, after) = after.split_once('}').unwrap_or_default();
        filled += before;
        let value = number.parse().ok().and_then(|at: usize| values.get(at));
        filled += &value.map(ToString::to_string).unwrap_or_default();
        rest = after;
    }
    filled + rest
}

/// A number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let threes = digits.as_bytes().rchunks(3).rev().map(|some| str::from_utf8(some).unwrap_or_default());
    threes.collect::<Vec<_>>().join(",")
}

/// A share, 0 to 1, in percent.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = match percent {
        _ if percent == 0.0 || percent == 100.0 => 0,
        0.0..0.1 | 99.9..100.0 => 3,
        _ => 1,
    };
    format!("{percent:.digits$}%")
}
