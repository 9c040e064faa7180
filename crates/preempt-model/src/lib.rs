//! Models written in Rust: typed states, named actions, properties by closure.
//!
//! A [`Model`] says where executions start, what can happen in a state and what it leads to. Any
//! serialisable type is a state. [`Encoded`] turns a model into a [`preempt_core::System`], which every
//! search, store, bound, reduction and number of threads works with.
//!
//! Two processes increment a counter without a lock:
//!
//! ```
//! use preempt_check::Check;
//! use preempt_core::Verdict;
//! use preempt_model::{Encoded, Model, Property};
//! use serde::{Deserialize, Serialize};
//!
//! struct LostUpdate;
//!
//! #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
//! struct State {
//!     counter: u8,
//!     seen: [Option<u8>; 2],
//!     done: [bool; 2],
//! }
//!
//! #[derive(Debug)]
//! enum Action {
//!     Load(usize),
//!     Store(usize),
//! }
//!
//! impl Model for LostUpdate {
//!     type State = State;
//!     type Action = Action;
//!
//!     fn initial_states(&self) -> Vec<State> {
//!         vec![State { counter: 0, seen: [None; 2], done: [false; 2] }]
//!     }
//!
//!     fn actions(&self, state: &State, actions: &mut Vec<Action>) {
//!         for who in 0..2 {
//!             match state.seen[who] {
//!                 None => actions.push(Action::Load(who)),
//!                 Some(_) if !state.done[who] => actions.push(Action::Store(who)),
//!                 Some(_) => {}
//!             }
//!         }
//!     }
//!
//!     fn next(&self, state: &State, action: &Action) -> Option<State> {
//!         let mut next = state.clone();
//!         match *action {
//!             Action::Load(who) => next.seen[who] = Some(state.counter),
//!             Action::Store(who) => {
//!                 next.counter = state.seen[who]? + 1;
//!                 next.done[who] = true;
//!             }
//!         }
//!         Some(next)
//!     }
//!
//!     fn properties(&self) -> Vec<Property<Self>> {
//!         vec![Property::always("no update is lost", |_, state: &State| {
//!             state.done != [true; 2] || state.counter == 2
//!         })]
//!     }
//!
//!     fn process(&self, action: &Action) -> usize {
//!         let (Action::Load(who) | Action::Store(who)) = *action;
//!         who
//!     }
//!
//!     fn processes(&self) -> Vec<String> {
//!         vec!["left".into(), "right".into()]
//!     }
//! }
//!
//! let answer = Check::new(&Encoded::new(&LostUpdate)).run();
//! assert_eq!(answer.verdict(), Verdict::Violated);
//! let violation = answer.claim.violation.expect("a violation has a trace");
//! assert_eq!(violation.trace.cost().preemptions, 1);
//! assert_eq!(violation.message, "always: no update is lost");
//! ```

#![forbid(unsafe_code)]

mod codec;
mod encoded;
mod footprints;
mod model;
mod moves;
mod promises;
mod variables;

pub use encoded::Encoded;
pub use footprints::Footprints;
pub use model::{Expectation, Model, Property, Proposition};
