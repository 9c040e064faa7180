//! Models written in Rust: what is concluded of random ones is compared with sets of states computed by
//! hand.
//!
//! A model is a small graph with several processes, starts, ends and limits. For each form of property
//! there is a condition on its states that says whether an execution violates it; all ways to
//! search have to agree with it.

use preempt_core::Verdict;
use preempt_model::{Model, Property};
use preempt_report::{Look, Page, json, lanes, page};
use preempt_testing::Random;
use preempt_verify::{
    Control, Error, Preemptions, Reduction, Request, Search, Storage, verify_model,
};

const PROCESSES: usize = 3;

/// A graph of states with a few bits each.
#[derive(Clone, Debug)]
struct Graph {
    starts: Vec<u8>,
    /// By state: which process moves where.
    edges: Vec<Vec<(usize, u8)>>,
    p: Vec<bool>,
    q: Vec<bool>,
    inside: Vec<bool>,
}

/// The order of the claims behind the first one.
const CLAIMS: [&str; 9] = [
    "sometimes p",
    "eventually p",
    "[] p",
    "[] <> p",
    "<> [] p",
    "[] (p -> <> q)",
    "p U q",
    "X p",
    "sometimes both",
];

impl Model for Graph {
    type State = u8;
    type Action = (usize, u8);

    fn initial_states(&self) -> Vec<u8> {
        self.starts.clone()
    }

    fn actions(&self, state: &u8, actions: &mut Vec<(usize, u8)>) {
        actions.extend(&self.edges[usize::from(*state)]);
    }

    fn next(&self, _state: &u8, action: &(usize, u8)) -> Option<u8> {
        Some(action.1)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let p = |graph: &Graph, state: &u8| graph.p[usize::from(*state)];
        let q = |graph: &Graph, state: &u8| graph.q[usize::from(*state)];
        CLAIMS
            .into_iter()
            .map(|claim| match claim {
                "sometimes p" => Property::sometimes("p", p),
                "sometimes both" => Property::sometimes("both", move |graph, state| {
                    p(graph, state) && q(graph, state)
                }),
                "eventually p" => Property::eventually("p", p),
                formula => Property::ltl(formula, formula).with("p", p).with("q", q),
            })
            .collect()
    }

    fn processes(&self) -> Vec<String> {
        (0..PROCESSES).map(|process| format!("process {process}")).collect()
    }

    fn process(&self, action: &(usize, u8)) -> usize {
        action.0
    }

    fn is_within(&self, state: &u8) -> bool {
        self.inside[usize::from(*state)]
    }
}

type States = Vec<bool>;

impl Graph {
    fn random(seed: u64) -> Graph {
        let mut random = Random::shifts(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, 33);
        let size = 2 + random.below(7);
        let bits = |random: &mut Random, of: usize| -> States {
            (0..size).map(|_| random.below(of) == 0).collect()
        };
        let (p, q) = (bits(&mut random, 2), bits(&mut random, 3));
        let mut inside: States = bits(&mut random, 6).iter().map(|out| !out).collect();
        let starts: Vec<u8> = (0..1 + random.below(2)).map(|_| random.below(size) as u8).collect();
        starts.iter().for_each(|start| inside[usize::from(*start)] = true);
        let edges = (0..size)
            .map(|_| {
                let count = random.below(4);
                (0..count).map(|_| (random.below(PROCESSES), random.below(size) as u8)).collect()
            })
            .collect();
        Graph { starts, edges, p, q, inside }
    }

    fn successors(&self, state: usize) -> impl Iterator<Item = usize> {
        let all = self.edges[state].iter().map(|(_, to)| usize::from(*to));
        all.filter(|to| self.inside[*to])
    }

    fn starts(&self) -> States {
        let mut states = vec![false; self.p.len()];
        self.starts.iter().for_each(|start| states[usize::from(*start)] = true);
        states
    }

    /// What is reached from some states by a path through `through`, the last state excepted.
    fn reached(&self, from: &States, through: &States) -> States {
        let mut reached = from.clone();
        loop {
            let before = reached.clone();
            for state in 0..reached.len() {
                if before[state] && through[state] {
                    self.successors(state).for_each(|to| reached[to] = true);
                }
            }
            if reached == before {
                return reached;
            }
        }
    }

