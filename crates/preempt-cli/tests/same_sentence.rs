//! Random models within a bound: the same verdict with reduction and without, depth-first or by buckets; and the stronger one,
//! that no execution is wrong at all, only where a search without a bound and without reduction finds nothing either.
//!
//! `PREEMPT_SENTENCES` sets how many models are made, `PREEMPT_SENTENCES_SEED` the first seed.

#[path = "../../preempt-promela/tests/random/mod.rs"]
#[allow(dead_code)]
mod random;

use preempt_check::{Preemptions, Reduction, Search};
use preempt_core::Verdict;
use preempt_verify::promela::{Checker, Property, Settings, read};
use preempt_verify::{Control, Request};
use random::{Random, make};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
fn reduction_does_not_change_what_is_said_of_a_bound() {
    let first = setting("PREEMPT_SENTENCES_SEED", 1);
    let (mut compared, mut holds, mut within) = (0, 0, 0);
    for seed in first..first + setting("PREEMPT_SENTENCES", 40) {
        let mut random = Random::new(seed);
        let text = make(&mut random, None).text();
        let Ok(model) = read("random.pml", &text) else { continue };
        let (settings, control) = (&Settings::default(), &Control::new());
        let say = |request: Request| {
            // Most of these models can get stuck: every other time that is no violation.
            let (memory, deadlocks) = (Some(256 << 20), seed % 2 == 0);
            let request = &Request { memory, deadlocks, ..request };
            let checker = Checker { model: &model, settings, request, control };
            checker.check(Property::Safety).ok().map(|checked| checked.claim)
        };
        let all = Request { reduction: Reduction::None, ..Request::default() };
        let Some(all) = say(all).filter(|all| all.statistics.states < 15_000) else { continue };
        for bound in [0, 1, 3] {
            let mut said = Vec::new();
            for reduction in [Reduction::None, Reduction::Full] {
                for search in [Search::Auto, Search::Depth] {
                    let preemptions = Preemptions::AtMost(bound);
                    let request = Request { preemptions, reduction, search, ..Request::default() };
                    said.extend(say(request).map(|claim| (claim.verdict, claim.sentence)));
                }
            }
            compared += 1;
            let Some((verdict, _)) = said.first().cloned() else { continue };
            let what = format!("seed {seed}, bound {bound}: {said:#?}\n{text}");
            assert!(said.iter().all(|(other, _)| *other == verdict), "{what}");
            match verdict {
                Verdict::Holds => {
                    holds += 1;
                    assert_eq!(all.verdict, Verdict::Holds, "{what}");
                }
                Verdict::HoldsWithinBound(_) => {
                    within += 1;
                    assert_eq!(all.verdict, Verdict::Violated, "{what}");
                }
                _ => {}
            }
        }
    }
    println!("{compared} bounds of random models: {holds} hold, {within} within the bound only");
    assert!(compared > 0);
}
