//! What must be true of any text that is read as a Promela model: shared by the mutator in `fuzz_syntax.rs` and by the target of
//! cargo-fuzz (`fuzz/fuzz_targets/promela.rs`).

use preempt_core::{Describe, Enabled, Outcome, System};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use preempt_promela::model::Model;
use preempt_promela::syntax::render::render_all;
use preempt_promela::syntax::{ParseOptions, parse};

/// Reads a text. Whatever it is, this ends without a panic, and every message can be shown; a model is translated and run for
/// some steps. `choose` picks one of so many.
pub(crate) fn one_input(text: Vec<u8>, choose: &mut dyn FnMut(usize) -> usize) -> Option<Model> {
    let loader = |_: &str, _: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let parsed = parse("model.pml", text, &ParseOptions { defines: Vec::new(), loader: &loader });
    let shown = render_all(&parsed.diagnostics, &parsed.sources, choose(2) == 0);
    assert_eq!(shown.is_empty(), parsed.diagnostics.is_empty());
    let errors = parsed.diagnostics.iter().filter(|d| d.is_error()).count();
    assert!(errors <= 20);
    assert_eq!(parsed.model.is_none(), errors > 0);
    if let Some(model) = &parsed.model {
        run_some_steps(model, choose);
    }
    parsed.model
}

/// Translates a model in one of the ways there are, and takes some steps.
fn run_some_steps(model: &Model, choose: &mut dyn FnMut(usize) -> usize) {
    let options = if choose(2) == 0 { LowerOptions::default() } else { LowerOptions::plain() };
    let Ok(program) = lower(model, options) else { return };
    let system = Interpreter::new(program);
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    let mut outcome = system.initial(&mut state);
    for _ in 0..20 {
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            assert!(!system.fault(fault).message.is_empty());
            return;
        }
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        if enabled.is_empty() {
            return;
        }
        let step = enabled.steps()[choose(enabled.steps().len())];
        let _ = (system.describe(&state, step), system.output(&state, step));
        let _ = (system.variables(&state), system.truncations(&state, step));
        outcome = system.apply(&mut state, step);
    }
}
