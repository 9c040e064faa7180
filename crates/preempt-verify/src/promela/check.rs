//! One property of one model, with the engine that the request asks for.

use super::along::Along;
use super::claim::NeverClaim;
use super::questions::{Job, has_accept_labels};
use super::{Backend, Property, Settings, interpreter, observed, truncations_along};
use crate::endless::Sequences;
use crate::engine::Engine;
use crate::{Control, Error, Request};
use preempt_check::property::{Endless, Product, Stutter, beside, changing_move};
use preempt_check::{Compatibility, Reduction};
use preempt_core::{
    Claim, Describe, FaultKind, ProcessId, ReplayError, Step, Stop, System, Trace, Verdict,
    grouped, outputs, replay,
};
use preempt_native::Native;
use preempt_promela::interpret::Interpreter;
use preempt_promela::interpret::trail::Trail;
use preempt_promela::ir::{Expr, UnaryOp};
use preempt_promela::model::Model;
use std::time::Instant;

/// A model with how it is to be checked.
#[derive(Clone, Copy)]
pub struct Checker<'a> {
    /// The model.
    pub model: &'a Model,
    /// How the model is made runnable.
    pub settings: &'a Settings,
    /// What is asked.
    pub request: &'a Request,
    /// The caller's hand on it.
    pub control: &'a Control<'a>,
}

/// What a check came to.
pub struct Checked {
    /// What was checked: something simpler than what was asked for where that could not be violated.
    pub property: Property,
    /// The answer.
    pub claim: Claim,
    /// Why it may hold for a reason that was not intended; each is also among the notes.
    pub vacuous: Vec<String>,
}

