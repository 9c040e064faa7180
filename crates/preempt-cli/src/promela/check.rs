//! `preempt check model.pml`: from the command line to the report.

use super::{drawing, failed, load_with, sources, trails};
use crate::applicability;
use crate::arguments::Subject;
use crate::arguments::{CheckArguments, StoreKind, Switch};
use crate::failure::Failure;
use crate::output::{self, Report};
use crate::request::{self, Watcher};
use crate::{card, deadline, graph, meant, spread};
use preempt_core::{Claim, ReplayError, Step, Trace};
use preempt_promela::model::Model;
use preempt_report::spin::{Cycles, Heading, Never, Store};
use preempt_verify::promela::{
    self, Checked, Checker, Property, Settings, in_finite_executions, select,
};
use preempt_verify::{Control, Event};
use std::process::ExitCode;

/// Checks a model, reports, and gives the exit code.
pub(crate) fn run(arguments: &CheckArguments) -> Result<ExitCode, Failure> {
    meant::a_model(&arguments.model.file)?;
    applicability::check(arguments, Subject::Promela)?;
    deadline::start(arguments);
    let quiet = arguments.output.quiet || arguments.output.json.is_some();
    let mut model = load_with(&arguments.model, arguments.properties.claim_file.as_deref(), quiet)?;
    let watcher = Watcher::new(arguments.output.quiet);
    let listener = |event: Event<'_>| watcher.see(event);
    let control = &request::control(arguments, &listener);
    let settings = &request::settings(arguments);
    let selected = properties(arguments, &mut model, settings, control)?;
    let spread = spread::over(arguments, &model)?;
    let card = arguments.search.gpu.then(|| card::open(arguments)).transpose()?;
    let (mut headings, mut selectors) = (Vec::new(), Vec::new());
    let (mut trail, mut saved) = (None, 0);
    let mut seconds = 0.0;
    for property in selected {
        let mut request = arguments.request();
        request.elsewhere = match &card {
            Some(card) => card.searches(&model, settings, property, control)?,
            None => spread.elsewhere(),
        };
        if request.elsewhere.is_none() {
            // What is not for the card is searched here as usual.
            request.reduction = arguments.search.reduction(false);
        }
        let checker = &Checker { model: &model, settings, request: &request, control };
        let Checked { property, mut claim, .. } = checker.check(property).map_err(failed)?;
        if trail.is_none() && wants_trail(arguments) {
            trail = checker.trail(property, &claim).map_err(failed)?;
        }
        if let Some(prefix) = &arguments.output.trails
            && claim.violation.is_some()
        {
            claim.notes.push(trails::save(prefix, checker, property, &claim, &mut saved)?);
        }
        claim.notes.extend(applicability::notes(arguments, subject(property)));
        if matches!(property, Property::Claim(_)) && !arguments.properties.acceptance {
            claim.notes.push(ACCEPTED.into());
        }
        output::account_for_time(arguments, &mut claim, seconds);
        seconds += claim.statistics.seconds;
        headings.push(heading(&model, arguments, property, &claim));
        selectors.push(selector(&model, property));
        deadline::keep(claim);
    }
    let claims = deadline::answer();
    if !spread.reports() {
        return Ok(ExitCode::from(preempt_report::json::worst(&claims).exit_code()));
    }
    let sources = sources(&model);
    let (headings, selectors) = (&headings, &selectors);
    let found = claims.iter().find_map(|claim| claim.violation.as_ref());
    let has_page = arguments.files.0.iter().any(|(format, _)| format.name == "html");
    let drawing = found.filter(|_| has_page);
    let drawing =
        drawing.and_then(|found| drawing::along(&model, arguments, &found.trace, control));
    let report = Report {
        arguments,
        claims: &claims,
        sources: &sources,
        headings,
        selectors,
        trail,
        certificate: None,
        drawing: drawing.as_ref(),
    };
    let code = output::report(&report)?;
    if let Some(path) = &arguments.output.graph {
        let interpreter = promela::plain(&model, settings, control).map_err(failed)?;
        graph::write(&interpreter, found.map(|found| &found.trace), path)?;
    }
    Ok(code)
}

