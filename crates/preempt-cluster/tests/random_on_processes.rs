//! Random models on one, two and three processes over the loopback interface, against one search in one memory: counts,
//! bounds, reduction, stores, infinite executions. The processes are threads here; they share nothing but what they send.
//!
//! `PREEMPT_SPREAD_MODELS` sets how many models are made, `PREEMPT_SPREAD_SEED` the first seed.

#[path = "../../preempt-check/tests/cycles/mod.rs"]
mod cycles;
#[path = "../../preempt-check/tests/formulas/mod.rs"]
mod formulas;
#[path = "../../preempt-promela/tests/random/mod.rs"]
#[allow(dead_code)]
mod random;
#[path = "../../preempt-check/tests/tiny/mod.rs"]
mod tiny;

use cycles::{accepting_cycles, confirm, graph};
use formulas::random_property;
use preempt_check::RemoteSearch;
use preempt_check::property::{Product, Stutter};
use preempt_check::search::nested::{NestedOptions, Scheme};
use preempt_check::{Budget, Check, Finding, Options, Preemptions, Reduction, Search};
use preempt_cluster::{Cluster, Hosts, Membership};
use preempt_core::{System, replay};
use preempt_native::Native;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use preempt_promela::syntax::{ParseOptions, parse};
use std::net::TcpListener;
use std::sync::Barrier;
use std::time::Duration;

/// Larger models are passed over.
const MOST_MEMORY: usize = 12 << 20;
/// So little that larger ones of the others are compressed on the way.
const LITTLE_MEMORY: usize = 1 << 20;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Has processes of so many threads make the same searches; gives what each of them found.
fn on_processes<T: Send>(
    processes: usize,
    threads: usize,
    work: impl Fn(&Cluster) -> T + Sync,
) -> Vec<T> {
    let listeners: Vec<_> =
        (0..processes).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
    let address = |one: &TcpListener| format!("{}\n", one.local_addr().expect("its address"));
    let lines: String = listeners.iter().map(address).collect();
    drop(listeners);
    let hosts = Hosts::parse(&lines).expect("they are addresses");
    let all_done = Barrier::new(processes);
    std::thread::scope(|scope| {
        let start = |process| {
            let membership = Membership {
                hosts: hosts.clone(),
                process,
                secret: b"one that is long enough".to_vec(),
                job: b"random models".to_vec(),
                threads,
                on_this_machine: 1,
                patience: Duration::from_secs(30),
                checkpoints: None,
                log: |_| (),
            };
            let (work, all_done) = (&work, &all_done);
            scope.spawn(move || {
                let cluster = Cluster::join(membership, &|| None).expect("all are there");
                let found = work(&cluster);
                all_done.wait();
                found
            })
        };
        let started: Vec<_> = (0..processes).map(start).collect();
        started.into_iter().map(|one| one.join().expect("it runs to its end")).collect()
    })
}

fn interpreter(text: &str) -> Option<Interpreter> {
    let loader = |_: &str, _: &str| Err(std::io::Error::other("nothing is included"));
    let options = ParseOptions { defines: Vec::new(), loader: &loader };
    let model = parse("random.pml", text.as_bytes().to_vec(), &options).model?;
    Some(Interpreter::new(lower(&model, LowerOptions::default()).ok()?))
}

fn options(preemptions: Preemptions, reduction: Reduction, max_errors: u64) -> Options {
    Options {
        preemptions,
        reduction,
        max_errors,
        search: Search::Auto,
        memory: Some(MOST_MEMORY),
        first: true,
        ..Options::default()
    }
}

/// The searches of a model: without and with a bound, without and with reduction, all errors and the simplest one.
fn searches() -> Vec<Options> {
    let iterated = Preemptions::Iterate { last: Some(3) };
    let mut all = vec![
        options(Preemptions::Any, Reduction::None, 0),
        Options { always_reduce: true, ..options(Preemptions::Any, Reduction::Full, 0) },
        options(Preemptions::Any, Reduction::None, 1),
        options(iterated, Reduction::None, 0),
        options(iterated, Reduction::None, 1),
    ];
    all.extend((0..4).map(|bound| options(Preemptions::AtMost(bound), Reduction::None, 0)));
    all
}

/// What has to be the same with any number of processes.
type Numbers = (u64, u64, u64, bool, Option<u32>, Vec<(u32, u64, u64, u64)>, Option<u32>);

/// Everything of a whole search; of one that ends with a violation only the fewest preemptions to it, if that is what was
/// asked for.
fn numbers(system: &dyn System, options: &Options, found: &Finding, who: &str) -> Numbers {
    let example = found.counterexample.as_ref().map(|example| {
        let replayed = replay(system, &example.steps);
        let (trace, ..) = replayed.unwrap_or_else(|_| panic!("it does not replay: {who}"));
        trace.cost().preemptions
    });
    let counts = &found.statistics;
    if options.max_errors == 1 && example.is_some() {
        let least = example.filter(|_| options.preemptions != Preemptions::Any);
        return (0, 0, 1, false, None, Vec::new(), least);
    }
    let rows = counts.per_bound.iter();
    let rows = rows.map(|row| (row.bound, row.states, row.transitions, row.errors)).collect();
    let (states, transitions) = (counts.states, counts.transitions);
    (states, transitions, counts.errors, example.is_some(), found.bound, rows, None)
}

