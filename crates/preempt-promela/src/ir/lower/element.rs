//! The statements of a process as a graph of elements, numbered and linked as Spin does.
//!
//! An element is a statement, a selection or loop, an atomic block, or one of the points that
//! statements lead to (the join of a selection, the exit of a loop, the end). Elements count from
//! 1 in the order in which their statements are complete; inner ones come first. Control states
//! are elements, so this numbering and linking fixes which states exist.

use crate::embedded::FragmentId;
use crate::model::{Expr, LabelName, Place, ReceiveArgument};
use crate::syntax::span::Span;

/// Index of an element; its number is one more.
pub(super) type Id = usize;
/// Index of a sequence.
pub(super) type SequenceId = usize;

/// Inside an atomic block, not its last element.
pub(super) const ATOMIC: u8 = 2;
/// The last element of an atomic block.
pub(super) const LAST_OF_ATOMIC: u8 = 4;
/// To be treated as touching global data.
pub(super) const GLOBAL: u8 = 8;
/// Another process or a property looks whether a process is here.
pub(super) const OBSERVED: u8 = 16;
/// Inside a `d_step`.
pub(super) const IN_D_STEP: u8 = 32;

/// What a simple statement does.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Condition(Expr),
    Assign(Place, Expr),
    /// A declaration that does nothing where it stands, but is a step.
    Nothing,
    Send {
        channel: Place,
        sorted: bool,
        values: Vec<Expr>,
    },
    Receive {
        channel: Place,
        random: bool,
        copy: bool,
        arguments: Vec<ReceiveArgument>,
    },
    Assert(Expr),
    Printf {
        format: String,
        arguments: Vec<Expr>,
    },
    Printm(Expr),
    Code(FragmentId),
    SetPriority(Expr, Expr),
    /// `_priority = e`: unlike `set_priority`, a matter of the process alone.
    OwnPriority(Expr),
}

// Few elements exist, and only while translating: their size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub(super) enum Kind {
    If,
    Do,
    Unless,
    Atomic,
    DStep,
    Block,
    /// A jump, resolved to its target when the graph is complete.
    Goto(Jump),
    /// Where `break` leads.
    Exit,
    /// Where the options of a selection meet, or a loop starts over.
    Join,
    /// The end of the body.
    Stop,
    Else,
    Basic(Action),
}

/// Where a jump goes: a label, or the exit of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Jump {
    Label(String),
    Break(u32),
    To(Id),
}

/// The `d_step` that an element stands in, by a number; 0 outside of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Steps {
    /// The outermost.
    pub(super) outermost: u32,
    /// The one that Spin takes it to stand in: the innermost whose end was not read yet. Behind a `d_step` inside of
    /// another one Spin has forgotten the outer one, and a `d_step` as a whole stands in itself.
    pub(super) marked: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) kind: Kind,
    pub(super) next: Option<Id>,
    /// Options of a selection or loop; main part and escape of an `unless`.
    pub(super) options: Vec<SequenceId>,
    /// The content of an atomic block, `d_step` or block.
    pub(super) inner: Option<SequenceId>,
    /// Escapes of the `unless` statements around it, the outermost first.
    pub(super) escapes: Vec<SequenceId>,
    pub(super) status: u8,
    pub(super) steps: Steps,
    pub(super) labels: Vec<LabelName>,
    pub(super) span: Span,
    pub(super) text: String,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    pub(super) first: Id,
    /// The last element, with what was appended (joins).
    pub(super) last: Id,
    /// The last element as written.
    pub(super) extent: Id,
}

pub(super) struct Graph {
    /// The process type; `None` for claims and traces.
    pub(super) process: Option<usize>,
    pub(super) elements: Vec<Element>,
    pub(super) sequences: Vec<Sequence>,
    pub(super) body: SequenceId,
    /// Locals that get their value by a step in the body, not at the start.
    pub(super) late: Vec<u32>,
    /// Extra locals (bytes) that loops over channels count with.
    pub(super) counters: usize,
}

impl Graph {
    pub(super) fn len(&self) -> usize {
        self.elements.len() + 1
    }

    pub(super) fn at(&self, id: Id) -> &Element {
        &self.elements[id]
    }

    pub(super) fn number(id: Id) -> u32 {
        id as u32 + 1
    }

