//! The questions behind the properties of a model: which automaton, which reduction, in which words.

use super::Property;
use super::claim::{NeverClaim, as_buchi};
use super::formula::numbered;
use crate::endless::Sequences;
use crate::engine::Engine;
use crate::error::Refusal;
use crate::question::{Asserted, Question};
use crate::{Control, Error, Request, cycles, safety};
use preempt_check::property::{self, Buchi, NonProgress, PropertyMove, Stutter, StutterInvariant};
use preempt_check::search::nested::Scheme;
use preempt_core::{Claim, Fault, FaultKind, Verdict, ViolationKind};
use preempt_ltl::{Formula, Invariance, automaton_invariance, formula_invariance, translate};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{Automaton, Program};
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

/// Said where [`cycles::reduction_pays`] denies it.
const REDUCES_LITTLE: &str = "with this property it would leave out less than it adds";

/// Said of a never claim if its language is not known to be stutter invariant.
pub(super) const NOT_INVARIANT: &str = "the never claim is not known to be stutter invariant";

/// Said of a never claim with `c_code`.
pub(super) const CHANGES: &str = "C in the never claim changes what the model reads";

/// Said of such a claim beside a model with indivisible sequences that may never end.
const NOT_FOLLOWED: &str = "an execution that stays inside an indivisible sequence for ever is not accepted by the never claim, because its C does not run there";

/// Why [`cycles::check_if_evaluable`] could not tell.
const NO_VALUE: &str = "a state expression may have no value (index, division, channel)";

/// What violates an `ltl` block.
pub(super) struct Negated {
    pub(super) formula: Formula,
    pub(super) automaton: preempt_ltl::Automaton,
    /// For each proposition of the automaton, its number in the program.
    pub(super) propositions: Vec<usize>,
    /// The block in words.
    pub(super) property: String,
    /// What it is called in a sentence.
    pub(super) which: String,
}

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
            Property::BadPrefix(index) => self.check_bad_prefix(engine, index),
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
    pub(super) fn question(&self, property: String) -> Question<'_> {
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
        if automaton.changes() {
            question.reduce_not(CHANGES);
            question.scheme = Scheme::Full;
            // Without the claim the model does something else.
            question.assertions = Asserted::Apart;
            return self.without_endless(cycles::check(engine, self.interpreter, &raw, question));
        }
        if let Scheme::SourceState(_) = question.scheme {
            match self.invariant_claim(automaton) {
                None => question.reduce_not(NOT_INVARIANT),
                Some(_) if has_accept_labels(self.interpreter.program()) => {
                    question.reduce_not("processes have accept labels besides those of the claim");
                }
                Some(forms) => match self.check_invariant(engine, forms, question.clone())? {
                    // Which assertion failed is seen without reduction.
                    Ok(claim) if automaton.asserts() && claim.verdict == Verdict::Violated => {
                        question.scheme = Scheme::Full;
                    }
                    Ok(claim) => return Ok(claim),
                    Err(reason) => question.reduce_not(reason),
                },
            }
        }
        cycles::check(engine, self.interpreter, &raw, question)
    }

    /// A claim about a search that followed no indivisible sequence for ever.
    fn without_endless(&self, claim: Result<Claim, Error>) -> Result<Claim, Error> {
        let mut claim = claim?;
        let holds = matches!(claim.verdict, Verdict::Holds | Verdict::HoldsWithinBound(_));
        if holds && !self.interpreter.endless_sequences().is_empty() {
            claim.notes.push(NOT_FOLLOWED.into());
        }
        Ok(claim)
    }

    /// A never claim in SI normal form and as it is, if its language is known to be stutter invariant.
    pub(super) fn invariant_claim(
        &self,
        automaton: &Automaton,
    ) -> Option<(StutterInvariant, Buchi)> {
        let (buchi, propositions) = as_buchi(automaton, self.interpreter.program())?;
        if automaton_invariance(&buchi) != Invariance::Invariant {
            return None;
        }
        let normal = StutterInvariant::new(&buchi, propositions.clone())?;
        Some((normal, Buchi::new(buchi, propositions)))
    }

    /// Checks a property in SI normal form with reduction, or says why not.
    pub(super) fn check_invariant(
        &self,
        engine: Engine<'_>,
        (normal, plain): (StutterInvariant, Buchi),
        question: Question<'_>,
    ) -> Result<Result<Claim, &'static str>, Error> {
        if !cycles::reduction_pays(engine, &normal, &plain, &question) {
            return Ok(Err(REDUCES_LITTLE));
        }
        if !self.can_fault(plain.propositions().iter().copied()) {
            return cycles::check(engine, self.interpreter, &normal, question).map(Ok);
        }
        let claim = cycles::check_if_evaluable(engine, self.interpreter, &normal, question)?;
        Ok(claim.ok_or(NO_VALUE))
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

    /// The violations of an `ltl` block.
    pub(super) fn negated(&self, index: usize) -> Result<Negated, Error> {
        let block = &self.model.formulas[index];
        let (formula, propositions) = numbered(self.model, self.interpreter.program(), index);
        let formula = formula.not();
        let automaton = translate(&formula).map_err(|error| self.too_large(index, &error))?;
        let text = block.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (property, which) = match &block.name {
            Some(name) => (format!("ltl {name}: {text}"), format!("`{name}`")),
            None => (format!("ltl: {text}"), format!("`{text}`")),
        };
        Ok(Negated { formula, automaton, propositions, property, which })
    }

    fn too_large(&self, index: usize, error: &preempt_ltl::Error) -> Error {
        let block = &self.model.formulas[index];
        Refusal::of(formula_too_large(block, &error.to_string()), self.model)
    }

    fn check_formula(&self, engine: Engine<'_>, index: usize) -> Result<Claim, Error> {
        let Negated { formula: negated, automaton, propositions, property, which } =
            self.negated(index)?;
        let mut question = Question {
            cycle: format!("an infinite execution violates {which}"),
            ..self.question(property)
        };
        if automaton.is_language_empty() {
            question.notes.push("the formula holds in every execution of any model".into());
        }
        if let Scheme::SourceState(_) = question.scheme {
            let invariant = formula_invariance(&negated)
                .map_err(|error| self.too_large(index, &error))?
                == Invariance::Invariant;
            let forms = StutterInvariant::new(&automaton, propositions.clone())
                .map(|normal| (normal, Buchi::new(automaton.clone(), propositions.clone())));
            match forms {
                _ if !invariant => question.reduce_not("the formula is not stutter invariant"),
                None => question.reduce_not("the formula has too many propositions"),
                Some(forms) => match self.check_invariant(engine, forms, question.clone())? {
                    Ok(claim) => return Ok(claim),
                    Err(reason) => question.reduce_not(reason),
                },
            }
        }
        let raw = Buchi::new(automaton, propositions);
        cycles::check(engine, self.interpreter, &raw, question)
    }
}
