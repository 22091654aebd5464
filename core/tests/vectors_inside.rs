//! A few vectors of each kind that are part of the product, so that these
//! algorithms are held against values of others wherever the tests run;
//! `vectors.rs` has many more where its files are at hand.

use dedup_core::fingerprint::{SimHash, Weight, hamming};
use dedup_core::hash::{PaperHash, city64, java, murmur3_128};
use dedup_core::random::SplitMix64;
use dedup_core::text::Segmenter;
use dedup_detectors::combined;
use dedup_detectors::exact::{Rule, expected_error};
use proptest::prelude::*;

/// Values of Google's CityHash 1.1.1 (city.cc), one for every branch by length.
#[test]
fn city64_equals_the_original() {
    for (text, expected) in [
        ("", 0x9ae1_6a3b_2f90_404f),
        ("abc", 0x24a5_b3a0_74e7_f369),
        ("数据", 0x9725_6323_3bf5_7c17),
        ("投诉", 0x3300_29b0_d415_8b8d),
        ("中文短文本去重方法研究", 0x0c95_07c4_1f7d_0cef),
        ("关系型数据库", 0x8007_056a_400f_aec4),
        ("the quick brown fox", 0xae67_67e4_10a4_6d31),
        ("abcdefghijklmnopqrstuvwxyz1234567890", 0xcb71_178c_fd2c_655e),
        ("基于语义指纹的中文文本快速去重", 0x647f_4e6e_0817_0432),
        (&"x".repeat(64), 0xe6a5_6470_4469_47d1),
        (&"x".repeat(65), 0xfdf0_f1ab_ca45_3515),
    ] {
        assert_eq!(city64(text.as_bytes()), expected, "{text}");
    }
}

/// Partow's C with a signed `char`, the original MurmurHash3.
#[test]
fn string_hashes_of_chinese_equal_the_originals() {
    let text = "中文短文本去重方法研究".as_bytes();
    for (hash, expected) in [
        (PaperHash::Bkdr, 1_652_608_707),
        (PaperHash::Ap, 2_707_991_202),
        (PaperHash::Djb, 3_624_724_612),
        (PaperHash::Js, 2_992_256_851),
        (PaperHash::Rs, 1_018_343_003),
        (PaperHash::Sdbm, 3_951_144_779),
        (PaperHash::Pjw, 96_418_390),
        (PaperHash::Elf, 96_418_390),
    ] {
        assert_eq!(hash.hash32(text), expected, "{hash:?}");
    }
    assert_eq!(PaperHash::Sdbm.hash64(text), 6_466_325_358_499_967_051);
    assert_eq!(PaperHash::Bkdr.hash64(text), 12_228_888_049_627_860_931);
    assert_eq!(murmur3_128(text, 0), [0x7b57_d130_b339_87dc, 0xfb5d_516d_dfa1_9138]);
}

/// What a Java program with Partow's functions printed, in the order of `ALL`.
#[test]
fn java_values() {
    for line in [
        "投诉 32fe08 218fba575f41bb 66ab43 131e4af516e ffffd9e458bcc0a4 62adce74 6b519 6b519",
        "中文短文本去重方法研究 14dc6fed2efffa20 3b661e0ba9a91613 79082585ea0e6799 ead8ec2be68ca8b2 29aff47b79cac48 \
         8a9f984a8741bb48 b513e26 b513e26",
        "abcdefghijklmnopqrstuvwxyz1234567890 d1a3bb92bbf7e9b8 a7e431a51d916025 f221b67b2b7757b1 b0c253fd3af2539e \
         813aefb9f44001ee a029ed0dcd9c4808 78c3f40 78c3f40",
        "𠮷水 3913c72b fbddb4278861b19e f3be672 27b8f46671fd f154436a4d1b6901 d8ad5d83517f e6a9a4 e6a9a4",
    ] {
        let (text, values) = line.split_once(' ').unwrap();
        for (hash, value) in PaperHash::ALL.into_iter().zip(values.split(' ')) {
            assert_eq!(format!("{:x}", hash.hash64_utf16(text)), value, "{hash:?} of {text}");
        }
    }
    let of_nothing = PaperHash::ALL.map(|hash| hash.hash64_utf16(""));
    assert_eq!(of_nothing, [0, 0xffff_ffff_aaaa_aaaa, 0x1505, 0x4e67_c6a7, 0, 0, 0, 0]);
}

