//! Searches by several threads visit what one thread visits, with every store, also where the store changes in between; how
//! many states and transitions there are follows from the shape of the system.
//!
//! `PREEMPT_THREADS_ROUNDS` repeats everything with other sizes.

use preempt_check::{Answer, Check, Options, Preemptions, Reduction, Search, Storage};
use preempt_core::{
    Describe, Enabled, Independence, Outcome, ProcessId, Step, Stop, System, Verdict,
};

const BITSTATE: Storage = Storage::Bitstate { bits: Some(27), hashes: 4 };

/// Processes that count to their limits, in a state with filler that depends on the counters.
struct Counters {
    limits: Vec<u8>,
    filler: usize,
    /// Whether states get longer while the first process counts.
    stretches: bool,
    /// Where an assertion fails.
    bad: Option<Vec<u8>>,
}

impl Counters {
    fn new(limits: &[u8], filler: usize) -> Self {
        Counters { limits: limits.to_vec(), filler, stretches: false, bad: None }
    }

    fn states(&self) -> u64 {
        self.limits.iter().map(|limit| u64::from(*limit)).product()
    }

    /// One for the initial state, and one for every step of every state.
    fn transitions(&self) -> u64 {
        let states = self.states();
        let by = |limit: &u8| states / u64::from(*limit) * u64::from(*limit - 1);
        1 + self.limits.iter().map(by).sum::<u64>()
    }

    fn fill(&self, state: &mut Vec<u8>) {
        let count = self.limits.len();
        let more = if self.stretches { usize::from(state[0]) * 7 } else { 0 };
        state.truncate(count);
        for at in 0..self.filler + more {
            let counter = state[at / 16 % count];
            state.push(counter.wrapping_mul(31).wrapping_add(at as u8));
        }
    }
}

impl System for Counters {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.resize(self.limits.len(), 0);
        self.fill(state);
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        self.limits.len()
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        for (process, limit) in self.limits.iter().enumerate() {
            if state[process] + 1 < *limit {
                enabled.push(Step::new(ProcessId(process as u16), 0));
            }
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        state[step.process.index()] += 1;
        self.fill(state);
        let is_bad = self.bad.as_ref().is_some_and(|bad| state.starts_with(bad));
        if is_bad { Outcome::Violated(1) } else { Outcome::Done }
    }

    fn is_valid_end(&self, _state: &[u8]) -> bool {
        true
    }
}

impl Independence for Counters {}

impl Describe for Counters {}

fn options(threads: usize, storage: Storage) -> Options {
    Options { threads, storage, first: true, reduction: Reduction::None, ..Options::default() }
}

