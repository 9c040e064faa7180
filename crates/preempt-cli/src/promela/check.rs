//! `preempt check model.pml`: which properties, with which engine.

use super::along::Along;
use super::claim::{NeverClaim, as_buchi};
use super::cycles::{self, Question};
use super::endless::{self, Sequences};
use super::literals::literals;
use super::{
    Beside, add_formula, assertions, interpreter, load, observed, refused, safety, sources,
    truncations_along,
};
use crate::applicability::{self, Subject};
use crate::arguments::{Backend, CheckArguments, Compat, StoreKind, Switch};
use crate::deadline;
use crate::failure::Failure;
use crate::output::{self, Report};
use crate::terminal::INTERRUPTED;
use preempt_check::property::{
    Buchi, NonProgress, Product, Property, PropertyMove, Stutter, StutterInvariant,
};
use preempt_check::search::nested::Scheme;
use preempt_check::{Reduction, conclude};
use preempt_core::{
    Claim, Fault, FaultKind, Locality, NOTHING_TO_CHECK, ProcessId, Step, System, Trace, Verdict,
    ViolationKind, grouped, replay,
};
use preempt_ltl::{Formula, Invariance, automaton_invariance, formula_invariance, translate};
use preempt_native::Native;
use preempt_promela::interpret::Interpreter;
use preempt_promela::interpret::trail::Trail;
use preempt_promela::ir::Program;
use preempt_promela::model::{self, Model};
use preempt_promela::syntax::formula_too_large;
use preempt_report::spin::{Cycles, Heading, Never, Store};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// One property to check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Selected {
    /// Assertions and invalid ends.
    Safety,
    /// Cycles through accept labels of processes.
    Acceptance,
    /// Cycles without progress.
    NonProgress,
    /// A never claim of the model.
    Claim(usize),
    /// An ltl block of the model, or the formula of the command line.
    Formula(usize),
}

/// Checks a model, reports, and gives the exit code.
pub(crate) fn run(arguments: &CheckArguments) -> Result<ExitCode, Failure> {
    deadline::start(arguments);
    crate::cancel::set_deadline(arguments.deadline());
    let mut model = load(&arguments.model, arguments.quiet || arguments.json.is_some())?;
    if let Some(text) = &arguments.formula {
        add_formula(&mut model, text)?;
    }
    let selected = select(&model, arguments)?;
    let subjects: Vec<Subject> = selected.iter().map(|s| s.subject(arguments)).collect();
    applicability::check_all(arguments, &subjects)?;
    deadline::expect(selected.iter().map(|property| property.in_brief(&model)).collect());
    let (mut headings, mut selectors) = (Vec::new(), Vec::new());
    let mut trail = None;
    let mut seconds = 0.0;
    for property in selected {
        let (property, mut claim, told) = check_one(&model, arguments, property)?;
        trail = trail.or(told);
        claim.notes.extend(applicability::notes(arguments, property.subject(arguments)));
        output::account_for_time(arguments, &mut claim, seconds);
        seconds += claim.statistics.seconds;
        headings.push(heading(&model, arguments, property, &claim));
        selectors.push(property.selector(&model, arguments));
        deadline::keep(claim);
    }
    let claims = deadline::answer();
    let sources = sources(&model);
    let (headings, selectors) = (&headings, &selectors);
    let report =
        Report { arguments, claims: &claims, sources: &sources, headings, selectors, trail };
    let code = output::report(&report)?;
    if let Some(path) = &arguments.graph {
        let interpreter = interpreter(&model, &arguments.model, Beside::Nothing, false, false)?;
        let found = claims.iter().find_map(|claim| claim.violation.as_ref());
        crate::graph::write(&interpreter, found.map(|found| &found.trace), path)?;
    }
    Ok(code)
}

