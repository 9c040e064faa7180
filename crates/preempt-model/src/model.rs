//! What a modeller writes.

use crate::Property;
use preempt_core::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// A concurrent system: states, and the actions that lead from one to the next.
///
/// Four methods are required; the others have defaults that are right for a model with one process
/// whose executions may end anywhere. All methods must be functions of their arguments: the same
/// question always has the same answer.
pub trait Model: Sync + Sized {
    /// Everything that distinguishes one moment from another. Equal states must serialise alike, so
    /// use `BTreeMap` and `BTreeSet` rather than their hashed relatives.
    type State: Serialize + DeserializeOwned + PartialEq + Debug;

    /// Something that can happen.
    type Action: Debug;

    /// Where executions start.
    fn initial_states(&self) -> Vec<Self::State>;

    /// Adds what may happen in a state. What [`Model::next`] then refuses does not happen.
    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>);

    /// The state after an action; `None` if the action is not possible here after all.
    fn next(&self, state: &Self::State, action: &Self::Action) -> Option<Self::State>;

    /// What is expected of executions.
    fn properties(&self) -> Vec<Property<Self>>;

    /// The names of the processes. Preemptions are counted between them.
    fn processes(&self) -> Vec<String> {
        vec!["model".into()]
    }

    /// The process that acts, an index into [`Model::processes`].
    fn process(&self, _action: &Self::Action) -> usize {
        0
    }

    /// An action in words, for counterexamples.
    fn describe(&self, action: &Self::Action) -> String {
        format!("{action:?}")
    }

    /// The variables of a state, for counterexamples; by default the fields of the state.
    fn variables(&self, state: &Self::State) -> Vec<(String, Value)> {
        crate::variables::of(state)
    }

    /// Whether an execution may end in a state without actions; if not, it is a deadlock.
    fn may_end(&self, _state: &Self::State) -> bool {
        true
    }

    /// Whether the search goes on behind a state. Executions are cut before states outside.
    fn is_within(&self, _state: &Self::State) -> bool {
        true
    }

    /// Whether what `process` can do in `state` concerns nobody else: every action that it has here
    /// reads and writes only data that no other process and no property reads or writes, stays
    /// possible whatever the others do, and is all that this process will do next. Other processes then
    /// need not be interleaved with it. `false` is always right.
    fn is_local(&self, _state: &Self::State, _process: usize) -> bool {
        false
    }
}
