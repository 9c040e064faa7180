//! Two-phase commit, after Gray and Lamport's *Consensus on transaction commit*.
//!
//! `cargo run --release -p preempt-verify --example two_phase_commit -- 5`
//!
//! Resource managers prepare or abort; the transaction manager commits when all are prepared, and may
//! abort before. Messages stay in the network, in any order.

use preempt_model::{Model, Property};
use preempt_report::{Look, lanes};
use preempt_verify::{Control, Error, Request, verify_model};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

// ANCHOR: model
/// One transaction among this many resource managers.
pub(crate) struct TwoPhaseCommit {
    pub(crate) managers: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Manager {
    Working,
    Prepared,
    Committed,
    Aborted,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    Prepared(usize),
    Commit,
    Abort,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct State {
    manager: Vec<Manager>,
    decided: Option<Message>,
    prepared: BTreeSet<usize>,
    network: BTreeSet<Message>,
}

#[derive(Debug)]
pub(crate) enum Action {
    /// The transaction manager hears that one is prepared.
    Hear(usize),
    Decide(Message),
    Prepare(usize),
    GiveUp(usize),
    Obey(usize, Message),
}

use Action::{Decide, GiveUp, Hear, Obey, Prepare};

impl Model for TwoPhaseCommit {
    type State = State;
    type Action = Action;

    fn initial_states(&self) -> Vec<State> {
        vec![State {
            manager: vec![Manager::Working; self.managers],
            decided: None,
            prepared: BTreeSet::new(),
            network: BTreeSet::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.decided.is_none() {
            if state.prepared.len() == self.managers {
                actions.push(Decide(Message::Commit));
            }
            actions.push(Decide(Message::Abort));
        }
        for who in 0..self.managers {
            if state.decided.is_none() && state.network.contains(&Message::Prepared(who)) {
                actions.push(Hear(who));
            }
            if state.manager[who] == Manager::Working {
                actions.extend([Prepare(who), GiveUp(who)]);
            }
            for order in [Message::Commit, Message::Abort] {
                if state.network.contains(&order) {
                    actions.push(Obey(who, order));
                }
            }
        }
    }

    fn next(&self, state: &State, action: &Action) -> Option<State> {
        let mut next = state.clone();
        match *action {
            Hear(who) => _ = next.prepared.insert(who),
            Decide(order) => {
                next.decided = Some(order);
                next.network.insert(order);
            }
            Prepare(who) => {
                next.manager[who] = Manager::Prepared;
                next.network.insert(Message::Prepared(who));
            }
            GiveUp(who) | Obey(who, Message::Abort) => next.manager[who] = Manager::Aborted,
            Obey(who, _) => next.manager[who] = Manager::Committed,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let all = |state: &State, wanted| state.manager.iter().all(|manager| *manager == wanted);
        vec![
            Property::always("consistent", |_, state: &State| {
                !(state.manager.contains(&Manager::Committed)
                    && state.manager.contains(&Manager::Aborted))
            }),
            Property::sometimes("commit", move |_, state| all(state, Manager::Committed)),
            Property::sometimes("abort", move |_, state| all(state, Manager::Aborted)),
        ]
    }

    fn processes(&self) -> Vec<String> {
        let managers = (0..self.managers).map(|who| format!("manager {who}"));
        managers.chain(["transaction".into()]).collect()
    }

    fn process(&self, action: &Action) -> usize {
        match *action {
            Hear(_) | Decide(_) => self.managers,
            Prepare(who) | GiveUp(who) | Obey(who, _) => who,
        }
    }
}
// ANCHOR_END: model

fn main() -> Result<(), Error> {
    let managers = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(5);
    let model = TwoPhaseCommit { managers };
    for claim in verify_model(&model, &Request::default(), &Control::new())? {
        println!("{}\n  {}", claim.property, claim.sentence);
        if let Some(violation) = &claim.violation {
            println!("{}", lanes::render(&violation.trace, Some(violation), &Look::plain(100)));
        }
    }
    Ok(())
}