fn rounds() -> u8 {
    std::env::var("PREEMPT_THREADS_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

#[test]
fn every_store_counts_alike() {
    for round in 0..rounds() {
        let sizes = [12 + round % 7, 8, 7, 6 + round % 5, 5];
        for (filler, stretches) in [(0, false), (11, true), (60, false), (200, true)] {
            let mut system = Counters::new(&sizes, filler);
            system.stretches = stretches;
            let exact = [Storage::Auto, Storage::Exact, Storage::Tree];
            for storage in exact.into_iter().chain([Storage::Compact, BITSTATE]) {
                for threads in [1, 2, 4] {
                    for reduction in [Reduction::None, Reduction::Full] {
                        let options = Options { reduction, ..options(threads, storage) };
                        let answer = Check::new(&system).options(options).run();
                        let numbers = &answer.claim.statistics;
                        let who = format!(
                            "{filler} {stretches}, {storage:?}, {threads} threads, {reduction:?}"
                        );
                        assert_eq!(numbers.states, system.states(), "{who}");
                        assert_eq!(numbers.transitions, system.transitions(), "{who}");
                        let expected = match storage {
                            Storage::Compact | Storage::Bitstate { .. } => {
                                Verdict::Inconclusive(Stop::LossyStore)
                            }
                            _ => Verdict::Holds,
                        };
                        assert_eq!(answer.verdict(), expected, "{who}");
                        let alone =
                            answer.claim.notes.iter().any(|note| note.contains("one thread"));
                        assert!(!alone, "{who}: {:?}", answer.claim.notes);
                    }
                }
            }
        }
    }
}

/// When the exact store may not grow any more, several threads go on with a tree, and nothing is counted twice or lost.
#[test]
fn a_tree_takes_over_when_memory_gets_tight() {
    for round in 0..rounds() {
        for reduction in [Reduction::None, Reduction::Full] {
            for threads in [2, 4] {
                let mut system = Counters::new(&[20, 9, 8, 6, 5 + round % 5], 190);
                system.stretches = round % 2 == 1;
                let options = tight(threads, reduction);
                let answer = Check::new(&system).options(options.clone()).run();
                assert!(has_changed(&answer), "{:?}", answer.claim.notes);
                let numbers = &answer.claim.statistics;
                assert!(numbers.memory_bytes <= MEMORY as u64, "{}", numbers.memory_bytes);
                assert_eq!(answer.verdict(), Verdict::Holds, "{:?}", answer.claim.sentence);
                assert_eq!(numbers.states, system.states());
                assert_eq!(numbers.transitions, system.transitions());
                let exact = Options { storage: Storage::Exact, ..options };
                let stopped = Check::new(&system).options(exact).run();
                assert_eq!(stopped.verdict(), Verdict::Inconclusive(Stop::Memory));
            }
        }
    }
}

/// A violation that is met after the store has changed has a trace all the same.
#[test]
fn traces_lead_back_through_both_stores() {
    let mut late = 0;
    for corner in 0..32 {
        let mut system = Counters::new(&[20, 9, 8, 6, 5], 190);
        let far = |(at, limit): (usize, &u8)| if corner >> at & 1 == 1 { limit - 1 } else { 0 };
        let bad: Vec<u8> = system.limits.iter().enumerate().map(far).collect();
        let distance = bad.iter().map(|count| usize::from(*count)).sum();
        if distance == 0 {
            continue;
        }
        system.bad = Some(bad);
        let answer = Check::new(&system).options(tight(2, Reduction::None)).run();
        assert_eq!(answer.verdict(), Verdict::Violated);
        let steps = answer.steps().expect("a violation has a trace");
        assert_eq!(steps.len(), distance);
        assert!(preempt_core::replay(&system, steps).is_ok());
        late += usize::from(has_changed(&answer));
    }
    assert!(late > 0, "no violation was met late");
}

const MEMORY: usize = 8 << 20;

fn tight(threads: usize, reduction: Reduction) -> Options {
    Options { reduction, memory: Some(MEMORY), ..options(threads, Storage::Auto) }
}

fn has_changed(answer: &Answer) -> bool {
    answer.claim.notes.iter().any(|note| note.contains("(tree)"))
}

/// States that have nothing in common do not fit into a tree either: the exact store goes on to the limit.
#[test]
fn where_a_tree_does_not_help_the_memory_is_used_up() {
    struct Noise;
    impl System for Noise {
        fn initial(&self, state: &mut Vec<u8>) -> Outcome {
            state.extend([0; 136]);
            Outcome::Done
        }
        fn process_count(&self, _state: &[u8]) -> usize {
            1
        }
        fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
            let at = u32::from_le_bytes(*state.first_chunk().expect("four bytes"));
            for transition in (0..2).filter(|step| 2 * at + step + 1 < 60_000) {
                enabled.push(Step::new(ProcessId(0), transition));
            }
        }
        fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
            let at = u32::from_le_bytes(*state.first_chunk().expect("four bytes"));
            let mut noise = u64::from(2 * at + step.transition + 1);
            state[..8].copy_from_slice(&noise.to_le_bytes());
            for word in state.as_chunks_mut::<8>().0.iter_mut().skip(1) {
                noise = (noise ^ noise >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(17);
                *word = noise.to_le_bytes();
            }
            Outcome::Done
        }
        fn is_valid_end(&self, _state: &[u8]) -> bool {
            true
        }
    }
    impl Independence for Noise {}
    impl Describe for Noise {}
    let memory = Some(13 << 20);
    let answer = Check::new(&Noise).options(Options { memory, ..options(2, Storage::Auto) }).run();
    assert_eq!(answer.verdict(), Verdict::Holds, "{:?}", answer.claim.sentence);
    assert_eq!(answer.claim.statistics.states, 60_000);
    let notes = &answer.claim.notes;
    assert!(!notes.iter().any(|note| note.contains("(tree)")), "{notes:?}");
}

/// Every store leads back from a violation to the initial state.
#[test]
fn violations_have_traces() {
    for stretches in [false, true] {
        let mut system = Counters::new(&[9, 8, 7, 6], 70);
        system.stretches = stretches;
        system.bad = Some(vec![5, 4, 6, 2]);
        for storage in [Storage::Auto, Storage::Exact, Storage::Tree, Storage::Compact, BITSTATE] {
            for threads in [2, 4] {
                for search in [Search::Auto, Search::Breadth] {
                    let options = Options { search, ..options(threads, storage) };
                    let answer = Check::new(&system).options(options).run();
                    assert_eq!(answer.verdict(), Verdict::Violated, "{storage:?}");
                    let steps = answer.steps().expect("a violation has a trace");
                    assert_eq!(steps.len(), 17);
                    assert!(preempt_core::replay(&system, steps).is_ok());
                }
            }
        }
    }
}

/// All that a check says, but how long it took and how much memory there was at some moment.
fn said(system: &Counters, options: Options) -> String {
    let mut answer = Check::new(system).options(options).run();
    let numbers = &mut answer.claim.statistics;
    (numbers.seconds, numbers.search_seconds, numbers.memory_bytes) = (0.0, 0.0, 0);
    format!("{answer:?}")
}

/// A caller that does not say how many threads to use gets the answer of one, to the last number and step, also if something is
/// violated late; so does one that asks for a breadth-first search by several.
#[test]
fn by_default_nothing_depends_on_the_threads() {
    let mut system = Counters::new(&[18, 14, 13, 12, 3], 9);
    let mut small = Counters::new(&[9, 8, 7, 6, 3], 9);
    let iterate = Preemptions::Iterate { last: None };
    for is_bad in [false, true] {
        system.bad = is_bad.then(|| vec![16, 11, 11, 9, 2]);
        small.bad = is_bad.then(|| vec![7, 6, 6, 4, 2]);
        let who = |options: &Options| format!("{:?}: {options:?}", system.bad);
        for reduction in [Reduction::None, Reduction::Full] {
            for search in [Search::Auto, Search::Breadth, Search::Depth] {
                for preemptions in [Preemptions::Any, Preemptions::AtMost(3), iterate] {
                    let one = options(1, Storage::Auto);
                    let one = Options { reduction, search, preemptions, first: false, ..one };
                    let default = Options { threads: 0, ..one.clone() };
                    let system = if preemptions == Preemptions::Any { &system } else { &small };
                    assert_eq!(said(system, default), said(system, one.clone()), "{}", who(&one));
                }
            }
        }
        for storage in [Storage::Auto, Storage::Exact, Storage::Tree, Storage::Compact, BITSTATE] {
            let one = Options { search: Search::Breadth, ..options(1, storage) };
            let alone = said(&system, one.clone());
            for threads in [0, 2, 4] {
                let several = Options { threads, ..one.clone() };
                assert_eq!(said(&system, several), alone, "{threads}: {}", who(&one));
            }
        }
        let one = Options { depth: Some(30), first: false, ..options(1, Storage::Auto) };
        let alone = said(&system, one.clone());
        for threads in [0, 3] {
            assert_eq!(said(&system, Options { threads, ..one.clone() }), alone, "{}", who(&one));
        }
    }
}

/// States of many bytes that have most in common are compressed from the start.
#[test]
fn long_states_are_kept_in_a_tree() {
    for threads in [1, 2] {
        let system = Counters::new(&[9, 8, 7], 5000);
        let answer = Check::new(&system).options(options(threads, Storage::Auto)).run();
        let numbers = &answer.claim.statistics;
        assert_eq!((numbers.states, numbers.transitions), (system.states(), system.transitions()));
        assert!(numbers.bytes_per_state < 2500.0, "{threads}: {}", numbers.bytes_per_state);
        let notes = &answer.claim.notes;
        assert!(notes.iter().any(|note| note.contains("compressed (tree)")), "{notes:?}");
    }
}

/// A search whose reduction leaves nothing out goes on without it, and says so.
#[test]
fn reduction_that_gains_nothing_is_given_up() {
    for threads in [1, 2, 4] {
        let system = Counters::new(&[20, 14, 13, 12], 3);
        let options = Options { reduction: Reduction::Full, ..options(threads, Storage::Auto) };
        let answer = Check::new(&system).options(options.clone()).run();
        let numbers = &answer.claim.statistics;
        assert_eq!((numbers.states, numbers.transitions), (system.states(), system.transitions()));
        let given_up = |answer: &Answer| {
            answer.claim.notes.iter().any(|note| note.starts_with("reduction was switched off"))
        };
        assert!(given_up(&answer), "{:?}", answer.claim.notes);
        // A caller that asks for an order gets it, and small searches are left alone.
        let depth = Options { search: Search::Depth, ..options.clone() };
        assert!(!given_up(&Check::new(&system).options(depth).run()));
        let small = Counters::new(&[20, 14, 13, 6], 3);
        assert!(!given_up(&Check::new(&small).options(options).run()));
    }
}

/// Within a bound every row has the states and transitions that one thread counts, however the threads share the work.
#[test]
fn rows_of_bounds_are_those_of_one_thread() {
    for round in 0..rounds() {
        let sizes = [9 + round % 5, 8, 6, 5];
        let wide = [vec![1; 41], sizes.to_vec()].concat();
        for (limits, filler) in [(sizes.to_vec(), 0), (sizes.to_vec(), 150), (wide, 0)] {
            let system = Counters::new(&limits, filler);
            for preemptions in [
                Preemptions::AtMost(2),
                Preemptions::AtMost(40),
                Preemptions::Iterate { last: None },
                Preemptions::Iterate { last: Some(5) },
            ] {
                let told = |threads: usize, storage| {
                    let options = Options { preemptions, ..options(threads, storage) };
                    let answer = Check::new(&system).options(options).run();
                    let numbers = &answer.claim.statistics;
                    let rows = numbers.per_bound.iter();
                    let rows: Vec<_> =
                        rows.map(|row| (row.bound, row.states, row.transitions)).collect();
                    (answer.verdict(), numbers.states, numbers.transitions, rows)
                };
                let alone = told(1, Storage::Exact);
                for threads in [2, 4] {
                    for storage in [Storage::Auto, Storage::Exact, Storage::Tree] {
                        let who =
                            format!("{limits:?} {filler} {preemptions:?} {threads} {storage:?}");
                        assert_eq!(told(threads, storage), alone, "{who}");
                    }
                    // Large enough, stores that may lose states lose none, but nothing is proved.
                    for storage in [Storage::Compact, BITSTATE] {
                        let who =
                            format!("{limits:?} {filler} {preemptions:?} {threads} {storage:?}");
                        let (verdict, states, transitions, rows) = told(threads, storage);
                        assert_eq!(verdict, Verdict::Inconclusive(Stop::LossyStore), "{who}");
                        let (_, all_states, all_transitions, all_rows) = &alone;
                        assert_eq!((states, transitions), (*all_states, *all_transitions), "{who}");
                        assert_eq!(&rows, all_rows, "{who}");
                    }
                }
            }
        }
    }
}

/// A search within a bound whose states do not fit into memory begins anew with a tree, and ends with the same rows.
#[test]
fn bounded_searches_are_compressed_when_memory_gets_tight() {
    let system = Counters::new(&[10, 6, 6, 5, 4], 4000);
    let rows = |answer: &Answer| answer.claim.statistics.per_bound.clone();
    for preemptions in [Preemptions::AtMost(6), Preemptions::Iterate { last: Some(6) }] {
        for reduction in [Reduction::None, Reduction::Full] {
            let ample = Options { preemptions, reduction, ..options(1, Storage::Exact) };
            let expected = Check::new(&system).options(ample.clone()).run();
            let scarce = Options { memory: Some(24 << 20), ..ample };
            let stopped = Check::new(&system).options(Options { threads: 2, ..scarce.clone() });
            assert_eq!(stopped.run().verdict(), Verdict::Inconclusive(Stop::Memory));
            for threads in [2, 4] {
                let auto = Options { threads, storage: Storage::Auto, ..scarce.clone() };
                let answer = Check::new(&system).options(auto).run();
                let said = (threads, preemptions, reduction, &answer.claim.sentence);
                assert_eq!(answer.verdict(), expected.verdict(), "{said:?}");
                assert_eq!(rows(&answer), rows(&expected));
                let notes = &answer.claim.notes;
                assert!(notes.iter().any(|note| note.contains("(tree)")), "{notes:?}");
            }
        }
    }
}

/// A violation within a bound is found and shown over every store.
#[test]
fn bounded_searches_lead_to_violations_over_every_store() {
    let mut system = Counters::new(&[9, 8, 7, 6], 70);
    system.bad = Some(vec![5, 4, 6, 2]);
    for storage in [Storage::Auto, Storage::Tree, Storage::Compact, BITSTATE] {
        for preemptions in [Preemptions::AtMost(4), Preemptions::Iterate { last: None }] {
            for threads in [1, 2, 4] {
                let first = Options { preemptions, ..options(threads, storage) };
                let answer = Check::new(&system).options(first.clone()).run();
                let who = format!("{storage:?} {preemptions:?} {threads}");
                assert_eq!(answer.verdict(), Verdict::Violated, "{who}");
                let steps = answer.steps().expect("a violation has a trace");
                assert!(preempt_core::replay(&system, steps).is_ok(), "{who}");
                let best = Check::new(&system).options(Options { first: false, ..first }).run();
                let cost = best.claim.violation.expect("there is one").trace.cost();
                // The processes run one after the other; the third is at its end then, and the last one to move
                // is not preempted.
                assert_eq!((cost.preemptions, cost.steps), (2, 17), "{who}");
            }
        }
    }
}

/// Four processes that turn the same switch; the last one fails each time.
struct Switch;

impl System for Switch {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.push(0);
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        4
    }

    fn enabled(&self, _state: &mut Vec<u8>, enabled: &mut Enabled) {
        for process in 0..4 {
            enabled.push(Step::new(ProcessId(process), 0));
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        state[0] ^= 1;
        if step.process.0 == 3 { Outcome::Violated(1) } else { Outcome::Done }
    }
}

impl Independence for Switch {
    fn is_ample(&self, _state: &[u8], _process: ProcessId, _observed: bool) -> bool {
        true
    }
}

impl Describe for Switch {}

/// Where a selection leads to nothing new and all steps are taken after all, those that were taken are not taken again: no
/// more transitions and errors are counted than there are.
#[test]
fn steps_of_a_selection_that_was_given_up_are_counted_once() {
    for threads in [2, 4] {
        for reduction in [Reduction::Spin, Reduction::Full] {
            let options = Options { reduction, max_errors: 0, ..options(threads, Storage::Exact) };
            let answer = Check::new(&Switch).options(options).run();
            let numbers = answer.claim.statistics;
            // One step leads on to the other state; there all four are tried, one after the other.
            let counted = (numbers.states, numbers.transitions, numbers.errors);
            assert_eq!(counted, (2, 1 + 1 + 4, 1), "{threads} threads, {reduction:?}");
        }
    }
}

/// What threads have to wait for is counted, and hardly more with many threads than with few.
#[test]
fn contention_does_not_grow_with_the_threads() {
    let system = Counters::new(&[24, 14, 13, 12, 6], 20);
    for storage in [Storage::Exact, Storage::Tree, Storage::Compact, BITSTATE] {
        let per_state = |threads: usize| {
            let answer = Check::new(&system).options(options(threads, storage)).run();
            let counted = answer.claim.statistics.contention.expect("several threads");
            let states = system.states() as f64;
            assert_eq!(answer.claim.statistics.states, system.states());
            [counted.locks, counted.failed_swaps, counted.shared_bytes]
                .map(|count| count as f64 / states)
        };
        let (few, many) = (per_state(2), per_state(16));
        println!("{storage:?}: locks, failed swaps, bytes per state: {few:.4?} {many:.4?}");
        assert!(many[0] < few[0] * 1.1 + 0.02, "{storage:?}: {few:?} {many:?}");
        assert!(many[1] < few[1] * 1.1 + 0.02, "{storage:?}: {few:?} {many:?}");
        assert!(many[2] < few[2] * 1.1, "{storage:?}: {few:?} {many:?}");
    }
}
