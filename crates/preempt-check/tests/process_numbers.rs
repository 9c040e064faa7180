//! Which number a process gets may depend on what the others have done: reduction must not hide that.
//!
//! A number is free again when the youngest process has come to its end. Random models start processes in all sorts of
//! ways and ask for their numbers; with reduction they go wrong exactly if they do without. `PREEMPT_TEST_SYSTEMS` sets how
//! many.

mod promela;

use preempt_check::{Check, Options, Reduction, Search};
use preempt_core::Verdict;
use preempt_promela::interpret::Interpreter;
use preempt_testing::Random;
use std::fmt::Write;

/// The number of the second process depends on whether the first one is still there.
const REUSED: &str = "byte n;
    active proctype M() { pid a, b; a = run P(); b = run P(); assert(a != b) }
    proctype P() { n++ }";
/// So it does where that began with the model.
const YOUNGER: &str = "byte l;
    active proctype M() { byte x; x = 1; run P() }
    active proctype Q() { l = 1 }
    proctype P() { assert(_pid != 1) }";

fn verdict(system: &Interpreter, reduction: Reduction, search: Search) -> (Verdict, u64) {
    // Processes that wait for ever are no matter here.
    let options = Options { reduction, search, deadlocks: false, ..Options::default() };
    let answer = Check::new(system).options(options).run();
    (answer.verdict(), answer.claim.statistics.states)
}

fn model(random: &mut Random) -> String {
    let mut pick = |list: &[&'static str]| list[random.below(list.len() as u64) as usize];
    let mut text = String::from("byte g, h; pid p, q;\n");
    let body = |pick: &mut dyn FnMut(&[&'static str]) -> &'static str| {
        let lines = [
            "skip",
            "g = 1 - g",
            "l++",
            "if :: l == 0 -> l = 2 :: else -> skip fi",
            "do :: l < 2 -> l++ :: else -> break od",
            "(g == 1 || h == 0) -> skip",
        ];
        format!("byte l; {}; {}", pick(&lines), pick(&lines))
    };
    _ = writeln!(
        text,
        "proctype X() {{ {}; assert(_pid != {}) }}",
        body(&mut pick),
        pick(&["2", "3"])
    );
    _ = writeln!(text, "proctype Y() {{ {} }}", body(&mut pick));
    let mut creator = String::new();
    for _ in 0..3 {
        let line = pick(&[
            "run X()",
            "run Y()",
            "p = run Y()",
            "q = run Y()",
            "atomic { run Y(); run X() }",
            "atomic { p = run Y(); g = 1; q = run X() }",
            "atomic { run Y(); (g == 0); run X() }",
            "for (k : 1 .. 2) { run Y() }",
            "l++",
        ]);
        _ = write!(creator, "{line}; ");
    }
    let condition = pick(&["p != q || p == 0", "true", "q != 2", "X[2]:l == 0", "p < 3"]);
    _ = writeln!(text, "active proctype M() {{ byte l, k; {creator} assert({condition}) }}");
    if pick(&["yes", "no"]) == "yes" {
        _ = writeln!(text, "active proctype Q() {{ {} }}", body(&mut pick));
    }
    text
}

#[test]
fn numbers_are_seen_with_reduction() {
    for text in [REUSED, YOUNGER] {
        let system = promela::text(text);
        for reduction in [Reduction::None, Reduction::Spin, Reduction::Full] {
            assert_eq!(verdict(&system, reduction, Search::Depth).0, Verdict::Violated, "{text}");
        }
    }
    let models = std::env::var("PREEMPT_TEST_SYSTEMS").ok().and_then(|n| n.parse().ok());
    let (mut wrong, mut reduced, mut all) = (0, 0, 0);
    for seed in 0..models.unwrap_or(300) {
        let text = model(&mut Random::new(seed));
        let Some(system) = promela::try_text(&text) else { continue };
        let (truth, states) = verdict(&system, Reduction::None, Search::Breadth);
        for reduction in [Reduction::Spin, Reduction::Full] {
            for search in [Search::Depth, Search::Breadth] {
                let (found, fewer) = verdict(&system, reduction, search);
                assert_eq!(found, truth, "seed {seed}, {reduction:?}, {search:?}:\n{text}");
                reduced += u64::from(truth == Verdict::Holds && fewer < states);
            }
        }
        wrong += u64::from(truth == Verdict::Violated);
        all += 1;
    }
    println!("{all} models, {wrong} go wrong, {reduced} searches left something out");
    assert!(wrong > all / 5 && wrong < all * 9 / 10, "{wrong} of {all} go wrong");
    assert!(reduced > all / 5, "only {reduced} searches left something out");
}
