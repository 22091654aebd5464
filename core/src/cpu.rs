//! Loops compiled for several kinds of processor, of which the best that runs them is chosen when they are called.

/// A function whose body is also compiled for x86-64 with AVX2 and with the popcount of AVX-512.
macro_rules! by_cpu {
    ($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty $body:block) => {
        $(#[$attribute])*
        #[inline]
        #[allow(unsafe_code, reason = "what is called was compiled for this processor")]
        fn $name($($argument: $type),*) -> $result {
            #[inline(always)]
            fn portable($($argument: $type),*) -> $result $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512vl,avx512vpopcntdq")]
                fn avx512($($argument: $type),*) -> $result {
                    portable($($argument),*)
                }
                #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
                fn avx2($($argument: $type),*) -> $result {
                    portable($($argument),*)
                }
                match $crate::cpu::kind() {
                    // SAFETY: the processor has these instructions.
                    $crate::cpu::Kind::Avx512 => return unsafe { avx512($($argument),*) },
                    // SAFETY: the processor has these instructions.
                    $crate::cpu::Kind::Avx2 => return unsafe { avx2($($argument),*) },
                    $crate::cpu::Kind::Portable => {}
                }
            }
            portable($($argument),*)
        }
    };
}
pub(crate) use by_cpu;

/// What a processor can do, by the best of the ways above.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Only what every processor can.
    Portable,
    /// Vectors of 256 bits.
    Avx2,
    /// Counts bits of vectors.
    Avx512,
}

#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn kind() -> Kind {
    use std::arch::is_x86_feature_detected as has;
    // Asked once by the standard library.
    if !(has!("avx2") && has!("bmi1") && has!("bmi2") && has!("popcnt")) {
        Kind::Portable
    } else if has!("avx512f") && has!("avx512vl") && has!("avx512vpopcntdq") {
        Kind::Avx512
    } else {
        Kind::Avx2
    }
}