/// Checks one execution: whether it violates the property that `arguments` select. `promises`: also
/// those that a reduction relies on.
pub(crate) fn check_execution(
    model: &mut Model,
    arguments: &CheckArguments,
    (steps, cycle_start): (&[Step], Option<usize>),
    promises: bool,
) -> Result<Claim, Failure> {
    if let Some(text) = &arguments.formula {
        add_formula(model, text)?;
    }
    let selected = select(model, arguments)?;
    let property = selected.first().copied().unwrap_or(Selected::Safety);
    let interpreter = interpreter(model, &arguments.model, property.beside(), promises, false)?
        .end_with_empty_channels(arguments.empty_channels);
    let along = Along::new(&interpreter, steps, cycle_start);
    if property == Selected::Safety {
        let job = Job { model, arguments, interpreter: &interpreter, endless: None };
        return job.check(&along as &dyn System, property);
    }
    // The cycle of the trace may be inside a sequence.
    let never = || false;
    let along = &endless::around(&along, &interpreter, &never);
    let endless = Some(Sequences { searched: along, reference: along });
    let job = Job { model, arguments, interpreter: &interpreter, endless };
    job.check(along as &dyn System, property)
}

impl Selected {
    /// Options that select this property again, for a saved trace.
    fn selector(self, model: &Model, arguments: &CheckArguments) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
        let mut options: Vec<String> = match self {
            Selected::Safety => words(&["--no-claim"]),
            Selected::Acceptance => words(&["--no-claim", "--acceptance"]),
            Selected::NonProgress => words(&["--non-progress"]),
            Selected::Claim(index) => match &model.claims[index].name {
                Some(name) => words(&["--claim", name]),
                None => Vec::new(),
            },
            Selected::Formula(index) => {
                let block = &model.formulas[index];
                match &block.name {
                    Some(name) => words(&["--ltl", name]),
                    None => words(&["--formula", &block.text]),
                }
            }
        };
        if matches!(self, Selected::Claim(_)) && arguments.acceptance {
            options.push("--acceptance".into());
        }
        options
    }

    /// What runs beside the model.
    fn beside(self) -> Beside {
        match self {
            Selected::Claim(_) | Selected::Formula(_) => Beside::Claim,
            Selected::NonProgress => Beside::NonProgress,
            Selected::Safety | Selected::Acceptance => Beside::Nothing,
        }
    }

    /// What options have to fit.
    fn subject(self, arguments: &CheckArguments) -> Subject {
        match self {
            Selected::Safety => Subject::Finite,
            Selected::Claim(_) if !arguments.acceptance => Subject::Completion,
            _ => Subject::Infinite,
        }
    }

    /// In few words, for when there is no time for more.
    fn in_brief(self, model: &Model) -> String {
        let named = |what: &str, name: &Option<String>| match name {
            Some(name) => format!("{what} {name}"),
            None => what.to_string(),
        };
        match self {
            Selected::Safety => "no assertion violated, no invalid end state".into(),
            Selected::Acceptance => "no acceptance cycle".into(),
            Selected::NonProgress => "no cycle without progress".into(),
            Selected::Claim(index) => named("never claim", &model.claims[index].name),
            Selected::Formula(index) => named("ltl", &model.formulas[index].name),
        }
    }
}

/// What was asked, for a report in Spin's form.
fn heading(
    model: &Model,
    arguments: &CheckArguments,
    selected: Selected,
    claim: &Claim,
) -> Heading {
    let named = |name: &Option<String>| Never::Named(name.clone().unwrap_or_default());
    let never = match selected {
        Selected::Claim(index) => named(&model.claims[index].name),
        Selected::Formula(index) => Never::Named(formula_name(model, index)),
        Selected::NonProgress => Never::Named(":np_:".into()),
        _ if model.claims.is_empty() && model.formulas.is_empty() => Never::None,
        _ => Never::NotSelected,
    };
    let cycles = match selected {
        Selected::NonProgress => Cycles::NonProgress,
        Selected::Acceptance | Selected::Formula(_) => Cycles::Acceptance,
        Selected::Claim(_) if arguments.acceptance => Cycles::Acceptance,
        Selected::Claim(_) | Selected::Safety => Cycles::None,
    };
    let unreduced = |note: &String| note.starts_with("no partial-order reduction");
    Heading {
        never,
        cycles,
        assertions: !arguments.no_assert,
        fair: arguments.fair,
        ends: !arguments.no_deadlock,
        reduced: arguments.por != Some(Switch::Off) && !claim.notes.iter().any(unreduced),
        store: match arguments.store {
            None | Some(StoreKind::Exact) => Store::Full,
            Some(StoreKind::Tree) => Store::Compressed,
            Some(StoreKind::Compact) => Store::HashCompact,
            Some(StoreKind::Bitstate) => Store::Bitstate,
        },
        bound: arguments.bound,
    }
}

