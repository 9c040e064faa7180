//! Typed models give the same answers through every search, store, bound and number of threads.

#[path = "../examples/leader_election.rs"]
#[allow(dead_code)]
mod leader_election;
#[path = "../examples/two_phase_commit.rs"]
#[allow(dead_code)]
mod two_phase_commit;

use leader_election::Election;
use preempt_check::{Answer, Check, Options, Preemptions, Reduction, Search, Storage};
use preempt_core::{System, Verdict};
use preempt_model::{Encoded, Model, Property};
use serde::{Deserialize, Serialize};
use two_phase_commit::TwoPhaseCommit;

/// Every way to search that visits all states.
fn complete_searches() -> Vec<Options> {
    let mut all = Vec::new();
    for search in [Search::Auto, Search::Depth, Search::Breadth] {
        for storage in [Storage::Auto, Storage::Exact, Storage::Tree] {
            for reduction in [Reduction::None, Reduction::Full] {
                let base = Options::default();
                all.push(Options { search, storage, reduction, max_errors: 0, ..base });
            }
        }
    }
    all.push(Options {
        threads: 2,
        reduction: Reduction::None,
        max_errors: 0,
        ..Options::default()
    });
    for preemptions in [Preemptions::AtMost(60), Preemptions::Iterate { last: None }] {
        all.push(Options { preemptions, max_errors: 0, ..Options::default() });
    }
    all
}

fn run(system: &dyn System, options: Options) -> Answer {
    Check::new(system).options(options).run()
}

#[test]
fn two_phase_commit_has_the_published_number_of_states() {
    for options in complete_searches() {
        let shown = format!("{options:?}");
        let model = TwoPhaseCommit { managers: 3 };
        let system = Encoded::new(&model);
        let answer = run(&system, options);
        assert_ne!(answer.verdict(), Verdict::Violated, "{shown}");
        assert_eq!(answer.claim.statistics.states, 288, "{shown}");
        assert!(system.was_seen(1) && system.was_seen(2), "{shown}");
    }
    let model = TwoPhaseCommit { managers: 5 };
    let answer = run(&Encoded::new(&model), Options::default());
    assert_eq!(answer.verdict(), Verdict::Holds);
    assert_eq!(answer.claim.statistics.states, 8_832);
}

#[test]
fn a_forgetful_voter_makes_two_leaders_without_any_preemption() {
    let sound = Election { servers: 3, last_term: 1, forgetful: false };
    let system = Encoded::new(&sound);
    let answer = run(&system, Options::default());
    assert_eq!(answer.verdict(), Verdict::Holds);
    // As many as the same model has in stateright.
    assert_eq!(answer.claim.statistics.states, 203);
    assert!(system.was_seen(1));
    let two_terms = Election { last_term: 2, ..sound };
    let answer = run(&Encoded::new(&two_terms), Options::default());
    assert_eq!(answer.claim.statistics.states, 24_723);

    let forgetful = Election { forgetful: true, ..sound };
    let mut lengths = Vec::new();
    for options in complete_searches() {
        let answer = run(&Encoded::new(&forgetful), Options { max_errors: 1, ..options });
        let violation = answer.claim.violation.expect("the mistake is found");
        assert_eq!(violation.message, "always: at most one leader per term");
        assert!(violation.simplest);
        lengths.push((violation.trace.cost().preemptions, violation.trace.steps.len()));
    }
    lengths.dedup();
    assert_eq!(lengths.len(), 1, "one simplest counterexample: {lengths:?}");
}

/// Counts down from one of several numbers, by two processes in turn.
struct Countdown {
    from: Vec<u8>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Left {
    number: u8,
    odd: bool,
}

impl Model for Countdown {
    type State = Left;
    type Action = usize;

    fn initial_states(&self) -> Vec<Left> {
        self.from.iter().map(|number| Left { number: *number, odd: false }).collect()
    }

    fn actions(&self, state: &Left, actions: &mut Vec<usize>) {
        actions.push(usize::from(state.odd));
    }

    fn next(&self, state: &Left, _action: &usize) -> Option<Left> {
        Some(Left { number: state.number.checked_sub(1)?, odd: !state.odd })
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("not three", |_, state: &Left| state.number != 3 || state.odd),
            Property::sometimes("nine", |_, state: &Left| state.number == 9),
        ]
    }

    fn processes(&self) -> Vec<String> {
        vec!["even".into(), "odd".into()]
    }

    fn process(&self, action: &usize) -> usize {
        *action
    }
}

#[test]
fn several_initial_states_are_all_explored_and_none_is_a_preemption() {
    for options in complete_searches() {
        let shown = format!("{options:?}");
        let model = Countdown { from: vec![2, 4, 6, 8] };
        let system = Encoded::new(&model);
        let answer = run(&system, options);
        // 8, 7, …, 0 and the state before the choice.
        assert_eq!(answer.claim.statistics.states, 10, "{shown}");
        assert_ne!(answer.verdict(), Verdict::Violated, "{shown}");
        assert!(!system.was_seen(1), "{shown}");
    }
    for options in complete_searches() {
        let model = Countdown { from: vec![2, 5] };
        let answer = run(&Encoded::new(&model), Options { max_errors: 1, ..options });
        let violation = answer.claim.violation.expect("5 leads to 3");
        assert_eq!(violation.trace.cost().preemptions, 0);
        assert_eq!(violation.trace.steps[0].text, "initial state 1");
        assert_eq!(violation.trace.steps.len(), 3); // 5, 4, 3
    }
}
