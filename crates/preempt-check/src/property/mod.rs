//! What executions are judged by, beyond single states: automata that run beside the system.
//!
//! A [`Property`] reads the propositions of each state and moves along. [`Product`] joins it with a
//! system into a new [`System`](preempt_core::System), so that every search, store and reduction
//! works with properties without knowing of them. A [`Watch`] remembers something about the execution
//! in the same manner: [`Fair`] which processes have been served, [`WithinBound`] the preemptions so far.

mod around;
mod buchi;
mod changing;
mod endless;
mod fair;
mod faulty;
mod inside;
mod product;
mod progress;
mod steps;
mod watched;
mod within_bound;

pub(crate) use around::leave_to_system;
pub use buchi::{Buchi, StutterInvariant};
pub use changing::{Changing, ChangingMove, beside, changing_move};
pub use endless::Endless;
pub use fair::Fair;
pub use product::{Product, Stutter};
pub use progress::NonProgress;
pub(crate) use steps::{joined, stuttering};
pub use watched::{Watch, Watched};
pub use within_bound::WithinBound;

use preempt_core::{Fault, FaultKind};

/// One move of a property automaton.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PropertyMove {
    /// To this state.
    To(u32),
    /// An assertion inside the automaton fails on the way to this state.
    Violates {
        /// The state after the move.
        to: u32,
        /// Which assertion.
        assertion: u32,
    },
    /// To the end of the automaton: what must never happen has happened.
    Complete,
}

/// An automaton over the propositions of a system. It accepts what must not happen.
///
/// It reads the propositions of the state a program step starts from, and moves together with that
/// step, as in \[S19\]. States are numbers below 2^28, below 2^27 where labels of the system count.
pub trait Property: Sync {
    /// Where it starts.
    fn initial(&self) -> u32;

    /// All moves from `state` where `holds` gives the value of each proposition.
    fn moves(
        &self,
        state: u32,
        holds: &mut dyn FnMut(usize) -> bool,
        emit: &mut dyn FnMut(PropertyMove),
    );

    /// Whether passing the state infinitely often is a violation.
    fn is_accepting(&self, state: u32) -> bool;

    /// Whether passing `accept` labels of the system's processes infinitely often is one, too.
    fn counts_labels(&self) -> bool {
        false
    }

    /// The fault behind an assertion's number.
    fn assertion(&self, number: u32) -> Fault;

    /// The same automaton as one whose moves change the system, if it is such a one: then it is asked for its moves there.
    fn changing(&self) -> Option<&dyn Changing> {
        None
    }

    /// The same automaton as one that moves by letters, if it is such a one.
    fn reader(&self) -> Option<&dyn Reader> {
        None
    }
}

/// An automaton that only reads is a property that never asserts anything.
trait Reads: Reader + Sync {
    /// Where it starts.
    fn start(&self) -> u32;

    /// Whether passing the state infinitely often is a violation.
    fn accepts(&self, state: u32) -> bool;
}

impl<T: Reads> Property for T {
    fn initial(&self) -> u32 {
        self.start()
    }

    fn moves(
        &self,
        state: u32,
        holds: &mut dyn FnMut(usize) -> bool,
        emit: &mut dyn FnMut(PropertyMove),
    ) {
        self.read(state, self.letter(holds), &mut |target| emit(PropertyMove::To(target)));
    }

    fn is_accepting(&self, state: u32) -> bool {
        self.accepts(state)
    }

    fn assertion(&self, _number: u32) -> Fault {
        Fault { kind: FaultKind::Claim, message: String::new(), file: String::new(), line: 0 }
    }

    fn reader(&self) -> Option<&dyn Reader> {
        Some(self)
    }
}

/// An automaton that does nothing but read and move. What it reads of a state is a *letter*, so a
/// search may ask for it once per state of the system, and for the moves once per letter.
pub trait Reader {
    /// What it reads where `holds` gives the value of each proposition. Always asks for the same ones in
    /// the same order.
    fn letter(&self, holds: &mut dyn FnMut(usize) -> bool) -> u64;

    /// Where it moves from `state` when it reads `letter`; no state twice.
    fn read(&self, state: u32, letter: u64, emit: &mut dyn FnMut(u32));

    /// Whether it is in SI normal form, with which reduction loses nothing.
    fn is_normal_form(&self) -> bool {
        false
    }
}