/// What to check, as the command line says; by default the model's own properties.
fn select(model: &Model, arguments: &CheckArguments) -> Result<Vec<Selected>, Failure> {
    let plain = match (arguments.non_progress, arguments.acceptance) {
        (true, _) => Selected::NonProgress,
        (false, true) => Selected::Acceptance,
        (false, false) => Selected::Safety,
    };
    if arguments.formula.is_some() {
        return Ok(vec![Selected::Formula(model.formulas.len() - 1)]);
    }
    if let Some(name) = arguments.ltl.as_ref().or(arguments.claim.as_ref()) {
        return named(model, name, arguments.ltl.is_none()).map(|found| vec![found]);
    }
    if arguments.no_claim || plain == Selected::NonProgress {
        return Ok(vec![plain]);
    }
    let claims = (0..model.claims.len()).map(Selected::Claim);
    let mut all: Vec<_> = claims.chain((0..model.formulas.len()).map(Selected::Formula)).collect();
    if all.is_empty() {
        all.push(plain);
    }
    Ok(all)
}

/// The name of an ltl block. Spin calls those without one `ltl_0`, `ltl_1` and so on.
fn formula_name(model: &Model, index: usize) -> String {
    let unnamed = || model.formulas[..index].iter().filter(|f| f.name.is_none()).count();
    model.formulas[index].name.clone().unwrap_or_else(|| format!("ltl_{}", unnamed()))
}

/// Spin gives the claim it makes of an ltl block the block's name: both may be there.
fn named(model: &Model, name: &str, claim_first: bool) -> Result<Selected, Failure> {
    let is_it = |candidate: &Option<String>| candidate.as_deref() == Some(name);
    let is_formula = |index: &usize| formula_name(model, *index) == name;
    let formula = (0..model.formulas.len()).find(is_formula).map(Selected::Formula);
    let claim = model.claims.iter().position(|c| is_it(&c.name)).map(Selected::Claim);
    let found = if claim_first { claim.or(formula) } else { formula.or(claim) };
    found.ok_or_else(|| {
        let claims = model.claims.iter().filter_map(|claim| claim.name.clone());
        let formulas = (0..model.formulas.len()).map(|index| formula_name(model, index));
        let names: Vec<_> = formulas.chain(claims).collect();
        let known = match names.is_empty() {
            true => "the model has no named ltl block or never claim".to_string(),
            false => format!("the model has {}", names.join(", ")),
        };
        Failure::Input(format!("there is no ltl block or never claim `{name}`; {known}"))
    })
}

fn check_one(
    model: &Model,
    arguments: &CheckArguments,
    mut selected: Selected,
) -> Result<(Selected, Claim, Option<String>), Failure> {
    let start = Instant::now();
    let beside = selected.beside();
    let (reduced, as_spin) = (relies_on_promises(arguments), arguments.compat.is_some());
    let interpreter = interpreter(model, &arguments.model, beside, reduced, as_spin)?
        .end_with_empty_channels(arguments.empty_channels);
    let mut notes = interpreter.program().notes.clone();
    if arguments.compat == Some(Compat::Spin) {
        notes.push(
            "--compat spin: does as Spin 6.5.2 does, also where that is wrong; the guarantee does not hold".into(),
        );
    }
    if selected == Selected::Acceptance && !has_accept_labels(interpreter.program()) {
        selected = Selected::Safety;
        notes.push(
            "no process can get to an accept label, so --acceptance has nothing to look for: assertions and invalid end states are checked".into(),
        );
    }
    let late = arguments.time_left() == Some(Duration::ZERO);
    let native = match arguments.backend {
        // The search will end at once.
        _ if late => None,
        Backend::Interp => None,
        Backend::Native => match Native::new(&interpreter) {
            Ok(native) => Some(native),
            Err(error) => {
                notes.push(format!("interpreted: {error}"));
                None
            }
        },
    };
    let seconds = start.elapsed().as_secs_f64();
    let deadline = arguments.deadline();
    let give_up =
        || INTERRUPTED.load(Ordering::Relaxed) || deadline.is_some_and(|end| Instant::now() >= end);
    let plain: &dyn System = native.as_ref().map_or(&interpreter, |native| native);
    let watched = selected != Selected::Safety && !interpreter.endless_sequences().is_empty();
    let around = |system| watched.then(|| endless::around(system, &interpreter, &give_up));
    let (endless, reference) = (around(plain), around(&interpreter));
    let sequences = endless.as_ref().zip(reference.as_ref());
    let endless_sequences =
        sequences.map(|(searched, reference)| Sequences { searched, reference });
    let job = Job { model, arguments, interpreter: &interpreter, endless: endless_sequences };
    let mut claim = match (&endless, &native) {
        (Some(endless), _) => job.check(endless as &dyn System, selected),
        // A search that is compiled for machine code takes long to build and gains a few per cent.
        #[cfg(not(debug_assertions))]
        (None, Some(native)) => job.check(native, selected),
        (None, _) => job.check(plain, selected),
    }?;
    // A search has parts of the model translated on its way.
    let translation = native.as_ref().map_or(0.0, Native::translation_seconds);
    claim.statistics.compile_seconds = seconds + translation;
    claim.statistics.seconds = (claim.statistics.seconds - translation).max(0.0);
    if let Some(violation) = &mut claim.violation {
        notes.extend(truncations_along(&interpreter, &violation.trace.raw));
        print_as_observed(model, arguments, &mut violation.trace);
    }
    if selected == Selected::Safety && claim.verdict == Verdict::Holds {
        warn_of_nothing(&interpreter, arguments, &mut claim);
    }
    claim.notes.splice(0..0, notes);
    let trail = trail(&interpreter, arguments, &claim);
    Ok((selected, claim, trail))
}

