//! Programs without recursion against another engine: their Promela models, which count switches,
//! explored by the search that Promela models are explored with.

use crate::torture::{directly, program, seeds};
use crate::{Dialect, Program, parse, to_promela};
use preempt_check::Check;
use preempt_core::Verdict;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use preempt_promela::syntax::{ParseOptions, parse as parse_promela};

/// Whether the model of the program violates its assertion; `None` if it has no model.
fn promela_reaches(program: &Program, switches: u8) -> Option<bool> {
    let text = to_promela(program, Some(switches))?;
    let loader = |_: &str, _: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let options = ParseOptions { defines: Vec::new(), loader: &loader };
    let parsed = parse_promela("model.pml", text.as_bytes().to_vec(), &options);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}\n{text}", parsed.diagnostics));
    let system = Interpreter::new(lower(&model, LowerOptions::default()).unwrap());
    let options = preempt_check::Options {
        deadlocks: false,
        first: true,
        ..preempt_check::Options::default()
    };
    let claim = Check::new(&system).options(options).run().claim;
    match claim.verdict {
        Verdict::Violated => Some(true),
        Verdict::Holds => Some(false),
        other => panic!("{other:?}: {}\n{text}", claim.sentence),
    }
}

/// Compares all numbers of switches up to `most`; says whether there was something to compare.
fn compare(source: &str, program: &Program, most: u8) -> bool {
    let direct = directly(source, program, most.into());
    (0..=most).all(|k| {
        let Some(reaches) = promela_reaches(program, k) else { return false };
        assert_eq!(reaches, direct.is_some_and(|d| d <= k.into()), "{k} switches\n{source}");
        true
    })
}

#[test]
fn promela_models_of_random_programs_agree() {
    let mut compared = 0;
    for seed in seeds(40) {
        let source = program(seed, false);
        let (program, _) = parse(&source, "random.bp", Dialect::Slam).unwrap();
        compared += usize::from(compare(&source, &program, 4));
    }
    eprintln!("compared with Promela models: {compared}");
    assert!(compared > 15);
}

#[test]
fn promela_models_of_bluetooth_agree() {
    for name in ["1-1", "2-1", "1-2", "2-2"] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/boolean");
        let source = std::fs::read_to_string(format!("{folder}/bluetooth-{name}.bp")).unwrap();
        let (program, _) = parse(&source, name, Dialect::Slam).unwrap();
        assert!(compare(&source, &program, 5));
    }
}
