//! Warnings about properties that hold for an unintended reason.
//!
//! `[] (p -> <> q)` holds if `p` is never true; a never claim without an `accept` label accepts nothing; a model without an
//! assertion cannot violate one. Whether `p` can be true is a question of its own: all states are
//! visited until one is found, within a share of the time that the property took. Where that is not enough, nothing
//! is said. **Invariant:** a warning is given only after all states were seen.

use super::formula::{collect_spans, violating};
use super::questions::has_accept_labels;
use super::{Checker, Property};
use preempt_core::{Claim, Enabled, FaultKind, Outcome, System, Verdict};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::Program;
use preempt_promela::model::{Formula, Model};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// The least time that looking for an antecedent gets, and its share of the time of the search.
const LEAST: Duration = Duration::from_millis(200);
const SHARE: f64 = 0.2;
/// The most memory that it takes, in bytes of states.
const MOST_BYTES: usize = 256 << 20;

impl Checker<'_> {
    /// What was not checked of a model that holds because it has no assertion.
    pub(super) fn without_assertions(
        &self,
        property: Property,
        program: &Program,
        claim: &Claim,
    ) -> Option<String> {
        let holds = matches!(claim.verdict, Verdict::Holds | Verdict::HoldsWithinBound(_));
        let is_about_ends = property == Property::Safety && self.request.deadlocks;
        let ends = match self.settings.empty_channels {
            true => "invalid end states, messages left behind",
            false => "invalid end states",
        };
        (holds && is_about_ends && !has_assertions(program)).then(|| {
            format!(
                "the model has no assertion: {ends} and runtime errors are all that was checked"
            )
        })
    }

    /// Why a property may hold for a reason that was not intended.
    pub(super) fn vacuity(
        &self,
        property: Property,
        interpreter: &Interpreter,
        system: &dyn System,
        claim: &Claim,
    ) -> Vec<String> {
        if !matches!(claim.verdict, Verdict::Holds | Verdict::HoldsWithinBound(_)) {
            return Vec::new();
        }
        let program = interpreter.program();
        match property {
            Property::Claim(index) if accepts_nothing(program, index) => vec![
                "vacuous: the never claim has no `accept` label and no end, so that it accepts no execution of any model".into(),
            ],
            Property::Completion(index) if !can_complete(program, index) => vec![
                "vacuous: no path of the never claim leads to its end, so that no execution can complete it".into(),
            ],
            Property::BadPrefix(index) if !has_bad_prefixes(self.model, program, index) => vec![
                "vacuous: no finite execution shows by itself that this formula is violated, so that --no-acceptance leaves nothing to look for".into(),
            ],
            Property::Formula(index) | Property::BadPrefix(index) => {
                let time = LEAST.max(Duration::from_secs_f64(SHARE * claim.statistics.seconds));
                let antecedents = antecedents(self.model, program, index);
                let never = never_true(system, antecedents, |start| {
                    start.elapsed() > time || self.control.is_over()
                });
                let warn = |text| format!("vacuous: `{text}` is never true, so that what it implies does not matter");
                never.into_iter().map(warn).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn has_assertions(program: &Program) -> bool {
    program.faults.iter().any(|fault| fault.kind == FaultKind::Assertion)
}

fn accepts_nothing(program: &Program, index: usize) -> bool {
    let states = &program.claims[index].states;
    !states.iter().any(|state| state.is_accept)
        && !can_complete(program, index)
        && !has_accept_labels(program)
}

/// Whether the automaton of a formula's violations comes to a state that accepts whatever follows.
fn has_bad_prefixes(model: &Model, program: &Program, index: usize) -> bool {
    let found = violating(model, program, index);
    found.is_ok_and(|violating| violating.automaton.universal().contains(&true))
}

/// Whether the end of a claim can be reached from its start, whatever its conditions say.
fn can_complete(program: &Program, index: usize) -> bool {
    let claim = &program.claims[index];
    let (mut known, mut worklist) = (HashSet::from([claim.entry]), vec![claim.entry]);
    while let Some(at) = worklist.pop() {
        let Some(state) = claim.states.get(at as usize) else { continue };
        // An assertion of the claim can fail, too.
        if state.is_end || state.transitions.iter().any(|step| !step.asserts.is_empty()) {
            return true;
        }
        let targets = state.transitions.iter().map(|step| step.target);
        worklist.extend(targets.filter(|target| known.insert(*target)));
    }
    false
}

/// A condition on states, with its text.
struct Antecedent {
    text: String,
    condition: Condition,
}

/// A combination of propositions.
enum Condition {
    Proposition(usize),
    Constant(bool),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

impl Condition {
    fn holds(&self, system: &dyn System, state: &[u8]) -> bool {
        match self {
            // What has no value might be true: then nothing is claimed.
            Condition::Proposition(index) => system.proposition(state, *index).unwrap_or(true),
            Condition::Constant(value) => *value,
            Condition::Not(a) => !a.holds(system, state),
            Condition::And(a, b) => a.holds(system, state) && b.holds(system, state),
            Condition::Or(a, b) => a.holds(system, state) || b.holds(system, state),
        }
    }
}

/// The left sides of the implications of a formula, as far as they speak of one state only.
fn antecedents(model: &Model, program: &Program, index: usize) -> Vec<Antecedent> {
    let mut leaves = program.formulas[index].propositions.iter().map(|p| *p as usize);
    let mut found = Vec::new();
    collect(model, &model.formulas[index].formula, &mut leaves, &mut found);
    found
}

/// The condition that a formula is, if it is one; `leaves` gives its propositions from left to right.
fn collect(
    model: &Model,
    formula: &Formula,
    leaves: &mut dyn Iterator<Item = usize>,
    found: &mut Vec<Antecedent>,
) -> Option<Condition> {
    use Condition as C;
    let mut both = |a: &Formula, b: &Formula| {
        let (left, right) = (collect(model, a, leaves, found), collect(model, b, leaves, found));
        (left.map(Box::new), right.map(Box::new))
    };
    match formula {
        Formula::Prop(_) => leaves.next().map(C::Proposition),
        Formula::Const(value) => Some(C::Constant(*value)),
        Formula::Not(a) => Some(C::Not(Box::new(collect(model, a, leaves, found)?))),
        Formula::And(a, b) => match both(a, b) {
            (Some(a), Some(b)) => Some(C::And(a, b)),
            _ => None,
        },
        Formula::Or(a, b) => match both(a, b) {
            (Some(a), Some(b)) => Some(C::Or(a, b)),
            _ => None,
        },
        Formula::Implies(a, b) => {
            let left = collect(model, a, leaves, found);
            let right = collect(model, b, leaves, found);
            if let Some(condition) = left {
                found.push(Antecedent { text: text(model, a), condition });
            }
            drop(right);
            None
        }
        Formula::Equivalent(a, b)
        | Formula::Until(a, b)
        | Formula::WeakUntil(a, b)
        | Formula::Release(a, b) => {
            both(a, b);
            None
        }
        Formula::Next(a) | Formula::Always(a) | Formula::Eventually(a) => {
            collect(model, a, leaves, found);
            None
        }
    }
}

/// The source of a formula: from its first to its last expression.
fn text(model: &Model, formula: &Formula) -> String {
    let mut spans = Vec::new();
    collect_spans(formula, &mut spans);
    match (spans.first(), spans.last()) {
        (Some(first), Some(last)) => {
            let text = model.sources.text(first.to(*last));
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        }
        _ => "the left side of an implication".into(),
    }
}

/// The antecedents that no reachable state satisfies; none if there was not enough time to see all states.
fn never_true(
    system: &dyn System,
    mut open: Vec<Antecedent>,
    is_late: impl Fn(Instant) -> bool,
) -> Vec<String> {
    let start = Instant::now();
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    if open.is_empty() || matches!(system.initial(&mut state), Outcome::Broken(_)) {
        return Vec::new();
    }
    let mut bytes = state.len();
    let mut known: HashSet<Box<[u8]>> = HashSet::from([state.clone().into()]);
    let mut worklist = vec![state];
    while let Some(mut state) = worklist.pop() {
        if is_late(start) || bytes > MOST_BYTES {
            return Vec::new();
        }
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        if !system.is_transient(&state) {
            open.retain(|antecedent| !antecedent.condition.holds(system, &state));
            if open.is_empty() {
                return Vec::new();
            }
        }
        for step in enabled.steps() {
            let mut next = state.clone();
            if matches!(system.apply(&mut next, *step), Outcome::Broken(_)) {
                return Vec::new();
            }
            if !known.contains(next.as_slice()) {
                bytes += 2 * next.len() + 64;
                known.insert(next.clone().into());
                worklist.push(next);
            }
        }
    }
    open.into_iter().map(|antecedent| antecedent.text).collect()
}