impl Checker<'_> {
    /// Checks one property.
    pub fn check(&self, mut property: Property) -> Result<Checked, Error> {
        let start = Instant::now();
        let interpreter = self.interpreter(property)?;
        let mut notes = interpreter.program().notes.clone();
        if self.request.compatibility == Compatibility::Spin {
            notes.push(
                "--compat spin: does as Spin 6.5.2 does, also where that is wrong; the guarantee does not hold".into(),
            );
        }
        if property == Property::Acceptance && !has_accept_labels(interpreter.program()) {
            property = Property::Safety;
            notes.push(
                "no process can get to an accept label, so --acceptance has nothing to look for: assertions and invalid end states are checked".into(),
            );
        }
        let native = match self.settings.backend {
            // The search will end at once.
            _ if self.control.is_late() => None,
            Backend::Interpreter => None,
            Backend::Native => match Native::new(&interpreter) {
                Ok(native) => Some(native),
                Err(error) => {
                    notes.push(format!("interpreted: {error}"));
                    None
                }
            },
        };
        let seconds = start.elapsed().as_secs_f64();
        let mut claim = self.search(&interpreter, native.as_ref(), property)?;
        // A search has parts of the model translated on its way.
        let translation = native.as_ref().map_or(0.0, Native::translation_seconds);
        claim.statistics.compile_seconds = seconds + translation;
        claim.statistics.seconds = (claim.statistics.seconds - translation).max(0.0);
        let over = || self.control.is_over();
        // Without the claim the model would do something else.
        let is_plain = !property.changes(interpreter.program());
        if is_plain && let Some(violation) = &mut claim.violation {
            notes.extend(truncations_along(&interpreter, &violation.trace.raw, &over));
        }
        // Remarks are for readers with time to wait for them.
        if is_plain && !over() {
            if let Some(violation) = &mut claim.violation {
                self.print_as_observed(&mut violation.trace);
            }
            self.observe(property, &mut claim);
        }
        let system: &dyn System = native.as_ref().map_or(&interpreter, |native| native);
        notes.extend(self.without_assertions(property, interpreter.program(), &claim));
        let vacuous = self.vacuity(property, &interpreter, system, &claim);
        notes.extend(vacuous.iter().cloned());
        if matches!(claim.verdict, Verdict::Holds | Verdict::HoldsWithinBound(_)) {
            claim.statistics.statements = statements(&interpreter);
        }
        let searched = matches!(claim.verdict, Verdict::Holds | Verdict::HoldsWithinBound(_));
        if property == Property::Safety && searched {
            self.warn_of_nothing(&interpreter, &mut claim);
        }
        claim.notes.splice(0..0, notes);
        Ok(Checked { property, claim, vacuous })
    }

    fn search(
        &self,
        interpreter: &Interpreter,
        native: Option<&Native<'_>>,
        property: Property,
    ) -> Result<Claim, Error> {
        let give_up = || self.control.is_over();
        let plain: &dyn System = native.map_or(interpreter, |native| native);
        let watched = property != Property::Safety
            && !property.changes(interpreter.program())
            && !interpreter.endless_sequences().is_empty();
        let around = |system| watched.then(|| with_endless(system, interpreter, &give_up));
        let (endless, reference) = (around(plain), around(interpreter));
        let sequences = endless.as_ref().zip(reference.as_ref());
        let sequences = sequences.map(|(searched, reference)| Sequences { searched, reference });
        let job = self.job(interpreter, sequences);
        match (&endless, native) {
            (Some(endless), _) => job.check(Engine::Any(endless), property),
            #[cfg(not(debug_assertions))]
            (None, Some(native)) => job.check(Engine::Native(native), property),
            (None, _) => job.check(Engine::Any(plain), property),
        }
    }

    /// Checks one execution: whether it violates the property. `promises`: also those that a reduction
    /// relies on.
    pub fn check_execution(
        &self,
        property: Property,
        (steps, cycle_start): (&[Step], Option<usize>),
        promises: bool,
    ) -> Result<Claim, Error> {
        let beside = property.beside();
        let how = (promises, false);
        let interpreter = interpreter(self.model, self.settings, beside, how, self.control)?;
        let along = Along::new(&interpreter, steps, cycle_start);
        let program = interpreter.program();
        let mut claim = if property == Property::Safety || property.changes(program) {
            self.job(&interpreter, None).check(Engine::Any(&along), property)?
        } else {
            // The cycle of the trace may be inside a sequence.
            let never = || false;
            let along = &with_endless(&along, &interpreter, &never);
            let endless = Some(Sequences { searched: along, reference: along });
            self.job(&interpreter, endless).check(Engine::Any(along), property)?
        };
        if !property.changes(program) {
            self.observe(property, &mut claim);
        }
        Ok(claim)
    }

    /// Takes the steps of an execution beside a never claim whose C changes the model; `None` for other properties.
    pub fn follow_beside(
        &self,
        property: Property,
        steps: &[Step],
    ) -> Result<Option<Result<Trace, ReplayError>>, Error> {
        let settings = Settings { reset_dead: false, ..*self.settings };
        let interpreter =
            interpreter(self.model, &settings, property.beside(), (false, false), self.control)?;
        if !property.changes(interpreter.program()) {
            return Ok(None);
        }
        let (Property::Claim(index) | Property::Completion(index)) = property else {
            return Ok(None);
        };
        let claim = NeverClaim::new(&interpreter.program().claims[index], &interpreter);
        let product = Product::new(&interpreter, &claim, Stutter::Extend);
        Ok(Some(replay(&product, steps).map(|(trace, ..)| trace)))
    }

    /// The counterexample of a claim about `property` as a trail of Spin.
    pub fn trail(&self, property: Property, claim: &Claim) -> Result<Option<String>, Error> {
        let Some(violation) = &claim.violation else { return Ok(None) };
        let trace = &violation.trace;
        let (steps, cycle_start) = (trace.raw.clone(), trace.cycle_start);
        let trail = Trail { steps, cycle_start, ..Trail::default() };
        let interpreter = self.interpreter(property)?;
        let (Property::Claim(index) | Property::Completion(index)) = property else {
            return Ok(Some(interpreter.write_trail(&trail)));
        };
        let automaton = &interpreter.program().claims[index];
        Ok(Some(match automaton.changes() {
            true => {
                let number = |step| changing_move(Product::<dyn System, NeverClaim>::target(step));
                interpreter.write_trail_beside(&trail, automaton, &number)
            }
            false => interpreter.write_trail(&trail),
        }))
    }

    fn interpreter(&self, property: Property) -> Result<Interpreter, Error> {
        let how = (self.relies_on_promises(), self.request.imitates());
        interpreter(self.model, self.settings, property.beside(), how, self.control)
    }

    fn job<'b>(&'b self, interpreter: &'b Interpreter, endless: Option<Sequences<'b>>) -> Job<'b> {
        let Checker { model, settings, request, control } = *self;
        let empty_channels = settings.empty_channels;
        Job { model, request, control, interpreter, empty_channels, endless }
    }

    /// Whether a reduction may rely on `xr` and `xs`: under fairness only steps that touch nothing shared are taken
    /// alone.
    fn relies_on_promises(&self) -> bool {
        let request = self.request;
        request.reduction != Reduction::None && (!request.fair || request.imitates())
    }

    /// A search leaves out variables that are never read and resets those that are dead. What the steps
    /// print is computed again with all variables at their values.
    fn print_as_observed(&self, trace: &mut Trace) {
        if trace.steps.iter().all(|step| step.output.is_empty()) {
            return;
        }
        let Ok(interpreter) = observed(self.model, self.settings, self.control) else { return };
        let is_own = |step: &&Step| step.process != ProcessId::PROPERTY;
        let steps: Vec<Step> =
            trace.raw.iter().filter(is_own).map(|step| Step { choice: 0, ..*step }).collect();
        let over = || self.control.is_over().then_some(Stop::Time);
        let Ok(printed) = outputs(&interpreter, &steps, &over) else { return };
        let own = trace.steps.iter_mut().filter(|step| step.pid != ProcessId::PROPERTY.index());
        for (step, output) in own.zip(printed) {
            step.output = output;
        }
    }

    /// With assertions and ends left out there may be nothing that could go wrong.
    fn warn_of_nothing(&self, interpreter: &Interpreter, claim: &mut Claim) {
        let faults = &interpreter.program().faults;
        let asserts = faults.iter().any(|fault| fault.kind == FaultKind::Assertion);
        if !self.request.deadlocks && (!self.request.assertions || !asserts) {
            let why = match asserts {
                true => "assertions and end states were not checked",
                false => "the model has no assertion, and end states were not checked",
            };
            let states = grouped(claim.statistics.states);
            claim.sentence = format!(
                "nothing to check: {why}; only runtime errors were checked ({states} states, all explored)"
            );
            claim.verdict = Verdict::Nothing;
        }
    }
}

