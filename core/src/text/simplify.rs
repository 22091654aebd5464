//! Traditional characters as simplified ones.

use ferrous_opencc::OpenCC;
use ferrous_opencc::config::BuiltinConfig;
use std::sync::OnceLock;

/// `text` with its traditional Chinese characters replaced by simplified ones,
/// by OpenCC's tables of characters and phrases. Text without any stays as it
/// is.
///
/// Only a recipe that says so does this: a character can have several simplified
/// forms and the other way round, so it is a choice, not a normal form.
pub fn simplify(text: &str) -> String {
    static CONVERTER: OnceLock<Option<OpenCC>> = OnceLock::new();
    // The tables are compiled into the crate; that they cannot be read is not
    // to be expected, and no reason to fail.
    match CONVERTER.get_or_init(|| OpenCC::from_config(BuiltinConfig::T2s).ok()) {
        Some(converter) => converter.convert(text),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traditional_becomes_simplified() {
        assert_eq!(simplify("請問公租房何時搖號，電話無人接聽"), "请问公租房何时摇号，电话无人接听");
        assert_eq!(simplify("头发与發展，乾燥与乾隆"), "头发与发展，干燥与乾隆");
    }

    #[test]
    fn simplified_and_latin_stay() {
        for text in ["", "请问公租房何时摇号", "iPhone 15 café"] {
            assert_eq!(simplify(text), text);
        }
    }
}
