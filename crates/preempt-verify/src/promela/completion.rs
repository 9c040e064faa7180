//! Automata judged by finite executions: whether one leads a never claim to its end, or has begun in a way that violates a formula
//! whatever follows.

use super::bad_prefix::BadPrefix;
use super::claim::NeverClaim;
use super::questions::{CHANGES, Job, NOT_INVARIANT, Negated};
use crate::engine::Engine;
use crate::question::Asserted;
use crate::{Error, assertions, endless, safety};
use preempt_check::property::{self, Buchi, Product, Stutter, StutterInvariant};
use preempt_check::{Options, Reduction, Search, Storage};
use preempt_core::{Claim, System, Verdict, grouped};
use preempt_ltl::{Invariance, automaton_invariance};

/// What must not come to its end, and what is known of it.
struct Completed<'a> {
    automaton: &'a dyn property::Property,
    /// In words.
    property: String,
    /// Why the model does something else beside it, if it does.
    changes: Option<&'static str>,
    /// What the answer leaves open, if it also accepts executions that do not lead it to its end.
    leaves_open: Option<[&'static str; 2]>,
}

/// In SI normal form and as it is, of an automaton that accepts what leads to the end.
type Forms = (StutterInvariant, Buchi);

impl Job<'_> {
    /// Whether a claim can be matched to its end.
    pub(super) fn check_completion(
        &self,
        engine: Engine<'_>,
        index: usize,
    ) -> Result<Claim, Error> {
        let automaton = &self.interpreter.program().claims[index];
        let name = automaton.name.as_ref().map_or(String::new(), |name| format!(" {name}"));
        let completed = Completed {
            automaton: &NeverClaim::new(automaton, self.interpreter),
            property: format!("the never claim{name} is not completed, no assertion violated"),
            changes: automaton.changes().then_some(CHANGES),
            leaves_open: automaton
                .has_accepting_cycle()
                .then_some(["none completes the claim", "it may accept"]),
        };
        // Beside accepting cycles a claim that is completed is not all that it accepts.
        let forms = || match automaton.has_accepting_cycle() {
            true => Err("the never claim may also accept infinite executions"),
            false => self.invariant_claim(automaton).ok_or(NOT_INVARIANT),
        };
        self.check_completed(engine, &completed, &forms)
    }

    /// Whether a finite execution shows that a formula is violated.
    pub(super) fn check_bad_prefix(
        &self,
        engine: Engine<'_>,
        index: usize,
    ) -> Result<Claim, Error> {
        let Negated { automaton, propositions, property, which, .. } = self.negated(index)?;
        let bad = BadPrefix::new(&automaton, propositions.clone(), &which);
        let violations = bad.violations();
        let completed = Completed {
            automaton: &bad,
            property,
            changes: None,
            leaves_open: bad
                .leaves_open()
                .then_some(["none shows by itself that the formula is violated", "may violate it"]),
        };
        let forms = || {
            if violations.is_language_empty() {
                return Err("no finite execution shows by itself that this formula is violated");
            }
            let is_invariant = automaton_invariance(&violations) == Invariance::Invariant;
            let normal = StutterInvariant::new(&violations, propositions.clone());
            let normal = normal.filter(|_| is_invariant);
            let plain = || Buchi::new(violations.clone(), propositions.clone());
            normal.map(|normal| (normal, plain())).ok_or(
                "what shows in finite executions that the formula is violated is not known to be stutter invariant",
            )
        };
        self.check_completed(engine, &completed, &forms)
    }

    fn check_completed(
        &self,
        engine: Engine<'_>,
        completed: &Completed<'_>,
        forms: &dyn Fn() -> Result<Forms, &'static str>,
    ) -> Result<Claim, Error> {
        let mut options = self.request.options(completed.property.clone(), true);
        let mut unreduced = None;
        if completed.changes.is_some() {
            unreduced = completed.changes.filter(|_| options.reduction != Reduction::None);
            options.reduction = Reduction::None;
        } else if options.reduction == Reduction::Full {
            options.reduction = Reduction::None;
            match self.check_reduced(engine, &options.property, forms)? {
                Ok(claim) => return Ok(completed.weakened(claim)),
                Err(reason) => unreduced = reason,
            }
        }
        let mut claim = self.check_unreduced(engine, completed, &options)?;
        if let Some(reason) = unreduced {
            claim.statistics.unreduced = true;
            claim.notes.push(format!("no partial-order reduction: {reason}"));
        }
        Ok(completed.weakened(claim))
    }

    fn check_unreduced(
        &self,
        engine: Engine<'_>,
        completed: &Completed<'_>,
        options: &Options,
    ) -> Result<Claim, Error> {
        let automaton = completed.automaton;
        let fast: Product<'_, dyn System, dyn property::Property> =
            Product::new(engine.system(), automaton, Stutter::Extend);
        let plain = Product::new(self.interpreter, automaton, Stutter::Extend);
        let with_endless = self
            .endless
            .map(|sequences| Product::new(sequences.reference, automaton, Stutter::Extend));
        let reference: &dyn System = with_endless.as_ref().map_or(&plain, |product| product);
        let (request, control) = (self.request, self.control);
        let mut checked =
            safety::search(Engine::Beside(&fast), reference, options, request, control)?;
        if checked.finding.counterexample.is_none() {
            let mut finding = checked.finding.clone();
            finding.cut |= fast.is_cut();
            let mut question = self.question(options.property.clone());
            if completed.changes.is_some() {
                // Without the claim the model does something else.
                question.assertions = Asserted::Apart;
            }
            let violated = assertions::complete(engine, self.interpreter, &question, &mut finding)?;
            if let Some(violated) = violated {
                return Ok(violated);
            }
            endless::weaken(self.endless, &mut finding);
            // Where the search did not come to its end, its own reason counts.
            if checked.finding.stop.is_none() {
                checked.finding = finding;
            }
        }
        Ok(endless::shown(safety::conclude(checked, reference, &options.property, control)))
    }

    /// The same with reduction, if no execution leads to the end: every finite execution goes on or is repeated
    /// at its last state, so the end is reached exactly if an infinite execution is accepted by an automaton whose
    /// only accepting cycle is the end. An execution that leads there is better shown by a search without
    /// reduction: it is finite there. Otherwise says why there is no reduction, if that is worth a note.
    fn check_reduced(
        &self,
        engine: Engine<'_>,
        property: &str,
        forms: &dyn Fn() -> Result<Forms, &'static str>,
    ) -> Result<Result<Claim, Option<&'static str>>, Error> {
        let request = self.request;
        let exact = matches!(request.storage, Storage::Auto | Storage::Exact);
        let is_usual = request.search == Search::Auto
            && request.swarm.is_none()
            && request.depth.is_none()
            && !request.is_bounded()
            && !request.fair
            && request.elsewhere.is_none();
        if !is_usual || !exact || self.endless.is_some() {
            return Ok(Err(Some("it is used for never claims in the usual search only")));
        }
        let forms = match forms() {
            Ok(forms) => forms,
            Err(reason) => return Ok(Err(Some(reason))),
        };
        let question = self.question(property.to_string());
        Ok(match self.check_invariant(engine, forms, question)? {
            Ok(claim) if claim.verdict == Verdict::Violated => Err(None),
            Ok(claim) => Ok(claim),
            Err(reason) => Err(Some(reason)),
        })
    }
}

impl Completed<'_> {
    /// What holds says no more than was searched.
    fn weakened(&self, mut claim: Claim) -> Claim {
        if let Some([finite, infinite]) = self.leaves_open
            && claim.verdict == Verdict::Holds
        {
            let states = grouped(claim.statistics.states);
            claim.sentence = format!(
                "holds for finite executions: {finite} ({states} states, all explored; infinite executions, which {infinite}, were not searched)"
            );
        }
        claim
    }
}
