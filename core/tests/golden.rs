//! Fingerprints stay bit for bit what they were when this was written: tables keep them. One digest a recipe, over
//! some hundred generated texts of Chinese, English and both, with what is hard to cut and to normalise among it.

use dedup_core::features::{
    Corpus, CorpusBuilder, Dictionary, Extractor, FieldsRecipe, RecipeError, Resolver, TextRecipe, missing,
};
use dedup_core::hash::mix64;
use dedup_core::random::SplitMix64;
use dedup_core::text::Segmenter;
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
        self.1
            .iter()
            .find(|corpus| corpus.name() == name)
            .cloned()
            .ok_or_else(|| missing("corpus", name, &[]))
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
    let words = OWN_WORDS.lines().chain(WORDS.iter().copied().filter(|word| !word.contains(' ')));
    found.push(("own words".into(), of_str(&Segmenter::complete_words(words).unwrap().0)));
    assert_frozen(&found, FEATURES);
}

#[rustfmt::skip]
const TEXTS: &[u64] = &[
    0xeb95_bce4_17d3_c61d, 0xb52e_40e5_a067_30b2, 0x9729_6f5c_0f63_b200, 0xeb95_bce4_17d3_c61d,
    0x4035_92f6_f0ca_19f1, 0xd7ea_df8c_f1f7_65d3, 0xa5a4_57f1_fb78_f152, 0x1895_f5ed_7ac3_4ce0,
    0xd85b_f8db_22ad_2cf0, 0xeb95_bce4_17d3_c61d, 0xeb95_bce4_17d3_c61d, 0x0d57_b992_d3f5_f846,
    0x74a7_5910_b6a6_e9a1, 0x10cc_8d6c_b264_2882, 0x6a01_5cf1_8924_1694, 0x8497_a27e_0f88_2ad8,
    0xb3a7_a070_a16e_8da0, 0x9458_d50d_8fc0_f133, 0xd48d_c6ad_f6bb_1832, 0xb3a7_a070_a16e_8da0,
    0x8362_0b9b_8cdf_a0ee, 0xb3a7_a070_a16e_8da0, 0x87b9_26b0_229b_e7c0, 0xb3a7_a070_a16e_8da0,
    0xb3a7_a070_a16e_8da0, 0x1041_5a34_f530_3690, 0xe6c7_a315_a6ce_babc, 0xb3a7_a070_a16e_8da0,
    0x1ea2_e89b_9724_76a7, 0xb3a7_a070_a16e_8da0, 0x7362_7dca_4aa0_b76d, 0xe583_d547_ef3f_2193,
    0x0e56_d4ea_c52d_1f78, 0x44c7_18d7_3461_d498, 0xf86f_9899_6ceb_600f, 0x0e56_d4ea_c52d_1f78,
    0x288b_1cd1_e3b6_ba3d, 0xe86c_88c1_e793_b214, 0xc2e6_9cd3_33da_f593, 0x2098_b8bc_a421_72e9,
    0x0bd1_f2a5_ca60_e700, 0x083c_d524_6b80_6549, 0xa712_256f_483d_c82d, 0xb9d4_3d9d_0121_8edd,
    0x2e0d_52b0_23e5_e286, 0x1743_695f_1813_659a, 0xb289_2296_1b38_14ee, 0xd6a5_a094_c7a5_4ef2,
    0xfc17_d68e_fe0d_0de5, 0xf53a_29a0_4064_38ec, 0x9141_b79c_c50f_3d13, 0xfc17_d68e_fe0d_0de5,
    0xfc17_d68e_fe0d_0de5, 0xfc17_d68e_fe0d_0de5, 0xfc17_d68e_fe0d_0de5, 0x29af_4b72_59ba_71c0,
    0x01e1_6393_0cb0_929f, 0x9232_69a2_03fe_2819, 0xeb95_bce4_17d3_c61d, 0x0718_f77a_9267_c44b,
    0x98fd_73ae_f3b5_ab26, 0xfc17_d68e_fe0d_0de5, 0xbda5_703f_3617_8440, 0xa85e_a078_a434_2f58,
    0x0e56_d4ea_c52d_1f78, 0x1e11_314b_5887_0d23, 0x73a4_4f68_d484_4690, 0x7a24_8eca_34ba_fd03,
    0xb3ed_1351_9050_b783, 0x7492_f15b_46d2_27c0, 0x6df0_820b_180c_ffb1, 0x066a_7e03_b207_5a7a,
    0x76f2_a9f3_4fd7_00a6, 0x19cf_dbaa_7234_44f3, 0xb221_4c73_f669_d3fc, 0x1d84_73a9_dbbe_618f,
    0x8bcd_4933_3881_22ae, 0xeb95_bce4_17d3_c61d, 0xd8f3_1f6d_0861_827c, 0x0084_48fd_7652_44c0,
    0xd883_190d_9ca0_38c2, 0x142f_b1d6_d131_253b, 0x58cd_ebbc_b804_4644, 0x0e56_d4ea_c52d_1f78,
    0x4828_a433_c33b_70bf, 0xdeb6_52ea_e683_dce0, 0x91f6_ceb3_7cda_448c, 0xbc58_5a0a_2577_d771,
    0x1943_4e68_8152_836e, 0xc0ba_9c36_5964_ef35, 0xc0ba_9c36_5964_ef35, 0xf845_790a_805d_4730,
    0xf845_790a_805d_4730, 0xffce_44ab_fba5_acb4, 0xffce_44ab_fba5_acb4,
];

#[rustfmt::skip]
const ROWS: &[u64] = &[
    0x80ad_be60_b6b3_a79a, 0xdd70_cf2e_9a4f_5a39, 0x4887_7597_09ad_76f1, 0xe982_468c_8a5e_6a29,
];

#[rustfmt::skip]
const FEATURES: &[u64] = &[
    0xe6a3_c6d1_db67_87dc, 0x065c_a7c1_b302_6a00, 0x38c0_450a_9e70_20b5, 0x9c71_8bf2_008e_3b07,
];
