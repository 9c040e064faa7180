//! The strategies that others compare with, on small random systems.

mod guarded;
mod triples;

use guarded::random_system;
use preempt_check::search::SAMPLERS;
use preempt_check::{Check, Options, Search};
use preempt_core::{Stop, Verdict};
use triples::truth;

fn options(search: Search) -> Options {
    Options { search, memory: Some(1 << 28), first: true, ..Options::default() }
}

#[test]
fn strategies_find_only_what_is_there() {
    let (mut violated, mut found) = (0, vec![0; 2 + SAMPLERS.len()]);
    for seed in 0..60 {
        let system = random_system(seed);
        let Some(truth) = truth(&system, 30, 20_000) else { continue };
        let expected = truth.simplest.is_some();
        violated += u32::from(expected);
        let run = |options| {
            let claim = Check::new(&system).options(options).run().claim;
            let numbers = &claim.statistics;
            assert_eq!(
                numbers.states + numbers.matched,
                numbers.transitions,
                "seed {seed}: {claim:?}"
            );
            claim.verdict
        };
        let deeper = run(options(Search::IterativeDepth { step: 3 }));
        assert_eq!(deeper == Verdict::Violated, expected, "seed {seed}");
        assert!(expected || deeper == Verdict::Holds, "seed {seed}: {deeper:?}");
        let memory = Some(1 << 22);
        let swarmed =
            run(Options { swarm: Some(seed), threads: 2, memory, ..options(Search::Auto) });
        let sampled = SAMPLERS.iter().map(|sampler| {
            run(Options { depth: Some(30), ..options(Search::Sample { sampler, seed }) })
        });
        let partial: Vec<Verdict> = std::iter::once(swarmed).chain(sampled).collect();
        for verdict in &partial {
            match verdict {
                Verdict::Violated => assert!(expected, "seed {seed}"),
                Verdict::Inconclusive(Stop::Sampling | Stop::LossyStore) => {}
                other => panic!("seed {seed}: {other:?}"),
            }
        }
        for (found, verdict) in found.iter_mut().zip(std::iter::once(deeper).chain(partial)) {
            *found += u32::from(verdict == Verdict::Violated);
        }
    }
    // On systems this small they find nearly everything.
    assert!(violated > 20 && found.iter().all(|found| *found * 10 >= violated * 9), "{found:?}");
}

#[test]
fn a_seed_repeats_what_was_drawn() {
    let system = random_system(7);
    for sampler in SAMPLERS {
        let run = || {
            let search = Search::Sample { sampler, seed: 5 };
            let claim = Check::new(&system).options(options(search)).run().claim;
            (claim.verdict, claim.statistics.states, claim.statistics.transitions)
        };
        assert_eq!(run(), run(), "{}", sampler.name);
    }
}