/// How often each thing was there to be compared.
#[derive(Default, Debug)]
struct Compared {
    models: u64,
    violated: u64,
    reduced: u64,
    compressed: u64,
}

fn compare(system: &dyn System, who: &str, seed: u64, compared: &mut Compared) {
    let check = |options: &Options| Check::new(system).options(options.clone()).run();
    let whole = check(&options(Preemptions::Any, Reduction::None, 0));
    let statistics = &whole.claim.statistics;
    if !statistics.complete {
        return;
    }
    compared.models += 1;
    compared.violated += u64::from(statistics.errors > 0);
    let all = searches();
    let memory = if seed.is_multiple_of(2) { MOST_MEMORY } else { LITTLE_MEMORY };
    let mut expected: Option<Vec<Numbers>> = None;
    for processes in 1..=3 {
        let threads = if seed.is_multiple_of(5) { 2 } else { 1 };
        let results = on_processes(processes, threads, |cluster| {
            let found = all.iter().map(|options| {
                cluster.safety(system, options, &mut Budget::unlimited().memory(memory))
            });
            found.collect::<Vec<Finding>>()
        });
        let who = format!("{who}\n{processes} processes of {threads} threads");
        for found in &results {
            let failed = found.iter().find_map(|one| one.stop);
            if let Some(stop) = failed {
                assert!(memory == LITTLE_MEMORY, "{stop:?}: {who}");
                return;
            }
            let ours: Vec<Numbers> = (all.iter().zip(found))
                .map(|(options, found)| numbers(system, options, found, &who))
                .collect();
            let alone = expected.get_or_insert_with(|| ours.clone());
            for ((options, ours), alone) in all.iter().zip(&ours).zip(alone.iter()) {
                assert_eq!(ours, alone, "{options:?} of {who}");
            }
        }
        compared.compressed += u64::from(memory == LITTLE_MEMORY && statistics.states > 10_000);
    }
    // The same as a search in one memory, which is compared with Spin elsewhere.
    let expected = expected.expect("there was one");
    for (options, ours) in all.iter().zip(&expected) {
        let answer = check(options);
        let theirs = &answer.claim.statistics;
        let is_reduced = options.reduction != Reduction::None;
        let is_violated = theirs.errors > 0;
        assert_eq!(ours.2 > 0, is_violated, "{options:?} of {who}");
        if is_reduced {
            assert!(ours.0 <= statistics.states, "{who}");
            compared.reduced += u64::from(ours.0 < statistics.states);
        } else if options.max_errors == 0 {
            assert_eq!((ours.0, ours.2), (theirs.states, theirs.errors), "{options:?} of {who}");
            let rows: Vec<_> = theirs.per_bound.iter().map(|row| (row.bound, row.states)).collect();
            let own: Vec<_> = ours.5.iter().map(|row| (row.0, row.1)).collect();
            assert_eq!(own, rows, "{options:?} of {who}");
            if options.preemptions == Preemptions::Any {
                assert_eq!(ours.1, theirs.transitions, "{who}");
            }
        } else if let (Some(least), Some(example)) = (ours.6, &answer.counterexample) {
            let (trace, ..) = replay(system, &example.steps).expect("it replays");
            assert_eq!(least, trace.cost().preemptions, "{who}");
        }
    }
}

#[test]
fn random_models_have_the_same_numbers() {
    let (count, first) = (setting("PREEMPT_SPREAD_MODELS", 12), setting("PREEMPT_SPREAD_SEED", 1));
    let mut compared = Compared::default();
    for seed in first..first + count {
        let text = random::make(&mut random::Random::new(seed), None).text();
        let Some(reference) = interpreter(&text) else { continue };
        let who = format!("seed {seed}\n{text}");
        match Native::new(&reference) {
            Ok(native) if !seed.is_multiple_of(3) => {
                native.prepare();
                compare(&native, &who, seed, &mut compared);
            }
            _ => compare(&reference, &who, seed, &mut compared),
        }
    }
    println!("{compared:?}");
    assert!(2 * compared.models > count, "{compared:?}");
    assert!(count < 10 || compared.violated > 0 && compared.reduced > 0, "{compared:?}");
}

#[test]
fn random_properties_are_judged_alike() {
    let count = 2 * setting("PREEMPT_SPREAD_MODELS", 12);
    let mut random = tiny::Random(setting("PREEMPT_SPREAD_SEED", 1) + 12);
    let mut found = 0;
    for case in 0..count {
        let (system, property, about) = random_property(&mut random);
        let product = Product::new(&system, &property, Stutter::Extend);
        let truth = !accepting_cycles(&product, &graph(&product)).is_empty();
        for processes in 1..=3 {
            let what = format!("case {case}, {processes} processes: {about}");
            let results = on_processes(processes, 1, |cluster| {
                let nested = NestedOptions::to_the_first(Scheme::Full);
                cluster.cycles(&product, nested, &mut Budget::unlimited())
            });
            for one in results {
                assert_eq!(one.counterexample.is_some(), truth, "{what}");
                if let Some(example) = one.counterexample {
                    confirm(&product, &example, &what);
                }
            }
        }
        found += u64::from(truth);
    }
    assert!(found > 0 && found < count, "{found} of {count}");
}
