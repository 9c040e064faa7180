//! Values that did not fit where they were stored, reported once per place in the source.

use preempt_core::{Enabled, ProcessId, Step, System};
use preempt_promela::interpret::Interpreter;
use std::collections::BTreeSet;

/// The places reported so far.
#[derive(Default)]
pub struct Truncations {
    reported: BTreeSet<(String, u32)>,
}

impl Truncations {
    /// What to say about a step that is about to be taken.
    pub fn note(&mut self, system: &Interpreter, state: &[u8], step: Step) -> Vec<String> {
        let found = system.truncations(state, step).into_iter();
        found
            .filter(|t| self.reported.insert((t.file.clone(), t.line)))
            .map(|t| format!("warning[P0084]: {}:{}: {t}", t.file, t.line))
            .collect()
    }
}

/// The same along a whole execution, as far as `over` lets it.
pub fn along(system: &Interpreter, steps: &[Step], over: &dyn Fn() -> bool) -> Vec<String> {
    let mut truncations = Truncations::default();
    let mut said = Vec::new();
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    system.initial(&mut state);
    for (at, step) in steps.iter().enumerate() {
        if step.process == ProcessId::PROPERTY {
            continue;
        }
        if at % 256 == 0 && over() {
            said.push("the limits left no time to look for values that do not fit".into());
            break;
        }
        let step = Step { choice: 0, ..*step };
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        if !enabled.steps().contains(&step) {
            break;
        }
        said.extend(truncations.note(system, &state, step));
        system.apply(&mut state, step);
    }
    said
}