/// The counterexample as a trail of Spin, if the trace is to be saved as one.
fn trail(interpreter: &Interpreter, arguments: &CheckArguments, claim: &Claim) -> Option<String> {
    arguments.trace.as_ref().filter(|path| path.extension().is_some_and(|e| e == "trail"))?;
    let trace = &claim.violation.as_ref()?.trace;
    let trail = Trail { steps: trace.raw.clone(), cycle_start: trace.cycle_start };
    Some(interpreter.write_trail(&trail))
}

/// Whether a process may be at an accept label.
fn has_accept_labels(program: &Program) -> bool {
    program.proctypes.iter().flat_map(|proctype| &proctype.states).any(|state| state.is_accept)
}

/// A search leaves out variables that are never read and resets those that are dead. What the steps
/// print is computed again with all variables at their values.
fn print_as_observed(model: &Model, arguments: &CheckArguments, trace: &mut Trace) {
    if trace.steps.iter().all(|step| step.output.is_empty()) {
        return;
    }
    let Ok(interpreter) = observed(model, &arguments.model) else { return };
    let is_own = |step: &&Step| step.process != ProcessId::PROPERTY;
    let steps: Vec<Step> =
        trace.raw.iter().filter(is_own).map(|step| Step { choice: 0, ..*step }).collect();
    let Ok((observed, ..)) = replay(&interpreter, &steps) else { return };
    let own = trace.steps.iter_mut().filter(|step| step.pid != ProcessId::PROPERTY.index());
    for (step, observed) in own.zip(observed.steps) {
        step.output = observed.output;
    }
}

/// With assertions and ends left out there may be nothing that could go wrong.
fn warn_of_nothing(interpreter: &Interpreter, arguments: &CheckArguments, claim: &mut Claim) {
    let faults = &interpreter.program().faults;
    let asserts = faults.iter().any(|fault| fault.kind == FaultKind::Assertion);
    if arguments.no_deadlock && (arguments.no_assert || !asserts) {
        let why = match asserts {
            true => "assertions and ends were not looked at",
            false => "the model has no assertion, and ends were not looked at",
        };
        let states = grouped(claim.statistics.states);
        claim.sentence = format!(
            "{NOTHING_TO_CHECK}{why}; only runtime errors were looked for ({states} states, all explored)"
        );
    }
}

/// Whether a reduction will rely on `xr` and `xs`: under a bound or fairness only steps that touch
/// nothing shared are taken alone.
fn relies_on_promises(arguments: &CheckArguments) -> bool {
    let local_only = arguments.fair || is_bounded(arguments);
    arguments.por != Some(Switch::Off) && (!local_only || arguments.compat == Some(Compat::Spin))
}

fn is_bounded(arguments: &CheckArguments) -> bool {
    arguments.bound.is_some() || arguments.iterate.is_some()
}

