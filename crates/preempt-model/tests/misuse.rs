//! A model that breaks the rules ends with a sentence that says which one.

use preempt_check::Check;
use preempt_model::{Encoded, Model, Property};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
struct State {
    steps: u8,
    #[serde(skip)]
    hidden: u8,
    seen: HashSet<u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    NoSuchProcess,
    LosesData,
    Unordered,
    Moody,
    NowhereToStart,
}

struct Broken {
    mistake: Mistake,
    mood: AtomicU32,
}

impl Model for Broken {
    type State = State;
    type Action = u32;

    fn initial_states(&self) -> Vec<State> {
        match self.mistake {
            Mistake::NowhereToStart => Vec::new(),
            _ => vec![State::default()],
        }
    }

    fn actions(&self, state: &State, actions: &mut Vec<u32>) {
        if state.steps < 3 {
            actions.push(0);
            if self.mistake == Mistake::Moody && self.mood.fetch_add(1, Ordering::Relaxed) % 2 == 1
            {
                actions.push(1);
            }
        }
    }

    fn next(&self, state: &State, _action: &u32) -> Option<State> {
        let mut next = State { steps: state.steps + 1, ..State::default() };
        match self.mistake {
            Mistake::LosesData => next.hidden = 1,
            Mistake::Unordered => next.seen = (0..40).collect(),
            _ => {}
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        Vec::new()
    }

    fn process(&self, _action: &u32) -> usize {
        match self.mistake {
            Mistake::NoSuchProcess => 7,
            _ => 0,
        }
    }
}

/// The complaint about a model, if there is one.
fn complaint(mistake: Mistake) -> Option<String> {
    let model = Broken { mistake, mood: AtomicU32::new(0) };
    Check::new(&Encoded::new(&model)).run().claim.violation.map(|violation| violation.message)
}

#[test]
fn each_mistake_is_named() {
    assert_eq!(complaint(Mistake::None), None);
    for (mistake, word) in [
        (Mistake::NoSuchProcess, "is an action of process 7, but there are 1 processes"),
        (Mistake::LosesData, "serialisation loses a part of the state"),
        (Mistake::Unordered, "serialise differently"),
        (Mistake::Moody, "different actions"),
        (Mistake::NowhereToStart, "no initial state"),
    ] {
        let complaint = complaint(mistake).unwrap_or_else(|| panic!("no complaint: {word}"));
        assert!(complaint.starts_with("the model cannot be explored: "), "{complaint}");
        assert!(complaint.contains(word), "{complaint}");
    }
}