/// The properties to check, all of which can be checked in the way that was asked for.
fn properties(
    arguments: &CheckArguments,
    model: &mut Model,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Vec<Property>, Failure> {
    let mut selected = select(model, &arguments.properties.selection()).map_err(failed)?;
    if arguments.search.gpu {
        // A card looks at finite executions, which show all violations of many formulas.
        for property in &mut selected {
            *property =
                in_finite_executions(model, settings, *property, control).map_err(failed)?;
        }
    }
    let subjects: Vec<Subject> = selected.iter().map(|property| subject(*property)).collect();
    applicability::check_all(arguments, &subjects)?;
    deadline::expect(selected.iter().map(|property| property.in_brief(model)).collect());
    Ok(selected)
}

/// Said where accept labels of a claim decided what was looked for.
const ACCEPTED: &str = "the never claim has accept labels: infinite executions were searched, too (--no-acceptance: finite ones only)";

/// Checks one execution: whether it violates the property that `arguments` select. `promises`: also
/// those that a reduction relies on.
pub(crate) fn check_execution(
    model: &mut Model,
    arguments: &CheckArguments,
    execution: (&[Step], Option<usize>),
    promises: bool,
) -> Result<Claim, Failure> {
    let selected = select(model, &arguments.properties.selection()).map_err(failed)?;
    let property = selected.first().copied().unwrap_or(Property::Safety);
    let watcher = Watcher::new(arguments.output.quiet);
    let listener = |event: Event<'_>| watcher.see(event);
    let control = &request::control(arguments, &listener);
    let (request, settings) = (&arguments.request(), &request::settings(arguments));
    let checker = Checker { model, settings, request, control };
    checker.check_execution(property, execution, promises).map_err(failed)
}

/// Takes the steps of an execution beside the never claim that `arguments` select, if its C changes the model.
pub(crate) fn follow_beside(
    model: &Model,
    arguments: &CheckArguments,
    steps: &[Step],
) -> Result<Option<Result<Trace, ReplayError>>, Failure> {
    let properties = arguments.properties.selection();
    if properties.no_claim || model.claims.is_empty() || model.embedded.is_empty() {
        return Ok(None);
    }
    let selected = select(&mut model.clone(), &properties).map_err(failed)?;
    let property = selected.first().copied().unwrap_or(Property::Safety);
    let listener = |_: Event<'_>| ();
    let control = &request::control(arguments, &listener);
    let (request, settings) = (&arguments.request(), &request::settings(arguments));
    let checker = Checker { model, settings, request, control };
    checker.follow_beside(property, steps).map_err(failed)
}

/// Whether the counterexample is to be saved as a trail of Spin.
fn wants_trail(arguments: &CheckArguments) -> bool {
    let path = arguments.output.trace.as_ref();
    path.is_some_and(|path| path.extension().is_some_and(|extension| extension == "trail"))
}

/// Options that select a property again, for a saved trace.
fn selector(model: &Model, property: Property) -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
    match property {
        Property::Safety => words(&["--no-claim"]),
        Property::Acceptance => words(&["--no-claim", "--acceptance"]),
        Property::NonProgress => words(&["--non-progress"]),
        Property::Completion(index) | Property::Claim(index) => {
            let mut options: Vec<String> = match &model.claims[index].name {
                Some(name) => words(&["--claim", name]),
                None => Vec::new(),
            };
            options.push(match property {
                Property::Claim(_) => "--acceptance".into(),
                _ => "--no-acceptance".into(),
            });
            options
        }
        Property::Formula(index) => {
            let block = &model.formulas[index];
            match &block.name {
                Some(name) => words(&["--ltl", name]),
                None => words(&["--formula", &block.text]),
            }
        }
        Property::BadPrefix(index) => {
            let mut options = selector(model, Property::Formula(index));
            options.push("--no-acceptance".into());
            options
        }
    }
}

/// What options have to fit.
fn subject(property: Property) -> Subject {
    match property {
        Property::Safety => Subject::Finite,
        Property::Completion(_) | Property::BadPrefix(_) => Subject::Completion,
        Property::Acceptance
        | Property::NonProgress
        | Property::Claim(_)
        | Property::Formula(_) => Subject::Infinite,
    }
}

/// What was asked, for a report in Spin's form.
fn heading(
    model: &Model,
    arguments: &CheckArguments,
    property: Property,
    claim: &Claim,
) -> Heading {
    let never = match property {
        Property::Completion(index) | Property::Claim(index) => {
            Never::Named(model.claims[index].name.clone().unwrap_or_default())
        }
        Property::Formula(index) | Property::BadPrefix(index) => {
            Never::Named(Property::formula_name(model, index))
        }
        Property::NonProgress => Never::Named(":np_:".into()),
        _ if model.claims.is_empty() && model.formulas.is_empty() => Never::None,
        _ => Never::NotSelected,
    };
    let cycles = match property {
        Property::NonProgress => Cycles::NonProgress,
        Property::Acceptance | Property::Formula(_) | Property::Claim(_) => Cycles::Acceptance,
        Property::Completion(_) | Property::BadPrefix(_) | Property::Safety => Cycles::None,
    };
    Heading {
        never,
        cycles,
        assertions: !arguments.properties.no_assert,
        fair: arguments.properties.fair,
        ends: !arguments.properties.no_deadlock,
        reduced: arguments.search.por != Some(Switch::Off) && !claim.statistics.unreduced,
        store: match arguments.limits.store {
            None | Some(StoreKind::Exact) => Store::Full,
            Some(StoreKind::Tree) => Store::Compressed,
            Some(StoreKind::Compact) => Store::HashCompact,
            Some(StoreKind::Bitstate) => Store::Bitstate,
        },
        bound: arguments.bounds.bound,
    }
}
