//! `preempt spin -f F` prints a claim of the same language as `spin -f F`: that of F itself, not of its negation.
//!
//! `PREEMPT_FORMULAS` sets how many random formulas are tried. Spin is asked where it is installed.

use preempt_ltl::{Named, Word, accepts, holds, parse, read_never};
use preempt_testing::Random;
use std::process::Command;

/// A formula of so many operators and propositions at most.
fn formula(random: &mut Random, size: u64) -> String {
    let first = 1 + random.next_number() % size.saturating_sub(1).max(1);
    match random.below(8_u64) {
        _ if size < 2 => random.pick(&["p", "q", "!p", "!q"]).into(),
        0 | 1 => format!("[] ({})", formula(random, size - 1)),
        2 | 3 => format!("<> ({})", formula(random, size - 1)),
        4 => format!("! ({})", formula(random, size - 1)),
        kind => {
            let operator = ["U", "&&", "->"][(kind - 5) as usize];
            let left = formula(random, first);
            format!("(({left}) {operator} ({}))", formula(random, size - first))
        }
    }
}

/// Whether a claim accepts a word over p and q.
fn accepted(claim: &Named, word: &Word, names: &[String]) -> bool {
    let renumbered = |letter: &u64| {
        claim.names.iter().enumerate().fold(0, |out, (bit, name)| {
            let name = name.trim_matches(['(', ')', ' ']);
            let old = names.iter().position(|known| known == name).expect("a proposition");
            out | (letter >> old & 1) << bit
        })
    };
    let part = |letters: &[u64]| letters.iter().map(renumbered).collect();
    accepts(&claim.automaton, &Word { stem: part(&word.stem), cycle: part(&word.cycle) })
}

/// What a program prints of a never claim.
fn claim(program: &str, arguments: &[&str]) -> Option<Named> {
    let folder = std::env::temp_dir();
    let output = Command::new(program).args(arguments).current_dir(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let start = text.find("never").unwrap_or_else(|| panic!("{program} {arguments:?}: {text}"));
    Some(read_never(&text[start..]).unwrap_or_else(|error| panic!("{error}: {text}")))
}

#[test]
fn the_claim_is_for_the_formula_itself() {
    let mut random = Random::shifts(0x9e37_79b9, 0);
    let count = std::env::var("PREEMPT_FORMULAS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    let mut asked = 0;
    for number in 0..count {
        let size = 2 + random.next_number() % 5;
        let text = if number == 0 { "<> p".into() } else { formula(&mut random, size) };
        let parsed = parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let ours = claim(env!("CARGO_BIN_EXE_preempt"), &["spin", "-f", &text]).expect("it runs");
        let spins = claim("spin", &["-f", &text]);
        asked += u64::from(spins.is_some());
        for _ in 0..30 {
            let word = Word::random(parsed.names.len() as u32, || random.next_number());
            let wanted = holds(&parsed.formula, &word);
            assert_eq!(accepted(&ours, &word, &parsed.names), wanted, "{text}: {word:?}");
            if let Some(spins) = &spins {
                assert_eq!(accepted(spins, &word, &parsed.names), wanted, "Spin: {text}: {word:?}");
            }
        }
    }
    println!("{count} formulas, {asked} of them asked of Spin");
}
