//! Soundness of on-the-fly partial-order reduction within bounds.
//!
//! Paper: \[S19\] Fig. 5. For each scheme and property automaton: is there a program
//! with ample sets that satisfy C0, C1, C2 and C3′, whose full product has an
//! accepting cycle while the reduced one has none? Every counterexample is checked
//! again by plain search before it is printed.
//!
//! The bounds are the paper's, except that B5 stops at three program states unless
//! `--full` asks for the paper's four, which takes an hour or so on one core.
//! Other options: `--seconds N` per question (default 600), `--quick` for small bounds.

mod circuit;
mod encode;
mod instance;
mod promela;
mod scheme;

use crate::Options;
use anyhow::{Context, Result, bail};
use circuit::Answer;
use encode::{Automaton, Bounds, Encoding};
use instance::{Instance, Property};
use scheme::Scheme;
use std::fmt::Write;
use std::time::{Duration, Instant};

struct Row {
    scheme: Scheme,
    name: &'static str,
    automata: Vec<Automaton>,
    bounds: Bounds,
    /// What the paper reports: is there a counterexample?
    paper: bool,
    /// The paper's bounds, where ours are smaller.
    remark: &'static str,
}

/// How much is asked of the solver.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Quick,
    Usual,
    Full,
}

/// Prints the table.
pub(crate) fn run(options: &Options) -> Result<String> {
    let mut seconds = 600;
    let mut size = Size::Usual;
    let mut rest = options.rest.iter();
    while let Some(option) = rest.next() {
        match option.as_str() {
            "--quick" => size = Size::Quick,
            "--full" => size = Size::Full,
            "--seconds" => {
                let value = rest.next().context("--seconds needs a number")?;
                seconds = value.parse().context("--seconds needs a number")?;
            }
            other => bail!("s19-fig5 does not know `{other}`"),
        }
    }
    let limit = Duration::from_secs(seconds);
    let mut out = String::from(
        "| scheme | automaton | operations | program states | variables | clauses | seconds | result | S19 |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let mut notes = String::new();
    for row in rows(size) {
        let outcome = solve(&row, limit)?;
        let result = match (&outcome.found, outcome.covered) {
            (Some(_), _) => "counterexample (re-verified)".to_owned(),
            (None, Some(states)) if states == row.bounds.program_states => "sound".to_owned(),
            (None, Some(states)) => format!("sound up to {states} states, then out of time"),
            (None, None) => "out of time".to_owned(),
        };
        let paper = if row.paper { "counterexample" } else { "sound" };
        let line = format!(
            "| {:?} | {} | ≤ {} | ≤ {} | {} | {} | {:.1} | {result} | {paper}{} |",
            row.scheme,
            row.name,
            row.bounds.operations,
            row.bounds.program_states,
            outcome.size.0,
            outcome.size.1,
            outcome.seconds,
            row.remark,
        );
        eprintln!("{line}");
        let _ = writeln!(out, "{line}");
        if let Some(instance) = &outcome.found {
            let title = format!("{:?} loses a violation of {}", row.scheme, row.name);
            let _ = writeln!(notes, "\n{title}: {}", describe(instance));
            if let Some(folder) = &options.emit {
                std::fs::create_dir_all(folder)?;
                let file =
                    folder.join(format!("{:?}-{}.pml", row.scheme, &row.name[..2]).to_lowercase());
                std::fs::write(&file, promela::model(instance, &title))
                    .with_context(|| file.display().to_string())?;
            }
        }
    }
    Ok(out + &notes)
}

struct Outcome {
    found: Option<Instance>,
    /// Program states up to which no counterexample exists.
    covered: Option<usize>,
    size: (i32, usize),
    seconds: f64,
}

fn solve(row: &Row, limit: Duration) -> Result<Outcome> {
    let start = Instant::now();
    let mut outcome = Outcome { found: None, covered: None, size: (0, 0), seconds: 0.0 };
    'growing: for states in 1..=row.bounds.program_states {
        for automaton in &row.automata {
            let encoding = Encoding::new(row.scheme, automaton, &row.bounds, states);
            outcome.size = outcome.size.max(encoding.circuit.size());
            let asked = Instant::now();
            let answer = encoding.circuit.solve(limit);
            let property = match automaton {
                Automaton::Fixed(_) => String::new(),
                Automaton::AnyNormalForm { states, .. } => format!(" with {states} states"),
            };
            eprintln!(
                "{:?} {}{property}, {states} program states: {:.1} s",
                row.scheme,
                row.name,
                asked.elapsed().as_secs_f64()
            );
            match answer {
                Answer::Unsatisfiable => {}
                Answer::OutOfTime => break 'growing,
                Answer::Satisfiable(model) => {
                    let instance = encoding.decode(&model);
                    if let Err(reason) = instance.check() {
                        bail!("the solver's counterexample is none: {reason}: {instance:?}");
                    }
                    outcome.found = Some(instance);
                    break 'growing;
                }
            }
        }
        outcome.covered = Some(states);
    }
    outcome.seconds = start.elapsed().as_secs_f64();
    Ok(outcome)
}

