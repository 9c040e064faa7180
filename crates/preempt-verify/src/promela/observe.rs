//! Remarks for the reader of a counterexample: what each step read, why the last one fails, which parts of
//! the property hold where, from which step on every continuation violates it, and which process waits for which.
//!
//! The execution was found and confirmed before; it is walked once more, with all variables at their values
//! (a search leaves out what is never read and resets what is dead). Where that is not possible, the
//! remarks are missing.

use super::formula::numbered;
use super::{Checker, Property, Settings, interpreter, violating};
use preempt_core::{
    Change, Claim, Describe, Enabled, Observations, ProcessId, PropositionRow, Step, System,
    TraceStep, Value, Violation, ViolationKind,
};
use preempt_ltl::{Automaton, translate};
use preempt_promela::interpret::{Interpreter, Sights};

/// What the steps of longer executions looked at is not listed.
const LONGEST_LISTED: usize = 20_000;

impl Checker<'_> {
    /// Adds remarks to the counterexample of a claim about `property`.
    pub(super) fn observe(&self, property: Property, claim: &mut Claim) {
        let Some(violation) = &mut claim.violation else { return };
        let settings = Settings { hide_unread: false, reset_dead: false, ..*self.settings };
        let how = (false, false);
        let Ok(interpreter) =
            interpreter(self.model, &settings, property.beside(), how, self.control)
        else {
            return;
        };
        let Some(walk) = Walk::along(&interpreter, violation) else { return };
        let mut observations = Observations {
            reasons: match (violation.kind, &walk.last) {
                (ViolationKind::Assertion, Some((mover, sights))) => {
                    reasons(&violation.message, mover, sights)
                }
                _ => Vec::new(),
            },
            waiting: match violation.kind {
                ViolationKind::InvalidEnd => {
                    let all = 0..interpreter.process_count(&walk.states) as u16;
                    waiting(&interpreter, &walk.states, &all.map(ProcessId).collect::<Vec<_>>())
                }
                _ => Vec::new(),
            },
            ..Observations::default()
        };
        if let Property::Formula(index) | Property::BadPrefix(index) = property {
            self.judge(index, &interpreter, &walk, violation, &mut observations);
        }
        observations.seen = walk.seen;
        if let Some(steps) = observations.bad_prefix {
            let whatever = format!("decided after step {steps}, whatever follows");
            violation.message = format!("{}: {whatever}", violation.message);
            claim.sentence = claim.sentence.replacen(
                "; counterexample with",
                &format!(" ({whatever}); counterexample with"),
                1,
            );
        }
        violation.trace.observations = observations;
    }

    /// The propositions of a formula along the execution, and where it is decided.
    fn judge(
        &self,
        index: usize,
        interpreter: &Interpreter,
        walk: &Walk,
        violation: &Violation,
        observations: &mut Observations,
    ) {
        let program = interpreter.program();
        let Ok(named) = violating(self.model, program, index) else { return };
        let holds = |state: &Option<Vec<u8>>, proposition: usize| {
            state.as_ref().and_then(|state| interpreter.proposition(state, proposition).ok())
        };
        for (proposition, name) in named.propositions.iter().zip(named.names) {
            let holds = walk.letters.iter().map(|state| holds(state, *proposition)).collect();
            let name = without_parentheses(&name).to_string();
            observations.propositions.push(PropositionRow { name, holds });
        }
        if violation.kind != ViolationKind::AcceptanceCycle {
            return;
        }
        let (formula, _) = numbered(self.model, program, index);
        let Ok(automaton) = translate(&formula) else { return };
        let rows = &observations.propositions;
        let Some(at) = bad_prefix(&automaton.trimmed(), rows, walk.letters.len()) else { return };
        observations.bad_prefix = Some(at);
        let Some(Some(state)) = walk.letters.get(at) else { return };
        let changed = rows.iter().zip(&named.propositions).filter(|(row, _)| {
            let before = row.holds[..at].iter().rev().flatten().next();
            row.holds[at].is_some() && before != row.holds[at].as_ref()
        });
        observations.reasons = changed
            .map(|(row, proposition)| {
                let sights = interpreter.sights_of(state, program.propositions[*proposition]);
                let holds = row.holds[at] == Some(true);
                sentence(&row.name, holds, &sights)
            })
            .collect();
    }
}

/// An execution, walked once more.
struct Walk {
    /// The state at the start and after each step; `None` where the property does not look.
    letters: Vec<Option<Vec<u8>>>,
    /// The last state.
    states: Vec<u8>,
    seen: Vec<Vec<(String, Value)>>,
    /// The process of the last step, and what the step looked at.
    last: Option<(String, Sights)>,
}

