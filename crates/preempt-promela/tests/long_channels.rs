//! Channels of more than 255 slots count their messages in two bytes: states and transitions are those of real Spin.

mod naive;
#[allow(dead_code)] // Other tests use the rest.
mod peer;
#[allow(dead_code)]
mod random;
mod support;

use peer::{Result, ours, spins_with, workshop};

const MODELS: [&str; 4] = [
    // One after the other, past 255 in both directions.
    "chan q = [300] of { byte }; int n;
     active proctype P() { do :: n < 290 -> q!(n % 7); n++ :: else -> break od }
     active proctype C() { byte v; (len(q) >= 254); do :: len(q) > 250 -> q?v :: n == 290 -> break od; assert(nfull(q)) }",
    // Full at 1,024; sorted messages, messages from the middle, copies.
    "chan q = [1024] of { byte, short }; byte v; short w;
     init {
         int i;
         d_step { do :: i < 1022 -> q!!(i % 5), i; i++ :: else -> break od; i = 0 };
         do
         :: i < 5 -> i++; if :: q!!2, 7 :: q??3, w :: q?<v, w> :: q?v, w :: full(q) -> q?_, _ fi
         :: i == 5 -> break
         od;
         assert(len(q) >= 1018 && len(q) != 1023)
     }",
    // Long and short ones beside each other, found at run time, and one of a process.
    "chan q = [256] of { byte }; chan s = [1] of { byte }; chan r = [0] of { byte };
     proctype P(chan c) { chan own = [400] of { short }; short w; own!258; own?w; c!w; end: c!1 }
     init {
         int i; byte v;
         d_step { do :: i < 254 -> q!i; i++ :: else -> break od };
         atomic { run P(q); run P(s); run P(r) };
         do :: s?v :: r?v -> assert(v == 2 || v == 1) :: full(q) -> break od;
         assert(len(q) == 256 && nempty(q))
     }",
    // A promise about a long channel.
    "chan q = [257] of { byte };
     active proctype P() { xs q; int i; do :: i < 257 -> q!i; i++ :: else -> break od }
     active proctype C() { xr q; byte v; full(q); do :: q?v :: nfull(q) -> break :: nempty(q) -> skip od }",
];

#[test]
fn counts_are_spins() {
    let Some(folder) = workshop("long-channels") else { return };
    for text in MODELS {
        for (flags, options) in peer::modes() {
            let expected = spins_with(text, flags, "-DVECTORSZ=16384", &folder);
            assert!(matches!(expected, Result::Counts(_)), "{flags:?} {text}: {expected:?}");
            assert_eq!(ours(text, options), expected, "{flags:?} {text}");
        }
    }
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn a_channel_has_at_most_65535_slots() {
    let of = |slots: u32, message: &str| {
        format!("chan c = [{slots}] of {{ {message} }}; init {{ c!1; assert(len(c) == 1) }}")
    };
    assert!(matches!(ours(&of(65_535, "byte"), Default::default()), Result::Counts(_)));
    let Result::Rejected(reason) = ours(&of(65_536, "byte"), Default::default()) else {
        panic!("65,536 slots are too many")
    };
    assert!(reason.contains("between 0 and 65535"), "{reason}");
    let wide = format!("typedef T {{ int a[1000] }}; {} T t;", of(65_535, "T"));
    let Result::Rejected(reason) = ours(&wide, Default::default()) else {
        panic!("a state of 262 million bytes is too large")
    };
    assert!(!reason.is_empty());
}