/// What the JDK documents of its own hash or others have published, wrapped and of a pair of surrogates too.
#[test]
fn java_built_in() {
    for (text, hash) in [
        ("", 0),
        ("hello", 99_162_322),
        ("Aa", 2_112),
        ("BB", 2_112),
        ("polygenelubricants", i32::MIN),
        ("中文", 646_394),
        ("𠮷", 0xD842 * 31 + 0xDFB7),
    ] {
        assert_eq!(java(text), hash, "{text}");
    }
}

/// The verification of SMHasher, by every length of tail: keys of 0 to 255 bytes, seed 256 less the length, hashed again.
#[test]
fn smhasher_verification() {
    let key: Vec<u8> = (0..=255).collect();
    let mut long = Vec::new();
    for length in 0..256usize {
        let seed = 256 - length as u32;
        long.extend(murmur3_128(&key[..length], seed).iter().flat_map(|half| half.to_le_bytes()));
    }
    assert_eq!(murmur3_128(&long, 0)[0] as u32, 0x6384_ba69);
}

/// The first numbers of seed 1234567, as published with the generator.
#[test]
fn published_numbers() {
    let mut random = SplitMix64::new(1_234_567);
    assert_eq!([random.next(), random.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
}

/// Weighted sums by hand, on hashes of few bits: bit by bit, more for than
/// against; none at a tie.
#[test]
fn simhash_bits_are_majorities() {
    for (features, expected) in [
        (&[(0b1100, 2.0), (0b1010, 1.0)][..], 0b1100),
        (&[(0b1100, 1.0), (0b1010, 1.0)], 0b1000),
        (&[(0b1100, 1.0), (0b1010, 1.0), (0b0110, 1.5)], 0b1110),
        (&[(0b0111, 5.0), (0b1001, 3.0), (0b1110, 1.5)], 0b0111),
        (&[(5_370_909_482_824_962_745, 1.0), (13_075_834_590_884_588_870, 1.0)], 0),
        (
            &[
                (18_398_375_704_280_874_368, 1.0),
                (48_368_369_428_677_247, 1.0),
                (3_863_698_165_948_636_178, 1.0),
            ],
            3_863_698_165_948_636_178,
        ),
    ] {
        let mut sums = SimHash::new();
        for &(hash, weight) in features {
            sums.add(hash, Weight::new(weight).unwrap());
        }
        assert_eq!(sums.finish(), Some(expected), "{features:?}");
    }
    // P4's example.
    assert_eq!(hamming(0b10101, 0b00110), 3);
}

/// What Python's jieba cuts without its hidden Markov model.
#[test]
fn segmentation_equals_python_jieba() {
    for cut in [
        "我|爱|北京|天安门",
        "湖北省|石首市",
        "永和|服装|饰品|有限公司",
        "工信处|女干事|每月|经过|下属|科室|都|要|亲口|交代|24|口|交换机|等|技术性|器件|的|安装|工作",
        "买|水果|然后|来|世博园",
        "外交部|发言人|马朝旭",
    ] {
        let text = cut.replace('|', "");
        assert_eq!(Segmenter::shared().raw_cut(&text, false).join("|"), cut);
    }
}

/// P3's combined similarity and P1's filter, computed from their formulas.
#[test]
fn formulas_of_the_papers() {
    let s = combined::similarity(3, 0.25, 0.9).unwrap();
    assert!((s - (0.9 / 4.0 + 0.1 * 0.25)).abs() < 1e-12, "{s}");
    assert_eq!(combined::radius(0.25, 0.9), Some(5));
    for (rule, expected) in [(Rule::All, 0.032_858_539_879_675_595), (Rule::Any, 0.329_679_953_964_360_7)] {
        assert!((expected_error(50_000, 2, 5_000, rule) - expected).abs() < 1e-9);
    }
}

proptest! {
    /// Those of few bytes, which have a function of their own.
    #[test]
    fn short_features_hash_as_others_do(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
        prop_assert_eq!(city64(&bytes), cityhasher::hash::<u64>(&bytes[..]));
    }
}
