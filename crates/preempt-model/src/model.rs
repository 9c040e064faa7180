//! What a modeller writes: states, actions, and what is expected of executions.

use crate::Footprints;
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

    /// A description of an action, for counterexamples.
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

    /// Whether a state is within the limits of the model. Executions are cut before states outside.
    fn is_within(&self, _state: &Self::State) -> bool {
        true
    }

    /// Whether the actions of `process` in `state` are independent of all other processes: every action that it has here
    /// reads and writes only data that no other process and no property reads or writes, stays
    /// possible whatever the others do, and is all that this process will do next. Other processes then
    /// need not be interleaved with it. `false` is always right.
    fn is_local(&self, _state: &Self::State, _process: usize) -> bool {
        false
    }

    /// What processes read and write at their control points, so that the order of steps that do not touch each
    /// other need not be explored. The first states of a search are tried in both orders; a promise
    /// that does not hold there ends it with an error. `None` is always right.
    fn footprints(&self) -> Option<Footprints<Self, Self::State>> {
        None
    }
}

/// A named condition on states.
pub struct Proposition<M: Model> {
    /// How formulas call it.
    pub name: String,
    pub(crate) holds: Condition<M>,
}

pub(crate) type Condition<M> = Box<dyn Fn(&M, &<M as Model>::State) -> bool + Send + Sync>;

/// How the propositions of a property relate to executions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expectation {
    /// The condition holds in every reachable state.
    Always,
    /// Some reachable state satisfies the condition.
    Sometimes,
    /// Every execution comes to a state that satisfies the condition; one that ends, before its end.
    Eventually,
    /// Every execution satisfies the formula of linear temporal logic over the named propositions.
    Ltl(String),
}

/// Something that is expected of a model.
pub struct Property<M: Model> {
    /// Its name in reports.
    pub name: String,
    /// What is expected.
    pub expectation: Expectation,
    pub(crate) propositions: Vec<Proposition<M>>,
}

impl<M: Model> Property<M> {
    /// The condition holds in every reachable state.
    pub fn always(
        name: &str,
        holds: impl Fn(&M, &M::State) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::of_one(name, Expectation::Always, holds)
    }

    /// Some reachable state satisfies the condition: what should be possible is.
    pub fn sometimes(
        name: &str,
        holds: impl Fn(&M, &M::State) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::of_one(name, Expectation::Sometimes, holds)
    }

    /// Every execution comes to a state that satisfies the condition.
    pub fn eventually(
        name: &str,
        holds: impl Fn(&M, &M::State) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::of_one(name, Expectation::Eventually, holds)
    }

    /// Every execution satisfies a formula such as `[] (requested -> <> granted)`, whose
    /// propositions are added by [`Property::with`].
    pub fn ltl(name: &str, formula: &str) -> Self {
        let expectation = Expectation::Ltl(formula.to_owned());
        Property { name: name.to_owned(), expectation, propositions: Vec::new() }
    }

    /// Adds a proposition to a formula.
    pub fn with(
        mut self,
        name: &str,
        holds: impl Fn(&M, &M::State) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.propositions.push(Proposition { name: name.to_owned(), holds: Box::new(holds) });
        self
    }

    /// The propositions of the property, in the order in which they were added.
    pub fn propositions(&self) -> &[Proposition<M>] {
        &self.propositions
    }

    fn of_one(
        name: &str,
        expectation: Expectation,
        holds: impl Fn(&M, &M::State) -> bool + Send + Sync + 'static,
    ) -> Self {
        Property { name: name.to_owned(), expectation, propositions: Vec::new() }.with(name, holds)
    }
}
