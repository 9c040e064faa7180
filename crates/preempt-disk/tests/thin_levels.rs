//! Searches of many levels with few states: what they write is counted, not timed.

use preempt_check::RemoteSearch;
use preempt_check::property::{Buchi, Product, Stutter};
use preempt_check::search::nested::{NestedOptions, Scheme};
use preempt_check::{Budget, Finding, Options, Preemptions, Reduction, Search};
use preempt_core::{
    Describe, Enabled, Independence, Locality, Outcome, ProcessId, Step, System, replay,
};
use preempt_disk::OnDisk;
use preempt_ltl::{Formula, translate};

/// One process counts, and begins again if it is round; the other sets a flag once.
struct Counter {
    last: u32,
    is_round: bool,
    /// Both together at the end are an error.
    fails: bool,
}

impl Counter {
    fn count(state: &[u8]) -> u32 {
        u32::from_le_bytes([state[0], state[1], state[2], state[3]])
    }
}

impl System for Counter {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.resize(20, 0);
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        2
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        if state[4] == 0 {
            enabled.push(Step::new(ProcessId(1), 0));
        }
        if self.is_round || Self::count(state) < self.last {
            enabled.push(Step::new(ProcessId(0), 0));
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        match step.process {
            ProcessId(0) => {
                let count = (Self::count(state) + 1) % (self.last + 1);
                state[..4].copy_from_slice(&count.to_le_bytes());
            }
            _ => state[4] = 1,
        }
        match self.fails && Self::count(state) == self.last && state[4] == 1 {
            true => Outcome::Violated(0),
            false => Outcome::Done,
        }
    }

    fn proposition_count(&self) -> usize {
        1
    }

    fn proposition(&self, state: &[u8], _index: usize) -> Result<bool, u32> {
        Ok(state[4] == 1)
    }

    fn is_valid_end(&self, _state: &[u8]) -> bool {
        true
    }
}

impl Independence for Counter {
    fn locality(&self, _state: &[u8], _process: ProcessId) -> Locality {
        Locality::Shared
    }
}

impl Describe for Counter {}

/// Far less than the states take.
const MEMORY: usize = 1 << 20;

fn in_files(search: impl FnOnce(&OnDisk, &mut Budget<'_>) -> Finding) -> Finding {
    let folder = tempfile::tempdir().expect("a folder");
    let mut budget = Budget::unlimited().memory(MEMORY);
    let found = search(&OnDisk::new(folder.path().to_owned()), &mut budget);
    assert_eq!(found.stop, None, "{:?}", found.notes);
    assert!(budget.peak_memory() <= MEMORY);
    found
}

fn search(system: &Counter, preemptions: Preemptions) -> Finding {
    let options = Options {
        preemptions,
        search: Search::Auto,
        reduction: Reduction::None,
        first: true,
        ..Options::default()
    };
    in_files(|disk, budget| disk.safety(system, &options, budget))
}

/// MiB written, and files.
fn written(found: &Finding) -> (f64, u64) {
    let note = found.notes.iter().find(|note| note.starts_with("states in files")).expect("a note");
    let words: Vec<_> = note.split_whitespace().collect();
    let before = |word: &str| {
        let at = words.iter().position(|one| *one == word).expect("the note has this word");
        words[at - 1].parse::<f64>().expect("a number")
    };
    (before("MiB"), before("files,") as u64)
}

/// At most so many bytes per state, and far fewer files than levels. A state has 24 bytes in a file, and is written once
/// for the way back and as often as runs double.
fn assert_written(found: &Finding, bytes_per_state: f64) {
    let (mebibytes, files) = written(found);
    let bytes = mebibytes * f64::from(1 << 20) / found.statistics.states as f64;
    assert!(bytes > 24.0 && bytes < bytes_per_state, "{bytes} bytes per state");
    assert!(files < 500, "{files} files");
}

const LAST: u32 = 40_000;
const STATES: u64 = 2 * (LAST as u64 + 1);

#[test]
fn thin_levels_are_written_together() {
    let system = Counter { last: LAST, is_round: false, fails: false };
    let found = search(&system, Preemptions::Any);
    let numbers = &found.statistics;
    // As in Spin, coming to the initial state is one.
    let steps = 3 * u64::from(LAST) + 1;
    assert_eq!((numbers.states, numbers.transitions), (STATES, steps + 1));
    assert_written(&found, 24.0 * 10.0);
    // The flag may be set first or last, and with a preemption anywhere.
    for (bound, steps) in [(0, 2 * u64::from(LAST) + 2), (1, steps)] {
        let found = search(&system, Preemptions::AtMost(bound));
        let numbers = &found.statistics;
        assert_eq!((numbers.states, numbers.transitions), (STATES, steps + 1), "bound {bound}");
        assert_written(&found, 24.0 * 30.0);
    }
}

#[test]
fn the_way_back_leads_through_thin_levels() {
    let system = Counter { last: LAST, is_round: false, fails: true };
    for preemptions in [Preemptions::Any, Preemptions::AtMost(1)] {
        let found = search(&system, preemptions);
        let example = found.counterexample.expect("there is a violation");
        assert_eq!(example.steps.len(), LAST as usize + 1);
        assert!(replay(&system, &example.steps).is_ok());
    }
}

/// All states of the cycle accept, and it is as long as it can be.
#[test]
fn a_long_cycle_is_found_in_one_pass() {
    let system = Counter { last: 10_000, is_round: true, fails: false };
    // The negated property: the flag is never set.
    let never = Formula::Prop(0).not().always();
    let property = Buchi::new(translate(&never).expect("it is small"), vec![0]);
    let product = Product::new(&system, &property, Stutter::Extend);
    let nested = NestedOptions::to_the_first(Scheme::Full);
    let found = in_files(|disk, budget| disk.cycles(&product, nested, budget));
    let cycle = found.counterexample.as_ref().expect("there is a cycle");
    let start = cycle.cycle_start.expect("it is a lasso");
    assert_eq!(cycle.steps.len() - start, 10_001);
    assert_written(&found, 24.0 * 100.0);
}