/// Acceptance by labels of processes alone: an automaton that only watches.
struct Bystander;

impl Property for Bystander {
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

struct Job<'a> {
    model: &'a Model,
    arguments: &'a CheckArguments,
    interpreter: &'a Interpreter,
    /// If indivisible sequences may never end.
    endless: Option<Sequences<'a>>,
}

impl Job<'_> {
    fn check<S: System + ?Sized>(&self, system: &S, selected: Selected) -> Result<Claim, Failure> {
        match selected {
            Selected::Safety => {
                let property = self.safety_in_words();
                let options = safety::options(self.arguments, property, false);
                safety::check(system, self.interpreter, options, self.arguments)
            }
            Selected::Acceptance => {
                let question = Question {
                    cycle: "an infinite execution passes `accept` labels again and again".into(),
                    ..self.question("no acceptance cycle, no assertion violated".into())
                };
                cycles::check(system, self.interpreter, &Bystander, question)
            }
            Selected::NonProgress => {
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
                        return cycles::check(system, self.interpreter, &normal, question);
                    }
                }
                cycles::check(system, self.interpreter, &NonProgress { stalled }, question)
            }
            Selected::Claim(index) => self.check_claim(system, index),
            Selected::Formula(index) => self.check_formula(system, index),
        }
    }

    fn safety_in_words(&self) -> String {
        match (self.arguments.no_assert, self.arguments.no_deadlock) {
            (false, false) if self.arguments.empty_channels => {
                "no assertion violated, no invalid end state, no message left behind"
            }
            (false, false) => "no assertion violated, no invalid end state",
            (true, false) => "no invalid end state",
            (false, true) => "no assertion violated",
            (true, true) => "no runtime error",
        }
        .to_string()
    }

    /// A question about accepting cycles, as the command line wants it answered.
    fn question(&self, property: String) -> Question<'_> {
        let mut question = Question {
            property,
            cycle: String::new(),
            kind: ViolationKind::AcceptanceCycle,
            stutter: Stutter::Extend,
            scheme: self.scheme(),
            notes: Vec::new(),
            arguments: self.arguments,
            endless: self.endless,
        };
        if self.arguments.threads > 1 {
            let note = "one thread was used: infinite executions are looked for depth-first";
            question.notes.push(note.into());
        }
        if is_bounded(self.arguments) {
            question.reduce_not("under a bound, a switch that is put off may become a preemption");
        }
        question
    }

    /// How to reduce, if the property allows it.
    fn scheme(&self) -> Scheme {
        match (self.arguments.por, self.arguments.compat) {
            (Some(Switch::Off), _) => Scheme::Full,
            (_, Some(Compat::Spin)) => Scheme::IntermediateState,
            // Under fairness a step executed early may remove the moments at which another
            // process is disabled.
            _ if self.arguments.fair => Scheme::SourceState(Locality::Local),
            _ => Scheme::SourceState(Locality::Safe),
        }
    }

    fn check_claim<S: System + ?Sized>(&self, system: &S, index: usize) -> Result<Claim, Failure> {
        let automaton = &self.interpreter.program().claims[index];
        let raw = NeverClaim::new(automaton, self.interpreter);
        let name = automaton.name.as_ref().map_or(String::new(), |name| format!(" {name}"));
        if !self.arguments.acceptance {
            return self.check_completion(system, index, &raw, &name);
        }
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
                        cycles::check_if_evaluable(system, self.interpreter, &normal, reduced)?;
                    if let Some(claim) = claim {
                        return Ok(claim);
                    }
                    question.reduce_not(NO_VALUE);
                }
                Some(normal) => {
                    return cycles::check(system, self.interpreter, &normal, question);
                }
                None => question.reduce_not("the never claim is not known to be stutter invariant"),
            }
        }
        cycles::check(system, self.interpreter, &raw, question)
    }

    /// Whether a claim can be matched to its end: a matter of finite executions.
    fn check_completion<S: System + ?Sized>(
        &self,
        system: &S,
        index: usize,
        raw: &NeverClaim<'_>,
        name: &str,
    ) -> Result<Claim, Failure> {
        let property = format!("the never claim{name} is not completed, no assertion violated");
        let mut options = safety::options(self.arguments, property, true);
        let reduces = options.reduction == Reduction::Full;
        if reduces {
            options.reduction = Reduction::None;
        }
        let claim_property: &dyn Property = raw;
        let fast = Product::new(system, claim_property, Stutter::Extend);
        let plain = Product::new(self.interpreter, claim_property, Stutter::Extend);
        let with_endless = self
            .endless
            .map(|sequences| Product::new(sequences.reference, claim_property, Stutter::Extend));
        let reference: &dyn System = with_endless.as_ref().map_or(&plain, |product| product);
        let claim = safety::check(&fast, reference, options, self.arguments)?;
        let mut claim = endless::shown(claim);
        if let Some(mut finding) = safety::reopen(&claim) {
            finding.cut = fast.is_cut();
            let left = self.arguments.time_left();
            let question = self.question(claim.property.clone());
            let violated =
                assertions::complete(system, self.interpreter, &question, &mut finding, left)?;
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
                "no partial-order reduction: a never claim may tell executions apart that differ in repetitions only".into(),
            );
        }
        if self.interpreter.program().claims[index].states.iter().any(|state| state.is_accept) {
            claim.notes.push(
                "the claim has accept labels: add --acceptance to look for cycles, too".into(),
            );
        }
        Ok(claim)
    }

    /// Whether one of these propositions may have no value in some state.
    fn can_fault(&self, mut propositions: impl Iterator<Item = usize>) -> bool {
        let program = self.interpreter.program();
        propositions.any(|index| program.can_fault(program.propositions[index]))
    }

    fn check_formula<S: System + ?Sized>(
        &self,
        system: &S,
        index: usize,
    ) -> Result<Claim, Failure> {
        let block = &self.model.formulas[index];
        let program = self.interpreter.program();
        let literals = literals(program);
        let uses = &program.formulas[index].propositions;
        let mut leaves = uses.iter().map(|p| literals[*p as usize]);
        let mut propositions = Vec::new();
        let formula = convert(&block.formula, &mut leaves, &mut propositions);
        let too_large = |error: preempt_ltl::Error| {
            refused(formula_too_large(block, &error.to_string()), self.model)
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
                        cycles::check_if_evaluable(system, self.interpreter, &normal, reduced)?;
                    if let Some(claim) = claim {
                        return Ok(claim);
                    }
                }
                Some(normal) => {
                    return cycles::check(system, self.interpreter, &normal, question);
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
        cycles::check(system, self.interpreter, &raw, question)
    }
}