    /// The states from which an execution can stay inside `within` for ever, or until it ends there.
    fn stay(&self, within: &States) -> States {
        let mut states = within.clone();
        loop {
            let before = states.clone();
            for (state, stays) in states.iter_mut().enumerate() {
                let ends = self.edges[state].is_empty();
                *stays &= ends || self.successors(state).any(|to| before[to]);
            }
            if states == before {
                return states;
            }
        }
    }

    fn is_violated(&self, claim: &str) -> bool {
        let all = vec![true; self.p.len()];
        let any = |a: &States, b: &States| a.iter().zip(b).any(|(a, b)| *a && *b);
        let not = |a: &States| -> States { a.iter().map(|a| !a).collect() };
        let and =
            |a: &States, b: &States| -> States { a.iter().zip(b).map(|(a, b)| *a && *b).collect() };
        let (starts, p, q) = (self.starts(), &self.p, &self.q);
        let reached = self.reached(&starts, &all);
        let goes_on = self.stay(&all);
        match claim {
            "sometimes p" => !any(&reached, p),
            "sometimes both" => !any(&reached, &and(p, q)),
            "eventually p" => any(&starts, &self.stay(&not(p))),
            "[] p" => any(&reached, &and(&not(p), &goes_on)),
            "[] <> p" => any(&reached, &self.stay(&not(p))),
            "<> [] p" => (0..p.len()).filter(|state| reached[*state] && !p[*state]).any(|state| {
                let mut next = vec![false; p.len()];
                self.successors(state).for_each(|to| next[to] = true);
                self.edges[state].is_empty() || self.reached(&next, &all)[state]
            }),
            "[] (p -> <> q)" => any(&reached, &and(p, &self.stay(&not(q)))),
            "p U q" => {
                let waits = and(p, &not(q));
                let fails = and(&and(&not(p), &not(q)), &goes_on);
                any(&starts, &self.stay(&waits)) || any(&self.reached(&starts, &waits), &fails)
            }
            "X p" => (0..p.len()).filter(|state| starts[*state]).any(|state| {
                let ends = self.edges[state].is_empty() && !p[state];
                ends || self.successors(state).any(|to| !p[to] && goes_on[to])
            }),
            other => unreachable!("{other}"),
        }
    }
}

/// Every way to search that misses nothing.
fn complete_searches() -> Vec<Request> {
    let mut all = Vec::new();
    for storage in [Storage::Auto, Storage::Exact, Storage::Tree] {
        for reduction in [Reduction::None, Reduction::Full] {
            all.push(Request { storage, reduction, ..Request::default() });
        }
    }
    for search in [Search::Depth, Search::Breadth] {
        all.push(Request { search, ..Request::default() });
    }
    all.push(Request { threads: 2, first: true, ..Request::default() });
    all.push(Request { swarm: None, max_errors: 0, ..Request::default() });
    all
}

