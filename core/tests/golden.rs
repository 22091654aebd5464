//! Fingerprints stay bit for bit what they were when this was written: tables keep them. One digest a recipe, over
//! some hundred generated texts of Chinese, English and both, with what is hard to cut and to normalise among it.

use dedup_core::features::{
    Corpus, CorpusBuilder, Dictionary, Extractor, FieldsRecipe, RecipeError, Resolver, TextRecipe, missing,
};
use dedup_core::hash::mix64;
use dedup_core::random::SplitMix64;
use dedup_core::text::{Segmenter, normalize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Common characters: any two of them may be a word, and most runs can be cut in more than one way.
const COMMON: &str = "\
    的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老\
    从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代军产\
    入先山五太水万市眼体别处总才场师书比住员九笑性通目华报立马命张活难神数件安表原车白应路期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记边共风战干接它许八特觉望直服毛\
    林题建南度统色字请交爱让认算论百吃义科怎元社术结六功指思非流每青管夫连远资队跟带花快条院变联言权往展该领传近留红治决周保达办运武半候七必城父强步完革深区即求品士转量空甚众技轻程告江语英基派满式\
    李息写呢识极令黄德收脸钱党倒未持取设始版双历越史商千片容研像找友孩站广改议形委早房音火际则首单据导影失拿网香似斯专石若兵弟谁校读志飞观争究包组造落视济喜离虽坏兴切况叹";

const WORDS: &[&str] = &[
    "小区停水",
    "物业公司",
    "住房公积金",
    "开发商",
    "拖欠农民工工资",
    "营商环境",
    "乌鲁木齐市",
    "中华人民共和国",
    "12345热线",
    "4s店",
    "1号店",
    "aa制",
    "研究生命起源",
    "结婚的和尚未结婚的",
    "南京市长江大桥",
    "乒乓球拍卖完了",
    "the quick brown fox",
    "Don't",
    "E-mail",
    "COVID-19",
    "iPhone 15 Pro",
    "PostgreSQL",
    "well-known",
    "x",
    "naïver Café",
    "Привет мир",
    "안녕 세계",
    "カタカナ",
    "ひらがな",
    "ไทย",
    "e\u{301}",
    "ﬁn",
    "㎡",
    "①②③",
    "Ⅳ",
    "１２３ＡＢＣ",
    "㈱",
    "𠀀𠀁",
    "㐀㐁",
    "々〆〇",
    "\u{F900}\u{F901}",
    "龘龘龘",
    "鱻龖靐",
    "γ射线",
    "𦡦",
    "請問公租房何時搖號",
    "乾隆乾坤",
    "頭髮發展",
    "2019年10月1日",
    "3.14",
    "-7",
    "50%",
    "a+b",
    "C++",
    "C#",
    "AT&T",
    "&amp;",
    "<b>x</b>",
    "<p>",
];

const BETWEEN: &[&str] = &[
    "", "", "", "", "，", "。", " ", "\u{3000}", "\n", "！？", "……", "、", "\t", ". ", ", ", "\u{200B}", "“",
    "”", "👍🏽", "\r\n",
];

/// A text of `parts` parts, of one of seven mixtures.
fn text(random: &mut SplitMix64, common: &[char], kind: usize, parts: usize) -> String {
    let mut text = String::new();
    for _ in 0..parts {
        let length = 1 + random.below(8);
        let kind = if kind == 6 { random.below(6) } else { kind };
        match kind {
            // Characters that make words together, the commonest often.
            0 | 1 => (0..length * 2).for_each(|_| {
                let limit = [20, 150, common.len()][random.below(3)];
                text.push(common[random.below(limit)]);
            }),
            2 => text += WORDS[random.below(WORDS.len())],
            // Rare ones, among them some that the dictionary does not know.
            3 => {
                text.extend((0..length).filter_map(|_| char::from_u32(0x4E00 + random.below(0x5200) as u32)))
            }
            4 => {
                text.extend(
                    (0..length)
                        .map(|_| char::from(b"etaoinshrdlucmfwyp0123456789ETA-'_.%"[random.below(36)])),
                );
                text.push(' ');
            }
            _ => text.extend((0..length).filter_map(|_| {
                let limit = [0x250, 0x2FFF, 0x1_0000, 0x11_0000][random.below(4)];
                char::from_u32(random.below(limit) as u32).filter(|&c| c != '\0')
            })),
        }
        text += BETWEEN[random.below(BETWEEN.len())];
    }
    text
}

fn texts() -> Vec<String> {
    let mut random = SplitMix64::new(20_140_701);
    let common: Vec<char> = COMMON.chars().collect();
    let mut all: Vec<String> = (0..420).map(|at| text(&mut random, &common, at % 7, 1 + at / 7)).collect();
    // Longer than the pieces in which a text is cut, and than a fingerprint counts at once.
    all.push(text(&mut random, &common, 0, 9_000));
    all.push(text(&mut random, &common, 6, 9_000));
    all.push(text(&mut random, &common, 4, 9_000));
    all.push("水".repeat(30_000));
    all.push("ab".repeat(40_000));
    all.push(String::new());
    all
}

/// Words that jieba has and has not, prefixes of each other, with and without frequencies.
const OWN_WORDS: &str = "停水三天 \n云上花园 5 ns\n小区停 9 n\n的一\n一是不 100000 x\n不了 1\n物业 1\n中国人民 3 n\n\
    ok店\n2019年\nab \nabab 7\n水水水\n水水\n公司长期 2\n结婚的 1000\n和尚未\n大来上国个到说们为\n龘龘\n是不\n不\n了";

/// A dictionary and the corpora that the recipes name.
struct Versions(Arc<Dictionary>, Vec<Arc<Corpus>>);

impl Versions {
    fn new(texts: &[String]) -> Versions {
        let (words, _) = Segmenter::complete_words(OWN_WORDS.lines()).unwrap();
        let own = Arc::new(Dictionary::new("own@1", words, ["的", "ＯＫ店", "一"]));
        let mut all = Versions(own, Vec::new());
        for (name, recipe) in [
            ("words@1", json!({"tokens": "words"})),
            ("both@1", json!({})),
            ("own@1", json!({"tokens": "shingles", "n": 2, "dictionary": "own@1"})),
        ] {
            let recipe = TextRecipe::resolved(&recipe, &all).unwrap();
            let (mut builder, mut extractor) = (CorpusBuilder::new(recipe), Extractor::new());
            texts.iter().take(200).for_each(|text| builder.add(&mut extractor, text));
            let shape = builder.shape();
            let stored = builder.finish();
            let corpus = Corpus::new(name, shape, stored.documents, &stored.common).unwrap();
            all.1.push(Arc::new(corpus));
        }
        all
    }
}

impl Resolver for Versions {
    fn corpus(&self, name: &str) -> Result<Arc<Corpus>, RecipeError> {
        self.1.iter().find(|corpus| corpus.name == name).cloned().ok_or_else(|| missing("corpus", name, &[]))
    }
    fn dictionary(&self, name: &str) -> Result<Arc<Dictionary>, RecipeError> {
        if name == "own@1" { Ok(Arc::clone(&self.0)) } else { Err(missing("dictionary", name, &[])) }
    }
}

/// Recipes that together use all that there is to a recipe.
fn text_recipes() -> Vec<Value> {
    let mut all = Vec::new();
    for tokens in ["words", "chars", "words+chars", "shingles"] {
        for weight in [json!("tf"), json!("log"), json!("one"), json!(2.5)] {
            all.push(json!({"tokens": tokens, "weight": weight}));
        }
        for stop in [json!(true), json!("own@1"), json!(["物业", "小区", "的", "的一", "the"])] {
            all.push(json!({"tokens": tokens, "stop": stop}));
        }
        all.push(json!({"tokens": tokens, "hmm": true}));
        all.push(json!({"tokens": tokens, "hmm": true, "dictionary": "own@1"}));
        all.push(json!({"tokens": tokens, "n": [1, 2, 3, 5, 9, 64]}));
        all.push(json!({"tokens": tokens, "n": 1, "factor": 0.125}));
        all.push(json!({"tokens": tokens, "dictionary": "own@1"}));
        all.push(json!({"tokens": tokens, "dictionary": "own@1", "weight": "log", "simplify": true}));
        all.push(
            json!({"tokens": tokens, "terms": {"停水": 3, "的": 0, "小区": 0.1, "一是": 7, "x": 1_000_000}}),
        );
        all.push(json!({"tokens": tokens, "markup": "html"}));
        all.push(json!({"tokens": tokens, "markup": "xml", "simplify": true}));
    }
    all.extend(
        ["city64", "murmur3", "bkdr", "ap", "djb", "js", "rs", "sdbm", "pjw", "elf"]
            .map(|hash| json!({"hash": hash})),
    );
    all.extend(["bkdr_utf16", "ap_utf16", "elf_utf16"].map(|hash| json!({"hash": hash})));
    for corpus in ["words@1", "both@1", "own@1"] {
        for weight in ["tf", "tfidf", "tfidf_len"] {
            all.push(json!({"corpus": corpus, "weight": weight}));
            all.push(json!({"corpus": corpus, "weight": weight, "max_df": 0.3, "stop": "zh"}));
        }
    }
    all
}

fn digest(prints: impl Iterator<Item = Option<u64>>) -> u64 {
    prints.fold(0, |digest, print| mix64(digest ^ print.map_or(1, mix64)))
}

/// What a change would mean is that every stored fingerprint of such a recipe is of no use any more.
fn assert_frozen(found: &[(String, u64)], frozen: &[u64]) {
    let lines: String = found.iter().map(|(name, digest)| format!("{digest:#018x}, // {name}\n")).collect();
    let changed: Vec<&str> = found
        .iter()
        .zip(frozen.iter().map(Some).chain(std::iter::repeat(None)))
        .filter(|((_, digest), frozen)| Some(digest) != *frozen)
        .map(|((name, _), _)| name.as_str())
        .collect();
    assert!(changed.is_empty() && found.len() == frozen.len(), "changed: {changed:#?}; now:\n{lines}");
}

#[test]
fn fingerprints_of_texts() {
    let texts = texts();
    let versions = Versions::new(&texts);
    let found: Vec<(String, u64)> = text_recipes()
        .into_iter()
        .map(|json| {
            let recipe = TextRecipe::resolved(&json, &versions).unwrap();
            let mut extractor = Extractor::new();
            let digest = digest(texts.iter().map(|text| extractor.simhash(text, &recipe)));
            (json.to_string(), digest)
        })
        .collect();
    assert_frozen(&found, TEXTS);
}

#[test]
fn fingerprints_of_rows() {
    let texts = texts();
    let versions = Versions::new(&texts);
    let fields: Vec<&str> = texts.iter().take(420).map(String::as_str).collect();
    let recipes = [
        json!([2, 2, 2, null]),
        json!([1, "log", {"tokens": "words", "hmm": true}, {"dictionary": "own@1", "weight": 0.5}]),
        json!([0, 1_000_000, {"tokens": "chars", "weight": 1_000_000}, {"corpus": "both@1", "weight": "tfidf"}]),
        json!([{"tokens": "shingles"}, "one", 0.25, null]),
    ];
    let found: Vec<(String, u64)> = recipes
        .into_iter()
        .map(|json| {
            let FieldsRecipe(recipe) = FieldsRecipe::resolved(&json, &versions).unwrap();
            let mut extractor = Extractor::new();
            let rows = fields.chunks(4).enumerate().map(|(at, row)| {
                let row = row.iter().enumerate().map(|(column, &text)| (at % 5 != column).then_some(text));
                recipe.simhash(&mut extractor, row)
            });
            (json.to_string(), digest(rows))
        })
        .collect();
    assert_frozen(&found, ROWS);
}

/// Explanations show the features that fingerprints are made of.
#[test]
fn features_and_own_words() {
    let texts = texts();
    let versions = Versions::new(&texts);
    let of_str = |text: &str| text.bytes().fold(0, |digest, byte| mix64(digest ^ u64::from(byte)));
    let mut found = Vec::new();
    for json in [
        json!({}),
        json!({"tokens": "words", "dictionary": "own@1"}),
        json!({"tokens": "words", "hmm": true}),
    ] {
        let recipe = TextRecipe::resolved(&json, &versions).unwrap();
        let mut extractor = Extractor::new();
        let features = texts.iter().flat_map(|text| {
            let bag = extractor.bag(text, &recipe);
            let features = bag.features().iter();
            features.map(|f| Some(of_str(&f.text) ^ f.hash ^ f.weight.value().to_bits())).collect::<Vec<_>>()
        });
        found.push((json.to_string(), digest(features)));
    }
    let words = OWN_WORDS.lines().chain(WORDS.iter().copied().filter(|word| !normalize(word).contains(' ')));
    found.push(("own words".into(), of_str(&Segmenter::complete_words(words).unwrap().0)));
    assert_frozen(&found, FEATURES);
}

#[rustfmt::skip]
const TEXTS: &[u64] = &[
    0xc91c_d4de_7424_07d3, 0x17ec_906a_163d_d801, 0xce50_d6f9_fbb5_b450, 0xc91c_d4de_7424_07d3,
    0x859b_7889_8335_faa8, 0x84ab_874c_84e9_3f4a, 0xf91c_ef5b_654e_2d77, 0x727a_b017_899e_7668,
    0x10b1_57b7_bdc1_6bc7, 0xc91c_d4de_7424_07d3, 0xc91c_d4de_7424_07d3, 0xb857_b2a3_739c_8d73,
    0x2013_1e39_366e_b75d, 0x70fb_4414_72d9_e349, 0x2361_accb_8652_8af0, 0x38ae_4abc_2408_483d,
    0xdfe3_08ef_88cd_103e, 0x7869_9ed8_2858_c255, 0x6016_ce73_6926_3d50, 0xdfe3_08ef_88cd_103e,
    0x0786_8328_ac49_f6df, 0xdfe3_08ef_88cd_103e, 0xee64_9f26_b685_e173, 0xdfe3_08ef_88cd_103e,
    0xdfe3_08ef_88cd_103e, 0x42b2_bb32_1cc0_66ec, 0xd114_3176_18e8_4bee, 0xdfe3_08ef_88cd_103e,
    0xe552_140c_79d4_c69f, 0xdfe3_08ef_88cd_103e, 0x9b65_1b88_1b2f_21a9, 0x4e92_5657_2ff0_ab86,
    0xae46_5adc_22a3_4c1c, 0xeeb2_8d40_b0fc_fbb9, 0x398d_bb6f_9fca_0885, 0xae46_5adc_22a3_4c1c,
    0xb666_0a33_14bb_0d97, 0x81c0_cf52_3fa2_786e, 0x079e_1153_0cd6_377b, 0xd6ea_505d_3259_a3ed,
    0x0ff5_cfb9_aa66_0a3d, 0x2c3a_fb57_3f28_7cc4, 0x9572_9d58_6b5d_4871, 0x36aa_7a36_caf9_e024,
    0xd2ee_842b_e77d_5596, 0x9f36_becc_5074_4d2e, 0x3343_2f75_d4fc_f849, 0x3d1f_70c7_dd9a_35e7,
    0xffe4_c19e_5437_20a3, 0xd9af_740a_cf6a_da99, 0x533f_3ae7_3ad2_26c0, 0xffe4_c19e_5437_20a3,
    0xffe4_c19e_5437_20a3, 0xffe4_c19e_5437_20a3, 0xffe4_c19e_5437_20a3, 0x8e7b_8750_8982_2869,
    0x25b6_448e_9e5a_f193, 0x3393_06b5_0b0e_c31c, 0xc91c_d4de_7424_07d3, 0x113c_ffff_dd5b_2a7a,
    0x746d_bc35_0f55_6578, 0xffe4_c19e_5437_20a3, 0x15fa_0a23_89c8_5093, 0xfb23_80e8_7ccb_584f,
    0xae46_5adc_22a3_4c1c, 0x5792_5ed2_a63d_2812, 0x0ee6_9b30_d3eb_b63c, 0x5911_d31e_2c9a_a254,
    0xba27_9562_12b1_e3d8, 0x9309_262d_0cb8_77e9, 0x8ca7_1cb8_850c_d273, 0x2869_7f44_8a8c_6a2f,
    0x91f5_88de_845f_8e0d, 0x8640_f9b7_ff59_c976, 0x7492_be6e_6255_d2ad, 0xc972_0420_0edc_7857,
    0x8db4_cd49_4138_8e87, 0xc91c_d4de_7424_07d3, 0x6c3e_2ff6_3b38_ee59, 0xe458_8dd5_1da0_adc1,
    0x727c_ec55_6e9f_5aff, 0x2bc8_40b0_795f_6782, 0x6382_ee0f_743a_0aa5, 0xae46_5adc_22a3_4c1c,
    0x3b61_fb2b_5a3d_e67f, 0xc88a_8585_6cf7_8478, 0x899e_5cf8_976d_a722, 0x9646_fee4_fee2_5c1c,
    0x53d5_beaa_db20_b9f0, 0x9f96_707d_8c83_b0de, 0x9f96_707d_8c83_b0de, 0x13a8_adb3_4435_5e9a,
    0x13a8_adb3_4435_5e9a, 0x5666_bb89_ad5a_1988, 0x5666_bb89_ad5a_1988,
];

#[rustfmt::skip]
const ROWS: &[u64] = &[0x23bb_27c0_a4b0_0232, 0x37f5_5e04_0b79_8abc, 0x91e1_fe7d_86ac_b54c, 0xb070_c773_e359_7d00];

#[rustfmt::skip]
const FEATURES: &[u64] = &[0x8926_0bd8_6abe_41f2, 0x86df_955f_f24d_9207, 0x6a53_4f77_85c1_7fc7, 0x9c71_8bf2_008e_3b07];