    /// The elements of a sequence in order.
    pub(super) fn chain(&self, sequence: SequenceId) -> Vec<Id> {
        let sequence = self.sequences[sequence];
        let mut chain = vec![sequence.first];
        let mut at = sequence.first;
        while at != sequence.last {
            match self.elements[at].next {
                Some(next) if chain.len() <= self.elements.len() => at = next,
                _ => break,
            }
            chain.push(at);
        }
        chain
    }

    /// The last element of a block leads where the block leads.
    pub(super) fn tie_ends(&mut self) {
        for id in (0..self.elements.len()).rev() {
            if let Some(inner) = self.elements[id].inner {
                let last = self.sequences[inner].last;
                self.elements[last].next = self.elements[id].next;
            }
        }
    }

    pub(super) fn target(&self, id: Id) -> Id {
        match self.elements[id].kind {
            Kind::Goto(Jump::To(target)) => target,
            _ => id,
        }
    }

    /// The first element of an option that is a control state.
    pub(super) fn start_of(&self, mut id: Id) -> Id {
        for _ in 0..200 {
            let element = &self.elements[id];
            id = match (&element.kind, element.next) {
                (Kind::Join, Some(next)) => next,
                (Kind::Unless, _) => self.sequences[element.options[0]].first,
                _ => return id,
            };
        }
        id
    }

    /// Follows jumps and joins from `id` to a control state. A step inside an atomic block stops
    /// where the block would be left, so that leaving it is a step. `stop` ends the walk.
    pub(super) fn resolve(&self, mut id: Id, status: u8, stop: Option<u32>) -> Id {
        for _ in 0..500 {
            if stop == Some(Graph::number(id)) {
                break;
            }
            let element = &self.elements[id];
            let next = match (&element.kind, element.next) {
                (Kind::Goto(Jump::To(target)), _) => *target,
                (Kind::Join | Kind::Exit, Some(next)) => next,
                (Kind::Unless, _) => {
                    self.resolve(self.sequences[element.options[0]].first, status, stop)
                }
                _ => return id,
            };
            if status & ATOMIC != 0 && self.elements[next].status & ATOMIC == 0 {
                return id;
            }
            id = next;
        }
        id
    }

    /// Where an element leads: its successor, or the target of its jump, as a control state.
    pub(super) fn successor(&self, id: Id) -> Option<Id> {
        let element = &self.elements[id];
        let next = match element.kind {
            Kind::Goto(Jump::To(target)) => Some(target),
            _ => element.next,
        };
        next.map(|next| self.resolve(next, element.status, None))
    }

    /// An option that starts with the constant 0 and cannot escape is never taken.
    pub(super) fn is_dead_option(&self, first: Id) -> bool {
        let element = &self.elements[first];
        element.escapes.is_empty()
            && matches!(&element.kind, Kind::Basic(Action::Condition(e)) if constant(e) == Some(0))
    }

    /// Remembers that another process or a property looks at a label. A jump there becomes a step of its own.
    pub(super) fn observe(&mut self, label: &str) {
        let Some(id) = self.elements.iter().position(|e| e.labels.iter().any(|l| l.name == label))
        else {
            return;
        };
        if let Kind::Goto(jump) = self.elements[id].kind.clone() {
            let mut moved = self.elements[id].clone();
            moved.kind = Kind::Goto(jump);
            moved.labels.clear();
            self.elements.push(moved);
            let added = self.elements.len() - 1;
            let element = &mut self.elements[id];
            element.kind = Kind::Basic(Action::Condition(skip(element.span)));
            element.next = Some(added);
            for sequence in &mut self.sequences {
                if sequence.last == id {
                    sequence.last = added;
                }
            }
        }
        self.elements[id].status |= OBSERVED;
    }

    /// Label names with the numbers of their elements.
    pub(super) fn labels(&self) -> Vec<(String, u32)> {
        let mut labels = Vec::new();
        for (id, element) in self.elements.iter().enumerate() {
            for label in &element.labels {
                labels.push((label.name.clone(), Graph::number(id)));
            }
        }
        labels
    }
}

/// The value of a constant expression.
pub(super) fn constant(expr: &Expr) -> Option<i32> {
    match &expr.kind {
        crate::model::ExprKind::Const(value) => Some(*value),
        _ => None,
    }
}

/// The expression 1.
pub(super) fn skip(span: Span) -> Expr {
    Expr { kind: crate::model::ExprKind::Const(1), span }
}
