//! `preempt check-certificate`: whether a certificate proves what it says.
//!
//! Exit code 0: it does, 1: it does not, 2: it, or what it is about, cannot be read.

use crate::failure::Failure;
use crate::languages;
use crate::output::print;
use crate::terminal::INTERRUPTED;
use preempt_ltl::{Named, Word, accepts, holds, parse, read_hoa};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// Runs `preempt check-certificate`.
pub(crate) fn run(certificate: &Path, model: &Path) -> Result<ExitCode, Failure> {
    let interrupted = || INTERRUPTED.load(Ordering::Relaxed);
    let answer = if languages::is_model(model) || model.exists() {
        (languages::of(model).certify)(certificate, model, &interrupted)?
    } else {
        let formula = model.to_string_lossy();
        let automaton =
            read_hoa(&read(certificate)?).map_err(|e| wrong(certificate, &e.to_string()))?;
        agrees(&automaton, &formula, &interrupted)?
    };
    if interrupted() {
        return Err(Failure::Input("the check was interrupted".into()));
    }
    match answer {
        Ok(sentence) => {
            print(&format!("✓ the certificate is right: {sentence}\n"));
            Ok(ExitCode::SUCCESS)
        }
        Err(why) => {
            print(&format!("✗ the certificate proves nothing: {why}\n"));
            Ok(ExitCode::from(1))
        }
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::io("read", path, &error))
}

fn wrong(path: &Path, error: &str) -> Failure {
    Failure::Input(format!("{}: {error}", path.display()))
}

/// Most words on which an automaton and a formula are compared.
const MOST_WORDS: u64 = 100_000;

/// Whether an automaton accepts the words that satisfy a formula, among all with a short stem and a short cycle.
/// What a formula means on such a word, and whether an automaton accepts it, follow from the definitions.
fn agrees(
    named: &Named,
    formula: &str,
    interrupted: &dyn Fn() -> bool,
) -> Result<Result<String, String>, Failure> {
    let no_file = || format!("there is no file `{formula}`, and it is no formula: ");
    let parsed = parse(formula).map_err(|error| Failure::Input(format!("{}{error}", no_file())))?;
    let Named { automaton, names } = named;
    if let Some(other) = parsed.names.iter().find(|name| !names.contains(name)) {
        return Ok(Err(format!("the automaton does not know `{other}`")));
    }
    // The letters of the automaton, with the propositions in the order of the formula.
    let reordered = |letter: u64| {
        let place = |name: &String| parsed.names.iter().position(|other| other == name);
        let bit = |(at, name): (usize, &String)| match place(name) {
            Some(place) => (letter >> place & 1) << at,
            None => 0,
        };
        names.iter().enumerate().map(bit).sum::<u64>()
    };
    let letters = 1u64 << parsed.names.len().min(16);
    let longest =
        |most: u32| (1..=most).map(|n| u64::from(n) * letters.saturating_pow(n)).sum::<u64>();
    let length = (1..=8).take_while(|n| longest(*n) <= MOST_WORDS).last().unwrap_or(1);
    let mut words = 0u64;
    for length in 1..=length {
        for number in 0..letters.saturating_pow(length) {
            if interrupted() {
                return Ok(Err("the check was interrupted".into()));
            }
            let all: Vec<u64> = (0..length).map(|at| number / letters.pow(at) % letters).collect();
            for stem in 0..all.len() {
                let word = |letters: &[u64]| Word {
                    stem: letters[..stem].to_vec(),
                    cycle: letters[stem..].to_vec(),
                };
                let own: Vec<u64> = all.iter().map(|letter| reordered(*letter)).collect();
                let meant = holds(&parsed.formula, &word(&all));
                if accepts(automaton, &word(&own)) != meant {
                    let word = word(&all);
                    let verb = if meant { "does not accept" } else { "accepts" };
                    return Ok(Err(format!(
                        "the automaton {verb} {}",
                        word.display(&parsed.names)
                    )));
                }
                words += 1;
            }
        }
    }
    let shown = parsed.formula.display(&parsed.names);
    Ok(Ok(format!(
        "the automaton accepts what satisfies {shown}, on all {words} words whose stem and cycle have at most {length} letters together"
    )))
}