fn rows(size: Size) -> Vec<Row> {
    let fixed = |property: fn() -> Property| vec![Automaton::Fixed(property())];
    let bounds = |operations: usize, program_states: usize| Bounds {
        operations,
        program_states: if size == Size::Quick { program_states.min(3) } else { program_states },
    };
    let row = |scheme, name, automata, bounds, paper| Row {
        scheme,
        name,
        automata,
        bounds,
        paper,
        remark: "",
    };
    let mut rows = vec![
        row(Scheme::V0, "B1", fixed(b1), bounds(2, 2), true),
        row(Scheme::V1, "B1", fixed(b1), bounds(3, 5), false),
        row(Scheme::V0, "B2", fixed(b2), bounds(2, 2), true),
        row(Scheme::V1, "B2", fixed(b2), bounds(2, 2), true),
        row(Scheme::V0, "B3", fixed(b3), bounds(3, 5), false),
        row(Scheme::V1, "B3", fixed(b3), bounds(3, 5), false),
        row(Scheme::V0, "B4", fixed(b4), bounds(3, 4), false),
        row(Scheme::V1, "B4", fixed(b4), bounds(3, 4), false),
    ];
    let (program_states, remark) = match size {
        Size::Quick => (2, " (≤ 4 program states)"),
        Size::Usual => (3, " (≤ 4 program states)"),
        Size::Full => (4, ""),
    };
    for scheme in [Scheme::V0, Scheme::V1] {
        rows.push(Row {
            scheme,
            name: "B5 (≤ 4 states, ≤ 3 letters, ≤ 6 edges)",
            automata: (1..=4)
                .map(|states| Automaton::AnyNormalForm { states, letters: 3, edges: 6 })
                .collect(),
            bounds: bounds(3, program_states),
            paper: false,
            remark,
        });
    }
    rows
}

fn property(states: usize, edges: &[(usize, usize, usize)], accepting: &[usize]) -> Property {
    Property {
        letters: 2,
        states,
        edges: edges.to_vec(),
        accepting: (0..states).map(|s| accepting.contains(&s)).collect(),
    }
}

/// A finite nonempty prefix without p, then p for ever (Fig. 1).
fn b1() -> Property {
    property(2, &[(0, 0, 0), (0, 0, 1), (1, 1, 1)], &[1])
}

/// The same language, counting the prefix modulo two (Fig. 3).
fn b2() -> Property {
    let edges = [(0, 0, 1), (0, 0, 2), (2, 0, 1), (1, 0, 2), (1, 1, 3), (3, 1, 3)];
    property(4, &edges, &[3])
}

/// Finitely many p (Fig. 4, left).
fn b3() -> Property {
    property(2, &[(0, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1)], &[1])
}

/// B3 in SI normal form (Fig. 4, right).
fn b4() -> Property {
    let edges = [
        (0, 0, 1),
        (0, 1, 2),
        (0, 0, 3),
        (1, 0, 1),
        (1, 1, 2),
        (2, 1, 2),
        (2, 0, 1),
        (2, 0, 3),
        (3, 0, 3),
    ];
    property(4, &edges, &[3])
}

fn describe(instance: &Instance) -> String {
    let mut parts = Vec::new();
    for (operation, next) in instance.next.iter().enumerate() {
        let moves: Vec<String> =
            next.iter().enumerate().filter_map(|(q, z)| z.map(|z| format!("{q}→{z}"))).collect();
        if !moves.is_empty() {
            parts.push(format!("operation {operation}: {}", moves.join(" ")));
        }
    }
    parts.push(format!("letters {:?}", instance.label));
    let mut proper = Vec::new();
    for (q, row) in instance.ample.iter().enumerate() {
        for (s, ample) in row.iter().enumerate() {
            let chosen: Vec<usize> = (0..ample.len()).filter(|o| ample[*o]).collect();
            let enabled = instance.next.iter().filter(|n| n[q].is_some()).count();
            if chosen.len() < enabled {
                proper.push(format!("({q},{s}) ample {chosen:?}"));
            }
        }
    }
    parts.push(proper.join(", "));
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_counterexamples_are_found_and_verified() {
        let expected = [("B1", Scheme::V0), ("B2", Scheme::V0), ("B2", Scheme::V1)];
        for row in rows(Size::Quick) {
            if row.bounds.operations > 2 {
                continue;
            }
            let outcome = solve(&row, Duration::from_secs(600)).unwrap();
            let found = outcome.found.is_some();
            assert_eq!(found, expected.contains(&(row.name, row.scheme)), "{}", row.name);
        }
    }

    #[test]
    fn sound_rows_have_no_small_counterexample() {
        for mut row in rows(Size::Quick).into_iter().filter(|r| !r.paper) {
            row.bounds = Bounds { operations: 2, program_states: 2 };
            let outcome = solve(&row, Duration::from_secs(600)).unwrap();
            assert!(outcome.found.is_none(), "{:?} {}", row.scheme, row.name);
            assert_eq!(outcome.covered, Some(2));
        }
    }

    /// The paper's own counterexample to V0, and the same with full ample sets.
    #[test]
    fn the_checker_accepts_and_rejects() {
        let mut instance = Instance {
            scheme: Scheme::V0,
            next: vec![vec![Some(0), Some(1)], vec![Some(1), None]],
            label: vec![0, 1],
            property: b1(),
            ample: vec![
                vec![vec![true, true], vec![true, false]],
                vec![vec![true, false], vec![true, false]],
            ],
        };
        assert_eq!(instance.check(), Ok(()));
        instance.scheme = Scheme::V1;
        assert!(instance.check().is_err());
        instance.scheme = Scheme::V0;
        instance.ample[0][1][1] = true;
        assert!(instance.check().is_err());
        instance.ample[0][1] = vec![false, false];
        assert!(instance.check().unwrap_err().contains("C0"));
        instance.ample[0][1] = vec![false, true];
        assert!(instance.check().unwrap_err().contains("C2"));
    }
}
