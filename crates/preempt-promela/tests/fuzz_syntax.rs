//! A random mutator over preprocessor, parser and checker: whatever the bytes, parsing ends, in time
//! and without a panic, and every message can be shown. What is accepted is translated and run for
//! some steps, too.
//!
//! Runs a few seconds in the suite; `PREEMPT_FUZZ_SECONDS=600` makes it ten minutes.

mod one_input;
mod support;

use preempt_testing::Random;
use std::path::Path;
use std::time::{Duration, Instant};

use one_input::one_input;
use preempt_promela::syntax::parse_formula;
use support::models_below;

const SNIPPETS: &[&str] = &[
    "mtype = { a, b }; mtype:k = { c }; typedef T { byte x; int y[2] }; T g[2]; chan q = [2] of { T, byte };\n\
     proctype P(byte n; chan c) provided (n > 0) priority 3 { T t; q!t,1; q?t,n; c!!n; c??<n>; c?[n] }\n\
     init { run P(1, q) priority 2; select(g[0].x : 1 .. 3); for (g[1].x in g[0].y) { printf(\"%d\", _pid) } }",
    "#define M(a, b) (a -> b : M2(b))\n#define M2(x) x ## 1 #x\n#if defined(M) && M2(3) > 2\nint y1;\n#elif 0\n#else\n#endif\n\
     init { y1 = M(y1, y1) }",
    "inline f(a, b) { byte t; L: t = a; if :: t > b -> goto L :: else -> return t fi }\n\
     init { int x; x = f(x + 1, 3); f(x, (2, 3)); do :: x-- unless x == 0 :: timeout -> break od }",
    "unsigned w : 31 = 5; unsigned v : 3 = 9; short s = 70000; byte x; active [2] D_proctype P() { end: atomic { x++ ; x == _nr_pr -> d_step { x = x << 2 } } }\n\
     never n { T0: do :: !P[0]@end -> goto T0 :: np_ od }\nltl p { [] (x == 1 -> <> P:y W (X x U !x V x)) }\nnotrace { x!_ }",
];

const WORDS: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "::",
    "->",
    ";",
    "if",
    "fi",
    "do",
    "od",
    "inline f(a) { f(a) }",
    "#define x x x\n",
    "#include \"model.pml\"\n",
    "#if (",
    "#endif\n",
    "/*",
    "*/",
    "//",
    "\"",
    "'",
    "\\",
    "\n",
    "0x1F",
    "99999999999999999999",
    "!",
    "!!",
    "?",
    "??",
    "<",
    ">",
    "<>",
    "[]",
    "U",
    "X",
    "ltl",
    "never",
    "typedef",
    "mtype",
    "chan",
    "unless",
    "else",
    "run",
    "eval",
    "_",
    "_pid",
    "..",
    ".",
    ",",
    ":",
    "@",
    "=",
    "==",
    "&&",
    "||",
    "-",
    "~",
    "#",
    "##",
    "\u{e9}",
    "c_code {",
    "a",
    "x",
    "b[",
    "T",
    "P",
    "active",
    "proctype",
    "init",
    "hidden",
    "atomic {",
    "d_step {",
    "for (",
    "select (",
];

fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut text = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(8) {
        let at = random.below(text.len() + 1);
        match random.below(9) {
            0 => text.truncate(at),
            1 if !text.is_empty() => {
                let index = random.below(text.len());
                text[index] = random.next_number() as u8;
            }
            2 => text.insert(at, random.next_number() as u8),
            3 => {
                let word = WORDS[random.below(WORDS.len())];
                let word = format!(" {word} ");
                text.splice(at..at, word.into_bytes());
            }
            4 => {
                let end = (at + random.below(30)).min(text.len());
                text.drain(at..end);
            }
            5 => {
                let end = (at + random.below(60)).min(text.len());
                let part = text[at..end].to_vec();
                let to = random.below(text.len() + 1);
                text.splice(to..to, part);
            }
            6 => {
                let word = WORDS[random.below(WORDS.len())].repeat(random.below(2_000));
                text.splice(at..at, word.into_bytes());
            }
            7 => {
                let other = &seeds[random.below(seeds.len())];
                let start = random.below(other.len() + 1);
                let end = (start + random.below(200)).min(other.len());
                text.splice(at..at, other[start..end].to_vec());
            }
            _ => {
                let word = WORDS[random.below(WORDS.len())];
                let end = (at + word.len()).min(text.len());
                text.splice(at..end, word.bytes());
            }
        }
    }
    text
}

#[test]
fn mutated_models_end_in_a_model_or_a_diagnostic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seeds: Vec<Vec<u8>> = SNIPPETS.iter().map(|s| s.as_bytes().to_vec()).collect();
    for below in ["../../models", "tests/data/micro"] {
        seeds.extend(
            models_below(&folder.join(below)).iter().map(|f| std::fs::read(f).expect("readable")),
        );
    }
    let long = std::env::var("PREEMPT_FUZZ_SECONDS").ok().and_then(|s| s.parse::<u64>().ok());
    let started = Instant::now();
    let mut random = Random::shifts(0x9e37_79b9_7f4a_7c15, 0);
    let mut accepted = 0u32;
    let mut slowest = (Duration::ZERO, 0);
    for case in 0u64.. {
        let enough = match long {
            Some(seconds) => started.elapsed() >= Duration::from_secs(seconds),
            None => case >= 3_000,
        };
        if enough {
            println!("{case} cases, {accepted} accepted, slowest {slowest:?}");
            break;
        }
        let begun = Instant::now();
        let text = mutate(&mut random, &seeds);
        if let Some(mut model) = one_input(text, &mut |limit| random.below(limit)) {
            accepted += 1;
            let formula = mutate(&mut random, &seeds);
            let _ = parse_formula(&String::from_utf8_lossy(&formula), &mut model);
        }
        slowest = slowest.max((begun.elapsed(), case));
    }
    assert!(long.is_some() || accepted > 50, "mutants must also reach the checker: {accepted}");
}
