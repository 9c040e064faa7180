//! The questions behind the properties of a model: which automaton, which reduction, in which words.

use super::Property;
use super::claim::{NeverClaim, as_buchi};
use super::formula::numbered;
use super::literals::literals;
use crate::endless::{self, Sequences};
use crate::engine::Engine;
use crate::error::Refusal;
use crate::question::{Asserted, Question};
use crate::{Control, Error, Request, assertions, cycles, safety};
use preempt_check::property::{
    self, Buchi, NonProgress, Product, PropertyMove, Stutter, StutterInvariant,
};
use preempt_check::search::nested::Scheme;
use preempt_check::{Reduction, conclude};
use preempt_core::{Claim, Fault, FaultKind, System, Verdict, ViolationKind, grouped};
use preempt_ltl::{Formula, Invariance, automaton_invariance, formula_invariance, translate};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::Program;
use preempt_promela::model::Model;
use preempt_promela::syntax::formula_too_large;

/// Whether a process may be at an accept label.
pub(super) fn has_accept_labels(program: &Program) -> bool {
    program.proctypes.iter().flat_map(|proctype| &proctype.states).any(|state| state.is_accept)
}

/// Acceptance by labels of processes alone: an automaton that only watches.
struct Bystander;

impl property::Property for Bystander {
    fn initial(&self) -> u32 {
        0
    }

    fn moves(
        &self,
        state: u32,
        _holds: &mut dyn FnMut(usize) -> bool,
        emit: &mut dyn FnMut(PropertyMove),
    ) {
        emit(PropertyMove::To(state));
    }

    fn is_accepting(&self, _state: u32) -> bool {
        false
    }

    fn counts_labels(&self) -> bool {
        true
    }

    fn assertion(&self, _number: u32) -> Fault {
        Fault { kind: FaultKind::Claim, message: String::new(), file: String::new(), line: 0 }
    }
}

/// Why [`cycles::check_if_evaluable`] could not tell.
const NO_VALUE: &str = "a state expression may have no value (index, division, channel)";

/// A model that runs, with what is asked of it.
pub(super) struct Job<'a> {
    pub(super) model: &'a Model,
    pub(super) request: &'a Request,
    pub(super) control: &'a Control<'a>,
    pub(super) interpreter: &'a Interpreter,
    pub(super) empty_channels: bool,
    /// If indivisible sequences may never end.
    pub(super) endless: Option<Sequences<'a>>,
}

