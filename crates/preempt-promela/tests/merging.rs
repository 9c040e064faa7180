//! Joining statements to one step loses no violation: random models go wrong with it exactly if they do without.
//!
//! Spin's own merging loses some, so comparing with Spin would not show it. The processes are chains of statements that
//! Spin takes for private, among them those that are not: indices that are read from shared data, processes that are
//! started, channels with promises. `PREEMPT_MERGING_MODELS` and `PREEMPT_MERGING_SEED` set how many and which.

mod naive;
mod random;
mod support;

use naive::explore;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use random::{Random, make};
use std::fmt::Write;

/// Larger models are passed over.
const MOST_STATES: u64 = 20_000;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Whether something goes wrong in a model, and in how many states; `None` if it is too large or no model.
fn goes_wrong(text: &str, merge: bool) -> Option<(bool, u64)> {
    let model = support::parse_text(text).model?;
    let program = lower(&model, LowerOptions { merge, ..LowerOptions::default() }).ok()?;
    let interpreter = Interpreter::new(program);
    let claim = interpreter.program().claims.first().cloned();
    let counts = explore(&interpreter, claim.as_ref(), MOST_STATES);
    let is_whole = counts.broken || !counts.stopped;
    is_whole.then_some((counts.broken || counts.errors > 0, counts.stored))
}

/// A process that executes a chain, beside one that changes what the chain reads.
fn chain_model(random: &mut Random) -> String {
    let mut text = String::from(
        "byte g, h;\nchan c = [2] of { byte };\n\
         proctype W() { byte z = 0; g = 1 - g }\n\
         proctype V() { byte y = g; byte z = 0; h = h + y }\n\
         active proctype P() {\n  xr c;\n  byte a[2]; byte b[2]; byte l, m, n; pid p, q;\n  b[1] = 1;\n",
    );
    for _ in 0..2 + random.below(5) {
        let statement = match random.below(17) {
            0 | 1 => "a[g] = 1",
            2 => "l = b[g]",
            3 => "m = b[g]",
            4 => "b[h % 2] = 1 - b[h % 2]",
            5 => "p = run W()",
            6 => "q = run W()",
            7 => "p = run V()",
            8 => "q = run V()",
            9 => "c?n",
            10 => "nempty(c)",
            11 => "atomic { m = g; n = h % 2 }",
            12 => "m = l + a[0]",
            13 => "if :: l == 0 -> l = 1 :: else -> a[h % 2] = 1 fi",
            14 => "c?n; a[g] = n",
            15 => "printf(\"%d\", b[g])",
            _ => "n = (l == m -> 1 : a[1])",
        };
        _ = writeln!(text, "  {statement};");
    }
    let condition = match random.below(5) {
        0 => "!(a[0] && a[1])",
        1 => "l == m",
        2 => "p != q || p == 0",
        3 => "b[0] + b[1] == 1",
        _ => "n == 0 || l == 1",
    };
    _ = writeln!(text, "  assert({condition})\n}}");
    let other = ["g = 1; h = 1", "g = 1; g = 0; h = 1", "c!1; g = 1", "g = 1; c!0; c!1; h = 1"];
    _ = writeln!(text, "active proctype Q() {{ {} }}", other[random.below(4) as usize]);
    text
}

#[test]
fn merging_loses_no_violation() {
    let first = setting("PREEMPT_MERGING_SEED", 1);
    let (mut compared, mut wrong, mut smaller) = (0, 0, 0);
    let models = setting("PREEMPT_MERGING_MODELS", 400);
    for seed in first..first + models {
        let mut random = Random::new(seed);
        let text = match seed % 4 {
            0 => make(&mut random, None).text(),
            _ => chain_model(&mut random),
        };
        // A claim may count steps.
        if text.contains("never {") {
            continue;
        }
        let (Some(merged), Some(apart)) = (goes_wrong(&text, true), goes_wrong(&text, false))
        else {
            continue;
        };
        assert_eq!(merged.0, apart.0, "seed {seed}:\n{text}");
        compared += 1;
        wrong += u64::from(merged.0);
        smaller += u64::from(merged.1 < apart.1);
    }
    println!(
        "{compared} of {models} models compared, {wrong} go wrong, {smaller} are smaller with merging"
    );
    assert!(compared * 3 > models * 2, "only {compared} of {models} models could be compared");
    assert!(wrong > compared / 10 && wrong < compared * 9 / 10, "{wrong} of {compared} go wrong");
    assert!(smaller > compared / 4, "merging did something in {smaller} of {compared} models only");
}
