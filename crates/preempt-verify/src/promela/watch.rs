//! Expressions that are watched: any expression of Promela, evaluated in states of a model that runs.
//!
//! An expression is compiled as part of the model. What it looks at may make statements visible that are one step
//! otherwise; then its states are not those of the model that runs, and it is refused.

use super::{Settings, observed};
use crate::Control;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{ExprId, Program};
use preempt_promela::model::{Formula, Ltl, Model};
use preempt_promela::syntax::parse_formula;

/// Longer expressions are refused.
const LONGEST_EXPRESSION: usize = 1 << 12;

/// An expression that can be evaluated in states.
pub struct Watch {
    formula: Formula,
    interpreter: Interpreter,
    propositions: Vec<ExprId>,
}

impl Watch {
    /// Prepares an expression of a model that `running` runs, made by [`observed`]. The error says what is wrong
    /// with it.
    pub fn new(
        model: &Model,
        settings: &Settings,
        running: &Interpreter,
        text: &str,
    ) -> Result<Watch, String> {
        if text.len() > LONGEST_EXPRESSION {
            return Err("the expression is too long".into());
        }
        let mut model = model.clone();
        let formula = parse_formula(text, &mut model).map_err(|errors| {
            let messages = errors.diagnostics.iter().map(|found| found.message.clone());
            messages.collect::<Vec<_>>().join("; ")
        })?;
        if is_temporal(&formula) {
            return Err(
                "temporal operators are about executions: check the formula as a property".into()
            );
        }
        let interpreter = with_formula(model, settings, running, formula.clone())?;
        let uses = interpreter.program().formulas.last();
        let propositions = uses.map_or(Vec::new(), |uses| {
            let ids = uses.propositions.iter();
            ids.map(|index| interpreter.program().propositions[*index as usize]).collect()
        });
        Ok(Watch { formula, interpreter, propositions })
    }

    /// Its value in a state; `None` where it has none.
    pub fn value(&self, state: &[u8]) -> Option<i64> {
        let mut leaves = self.propositions.iter();
        let mut leaf = || leaves.next().and_then(|leaf| self.interpreter.evaluate(state, *leaf));
        value(&self.formula, &mut leaf).map(i64::from)
    }
}

/// An interpreter for the model with one more formula, if its states are those of the model.
fn with_formula(
    mut model: Model,
    settings: &Settings,
    running: &Interpreter,
    formula: Formula,
) -> Result<Interpreter, String> {
    let text = String::new();
    model.formulas.push(Ltl { name: None, formula, text, span: Default::default() });
    let interpreter =
        observed(&model, settings, &Control::new()).map_err(|error| error.to_string())?;
    match same_states(running.program(), interpreter.program()) {
        true => Ok(interpreter),
        false => Err("this looks at a place between statements that are one step here; \
                      start with --no-merge to see it"
            .into()),
    }
}

/// Whether the states of two programs mean the same.
fn same_states(a: &Program, b: &Program) -> bool {
    a.moves.len() == b.moves.len()
        && a.layout.globals_end == b.layout.globals_end
        && a.proctypes.len() == b.proctypes.len()
        && a.proctypes
            .iter()
            .zip(&b.proctypes)
            .all(|(a, b)| a.states.len() == b.states.len() && a.frame.length == b.frame.length)
}

fn is_temporal(formula: &Formula) -> bool {
    match formula {
        Formula::Prop(_) | Formula::Const(_) => false,
        Formula::Not(a) => is_temporal(a),
        Formula::And(a, b)
        | Formula::Or(a, b)
        | Formula::Implies(a, b)
        | Formula::Equivalent(a, b) => is_temporal(a) || is_temporal(b),
        _ => true,
    }
}

/// The value of a formula without temporal operators; `leaf` gives the values of its state expressions from
/// left to right. All of them are asked for, so that each gets its own.
fn value(formula: &Formula, leaf: &mut dyn FnMut() -> Option<i32>) -> Option<i32> {
    let mut both = |a: &Formula, b: &Formula| {
        let (a, b) = (value(a, leaf), value(b, leaf));
        Some((a? != 0, b? != 0))
    };
    Some(match formula {
        Formula::Prop(_) => leaf()?,
        Formula::Const(value) => i32::from(*value),
        Formula::And(a, b) => both(a, b).map(|(a, b)| i32::from(a && b))?,
        Formula::Or(a, b) => both(a, b).map(|(a, b)| i32::from(a || b))?,
        Formula::Implies(a, b) => both(a, b).map(|(a, b)| i32::from(!a || b))?,
        Formula::Equivalent(a, b) => both(a, b).map(|(a, b)| i32::from(a == b))?,
        Formula::Not(a) => i32::from(value(a, leaf)? == 0),
        _ => return None,
    })
}