impl Job<'_> {
    pub(super) fn check(&self, engine: Engine<'_>, property: Property) -> Result<Claim, Error> {
        match property {
            Property::Safety => {
                let property = self.safety_in_words();
                let options = self.request.options(property, false);
                safety::check(engine, self.interpreter, options, self.request, self.control)
            }
            Property::Acceptance => {
                let question = Question {
                    cycle: "an infinite execution passes `accept` labels again and again".into(),
                    ..self.question("no acceptance cycle, no assertion violated".into())
                };
                cycles::check(engine, self.interpreter, &Bystander, question)
            }
            Property::NonProgress => {
                let stalled = self.interpreter.program().propositions.len() - 1;
                let question = Question {
                    cycle: "an infinite execution makes no progress: from some point on no process is ever at a `progress` label".into(),
                    kind: ViolationKind::NonProgressCycle,
                    stutter: Stutter::End,
                    ..self.question("no cycle without progress, no assertion violated".into())
                };
                if let Scheme::SourceState(_) = question.scheme {
                    let for_ever = Formula::Prop(0).always().eventually();
                    let stuck = translate(&for_ever).ok();
                    let normal = stuck.and_then(|a| StutterInvariant::new(&a, vec![stalled]));
                    if let Some(normal) = normal {
                        return cycles::check(engine, self.interpreter, &normal, question);
                    }
                }
                cycles::check(engine, self.interpreter, &NonProgress { stalled }, question)
            }
            Property::Completion(index) => self.check_completion(engine, index),
            Property::Claim(index) => self.check_claim(engine, index),
            Property::Formula(index) => self.check_formula(engine, index),
        }
    }

    fn safety_in_words(&self) -> String {
        match (self.request.assertions, self.request.deadlocks) {
            (true, true) if self.empty_channels => {
                "no assertion violated, no invalid end state, no message left behind"
            }
            (true, true) => "no assertion violated, no invalid end state",
            (false, true) => "no invalid end state",
            (true, false) => "no assertion violated",
            (false, false) => "no runtime error",
        }
        .to_string()
    }

    /// A question about accepting cycles, which includes assertions.
    fn question(&self, property: String) -> Question<'_> {
        let assertions = match self.has_assertions() {
            true => Asserted::All,
            false => Asserted::NoneThere,
        };
        let question = Question::new(property, self.request, self.control);
        Question { assertions, endless: self.endless, ..question }
    }

    fn check_claim(&self, engine: Engine<'_>, index: usize) -> Result<Claim, Error> {
        let automaton = &self.interpreter.program().claims[index];
        let raw = NeverClaim::new(automaton, self.interpreter);
        let name = automaton.name.as_ref().map_or(String::new(), |name| format!(" {name}"));
        let mut question = Question {
            cycle: format!("the never claim{name} accepts an infinite execution"),
            ..self.question(format!(
                "the never claim{name} accepts no execution, no assertion violated"
            ))
        };
        if let Scheme::SourceState(_) = question.scheme {
            let literals = literals(self.interpreter.program());
            let converted = as_buchi(automaton, &literals)
                .filter(|(buchi, _)| automaton_invariance(buchi) == Invariance::Invariant);
            let normal = converted
                .and_then(|(buchi, propositions)| StutterInvariant::new(&buchi, propositions));
            match normal {
                Some(_) if has_accept_labels(self.interpreter.program()) => {
                    question.reduce_not("processes have accept labels besides those of the claim");
                }
                Some(normal)
                    if self.can_fault(0..self.interpreter.program().propositions.len()) =>
                {
                    let reduced = question.clone();
                    let claim =
                        cycles::check_if_evaluable(engine, self.interpreter, &normal, reduced)?;
                    if let Some(claim) = claim {
                        return Ok(claim);
                    }
                    question.reduce_not(NO_VALUE);
                }
                Some(normal) => {
                    return cycles::check(engine, self.interpreter, &normal, question);
                }
                None => question.reduce_not("the never claim is not known to be stutter invariant"),
            }
        }
        cycles::check(engine, self.interpreter, &raw, question)
    }

    /// Whether a claim can be matched to its end: a matter of finite executions.
    fn check_completion(&self, engine: Engine<'_>, index: usize) -> Result<Claim, Error> {
        let automaton = &self.interpreter.program().claims[index];
        let raw = NeverClaim::new(automaton, self.interpreter);
        let name = automaton.name.as_ref().map_or(String::new(), |name| format!(" {name}"));
        let property = format!("the never claim{name} is not completed, no assertion violated");
        let mut options = self.request.options(property, true);
        let reduces = options.reduction == Reduction::Full;
        if reduces {
            options.reduction = Reduction::None;
        }
        let claim_property: &dyn property::Property = &raw;
        let fast = Product::new(engine.system(), claim_property, Stutter::Extend);
        let plain = Product::new(self.interpreter, claim_property, Stutter::Extend);
        let with_endless = self
            .endless
            .map(|sequences| Product::new(sequences.reference, claim_property, Stutter::Extend));
        let reference: &dyn System = with_endless.as_ref().map_or(&plain, |product| product);
        let claim =
            safety::check(Engine::Any(&fast), reference, options, self.request, self.control)?;
        let mut claim = endless::shown(claim);
        if let Some(mut finding) = safety::reopen(&claim) {
            finding.cut = fast.is_cut();
            let question = self.question(claim.property.clone());
            let violated = assertions::complete(engine, self.interpreter, &question, &mut finding)?;
            endless::weaken(self.endless, &mut finding);
            let is_open = matches!(claim.verdict, Verdict::Inconclusive(_));
            claim = match violated {
                Some(violated) => violated,
                None if is_open => claim,
                None => conclude(reference, &claim.property, finding).claim,
            };
        }
        if reduces {
            claim.notes.push(
                "no partial-order reduction: a never claim may distinguish executions that differ only in repetitions".into(),
            );
        }
        if automaton.has_accepting_cycle() && claim.verdict == Verdict::Holds {
            let states = grouped(claim.statistics.states);
            claim.sentence = format!(
                "holds for finite executions: none completes the claim ({states} states, all explored; infinite executions, which it may accept, were not searched)"
            );
        }
        Ok(claim)
    }

    fn has_assertions(&self) -> bool {
        let faults = &self.interpreter.program().faults;
        faults.iter().any(|fault| fault.kind == FaultKind::Assertion)
    }

    /// Whether one of these propositions may have no value in some state.
    fn can_fault(&self, mut propositions: impl Iterator<Item = usize>) -> bool {
        let program = self.interpreter.program();
        propositions.any(|index| program.can_fault(program.propositions[index]))
    }

    fn check_formula(&self, engine: Engine<'_>, index: usize) -> Result<Claim, Error> {
        let block = &self.model.formulas[index];
        let program = self.interpreter.program();
        let (formula, propositions) = numbered(self.model, program, index);
        let too_large = |error: preempt_ltl::Error| {
            Refusal::of(formula_too_large(block, &error.to_string()), self.model)
        };
        let negated = formula.not();
        let automaton = translate(&negated).map_err(too_large)?;
        let text = block.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (property, which) = match &block.name {
            Some(name) => (format!("ltl {name}: {text}"), format!("`{name}`")),
            None => (format!("ltl: {text}"), format!("`{text}`")),
        };
        let mut question = Question {
            cycle: format!("an infinite execution violates {which}"),
            ..self.question(property)
        };
        if automaton.is_language_empty() {
            question.notes.push("the formula holds in every execution of any model".into());
        }
        if let Scheme::SourceState(_) = question.scheme {
            let invariant =
                formula_invariance(&negated).map_err(too_large)? == Invariance::Invariant;
            let can_fault = self.can_fault(propositions.iter().copied());
            let normal = invariant
                .then(|| StutterInvariant::new(&automaton, propositions.clone()))
                .flatten();
            match normal {
                Some(normal) if can_fault => {
                    let reduced = question.clone();
                    let claim =
                        cycles::check_if_evaluable(engine, self.interpreter, &normal, reduced)?;
                    if let Some(claim) = claim {
                        return Ok(claim);
                    }
                }
                Some(normal) => {
                    return cycles::check(engine, self.interpreter, &normal, question);
                }
                None => {}
            }
            question.reduce_not(match (invariant, can_fault) {
                (false, _) => "the formula is not stutter invariant",
                (true, true) => NO_VALUE,
                (true, false) => "the formula has too many propositions",
            });
        }
        let raw = Buchi::new(automaton, propositions);
        cycles::check(engine, self.interpreter, &raw, question)
    }
}
