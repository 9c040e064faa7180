//! Models written in Rust: each of their properties becomes a claim.
//!
//! What is expected of states is one search: `always` by what a step arrives at, `sometimes` by noting
//! which conditions were met. Temporal expectations are one search for cycles each, as for Promela.

use crate::engine::Engine;
use crate::question::Question;
use crate::{Control, Error, Request, cycles, safety};
use preempt_check::property::{Buchi, StutterInvariant};
use preempt_check::search::nested::Scheme;
use preempt_core::{Claim, Statistics, Stop, Verdict, grouped};
use preempt_ltl::{Formula, Invariance, formula_invariance, parse, translate};
use preempt_model::{Encoded, Expectation, Model};

/// Checks all that is expected of a model. The first claim is about what is expected of every state,
/// and deadlocks; the others follow in the order of [`Model::properties`].
///
/// A model that breaks the rules of its trait is an error.
pub fn verify_model<M: Model>(
    model: &M,
    request: &Request,
    control: &Control<'_>,
) -> Result<Vec<Claim>, Error> {
    let system = Encoded::new(model);
    let mut always = check_states(&system, &Encoded::new(model), request, control)?;
    let found_nothing = matches!(always.verdict, Verdict::Holds | Verdict::HoldsWithinBound(_));
    if system.properties().is_empty() && !request.deadlocks && found_nothing {
        always.verdict = Verdict::Nothing;
        always.sentence =
            "nothing to check: the model has no properties, and deadlocks were not asked for"
                .into();
    }
    let mut complete = None;
    let mut claims = Vec::new();
    for (number, property) in system.properties().iter().enumerate() {
        let claim = match &property.expectation {
            Expectation::Always => continue,
            Expectation::Sometimes => {
                if !system.was_seen(number) && always.verdict == Verdict::Violated {
                    // The search ended early: another one does not mind violations.
                    let all = complete.get_or_insert_with(|| explore(&system, request, control));
                    sometimes(&property.name, system.was_seen(number), all)
                } else {
                    sometimes(&property.name, system.was_seen(number), &always)
                }
            }
            Expectation::Eventually => {
                let text = format!("eventually: {}", property.name);
                let formula = (Formula::Prop(0).eventually(), vec![0]);
                temporal(model, number, text, formula, request, control)?
            }
            Expectation::Ltl(formula) => {
                let text = format!("{}: {formula}", property.name);
                let formula = read(model, number, formula)?;
                temporal(model, number, text, formula, request, control)?
            }
        };
        claims.push(claim);
    }
    claims.insert(0, always);
    Ok(claims)
}

/// What is expected of every state, and deadlocks.
fn check_states<M: Model>(
    system: &Encoded<'_, M>,
    reference: &Encoded<'_, M>,
    request: &Request,
    control: &Control<'_>,
) -> Result<Claim, Error> {
    let always = system.properties().iter().filter(|p| p.expectation == Expectation::Always);
    let names: Vec<&str> = always.map(|property| property.name.as_str()).collect();
    let property = match (names.is_empty(), request.deadlocks) {
        (true, true) => "no deadlock".into(),
        (true, false) => "nothing".into(),
        (false, true) => format!("always: {}; no deadlock", names.join(", ")),
        (false, false) => format!("always: {}", names.join(", ")),
    };
    let options = request.options(property, false);
    let claim = safety::check(Engine::Any(system), reference, options, request, control);
    unless_misused([system, reference], claim)
}

