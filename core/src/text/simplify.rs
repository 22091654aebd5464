//! Conversion of traditional to simplified Chinese characters.

use crate::interrupt::check;
use crate::memory::{self, OrRaise};
use ferrous_opencc::OpenCC;
use ferrous_opencc::config::BuiltinConfig;
use std::sync::OnceLock;

/// A long text is converted in pieces of about this many bytes.
const PIECE_BYTES: usize = 1 << 16;

/// The characters with which a phrase of OpenCC's `TSPhrases` goes on. No phrase reaches over the beginning
/// of another character, so what comes before it and what begins with it can be converted apart.
const GO_ON: &str = "一上不丑世中之乎乾事些亡代以仲住信俱倒倫元免公兵其再冒冥到則力功助勇千卉半卦反口句名吒呈呼命哀哉\
    商單喻嘉噁圖坤坦塊墓墜夕多大如威子宅完宗宮寇尋小少屋山崇工己帝帳幬年序弦形彿得徨復徵德心忠思性惕\
    惟態成戲戶手投指按挪掌推摩據擲故救敖文斷方於族无旦昇明曜書會有望期木本杯杳枕林柯校梅條梨森槁樹機\
    此母水沈沒法淨清潛澤濛然牾狼獨珠琳瓿甌甚生由畫發皇盂盆盛盜盤目着瞭知石祇祥福移程穆積端竹箸籌粟糧\
    紅絃維綱縣繇羽聲育能脆臣自船若英草菟華萬蕉蕩薹藉虎裏覆見角解觸言詞話調讀變象資足載轉辭逆造逢連過\
    道遺邑郁醜醢醬重量金鉅錘錦鍊鍛鍾鎖門間阱防陀陵隆電露音項額馗魚鹿麼麽默鼎齎龍";

/// `text` with its traditional Chinese characters replaced by simplified ones, by OpenCC's tables of
/// characters and phrases. Text without any stays as it is.
///
/// Only a recipe that says so does this: a character can have several simplified
/// forms and the other way round, so it is a choice, not a normal form.
pub fn simplify(text: &str) -> String {
    static CONVERTER: OnceLock<Option<OpenCC>> = OnceLock::new();
    /// More than the tables and a conversion take: 0.1 MB and 3 bytes per byte were measured.
    const TABLES: usize = 16 << 20;
    const BYTES_PER_BYTE: usize = 8;
    let tables = if CONVERTER.get().is_none() { TABLES } else { 0 };
    memory::ensure(tables + BYTES_PER_BYTE * text.len()).or_raise();
    // The tables are compiled into the crate; that they cannot be read is not
    // to be expected, and no reason to fail.
    match CONVERTER.get_or_init(|| OpenCC::from_config(BuiltinConfig::T2s).ok()) {
        Some(converter) => in_pieces(text, PIECE_BYTES, |piece| converter.convert(piece)),
        None => text.to_owned(),
    }
}

/// What `convert` makes of `text`, cut after `limit` bytes where it can be.
fn in_pieces(text: &str, limit: usize, convert: impl Fn(&str) -> String) -> String {
    if text.len() <= limit {
        return convert(text);
    }
    let mut out = String::new();
    let mut rest = text;
    while rest.len() > limit {
        check();
        let from = rest.floor_char_boundary(limit);
        let Some(cut) = rest[from..].find(|c| !GO_ON.contains(c)) else { break };
        let (piece, tail) = rest.split_at(from + cut);
        out += &convert(piece);
        rest = tail;
    }
    out + &convert(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Pieces make up the whole, among phrases too.
        #[test]
        fn pieces_are_the_whole(
            parts in prop::collection::vec("乾隆|乾坤|乾|隆|坤|皇后|後|發|頭髮|著作|著|a|的|水|請問", 0..40),
            limit in 4usize..40,
        ) {
            let text = parts.concat();
            prop_assert_eq!(in_pieces(&text, limit, simplify), simplify(&text));
        }
    }
}
