//! Jumps, labels and escapes that Spin refuses.
//!
//! A `d_step` is one step: it has one entry and one exit, so no jump crosses its border, and an escape inside of it could
//! never be taken. Spin also refuses a jump *to* a `d_step` from outside, and a loop that ends right in front of one,
//! because it gives the `d_step` as a whole the mark of what is inside; and a label where its translation leaves no
//! control state. Models that it refuses are refused here, so that a model means the same to both.

use super::LowerError;
use super::element::{Graph, Id, Jump, Kind};
use crate::model::LabelName;
use crate::syntax::span::Span;
use crate::syntax::{Diagnostic, codes};

/// What to write instead of `{ L: x = 1 }`.
pub(super) const BLOCK: &str = "put the label in front of the whole block";
/// What to write instead of `L: x = 1 unless { … }`.
pub(super) const MAIN: &str = "put braces around it: `L: { … unless … }`";
/// What to write instead of `x = 1 unless L: y`.
pub(super) const ESCAPE: &str = "put the label behind the guard of the escape";

/// A label in front of the first statement of a block.
pub(super) fn misplaced_label(label: &LabelName, advice: &str) -> LowerError {
    let message = format!("label `{}` stands where no jump can lead to", label.name);
    Diagnostic::error(codes::MISPLACED_LABEL, label.span, message).suggest(advice).into()
}

/// An `unless` inside of a `d_step`.
pub(super) fn unless_in_d_step(span: Span) -> LowerError {
    let message = "`unless` inside of a `d_step`, which nothing can interrupt";
    Diagnostic::error(codes::UNLESS_IN_STEP, span, message)
        .suggest("put the `unless` around the `d_step`, or use `atomic`")
        .into()
}

/// Looks at every jump of a body.
pub(super) fn check(graph: &Graph) -> Result<(), LowerError> {
    for (id, element) in graph.elements.iter().enumerate() {
        let Kind::Goto(Jump::To(target)) = element.kind else { continue };
        if leads_nowhere(graph, id) {
            let message = "this jump leads back to itself, and nothing is executed on the way";
            return Err(Diagnostic::error(codes::EMPTY_LOOP, element.span, message)
                .suggest("put a `skip` into the loop")
                .into());
        }
        crosses(graph, id, target)?;
    }
    Ok(())
}

/// Looks at where a jump outside of all `d_step`s leads in the end.
pub(super) fn to_d_step(graph: &Graph, id: Id, end: Id) -> Result<(), LowerError> {
    match graph.at(id).kind {
        Kind::Goto(_) => crosses(graph, id, end),
        _ => Ok(()),
    }
}

fn crosses(graph: &Graph, id: Id, to: Id) -> Result<(), LowerError> {
    let (jump, target) = (graph.at(id), graph.at(to));
    if jump.steps == target.steps {
        return Ok(());
    }
    let (from, into) = (jump.steps.outermost, target.steps.outermost);
    let (message, advice) = match (from, into) {
        (from, into) if from == into && matches!(target.kind, Kind::DStep) => (
            match jump.text == "break" {
                true => "a loop cannot end right in front of a `d_step`",
                false => "a jump cannot lead right to a `d_step`",
            },
            "put a `skip` in front of the `d_step`, behind its label",
        ),
        (from, into) if from == into => (
            "a jump across the border of a `d_step` inside of another one",
            "remove the inner `d_step`, which changes nothing",
        ),
        (0, _) => ("a jump into a `d_step`", "jump to a `skip` in front of the `d_step`"),
        _ => ("a jump out of a `d_step`", "use `atomic`, or jump behind the end of the `d_step`"),
    };
    Err(Diagnostic::error(codes::STEP_BORDER, jump.span, message)
        .label(target.span, "it leads here")
        .suggest(advice)
        .into())
}

/// Whether a jump comes back to itself over nothing but jumps.
fn leads_nowhere(graph: &Graph, id: Id) -> bool {
    let mut at = id;
    for _ in 0..=graph.elements.len() {
        let element = graph.at(at);
        at = match (&element.kind, element.next) {
            (Kind::Goto(Jump::To(target)), _) => *target,
            (Kind::Join | Kind::Exit, Some(next)) => next,
            _ => return false,
        };
        if at == id {
            return true;
        }
    }
    false
}