/// The steps of a trail that says how a claim moved, as steps of the product, and where their cycle begins. What the claim
/// does behind the last of them is left out.
pub fn steps_beside(trail: &Trail) -> (Vec<Step>, Option<usize>) {
    let mut moves = trail.claim_moves.iter().peekable();
    let (mut steps, mut cycle_start) = (Vec::new(), None);
    for (at, step) in trail.steps.iter().enumerate() {
        cycle_start = cycle_start.or((trail.cycle_start == Some(at)).then_some(steps.len()));
        let mut begins = None;
        while let Some((_, number)) = moves.next_if(|(before, _)| *before == at) {
            // Where it moves twice no process could move in between.
            steps.extend(begins.replace(*number).map(|number| beside(None, number)));
        }
        steps.push(begins.map_or(*step, |number| beside(Some(*step), number)));
    }
    (steps, cycle_start)
}

/// How many statements each process type has.
fn statements(interpreter: &Interpreter) -> Vec<(String, u64)> {
    let all = interpreter.unreached(&vec![false; interpreter.transition_count()]);
    let groups = all.chunk_by(|a, b| a.process == b.process);
    groups.map(|group| (group[0].process.clone(), group.len() as u64)).collect()
}

/// The system, with a step for every indivisible sequence that goes on for ever.
fn with_endless<'a>(
    system: &'a dyn System,
    interpreter: &Interpreter,
    give_up: &'a (dyn Fn() -> bool + Sync),
) -> Endless<'a> {
    let program = interpreter.program();
    let propositions = program.propositions.iter().enumerate();
    let stalled = propositions.filter_map(|(index, id)| match program.expr(*id) {
        Expr::NonProgress => Some((index, true)),
        Expr::Unary(UnaryOp::Not, inner) => {
            matches!(program.expr(*inner), Expr::NonProgress).then_some((index, false))
        }
        _ => None,
    });
    Endless::new(system, stalled.collect(), give_up)
}
