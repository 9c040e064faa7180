//! What executions are judged by, beyond single states: automata that run beside the system.
//!
//! A [`Property`] reads the propositions of each state and moves along. [`Product`] joins it with a
//! system into a new [`System`](preempt_core::System), so that every search, store and reduction
//! works with properties without knowing of them. A [`Watch`] remembers something about the execution
//! in the same manner: [`Fair`] who has been served, [`WithinBound`] the preemptions so far.

mod buchi;
mod fair;
mod faulty;
mod product;
mod progress;
mod watched;
mod within_bound;

pub use buchi::{Buchi, StutterInvariant};
pub use fair::Fair;
pub use product::{Product, Stutter};
pub use progress::NonProgress;
pub use watched::{Watch, Watched};
pub use within_bound::WithinBound;

use preempt_core::Fault;

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
/// step, as in [S19]. States are numbers below 2^28.
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
}
