//! The built-in lists of stop words: function words, and the courtesies of letters to an office. Short on
//! purpose; words that are common only in certain texts belong in a custom list, or are left to `max_df`.

const CHINESE: &str = "的 了 是 在 和 与 及 或 也 都 就 而 但 但是 而且 并 并且 因为 所以 因此 如果 虽然 不过 \
    我 我们 你 你们 您 他 他们 她 她们 它 它们 本人 自己 大家 这 那 这个 那个 这些 那些 这里 那里 此 该 其 之 \
    一 一个 一些 有 没有 很 太 更 最 又 再 还 还是 已 已经 被 把 将 让 给 对 对于 从 向 到 由 于 以 为 为了 \
    吗 呢 吧 啊 呀 啦 嘛 哦 得 地 着 过 上 下 里 中 等 等等 要 会 能 可以 请 请问 谢谢 您好 你好 尊敬 领导 \
    现在 时候 什么 怎么 如何 为什么 是否 不 没 只 才 便 则 却 每 各 某";

const ENGLISH: &str = "a an the and or but if of to in on at by for with from as is are was were be been being \
    am do does did have has had it its this that these those i you he she we they me him her us them my your \
    his our their not no so than then there here what which who whom when where how why can could will would \
    shall should may might must just very too also about into over under again only own same such";

/// The words of the list of a name, `zh` or `en`.
pub(super) fn stop_list(name: &str) -> Option<impl Iterator<Item = &'static str>> {
    match name {
        "zh" => Some(CHINESE.split_whitespace()),
        "en" => Some(ENGLISH.split_whitespace()),
        _ => None,
    }
}

/// The words of both lists.
pub fn stop_words() -> impl Iterator<Item = &'static str> {
    CHINESE.split_whitespace().chain(ENGLISH.split_whitespace())
}
