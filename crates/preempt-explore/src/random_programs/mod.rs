//! Random small programs: every strategy against plain depth-first search.
//!
//! The programs run on a few lines of interpreter, without coroutines, so this also shows that
//! strategies need nothing but [`Program`]. Deliberate mistakes in the engine must be caught by the
//! same comparison.

mod generate;
mod interpreter;

use crate::mutation::{ACTIVE, Mutation};
use crate::{
    Halt, Limits, Names, Order, Rules, Session, Statistics, caching, forward, iterative, optimal,
    sleep_sets,
};
use generate::program;
use interpreter::Instruction;
pub(crate) use interpreter::Interpreter;
use std::collections::BTreeMap;

type Explore = fn(&mut Session<'_, Interpreter>) -> Halt;

fn statistics(seed: u64, bound: Option<u32>, explore: Explore) -> (Halt, Statistics) {
    statistics_with(seed, bound, explore)
}

fn statistics_with(
    seed: u64,
    bound: Option<u32>,
    explore: impl FnMut(&mut Session<'_, Interpreter>) -> Halt,
) -> (Halt, Statistics) {
    Setting::new(bound).statistics(seed, explore)
}

fn statistics_under(
    seed: u64,
    bound: Option<u32>,
    rules: Rules,
    explore: impl FnMut(&mut Session<'_, Interpreter>) -> Halt,
) -> (Halt, Statistics) {
    Setting { rules, ..Setting::new(bound) }.statistics(seed, explore)
}

/// How a program is explored.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) limits: Limits,
    pub(crate) rules: Rules,
    /// Of all accesses to atomics.
    order: Order,
}

impl Setting {
    pub(crate) fn new(bound: Option<u32>) -> Self {
        let limits = Limits {
            bound,
            executions: if ACTIVE.get().is_some() { 2_000 } else { 20_000 },
            states: 200_000,
            steps: 500,
            keep_going: true,
            ..Limits::default()
        };
        let rules = Rules { watch: true, patience: 5, ..Rules::default() };
        Setting { limits, rules, order: Order::SequentiallyConsistent }
    }

    pub(crate) fn statistics(
        &self,
        seed: u64,
        mut explore: impl FnMut(&mut Session<'_, Interpreter>) -> Halt,
    ) -> (Halt, Statistics) {
        let mut interpreter = Interpreter::new(seed);
        interpreter.order = self.order;
        let names = Names::default();
        loop {
            let (limits, rules) = (self.limits.clone(), self.rules);
            let mut session = Session::new(&mut interpreter, limits, rules, names.clone());
            let halt = explore(&mut session);
            if halt != Halt::Restart {
                return (halt, session.statistics);
            }
        }
    }
}

/// How two explorations of the same program differ.
fn difference(seed: u64, bound: Option<u32>) -> Option<Result<(), String>> {
    let (halt, oracle) = statistics(seed, bound, iterative::explore);
    if halt != Halt::Done {
        return None;
    }
    let (halt, ours) = statistics(seed, bound, forward::explore);
    if halt != Halt::Done {
        return Some(Err(format!("forward: {halt:?} {:?}", ours.failure)));
    }
    if oracle.graphs != ours.graphs {
        let (a, b) = (oracle.graphs.len(), ours.graphs.len());
        return Some(Err(format!("forward: {b} graphs instead of {a}, or other preemptions")));
    }
    if ours.executions > ours.graphs.len() as u64 {
        return Some(Err(format!("{} executions, {} graphs", ours.executions, ours.graphs.len())));
    }
    let (halt, reduced) = statistics(seed, bound, forward::explore_reduced);
    let panic_free = |statistics: &Statistics| -> BTreeMap<u128, (u32, crate::Terminal)> {
        let ends = |e: &(u32, crate::Terminal)| e.1 != crate::Terminal::Panic;
        statistics.graphs.iter().filter(|(_, e)| ends(e)).map(|(h, e)| (*h, *e)).collect()
    };
    let least_panic = |statistics: &Statistics| {
        let panics = statistics.graphs.values().filter(|e| e.1 == crate::Terminal::Panic);
        panics.map(|e| e.0).min()
    };
    if halt != Halt::Done
        || panic_free(&reduced) != panic_free(&oracle)
        || least_panic(&reduced) != least_panic(&oracle)
    {
        let (a, b) = (oracle.graphs.len(), reduced.graphs.len());
        return Some(Err(format!("reduced: {b} graphs instead of {a} ({halt:?}), or other costs")));
    }
    if bound.is_none() {
        let (halt, sleeping) = statistics(seed, bound, sleep_sets::explore);
        let mut theirs: Vec<_> = sleeping.graphs.iter().map(|(h, e)| (*h, e.1)).collect();
        let mut graphs: Vec<_> = oracle.graphs.iter().map(|(h, e)| (*h, e.1)).collect();
        theirs.sort_unstable();
        graphs.sort_unstable();
        if halt != Halt::Done || theirs != graphs {
            let (a, b) = (graphs.len(), theirs.len());
            return Some(Err(format!("sleep sets: {b} graphs instead of {a} ({halt:?})")));
        }
        if sleeping.executions > graphs.len() as u64 {
            return Some(Err("sleep sets: more executions than graphs".into()));
        }
    }
    if bound.is_none() {
        if let Some(Err(message)) = optimal_difference(seed, &oracle) {
            return Some(Err(message));
        }
    }
    let (halt, cached) = statistics(seed, bound, caching::explore);
    if halt == Halt::Done && cached.graphs != oracle.graphs {
        return Some(Err("happens-before caching differs".into()));
    }
    Some(Ok(()))
}

/// How the optimal reduction differs from the graphs that are there. It runs the program once
/// for each of them.
fn optimal_difference(seed: u64, oracle: &Statistics) -> Option<Result<(), String>> {
    let (halt, optimal) = statistics(seed, None, optimal::explore);
    if halt == Halt::Executions {
        return None;
    }
    let mut theirs: Vec<_> = optimal.graphs.iter().map(|(h, e)| (*h, e.1)).collect();
    let mut graphs: Vec<_> = oracle.graphs.iter().map(|(h, e)| (*h, e.1)).collect();
    theirs.sort_unstable();
    graphs.sort_unstable();
    if halt != Halt::Done || theirs != graphs {
        let (a, b) = (graphs.len(), theirs.len());
        return Some(Err(format!("optimal: {b} graphs instead of {a} ({halt:?})")));
    }
    if optimal.executions != graphs.len() as u64 {
        let (a, b, c) = (optimal.executions, graphs.len(), optimal.redundant);
        return Some(Err(format!("optimal: {a} executions for {b} graphs, {c} cut")));
    }
    Some(Ok(()))
}

/// (compared, skipped because too large, messages)
fn campaign(seeds: std::ops::Range<u64>) -> (usize, usize, Vec<String>) {
    let (mut compared, mut skipped, mut wrong) = (0, 0, Vec::new());
    for seed in seeds {
        let bound = [Some(0), Some(1), Some(2), Some(3), Some(4), None][seed as usize % 6];
        match difference(seed, bound) {
            None => skipped += 1,
            Some(Ok(())) => compared += 1,
            Some(Err(message)) => wrong.push(format!("seed {seed}, bound {bound:?}: {message}")),
        }
    }
    (compared, skipped, wrong)
}

pub(crate) fn seeds(default: u64) -> u64 {
    std::env::var("PREEMPT_RANDOM_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn strategies_agree_on_random_programs() {
    let (compared, skipped, wrong) = campaign(0..seeds(400));
    println!("{compared} compared, {skipped} skipped");
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 10 * skipped, "{compared} compared, {skipped} skipped");
}

/// If all accesses are sequentially consistent, keeping all writes changes nothing: no stale choice is
/// possible. Only comparisons that fail are fewer graphs, because they are reads.
#[test]
fn kept_writes_change_nothing_if_all_orders_are_strong() {
    let rules = Rules {
        watch: true,
        patience: 5,
        rc11: true,
        weak: true,
        strong: true,
        ..Rules::default()
    };
    let mut compared = 0;
    for seed in 0..seeds(300) {
        let bound = [Some(0), Some(1), Some(2), None][seed as usize % 4];
        let (halt, known) = statistics(seed, bound, forward::explore);
        let (kept_halt, kept) = statistics_under(seed, bound, rules, |session| {
            // With a bound on preemptions, stale choices lead to graphs beyond it.
            session.limits.stale = bound.and(Some(0));
            forward::explore(session)
        });
        assert_eq!(halt, kept_halt, "seed {seed}");
        // A panic ends everything, also before a store that the panicking thread does not see; and the
        // order of notifications, timeouts, and attempts that fail is part of the graph but
        // synchronises nothing.
        let unordered = |i: &Instruction| {
            matches!(
                i,
                Instruction::NotifyOne
                    | Instruction::NotifyAll
                    | Instruction::TryLock(_)
                    | Instruction::WaitTimed(_)
                    | Instruction::Take(true)
            )
        };
        // A loop that waits is not woken by a store of the value that is there already, but may read it when it is awake.
        let clears = |i: &Instruction| matches!(i, Instruction::Store(_, 0));
        let polls = |i: &Instruction| {
            matches!(i, Instruction::Spin(..) | Instruction::SpinTwice(..) | Instruction::Poll(..))
        };
        let has =
            |wanted: &dyn Fn(&Instruction) -> bool| program(seed).iter().flatten().any(wanted);
        if has(&unordered) || has(&clears) && has(&polls) {
            continue;
        }
        let panics = |hash: &u128| kept.graphs[hash].1 == crate::Terminal::Panic;
        let wrong = kept.stale.keys().filter(|hash| !panics(hash)).count();
        assert_eq!(wrong, 0, "seed {seed}: {:?}", program(seed));
        assert!(bound.is_some() || known.exhausted == kept.exhausted, "seed {seed}");
        let ends = |statistics: &Statistics| {
            let first = |hash: &&u128| statistics.stale_of(**hash) == 0;
            let mut ends: Vec<_> = statistics
                .graphs
                .keys()
                .filter(first)
                .map(|hash| statistics.graphs[hash])
                .collect();
            ends.sort_unstable();
            ends
        };
        let compares = |i: &Instruction| matches!(i, Instruction::Compare(..));
        if program(seed).iter().flatten().any(compares) {
            assert!(ends(&kept).len() <= known.graphs.len(), "seed {seed}");
        } else {
            assert_eq!(ends(&known), ends(&kept), "seed {seed}");
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}

/// Whether atomics that are accessed in order get fewer states but the same graphs, with the same costs.
fn ordered_difference(seed: u64) -> Option<Result<bool, String>> {
    let bound = [Some(0), Some(1), Some(2), None][seed as usize % 4];
    let mut setting = Setting::new(bound);
    setting.rules = Rules { rc11: true, weak: true, ..setting.rules };
    setting.order = [Order::Relaxed, Order::AcquireRelease][seed as usize / 4 % 2];
    setting.limits.stale = Some(1);
    let (halt, all) = setting.statistics(seed, forward::explore);
    let (reduced_halt, reduced) = setting.statistics(seed, forward::explore_reduced);
    if halt != Halt::Done {
        return None;
    }
    // A panic ends everything, so how many graphs end in one depends on how far others got.
    let ends = |statistics: &Statistics| -> BTreeMap<u128, (u32, u32, crate::Terminal)> {
        let end = |(hash, &(cost, end)): (&u128, &(u32, crate::Terminal))| {
            (*hash, (statistics.stale_of(*hash), cost, end))
        };
        let kept =
            |(_, (_, end)): &(&u128, &(u32, crate::Terminal))| *end != crate::Terminal::Panic;
        statistics.graphs.iter().filter(kept).map(end).collect()
    };
    let least = |statistics: &Statistics| {
        let panics = statistics.graphs.iter().filter(|(_, end)| end.1 == crate::Terminal::Panic);
        panics.map(|(hash, end)| (statistics.stale_of(*hash), end.0)).min()
    };
    if reduced_halt != halt || ends(&all) != ends(&reduced) || least(&all) != least(&reduced) {
        let (a, b) = (all.graphs.len(), reduced.graphs.len());
        return Some(Err(format!("{reduced_halt:?}: {b} graphs instead of {a}, or other costs")));
    }
    Some(Ok(reduced.states < all.states))
}

#[test]
fn atomics_that_are_accessed_in_order_need_fewer_states() {
    let (mut compared, mut fewer) = (0, 0);
    for seed in 0..seeds(400) {
        match ordered_difference(seed) {
            Some(Ok(is_fewer)) => {
                compared += 1;
                fewer += u32::from(is_fewer);
            }
            Some(Err(message)) => panic!("seed {seed}: {message}: {:?}", program(seed)),
            None => {}
        }
    }
    println!("{compared} compared, {fewer} with fewer states");
    assert!(compared > 300 && fewer > 100, "{compared} compared, {fewer} with fewer states");
}

#[test]
fn accesses_that_are_wrongly_taken_to_be_in_order_are_noticed() {
    ACTIVE.set(Some(Mutation::NeverContradicted));
    let caught = (0..3000).find(|&seed| matches!(ordered_difference(seed), Some(Err(_))));
    ACTIVE.set(None);
    println!("caught by seed {caught:?}");
    assert!(caught.is_some());
}

/// A search that tries out loops where it meets them finds what one that begins again finds.
#[test]
fn loops_can_be_tried_out_without_beginning_again() {
    let mut compared = 0;
    for seed in 0..seeds(300) {
        let bound = [Some(0), Some(1), Some(2), None][seed as usize % 4];
        let (halt, known) = statistics(seed, bound, forward::explore);
        let (repeated_halt, repeated) = statistics_with(seed, bound, |session| {
            session.repeats_after_loops = true;
            forward::explore(session)
        });
        assert_eq!(halt, repeated_halt, "seed {seed}");
        if halt == Halt::Done {
            assert_eq!(known.graphs, repeated.graphs, "seed {seed}: {:?}", program(seed));
            let (again, before) = (repeated.executions, known.executions);
            // Executions without end have no graph, but are made.
            let graphs = before.max(known.graphs.len() as u64);
            assert!(again <= graphs, "seed {seed}: {again} executions, {before}, {graphs} graphs");
            compared += usize::from(program(seed).iter().flatten().any(|i| {
                matches!(
                    i,
                    Instruction::Spin(..) | Instruction::SpinTwice(..) | Instruction::Poll(..)
                )
            }));
        }
    }
    assert!(compared > 30, "{compared}");
}

/// A program whose histories do not fit into memory is executed more often, with the same graphs.
#[test]
fn forgotten_histories_are_found_out_again() {
    let mut more = 0;
    for seed in 0..seeds(200) {
        let bound = Some(seed as u32 % 4);
        let (halt, known) = statistics(seed, bound, forward::explore);
        let (forgetful_halt, forgetful) = statistics(seed, bound, forward::explore_forgetful);
        if halt == Halt::Done && forgetful_halt == Halt::Done {
            assert_eq!(known.graphs, forgetful.graphs, "seed {seed}");
            more += usize::from(forgetful.executions > known.executions);
        }
    }
    assert!(more > 20, "{more}");
}

#[test]
fn the_optimal_reduction_runs_every_graph_once() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for seed in 0..seeds(400) {
        // As compared with plain search elsewhere, and fast enough for larger programs.
        let (halt, oracle) = statistics(seed, None, forward::explore);
        if halt != Halt::Done {
            continue;
        }
        match optimal_difference(seed, &oracle) {
            Some(Err(message)) => wrong.push(format!("seed {seed}: {message}")),
            Some(Ok(())) => compared += 1,
            None => {}
        }
    }
    println!("{compared} compared");
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 350);
}

/// [MQ07b] Algorithms 1 and 2 as printed visit the terminals that the forward search counts.
#[test]
fn printed_algorithms_visit_the_same_terminals() {
    for seed in 0..120 {
        let bound = Some(seed as u32 % 4);
        let mut steps = None;
        let (halt, ours) = statistics_with(seed, bound, |session| {
            let (halt, found) = forward::explore_steps(session);
            steps = Some(found);
            halt
        });
        let Some(steps) = steps.filter(|_| halt == Halt::Done) else { continue };
        let (first, second) = (steps.algorithm_1(), steps.algorithm_2());
        assert_eq!(first.terminals, ours.graphs.len() as u64, "seed {seed}");
        assert_eq!(second.terminals, ours.graphs.len() as u64, "seed {seed}");
        // In the end every state is marked, each once.
        assert_eq!(second.marked, first.searched, "seed {seed}");
    }
}

#[test]
fn mistakes_in_the_engine_are_caught() {
    for mutation in [
        Mutation::OneLastThread,
        Mutation::ForgetRelease,
        Mutation::ForgetJoined,
        Mutation::NoPreemptionBeforeUnlock,
        Mutation::NeverContradicted,
        Mutation::OnlyAdjacentRaces,
        Mutation::ForgetBlocked,
        Mutation::SleepForGood,
        Mutation::OneAlternative,
    ] {
        ACTIVE.set(Some(mutation));
        let bound = |seed| if seed % 2 == 0 { Some(2) } else { None };
        let caught = (0..3000).find(|&seed| matches!(difference(seed, bound(seed)), Some(Err(_))));
        ACTIVE.set(None);
        println!("{mutation:?}: caught by seed {caught:?}");
        assert!(caught.is_some(), "{mutation:?} was not noticed");
    }
}