fn cases() -> u64 {
    std::env::var("PREEMPT_TEST_SYSTEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(150)
}

#[test]
fn random_models_are_judged_as_their_graphs_say() {
    let mut violated = [0; CLAIMS.len()];
    for seed in 1..=cases() {
        let graph = Graph::random(seed);
        for request in complete_searches() {
            let what = || format!("seed {seed}: {graph:?}\n{request:?}");
            let claims = verify_model(&graph, &request, &Control::new())
                .unwrap_or_else(|error| panic!("{error}: {}", what()));
            assert_eq!(claims.len(), CLAIMS.len() + 1, "{}", what());
            for ((claim, name), violated) in claims[1..].iter().zip(CLAIMS).zip(&mut violated) {
                let expected = graph.is_violated(name);
                *violated += u32::from(expected);
                let verdict = if expected { Verdict::Violated } else { Verdict::Holds };
                assert_eq!(claim.verdict, verdict, "{name}: {}\n{}", claim.sentence, what());
                if let Some(found) = &claim.violation {
                    assert!(found.trace.cycle_start.is_some(), "{name}: {}", what());
                }
            }
        }
    }
    assert!(violated.iter().all(|count| *count > 0), "every property is violated: {violated:?}");
}

#[test]
fn what_a_bound_shows_is_there_without_it() {
    for seed in 1..=cases() {
        let graph = Graph::random(seed);
        for bound in [0, 1, 3] {
            let preemptions = Preemptions::AtMost(bound);
            let request = Request { preemptions, ..Request::default() };
            let claims = verify_model(&graph, &request, &Control::new()).expect("a model");
            for (claim, name) in claims[1..].iter().zip(CLAIMS) {
                let what = || format!("seed {seed}, bound {bound}, {name}: {}", claim.sentence);
                let expected = graph.is_violated(name);
                match claim.verdict {
                    Verdict::Violated => assert!(expected, "{}", what()),
                    Verdict::Holds => assert!(!expected, "{}", what()),
                    Verdict::HoldsWithinBound(within) => assert_eq!(within, bound, "{}", what()),
                    Verdict::Inconclusive(stop) => {
                        assert!(name.starts_with("sometimes"), "{}", what());
                        assert_eq!(stop, preempt_core::Stop::Bound, "{}", what());
                    }
                    Verdict::Nothing => panic!("{}", what()),
                }
                if let Some(found) = &claim.violation {
                    assert!(found.trace.cost().preemptions <= bound, "{}", what());
                }
            }
        }
    }
}

#[test]
fn what_is_not_used_is_said() {
    let request = Request { search: Search::Breadth, swarm: Some(1), ..Request::default() };
    let claims = verify_model(&Graph::random(1), &request, &Control::new()).expect("a model");
    let eventually = claims.iter().find(|claim| claim.property == "eventually: p");
    let notes = &eventually.expect("one claim per property").notes;
    assert!(notes.iter().any(|note| note.starts_with("the order of exploration was not used")));
    assert!(notes.iter().any(|note| note.starts_with("a swarm of searches was not used")));
}

#[test]
fn a_counterexample_is_shown_like_any_other() {
    let nowhere = vec![false; 2];
    let graph = Graph {
        starts: vec![0],
        edges: vec![vec![(0, 1)], vec![(1, 0)]],
        p: nowhere.clone(),
        q: nowhere,
        inside: vec![true; 2],
    };
    let claims = verify_model(&graph, &Request::default(), &Control::new()).expect("a model");
    let claim = claims.iter().find(|claim| claim.property == "eventually: p").expect("a claim");
    let found = claim.violation.as_ref().expect("p is nowhere");
    // Every state is on the circle; where it is entered is up to the automaton.
    assert!(found.trace.cycle_start.is_some_and(|start| start < found.trace.steps.len()));
    let lanes = lanes::render(&found.trace, Some(found), &Look::plain(80));
    for text in ["process 0", "process 1", "(1, 0)", "violates `p`"] {
        assert!(lanes.contains(text), "{text} in\n{lanes}");
    }
    let html = page(&Page { title: "two steps", claim, trace: None, sources: &[], drawing: None });
    assert!(html.contains("two steps") && html.contains("process 1"));
    let json = json::report(json::Subject { file: "graph", ..json::Subject::default() }, &claims);
    assert!(json.contains("an infinite execution violates `p`"), "{json}");
}

/// A model whose formula cannot be read.
struct Wrong(&'static str);

impl Model for Wrong {
    type State = u8;
    type Action = u8;

    fn initial_states(&self) -> Vec<u8> {
        vec![0]
    }

    fn actions(&self, _state: &u8, _actions: &mut Vec<u8>) {}

    fn next(&self, _state: &u8, action: &u8) -> Option<u8> {
        Some(*action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::ltl("wrong", self.0).with("p", |_, state| *state == 0)]
    }
}

#[test]
fn mistakes_in_a_formula_are_errors() {
    for (formula, message) in [
        ("[] (p -> <> granted)", "its formula uses `granted`, which is not defined"),
        ("[] (p", "property `wrong`: "),
    ] {
        let answer = verify_model(&Wrong(formula), &Request::default(), &Control::new());
        match answer {
            Err(Error::Request(text)) => assert!(text.contains(message), "{text}"),
            other => panic!("{formula}: {other:?}"),
        }
    }
}