/// The formula over numbered propositions; `leaves` gives the system's number and the sign of each
/// state expression from left to right, `known` collects those in use.
fn convert(
    formula: &model::Formula,
    leaves: &mut dyn Iterator<Item = (usize, bool)>,
    known: &mut Vec<usize>,
) -> Formula {
    use model::Formula as F;
    let mut both = |a: &F, b: &F| (convert(a, leaves, known), convert(b, leaves, known));
    match formula {
        F::Const(true) => Formula::True,
        F::Const(false) => Formula::False,
        F::And(a, b) => {
            let (a, b) = both(a, b);
            a.and(b)
        }
        F::Or(a, b) => {
            let (a, b) = both(a, b);
            a.or(b)
        }
        F::Implies(a, b) => {
            let (a, b) = both(a, b);
            a.implies(b)
        }
        F::Equivalent(a, b) => {
            let (a, b) = both(a, b);
            a.equivalent(b)
        }
        F::Until(a, b) => {
            let (a, b) = both(a, b);
            a.until(b)
        }
        F::WeakUntil(a, b) => {
            let (a, b) = both(a, b);
            a.weak_until(b)
        }
        F::Release(a, b) => {
            let (a, b) = both(a, b);
            a.release(b)
        }
        F::Not(a) => convert(a, leaves, known).not(),
        F::Next(a) => convert(a, leaves, known).next(),
        F::Always(a) => convert(a, leaves, known).always(),
        F::Eventually(a) => convert(a, leaves, known).eventually(),
        F::Prop(_) => {
            let Some((index, sign)) = leaves.next() else { return Formula::True };
            let at = known.iter().position(|k| *k == index).unwrap_or_else(|| {
                known.push(index);
                known.len() - 1
            });
            let literal = Formula::Prop(at as u32);
            if sign { literal } else { literal.not() }
        }
    }
}
