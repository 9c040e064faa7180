//! What is expected of executions.

use crate::Model;

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
