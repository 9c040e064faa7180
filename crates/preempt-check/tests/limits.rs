//! Limits, interruptions and extreme shapes: clear answers, never a crash.

use preempt_check::{Check, Options, Progress, Reduction, Search, Storage};
use preempt_core::{
    Describe, Enabled, Independence, Outcome, ProcessId, Step, Stop, System, Verdict,
};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Counts from 0 to `limit` by two processes that add 1 or 2.
struct Counter {
    limit: u32,
    /// Where an assertion fails, if it does.
    bad: Option<u32>,
    deadlocks: bool,
}

impl Counter {
    fn to(limit: u32) -> Self {
        Counter { limit, bad: None, deadlocks: false }
    }
}

fn value(state: &[u8]) -> u32 {
    u32::from_le_bytes(*state.first_chunk().expect("four bytes"))
}

impl System for Counter {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.extend([0; 4]);
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        2
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        for p in [1u16, 0] {
            if value(state) + u32::from(p) < self.limit {
                enabled.push(Step::new(ProcessId(p), p.into()));
            }
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        let next = value(state) + 1 + step.transition;
        state.clear();
        state.extend(next.to_le_bytes());
        if self.bad == Some(next) { Outcome::Violated(1) } else { Outcome::Done }
    }

    fn is_valid_end(&self, _state: &[u8]) -> bool {
        !self.deadlocks
    }
}

impl Independence for Counter {}

impl Describe for Counter {}

fn options(search: Search) -> Options {
    Options { search, reduction: Reduction::None, first: true, ..Options::default() }
}

const SEARCHES: [Search; 2] = [Search::Depth, Search::Breadth];

#[test]
fn deep_stacks_need_little_memory_and_are_counted_right() {
    // Deep enough for the successors of old frames to be dropped and computed again.
    let system = Counter::to(600_000);
    for storage in [Storage::Exact, Storage::Tree, Storage::Compact] {
        let answer = Check::new(&system)
            .options(Options { storage, memory: Some(256 << 20), ..options(Search::Depth) })
            .run();
        let numbers = answer.claim.statistics;
        assert_eq!(numbers.states, 600_001);
        assert_eq!(numbers.transitions, 1 + 2 * 600_000 - 1);
        // By twos to the end; the odd numbers are met on the way back.
        assert_eq!(numbers.depth, 300_000);
    }
}

#[test]
fn traces_along_deep_stacks_replay() {
    let system = Counter { limit: 600_000, bad: Some(599_999), deadlocks: false };
    let answer = Check::new(&system).options(options(Search::Depth)).run();
    assert_eq!(answer.verdict(), Verdict::Violated);
    assert_eq!(answer.steps().map(<[Step]>::len), Some(300_000));
}

#[test]
fn breadth_first_finds_the_shortest() {
    let system = Counter { limit: 1_000, bad: Some(500), deadlocks: true };
    let answer = Check::new(&system).options(options(Search::Breadth)).run();
    assert_eq!(answer.steps().map(<[Step]>::len), Some(250));
}

#[test]
fn memory_limits_end_the_search_with_what_was_covered() {
    for search in SEARCHES {
        let exact = [Storage::Auto, Storage::Exact, Storage::Tree];
        for storage in exact.into_iter().chain([Storage::Compact]) {
            for threads in [1, 2] {
                let system = Counter::to(u32::MAX);
                let limits = Options { storage, threads, memory: Some(8 << 20), ..options(search) };
                let answer = Check::new(&system).options(limits).run();
                assert_eq!(answer.verdict(), Verdict::Inconclusive(Stop::Memory));
                let numbers = &answer.claim.statistics;
                assert!(numbers.states > 10_000, "{search:?} {storage:?} {}", numbers.states);
                assert!(numbers.memory_bytes <= 9 << 20, "{}", numbers.memory_bytes);
                assert!(answer.claim.sentence.starts_with("inconclusive: the memory limit"));
            }
        }
    }
}

