//! Which property of a model is checked.

use super::Beside;
use crate::Error;
use crate::error::Refusal;
use preempt_promela::ir::{Automaton, LowerOptions, Program, lower};
use preempt_promela::model::{Ltl, Model};
use preempt_promela::syntax::parse_formula;

/// One property to check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Property {
    /// Assertions and invalid ends.
    Safety,
    /// Cycles through accept labels of processes.
    Acceptance,
    /// Cycles without progress.
    NonProgress,
    /// A never claim of the model: that it is not completed.
    Completion(usize),
    /// A never claim of the model: that it accepts no infinite execution.
    Claim(usize),
    /// An `ltl` block of the model, or a formula that was [added](select).
    Formula(usize),
    /// The same, as far as finite executions show that it is violated.
    BadPrefix(usize),
}

impl Property {
    /// What runs beside the model.
    pub(crate) fn beside(self) -> Beside {
        match self {
            Property::Completion(_)
            | Property::Claim(_)
            | Property::Formula(_)
            | Property::BadPrefix(_) => Beside::Claim,
            Property::NonProgress => Beside::NonProgress,
            Property::Safety | Property::Acceptance => Beside::Nothing,
        }
    }

    /// Whether what is asked changes the model: a never claim with `c_code`.
    pub(crate) fn changes(self, program: &Program) -> bool {
        match self {
            Property::Completion(index) | Property::Claim(index) => program.claims[index].changes(),
            _ => false,
        }
    }

    /// A short description, for when there is no time for more.
    pub fn in_brief(self, model: &Model) -> String {
        let named = |what: &str, name: &Option<String>| match name {
            Some(name) => format!("{what} {name}"),
            None => what.to_string(),
        };
        match self {
            Property::Safety => "no assertion violated, no invalid end state".into(),
            Property::Acceptance => "no acceptance cycle".into(),
            Property::NonProgress => "no cycle without progress".into(),
            Property::Completion(index) | Property::Claim(index) => {
                named("never claim", &model.claims[index].name)
            }
            Property::Formula(index) | Property::BadPrefix(index) => {
                named("ltl", &model.formulas[index].name)
            }
        }
    }

    /// The name of an `ltl` block. Spin calls those without one `ltl_0`, `ltl_1` and so on.
    pub fn formula_name(model: &Model, index: usize) -> String {
        let unnamed = || model.formulas[..index].iter().filter(|f| f.name.is_none()).count();
        model.formulas[index].name.clone().unwrap_or_else(|| format!("ltl_{}", unnamed()))
    }
}

/// What a user says about the property; by default the model's own properties are meant.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// This formula.
    pub formula: Option<String>,
    /// The `ltl` block of this name; or the never claim, if there is none.
    pub ltl: Option<String>,
    /// The never claim of this name; or the `ltl` block, if there is none.
    pub claim: Option<String>,
    /// No never claim and no `ltl` block.
    pub no_claim: bool,
    /// Cycles through accept labels. Those of a never claim are meant without being asked for.
    pub acceptance: bool,
    /// Not even those: of a never claim, that no execution completes it; of a formula, that no finite execution shows that it
    /// is violated.
    pub no_acceptance: bool,
    /// Cycles without progress.
    pub non_progress: bool,
}

/// The properties that are meant. A formula is added to the model.
pub fn select(model: &mut Model, selection: &Selection) -> Result<Vec<Property>, Error> {
    let formula = match selection.no_acceptance {
        true => Property::BadPrefix,
        false => Property::Formula,
    };
    if let Some(text) = &selection.formula {
        add_formula(model, text)?;
        return Ok(vec![formula(model.formulas.len() - 1)]);
    }
    let accepting = match (selection.acceptance, selection.no_acceptance) {
        (_, true) => vec![false; model.claims.len()],
        (true, false) => vec![true; model.claims.len()],
        (false, false) => accepting_claims(model),
    };
    let claim = |index: usize| match accepting[index] {
        true => Property::Claim(index),
        false => Property::Completion(index),
    };
    let plain = match (selection.non_progress, selection.acceptance) {
        (true, _) => Property::NonProgress,
        (false, true) => Property::Acceptance,
        (false, false) => Property::Safety,
    };
    if let Some(name) = selection.ltl.as_ref().or(selection.claim.as_ref()) {
        let found = named(model, name, selection.ltl.is_none(), claim, formula)?;
        return Ok(vec![found]);
    }
    if selection.no_claim || plain == Property::NonProgress {
        return Ok(vec![plain]);
    }
    let claims = (0..model.claims.len()).map(claim);
    let mut all: Vec<_> = claims.chain((0..model.formulas.len()).map(formula)).collect();
    if all.is_empty() {
        all.push(plain);
    }
    Ok(all)
}

/// Which never claims can accept an infinite execution at all.
fn accepting_claims(model: &Model) -> Vec<bool> {
    // A model that cannot be translated is refused later, with the reason.
    let program = (!model.claims.is_empty()).then(|| lower(model, LowerOptions::default()).ok());
    match program.flatten() {
        Some(program) => program.claims.iter().map(Automaton::has_accepting_cycle).collect(),
        None => vec![false; model.claims.len()],
    }
}

fn add_formula(model: &mut Model, text: &str) -> Result<(), Error> {
    let formula = parse_formula(text, model).map_err(|errors| {
        let (diagnostics, sources) = (errors.diagnostics, errors.sources);
        Error::Promela(Box::new(Refusal { diagnostics, sources }))
    })?;
    let text = text.to_string();
    model.formulas.push(Ltl { name: None, formula, text, span: Default::default() });
    Ok(())
}

/// Spin gives the claim it makes of an ltl block the block's name: both may be there.
fn named(
    model: &Model,
    name: &str,
    claim_first: bool,
    claim: impl Fn(usize) -> Property,
    formula: impl Fn(usize) -> Property,
) -> Result<Property, Error> {
    let is_it = |candidate: &Option<String>| candidate.as_deref() == Some(name);
    let is_formula = |index: &usize| Property::formula_name(model, *index) == name;
    let formula = (0..model.formulas.len()).find(is_formula).map(formula);
    let claim = model.claims.iter().position(|c| is_it(&c.name)).map(claim);
    let found = if claim_first { claim.or(formula) } else { formula.or(claim) };
    found.ok_or_else(|| {
        let claims = model.claims.iter().filter_map(|claim| claim.name.clone());
        let formulas = (0..model.formulas.len()).map(|i| Property::formula_name(model, i));
        let names: Vec<_> = formulas.chain(claims).collect();
        let known = match names.is_empty() {
            true => "the model has no named ltl block or never claim".to_string(),
            false => format!("the model has {}", names.join(", ")),
        };
        let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let hint = if is_name { "" } else { "; a formula itself is checked by --formula" };
        Error::Request(format!("there is no ltl block or never claim `{name}`; {known}{hint}"))
    })
}