impl Walk {
    fn along(interpreter: &Interpreter, violation: &Violation) -> Option<Walk> {
        let trace = &violation.trace;
        if trace.raw.len() != trace.steps.len() || trace.steps.len() > LONGEST_LISTED {
            return None;
        }
        let (mut state, mut enabled) = (Vec::new(), Enabled::new());
        interpreter.initial(&mut state);
        let (mut letters, mut seen, mut last) = (Vec::new(), Vec::new(), None);
        for (step, raw) in trace.steps.iter().zip(&trace.raw) {
            enabled.clear();
            interpreter.enabled(&mut state, &mut enabled);
            letters.push((!interpreter.is_transient(&state)).then(|| state.clone()));
            if raw.process == ProcessId::PROPERTY {
                seen.push(Vec::new());
                continue;
            }
            let raw = Step { choice: 0, ..*raw };
            if !enabled.steps().contains(&raw) {
                return None;
            }
            let sights = interpreter.sights(&state, raw);
            let before = state.clone();
            interpreter.apply(&mut state, raw);
            // A search may not know of all changes: it leaves out what is never read.
            let changes = interpreter.changed_variables(&before, &state).unwrap_or_default();
            seen.push(unchanged(step, &changes, &sights.values));
            last = Some((step.process.clone(), sights));
        }
        enabled.clear();
        if last.as_ref().is_none_or(|(_, sights)| sights.failing.is_none()) {
            interpreter.enabled(&mut state, &mut enabled);
        }
        letters.push((!interpreter.is_transient(&state)).then(|| state.clone()));
        Some(Walk { letters, states: state, seen, last })
    }
}

/// What a step looked at and did not change.
fn unchanged(
    step: &TraceStep,
    changes: &[Change],
    sights: &[(String, Value)],
) -> Vec<(String, Value)> {
    let changed = || step.changes.iter().chain(changes);
    let is_changed = |name: &str| changed().any(|change| change.name == name);
    sights.iter().filter(|(name, _)| !is_changed(name)).cloned().collect()
}

/// Why an assertion fails, of which `message` is said.
fn reasons(message: &str, mover: &str, sights: &Sights) -> Vec<String> {
    let Some(values) = sights.failing.as_ref().filter(|values| !values.is_empty()) else {
        return Vec::new();
    };
    let text = message.trim_start_matches("assertion violated:").trim();
    let short = |name: &str| {
        let own = name.strip_prefix(mover).and_then(|rest| rest.strip_prefix(':'));
        own.unwrap_or(name).to_string()
    };
    let values: Vec<_> = values.iter().map(|(name, value)| (short(name), value.clone())).collect();
    vec![sentence(text, false, &values)]
}

/// What is seen of a step that is taken in a state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// What it looked at and did not change.
    pub values: Vec<(String, Value)>,
    /// Why it fails, if it does.
    pub reasons: Vec<String>,
}

/// What a step looks at, whose changes are known, and why it fails with a message.
pub fn seen(
    interpreter: &Interpreter,
    state: &[u8],
    step: Step,
    described: &TraceStep,
    message: Option<&str>,
) -> Seen {
    let sights = interpreter.sights(state, step);
    Seen {
        reasons: message.map_or(Vec::new(), |said| reasons(said, &described.process, &sights)),
        values: unchanged(described, &[], &sights.values),
    }
}

/// `counter == 2 is false: counter is 1`.
fn sentence(condition: &str, holds: bool, values: &[(String, Value)]) -> String {
    let condition = without_parentheses(condition);
    let values: Vec<String> =
        values.iter().map(|(name, value)| format!("{name} is {value}")).collect();
    match values.is_empty() {
        true => format!("{condition} is {holds}"),
        false => format!("{condition} is {holds}: {}", values.join(", ")),
    }
}

/// The text inside parentheses that enclose all of it.
fn without_parentheses(text: &str) -> &str {
    let text = text.trim();
    let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else {
        return text;
    };
    let mut open = 0;
    for c in inner.chars() {
        match c {
            '(' => open += 1,
            ')' if open == 0 => return text,
            ')' => open -= 1,
            _ => {}
        }
    }
    without_parentheses(inner)
}

/// After how many steps no run of the automaton is left: it accepts what satisfies the formula, and all of its
/// states can still accept something.
fn bad_prefix(automaton: &Automaton, rows: &[PropositionRow], length: usize) -> Option<usize> {
    let mut states: Vec<u32> = automaton.initial().to_vec();
    for at in 0..length {
        let mut valuation = 0;
        let is_looked_at = rows.first()?.holds[at].is_some();
        for (bit, row) in rows.iter().enumerate() {
            match row.holds[at] {
                Some(true) => valuation |= 1 << bit,
                Some(false) => {}
                // Where an expression has no value, nothing is concluded.
                None if is_looked_at => return None,
                None => {}
            }
        }
        if !is_looked_at {
            continue;
        }
        let mut next: Vec<u32> =
            states.iter().flat_map(|state| automaton.successors(*state, valuation)).collect();
        next.sort_unstable();
        next.dedup();
        if next.is_empty() {
            return Some(at);
        }
        states = next;
    }
    None
}

/// What keeps processes that cannot move in a state.
pub fn waiting(
    interpreter: &Interpreter,
    state: &[u8],
    processes: &[ProcessId],
) -> Vec<preempt_core::Waiting> {
    processes.iter().filter_map(|process| interpreter.waiting(state, *process)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_parentheses_around_everything_are_left_out() {
        assert_eq!(without_parentheses("((x == 1))"), "x == 1");
        assert_eq!(without_parentheses("(a) && (b)"), "(a) && (b)");
        assert_eq!(without_parentheses("x"), "x");
    }
}