#[test]
fn time_limits_and_interrupts_end_the_search() {
    let system = Counter::to(u32::MAX);
    let memory = Some(1 << 30);
    for search in SEARCHES {
        for threads in [1, 2] {
            let options = Options { threads, memory, ..options(search) };
            let check = Check::new(&system).options(options.clone());
            let answer = check.time(Duration::from_millis(20)).run();
            assert_eq!(answer.verdict(), Verdict::Inconclusive(Stop::Time));
            let flag = AtomicBool::new(true);
            let answer = Check::new(&system).options(options).interrupt(&flag).run();
            assert_eq!(answer.verdict(), Verdict::Inconclusive(Stop::Interrupted));
        }
    }
}

#[test]
fn depth_limits_are_inconclusive() {
    for search in SEARCHES {
        let options = Options { depth: Some(100), ..options(search) };
        let answer = Check::new(&Counter::to(1_000)).options(options.clone()).run();
        assert_eq!(answer.verdict(), Verdict::Inconclusive(Stop::Depth));
        let answer = Check::new(&Counter::to(90)).options(options).run();
        assert_eq!(answer.verdict(), Verdict::Holds);
    }
}

#[test]
fn progress_is_reported() {
    let system = Counter::to(u32::MAX);
    let mut reports: Vec<Progress> = Vec::new();
    let mut listener = |progress: &Progress| reports.push(*progress);
    Check::new(&system)
        .options(Options { memory: Some(1 << 30), ..options(Search::Breadth) })
        .progress(&mut listener)
        .time(Duration::from_millis(500))
        .run();
    assert!(!reports.is_empty());
    assert!(reports.is_sorted_by_key(|report| report.states));
}

#[test]
fn lossy_stores_never_say_holds() {
    for search in SEARCHES {
        for storage in [Storage::Compact, Storage::Bitstate { bits: Some(24), hashes: 3 }] {
            let answer = Check::new(&Counter::to(1_000))
                .options(Options { storage, ..options(search) })
                .run();
            assert_eq!(answer.verdict(), Verdict::Inconclusive(Stop::LossyStore));
            assert!(answer.claim.sentence.starts_with("no violation found in 1,00"));
        }
    }
}

/// One process inside an indivisible sequence that never ends.
struct Endless;

impl System for Endless {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.extend([0, 0]);
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        1
    }

    fn enabled(&self, _state: &mut Vec<u8>, enabled: &mut Enabled) {
        enabled.push(Step::new(ProcessId(0), 0));
        enabled.push(Step::new(ProcessId(0), 1));
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        state[0] = 1;
        state[1] = state[1].wrapping_add(1 + step.transition as u8);
        Outcome::Done
    }

    fn is_transient(&self, state: &[u8]) -> bool {
        state[0] == 1
    }
}

impl Independence for Endless {}

impl Describe for Endless {}

#[test]
fn endless_indivisible_sequences_end() {
    for search in SEARCHES {
        for threads in [1, 2] {
            let answer = Check::new(&Endless).options(Options { threads, ..options(search) }).run();
            assert_eq!(answer.verdict(), Verdict::Holds);
            assert_eq!(answer.claim.statistics.states, 1);
        }
    }
}

/// Its initial state is broken.
struct Stillborn;

impl System for Stillborn {
    fn initial(&self, _state: &mut Vec<u8>) -> Outcome {
        Outcome::Broken(3)
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        0
    }

    fn enabled(&self, _state: &mut Vec<u8>, _enabled: &mut Enabled) {}

    fn apply(&self, _state: &mut Vec<u8>, _step: Step) -> Outcome {
        Outcome::Done
    }
}

impl Independence for Stillborn {}

impl Describe for Stillborn {}

#[test]
fn a_fault_in_the_initial_state_is_a_violation() {
    for search in SEARCHES {
        for threads in [1, 2] {
            let answer =
                Check::new(&Stillborn).options(Options { threads, ..options(search) }).run();
            assert_eq!(answer.verdict(), Verdict::Violated);
            assert_eq!(answer.steps(), Some(&[][..]));
        }
    }
}
