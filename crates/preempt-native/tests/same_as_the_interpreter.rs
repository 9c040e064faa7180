//! Machine code and reference interpreter agree on every state of every model, step by step: on the
//! models there are, and on random ones (`PREEMPT_RANDOM_MODELS` of them).

#[path = "../../preempt-promela/tests/random/mod.rs"]
#[allow(dead_code)]
mod random;

use preempt_core::{Enabled, Label, Outcome, ProcessId, Successors, System};
use preempt_native::Native;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use preempt_promela::syntax::{ParseOptions, parse};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const MOST_STATES: usize = 1_500;

fn interpreter(path: &Path, text: Vec<u8>, options: LowerOptions) -> Option<Interpreter> {
    let folder = path.parent()?.to_path_buf();
    let loader = move |_: &str, name: &str| std::fs::read(folder.join(name));
    let name = path.to_string_lossy();
    let parsed = parse(&name, text, &ParseOptions { defines: Vec::new(), loader: &loader });
    let program = lower(&parsed.model?, options).ok()?;
    Some(Interpreter::new(program))
}

/// Explores breadth-first with both; returns the number of states compared.
fn compare(name: &str, reference: &Interpreter, native: &Native<'_>) -> usize {
    let mut state = Vec::new();
    reference.initial(&mut state);
    let mut seen = HashSet::from([state.clone()]);
    let mut todo = std::collections::VecDeque::from([state]);
    let (mut expected, mut found) = (Enabled::new(), Enabled::new());
    let mut compared = 0;
    while let Some(state) = todo.pop_front() {
        compared += 1;
        let (mut a, mut b) = (state.clone(), state.clone());
        expected.clear();
        found.clear();
        reference.enabled(&mut a, &mut expected);
        native.enabled(&mut b, &mut found);
        assert_eq!(a, b, "{name}: {state:?} after listing");
        assert_eq!(expected.steps(), found.steps(), "{name}: steps of {state:?}");
        for index in 0..reference.proposition_count() {
            assert_eq!(reference.proposition(&a, index), native.proposition(&a, index), "{name}");
            let (fault, found) =
                (reference.proposition_fault(&a, index), native.proposition_fault(&a, index));
            assert_eq!(fault, found, "{name}: proposition {index} in {a:?}");
        }
        assert_eq!(reference.is_valid_end(&a), native.is_valid_end(&a), "{name}: {a:?}");
        for label in [Label::Accept, Label::Progress] {
            assert_eq!(
                reference.has_label(&a, label),
                native.has_label(&a, label),
                "{name}: {a:?}"
            );
        }
        for process in (0..reference.process_count(&a)).map(|p| ProcessId(p as u16)) {
            let (truth, found) = (reference.locality(&a, process), native.locality(&a, process));
            assert_eq!(truth, found, "{name}: {process} in {a:?}");
            assert_eq!(reference.present(&a, process), native.present(&a, process), "{name}");
            assert_eq!(reference.future(&a, process), native.future(&a, process), "{name}");
            assert_eq!(reference.is_visible(&a, process), native.is_visible(&a, process), "{name}");
        }
        let (mut c, mut scratch, mut all) = (state.clone(), Vec::new(), Successors::default());
        native.expand(&mut c, &mut found, &mut scratch, &mut all);
        assert_eq!(a, c, "{name}: {state:?} after expansion");
        assert_eq!(all.list.len(), expected.steps().len(), "{name}");
        if !native.is_transient(&a) {
            for process in (0..native.process_count(&a) as u16).map(ProcessId) {
                let mut alone = Successors::default();
                native.expand_of(&mut c, process, &mut found, &mut scratch, &mut alone);
                assert_eq!(a, c, "{name}: {state:?} after expansion of one process");
                let own = all.list.iter().filter(|(step, ..)| step.process == process);
                let own: Vec<_> =
                    own.map(|(s, o, range)| (s, o, &all.bytes[range.clone()])).collect();
                let list = alone.list.iter();
                let found: Vec<_> =
                    list.map(|(s, o, range)| (s, o, &alone.bytes[range.clone()])).collect();
                // What waits for a timeout may be left out.
                assert!(found == own || found.is_empty(), "{name}: {process} in {a:?}");
                assert!(found == own || reference.program().uses_timeout, "{name}: {process}");
            }
        }
        for (&step, (expanded, outcome, range)) in expected.steps().iter().zip(&all.list) {
            let (mut x, mut y) = (a.clone(), a.clone());
            let truth = reference.apply(&mut x, step);
            assert_eq!(native.apply(&mut y, step), truth, "{name}: {step:?} from {a:?}");
            assert_eq!((step, truth), (*expanded, *outcome), "{name}");
            if let Outcome::Broken(_) = truth {
                continue;
            }
            assert_eq!(x, y, "{name}: {step:?} from {a:?}");
            assert_eq!(x, all.bytes[range.clone()], "{name}: {step:?} from {a:?}, expanded");
            if seen.len() < MOST_STATES && seen.insert(x.clone()) {
                todo.push_back(x);
            }
        }
    }
    compared
}

fn models(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            models(&path, found);
        } else if path.extension().is_some_and(|e| e == "pml") {
            found.push(path);
        }
    }
}

#[test]
fn on_every_model_there_is() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    models(&here.join("../../models"), &mut paths);
    models(&here.join("../preempt-promela/tests/data"), &mut paths);
    models(Path::new("/usr/share/doc/spin"), &mut paths);
    paths.sort();
    let (mut compared, mut states, mut promises) = (0, 0, 0);
    for path in &paths {
        for options in [LowerOptions::default(), LowerOptions::plain()] {
            let text = std::fs::read(path).expect("the model can be read");
            let Some(reference) = interpreter(path, text, options) else { continue };
            let Ok(native) = Native::new(&reference) else { continue };
            native.prepare();
            states += compare(&path.to_string_lossy(), &reference, &native);
            compared += 1;
            drop(native);
            let checked = reference.check_promises(true);
            if checked.checks_promises() {
                let native = Native::new(&checked).expect("promises have machine code");
                native.prepare();
                compare(&path.to_string_lossy(), &checked, &native);
                promises += 1;
            }
        }
    }
    println!("{compared} programs, {states} states, {promises} with promises");
    let examples = Path::new("/usr/share/doc/spin");
    assert!(promises > 0 || !examples.exists(), "no model has promises");
    assert!(compared >= 20, "only {compared} programs");
}

#[test]
fn on_random_models() {
    let wanted = std::env::var("PREEMPT_RANDOM_MODELS").ok().and_then(|n| n.parse().ok());
    let wanted = wanted.unwrap_or(60);
    let (mut compared, mut states) = (0, 0);
    for seed in 1..=wanted {
        let text = random::make(&mut random::Random::new(seed), None).text();
        for options in [LowerOptions::default(), LowerOptions::plain()] {
            let path = Path::new("random.pml");
            let Some(reference) = interpreter(path, text.clone().into_bytes(), options) else {
                continue;
            };
            let Ok(native) = Native::new(&reference) else { continue };
            native.prepare();
            states += compare(&format!("seed {seed}:\n{text}"), &reference, &native);
            compared += 1;
        }
    }
    println!("{compared} random programs, {states} states");
    assert!(compared >= wanted, "only {compared} programs of {wanted} models");
}