/// An answer, unless the model broke the rules of its trait while it was searched for or confirmed.
fn unless_misused<M: Model>(
    systems: [&Encoded<'_, M>; 2],
    claim: Result<Claim, Error>,
) -> Result<Claim, Error> {
    match systems.into_iter().find_map(Encoded::misuse) {
        Some(reason) => Err(Error::Request(reason)),
        None => claim,
    }
}

/// Explores everything, whatever is violated on the way.
fn explore<M: Model>(system: &Encoded<'_, M>, request: &Request, control: &Control<'_>) -> Claim {
    let request = Request { assertions: false, deadlocks: false, first: true, ..request.clone() };
    let mut options = request.options(String::new(), false);
    options.time = control.time_left();
    control
        .watch(|listener| {
            let check = preempt_check::Check::new(system).options(options);
            check.interrupt(control.flag()).progress(listener).run()
        })
        .claim
}

/// What a search says about a condition that some state should satisfy.
fn sometimes(name: &str, seen: bool, searched: &Claim) -> Claim {
    let states = grouped(searched.statistics.states);
    let (verdict, sentence) = match searched.verdict {
        _ if seen => (Verdict::Holds, "holds: a reachable state satisfies it".to_string()),
        Verdict::Holds => (
            Verdict::Violated,
            format!("violated: no reachable state satisfies it ({states} states, all explored)"),
        ),
        Verdict::HoldsWithinBound(bound) => (
            Verdict::Inconclusive(Stop::Bound),
            format!(
                "inconclusive: no state that is reached with at most {bound} preemptions satisfies it ({states} states, all explored); a higher bound covers more"
            ),
        ),
        // A violation ended the search, or nothing was searched.
        Verdict::Violated | Verdict::Nothing => (
            Verdict::Inconclusive(Stop::Fault),
            format!("inconclusive: none of the {states} states explored satisfies it"),
        ),
        Verdict::Inconclusive(stop) => (
            Verdict::Inconclusive(stop),
            format!("inconclusive: {stop}; none of the {states} states explored satisfies it"),
        ),
    };
    Claim {
        property: format!("sometimes: {name}"),
        verdict,
        sentence,
        violation: None,
        statistics: Statistics {
            complete: searched.statistics.complete,
            states: searched.statistics.states,
            ..Statistics::default()
        },
        unreached: Vec::new(),
        notes: Vec::new(),
    }
}

/// A formula, with the places of its propositions among those of the property.
type Placed = (Formula, Vec<usize>);

/// The formula of a property.
fn read<M: Model>(model: &M, number: usize, text: &str) -> Result<Placed, Error> {
    let properties = model.properties();
    let property = &properties[number];
    let wrong =
        |message: String| Error::Request(format!("property `{}`: {message}", property.name));
    let parsed = parse(text).map_err(|error| wrong(format!("{error}, in `{text}`")))?;
    let known = |name: &String| {
        let found = property.propositions().iter().position(|known| known.name == *name);
        found.ok_or_else(|| wrong(format!("its formula uses `{name}`, which is not defined")))
    };
    let places = parsed.names.iter().map(known).collect::<Result<Vec<_>, _>>()?;
    Ok((parsed.formula, places))
}

/// Whether every execution satisfies a formula over the propositions of a property.
fn temporal<M: Model>(
    model: &M,
    number: usize,
    text: String,
    (formula, places): Placed,
    request: &Request,
    control: &Control<'_>,
) -> Result<Claim, Error> {
    let (system, reference) = (Encoded::temporal(model), Encoded::temporal(model));
    let engine = Engine::Any(&system);
    let name = system.properties()[number].name.clone();
    let first = system.first_proposition(number);
    let mut propositions: Vec<usize> = places.iter().map(|place| first + place).collect();
    // An execution that is cut at the model's limits says nothing.
    propositions.push(system.cut_proposition());
    let cut = Formula::Prop(places.len() as u32);
    let starts = system.picks_its_start();
    let formula = if starts { formula.next() } else { formula };
    let negated = formula.not().and(cut.not().always());
    let too_large =
        |error: preempt_ltl::Error| Error::Request(format!("property `{name}`: {error}"));
    let automaton = translate(&negated).map_err(too_large)?;
    // What is expected of states is another claim.
    let request = &Request { assertions: false, ..request.clone() };
    let mut question = Question {
        cycle: format!("an infinite execution violates `{name}`"),
        ..Question::new(text, request, control)
    };
    let claim = if let Scheme::SourceState(_) = question.scheme {
        let invariant = formula_invariance(&negated).map_err(too_large)? == Invariance::Invariant;
        let normal = invariant.then(|| StutterInvariant::new(&automaton, propositions.clone()));
        match normal.flatten() {
            Some(normal) => cycles::check(engine, &reference, &normal, question),
            None => {
                question.reduce_not(match (starts, invariant) {
                    (true, _) => "the model has several initial states",
                    (_, false) => "the formula is not stutter invariant",
                    (_, true) => "the formula has too many propositions",
                });
                let raw = Buchi::new(automaton, propositions);
                cycles::check(engine, &reference, &raw, question)
            }
        }
    } else {
        cycles::check(engine, &reference, &Buchi::new(automaton, propositions), question)
    };
    unless_misused([&system, &reference], claim)
}
