//! What can be asked about infinite executions.

use crate::endless::Sequences;
use crate::{Control, Request};
use preempt_check::Reduction;
use preempt_check::property::Stutter;
use preempt_check::search::nested::Scheme;
use preempt_core::{Locality, ViolationKind};

/// What to look for.
#[derive(Clone)]
pub(crate) struct Question<'a> {
    /// In words.
    pub(crate) property: String,
    /// What it means that there is a cycle.
    pub(crate) cycle: String,
    /// What a cycle is called.
    pub(crate) kind: ViolationKind,
    /// Whether an execution that ends is repeated at its last state.
    pub(crate) stutter: Stutter,
    /// Reduction.
    pub(crate) scheme: Scheme,
    /// Every step is taken, although a reduction was asked for.
    pub(crate) unreduced: bool,
    /// Lines for the report.
    pub(crate) notes: Vec<String>,
    /// What the answer says of assertions.
    pub(crate) assertions: Asserted,
    pub(crate) request: &'a Request,
    pub(crate) control: &'a Control<'a>,
    /// If indivisible sequences of the system may never end.
    pub(crate) endless: Option<Sequences<'a>>,
}

/// What the answer to a question about infinite executions says of assertions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "promela"), expect(dead_code))]
pub(crate) enum Asserted {
    /// No execution violates one.
    All,
    /// As before; the system has none.
    NoneThere,
    /// Nothing: they are another question.
    Apart,
}

impl<'a> Question<'a> {
    /// A question about accepting cycles, as the request wants it answered; the words for a cycle are
    /// up to the caller.
    pub(crate) fn new(property: String, request: &'a Request, control: &'a Control<'a>) -> Self {
        let mut question = Question {
            property,
            cycle: String::new(),
            kind: ViolationKind::AcceptanceCycle,
            stutter: Stutter::Extend,
            scheme: match request.reduction {
                Reduction::None => Scheme::Full,
                Reduction::Spin => Scheme::IntermediateState,
                // Under fairness a step executed early may remove the moments at which another
                // process is disabled.
                Reduction::Full if request.fair => Scheme::SourceState(Locality::Local),
                Reduction::Full => Scheme::SourceState(Locality::Safe),
            },
            unreduced: false,
            notes: Vec::new(),
            assertions: Asserted::Apart,
            request,
            control,
            endless: None,
        };
        if request.elsewhere.is_some() {
            question.reduce_not(
                "it is not supported where states belong to several processes or are in files",
            );
        }
        question
    }

    /// Every step is to be explored, and the reason is reported.
    pub(crate) fn reduce_not(&mut self, reason: &str) {
        if let Scheme::SourceState(_) = self.scheme {
            self.scheme = Scheme::Full;
            self.unreduced = true;
            self.notes.push(format!("no partial-order reduction: {reason}"));
        }
    }
}
