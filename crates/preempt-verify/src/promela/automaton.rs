//! The automaton of a property that finite executions show, for those that search by other means.

use super::bad_prefix::BadPrefix;
use super::claim::NeverClaim;
use super::formula::violating;
use super::{Property, Settings, beside};
use crate::{Control, Error};
use preempt_check::property;
use preempt_promela::interpret::Interpreter;
use preempt_promela::model::Model;

/// What runs beside the model where a property judges finite executions; `None` for properties of other kinds.
pub fn automaton<'a>(
    model: &Model,
    interpreter: &'a Interpreter,
    property: Property,
) -> Result<Option<Box<dyn property::Property + 'a>>, Error> {
    let program = interpreter.program();
    Ok(match property {
        Property::Completion(index) => {
            Some(Box::new(NeverClaim::new(&program.claims[index], interpreter)))
        }
        Property::BadPrefix(index) => {
            let violating = violating(model, program, index)?;
            let name = Property::formula_name(model, index);
            Some(Box::new(BadPrefix::new(&violating.automaton, violating.propositions, &name)))
        }
        _ => None,
    })
}

/// The same property as finite executions show it, if each violation of it can be seen in one.
pub fn in_finite_executions(
    model: &Model,
    settings: &Settings,
    property: Property,
    control: &Control<'_>,
) -> Result<Property, Error> {
    let Property::Formula(index) = property else { return Ok(property) };
    let interpreter = beside(model, settings, property, control)?;
    let violating = violating(model, interpreter.program(), index)?;
    let bad = BadPrefix::new(&violating.automaton, violating.propositions, "");
    Ok(if bad.leaves_open() { property } else { Property::BadPrefix(index) })
}
