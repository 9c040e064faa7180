//! A nested search with helpers: the numbers of one thread on systems large enough for threads to meet, and ends in time.

use preempt_check::property::{Buchi, Property, Stutter, StutterInvariant};
use preempt_check::search::nested::{NestedOptions, Scheme};
use preempt_check::search::nested_together::nested_together;
use preempt_check::{Budget, Finding};
use preempt_core::{
    Describe, Enabled, Independence, Locality, Outcome, ProcessId, Step, Stop, System,
};
use preempt_ltl::{parse, translate};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Processes that count round and round; most steps of process 1 are local. Proposition `p` is "a process is at 0", `q` "the
/// first two are at their last steps", `r` "the first is at 1"; `n` is never true.
struct Rounds {
    processes: usize,
    length: u8,
    /// Where process 0 has this value proposition `q` has none.
    unreadable: Option<u8>,
}

impl System for Rounds {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.resize(self.processes, 0);
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        self.processes
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        for process in 0..self.processes {
            // The first waits for the last one now and then.
            let waits = process == 0 && state[0] == 2 && state[self.processes - 1] == 0;
            if !waits {
                enabled.push(Step::new(ProcessId(process as u16), u32::from(state[process])));
            }
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        let value = &mut state[step.process.index()];
        *value = (*value + 1) % self.length;
        Outcome::Done
    }

    fn proposition_count(&self) -> usize {
        4
    }

    fn proposition(&self, state: &[u8], index: usize) -> Result<bool, u32> {
        match index {
            0 => Ok(state.contains(&0)),
            1 if self.unreadable == Some(state[0]) => Err(1),
            1 => Ok(state[..2].iter().all(|value| *value == self.length - 1)),
            2 => Ok(state[0] == 1),
            _ => Ok(false),
        }
    }
}

impl Independence for Rounds {
    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        match state[process.index()] {
            2.. if process.index() == 1 => Locality::Local,
            _ => Locality::Shared,
        }
    }

    fn is_visible(&self, state: &[u8], process: ProcessId) -> bool {
        process.index() != 1 || state[1] + 2 >= self.length
    }
}

impl Describe for Rounds {}

/// An automaton for the executions on which a formula is violated.
fn automaton(formula: &str) -> (preempt_ltl::Automaton, Vec<usize>) {
    let parsed = parse(&format!("!({formula})")).unwrap();
    let names = ["p", "q", "r", "n"];
    let index = |name: &String| names.iter().position(|known| known == name).unwrap();
    let propositions = parsed.names.iter().map(index).collect();
    (translate(&parsed.formula).unwrap(), propositions)
}

fn search(
    system: &Rounds,
    property: &dyn Property,
    threads: usize,
    scheme: Scheme,
    mut budget: Budget<'_>,
) -> Option<Finding> {
    nested_together(
        system,
        property,
        Stutter::Extend,
        threads,
        &mut budget,
        NestedOptions::to_the_first(scheme),
    )
}

/// Everything about a search that must not depend on its threads.
fn told(finding: &Finding) -> impl PartialEq + std::fmt::Debug + use<> {
    let found = finding.counterexample.clone();
    let numbers = &finding.statistics;
    (
        found.map(|found| (found.steps, found.cycle_start)),
        (numbers.states, numbers.matched, numbers.transitions, numbers.depth, numbers.errors),
        (finding.stop, finding.cut, numbers.state_bytes),
    )
}

#[test]
fn threads_change_nothing() {
    const FORMULAS: [&str; 9] = [
        "[] !n",
        "[]<> p",
        "[]<> q",
        "[] !q",
        "<> r",
        "(!r) U q",
        "[] (r -> <> q)",
        "<>[] p",
        "[]<> r -> []<> q",
    ];
    let (mut violated, mut hold) = (0, 0);
    for system in [
        Rounds { processes: 4, length: 7, unreadable: None },
        Rounds { processes: 3, length: 20, unreadable: None },
        Rounds { processes: 3, length: 20, unreadable: Some(9) },
    ] {
        for formula in FORMULAS {
            let (automaton, propositions) = automaton(formula);
            let normal = StutterInvariant::new(&automaton, propositions.clone()).unwrap();
            let raw = Buchi::new(automaton, propositions);
            let local = Scheme::SourceState(Locality::Local);
            let cases: [(&dyn Property, Scheme); 3] =
                [(&raw, Scheme::Full), (&normal, Scheme::Full), (&normal, local)];
            for (property, scheme) in cases {
                let of = |threads| search(&system, property, threads, scheme, Budget::unlimited());
                let alone = of(1);
                for threads in [2, 4, 16] {
                    let together = of(threads);
                    let case = format!("{formula}, {scheme:?}, {threads} threads");
                    let (told, expected) =
                        (together.as_ref().map(told), alone.as_ref().map(self::told));
                    assert_eq!(told, expected, "{case}");
                    let (Some(together), Some(alone)) = (together, &alone) else { continue };
                    match alone.counterexample {
                        Some(_) => violated += 1,
                        None => {
                            hold += 1;
                            assert_eq!(together.unreached, alone.unreached, "{case}");
                        }
                    }
                }
            }
        }
    }
    println!("{violated} violated, {hold} hold");
    assert!(violated > 20 && hold > 20, "{violated} violated, {hold} hold");
}

/// Too large to be searched, and there is no violation.
const ENDLESS: Rounds = Rounds { processes: 8, length: 60, unreadable: None };

#[test]
fn limits_end_a_search_in_time() {
    let (automaton, propositions) = automaton("[] !n");
    let property = Buchi::new(automaton, propositions);
    fn run(property: &Buchi, threads: usize, budget: Budget<'_>) -> Finding {
        search(&ENDLESS, property, threads, Scheme::Full, budget).unwrap()
    }
    for threads in [2, 16] {
        let start = Instant::now();
        let limit = Duration::from_millis(100);
        let stopped = run(&property, threads, Budget::unlimited().time(limit)).stop;
        assert_eq!(stopped, Some(Stop::Time));
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        let finding = run(&property, threads, Budget::unlimited().memory(32 << 20));
        assert_eq!(finding.stop, Some(Stop::Memory));
        assert!(finding.statistics.memory_bytes < 64 << 20);
        let flag = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                flag.store(true, Ordering::Relaxed);
            });
            let start = Instant::now();
            let finding = run(&property, threads, Budget::unlimited().interrupt(&flag));
            assert_eq!(finding.stop, Some(Stop::Interrupted));
            assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        });
    }
}

/// Behind a state where the automaton has no move nothing belongs to the product, and helpers must not go there.
#[test]
fn helpers_do_not_leave_the_product() {
    let (automaton, propositions) = automaton("<> r");
    let property = Buchi::new(automaton, propositions);
    // All executions but those of the other processes alone, of which there are 60^3 states, are over after one step.
    let system = Rounds { processes: 4, length: 60, unreadable: None };
    let of =
        |threads| search(&system, &property, threads, Scheme::Full, Budget::unlimited()).unwrap();
    let (alone, together) = (of(1), of(3));
    assert_eq!(told(&together), told(&alone));
    let memory = |finding: &Finding| finding.statistics.memory_bytes;
    assert!(memory(&together) < 8 * memory(&alone).max(8 << 20));
}
