//! Leader election as in Raft: terms, votes, timeouts, a network that loses nothing but keeps no order.
//!
//! `cargo run --release -p preempt-verify --example leader_election -- 3 2`
//!
//! A server that hears nothing becomes a candidate of a new term, votes for itself and asks the others.
//! Each votes at most once per term; a majority makes a leader.

use preempt_model::{Model, Property};
use preempt_report::{Look, lanes};
use preempt_verify::{Control, Error, Request, verify_model};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

// ANCHOR: model
/// An election among this many servers; no server begins a term above the last one.
pub(crate) struct Election {
    pub(crate) servers: usize,
    pub(crate) last_term: u8,
    /// Forgetting which candidate it voted for is the mistake that a server must not make.
    pub(crate) forgetful: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Role {
    Follower,
    Candidate,
    Leader,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Server {
    role: Role,
    term: u8,
    voted_for: Option<usize>,
    votes: BTreeSet<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    Request { term: u8, from: usize, to: usize },
    Vote { term: u8, from: usize, to: usize },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct State {
    servers: Vec<Server>,
    network: BTreeSet<Message>,
}

#[derive(Debug)]
pub(crate) enum Action {
    Timeout(usize),
    Receive(Message),
}

impl State {
    fn has_leader(&self) -> bool {
        self.servers.iter().any(|server| server.role == Role::Leader)
    }
}

impl Model for Election {
    type State = State;
    type Action = Action;

    fn initial_states(&self) -> Vec<State> {
        let server =
            Server { role: Role::Follower, term: 0, voted_for: None, votes: BTreeSet::new() };
        vec![State { servers: vec![server; self.servers], network: BTreeSet::new() }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (who, server) in state.servers.iter().enumerate() {
            if server.role != Role::Leader && server.term < self.last_term {
                actions.push(Action::Timeout(who));
            }
        }
        actions.extend(state.network.iter().copied().map(Action::Receive));
    }

    fn next(&self, state: &State, action: &Action) -> Option<State> {
        let mut next = state.clone();
        match *action {
            Action::Timeout(who) => {
                let server = &mut next.servers[who];
                server.role = Role::Candidate;
                server.term += 1;
                server.voted_for = Some(who);
                server.votes = BTreeSet::from([who]);
                let term = server.term;
                let others = (0..self.servers).filter(|to| *to != who);
                next.network.extend(others.map(|to| Message::Request { term, from: who, to }));
            }
            Action::Receive(message @ Message::Request { term, from, to }) => {
                next.network.remove(&message);
                let server = &mut next.servers[to];
                if term > server.term {
                    *server =
                        Server { role: Role::Follower, term, voted_for: None, votes: [].into() };
                }
                let free = server.voted_for.is_none_or(|known| known == from) || self.forgetful;
                if term == server.term && free {
                    server.voted_for = Some(from);
                    next.network.insert(Message::Vote { term, from: to, to: from });
                }
            }
            Action::Receive(message @ Message::Vote { term, from, to }) => {
                next.network.remove(&message);
                let server = &mut next.servers[to];
                if server.role == Role::Candidate && server.term == term {
                    server.votes.insert(from);
                    if server.votes.len() > self.servers / 2 {
                        server.role = Role::Leader;
                    }
                }
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("at most one leader per term", |_, state: &State| {
                let leaders = state.servers.iter().filter(|server| server.role == Role::Leader);
                let mut terms: Vec<_> = leaders.map(|server| server.term).collect();
                terms.sort_unstable();
                terms.windows(2).all(|pair| pair[0] != pair[1])
            }),
            Property::sometimes("a leader is elected", |_, state: &State| state.has_leader()),
            Property::eventually("someone leads", |_, state: &State| state.has_leader()),
            // Not before a follower hears of a later term, and then for good if no server wins that one.
            Property::ltl("leadership lasts", "[] (leads -> [] leads)")
                .with("leads", |_, state: &State| state.has_leader()),
        ]
    }

    fn processes(&self) -> Vec<String> {
        (0..self.servers).map(|who| format!("server {who}")).collect()
    }

    fn process(&self, action: &Action) -> usize {
        match *action {
            Action::Timeout(who) => who,
            Action::Receive(Message::Request { to, .. } | Message::Vote { to, .. }) => to,
        }
    }
}
// ANCHOR_END: model

fn main() -> Result<(), Error> {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse().ok());
    let servers = numbers.next().unwrap_or(3);
    let last_term = numbers.next().unwrap_or(2) as u8;
    let model = Election { servers, last_term, forgetful: false };
    for claim in verify_model(&model, &Request::default(), &Control::new())? {
        println!("{}\n  {}", claim.property, claim.sentence);
        if let Some(violation) = &claim.violation {
            println!("{}", lanes::render(&violation.trace, Some(violation), &Look::plain(100)));
        }
    }
    Ok(())
}
