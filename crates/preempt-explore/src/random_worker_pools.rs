//! Searches whose executions are made by workers, against searches without, on random programs.
//!
//! The workers here are neither threads nor processes: they execute when they are asked for a
//! report, one of the paths handed out, in any order, and often they are late. So every order of
//! reports can occur, and an occurrence can be repeated.

use crate::random::Random;
use crate::random_programs::{Interpreter, Setting, seeds};
use crate::{
    Ending, Halt, Move, Names, RunReport, Session, Statistics, Terminal, WorkerPool, Workers,
    WorkersLost, execute, forward,
};
use std::collections::BTreeMap;
use std::time::Duration;

struct LateWorkers {
    interpreter: Interpreter,
    setting: Setting,
    names: Names,
    random: Random,
    paths: Vec<Vec<Move>>,
}

impl Workers for LateWorkers {
    fn hand_out(&mut self, path: Vec<Move>) {
        self.paths.push(path);
    }

    fn report(&mut self, patience: Duration) -> Result<Option<RunReport>, WorkersLost> {
        let late = patience.is_zero() && self.random.below(4) > 0;
        if late || self.paths.is_empty() {
            return Ok(None);
        }
        let path = self.paths.swap_remove(self.random.below(self.paths.len()));
        let Setting { limits, rules, .. } = self.setting.clone();
        let mut session = Session::new(&mut self.interpreter, limits, rules, self.names.clone());
        let report = execute(&mut session, path);
        // A worker may also leave it to the search to look for itself.
        if self.random.below(5) == 0 {
            let ending = Ending::Restart;
            return Ok(Some(RunReport { ending, finding: None, ..report }));
        }
        Ok(Some(report))
    }
}

/// Explores with workers; `None` if the search begins again and again.
fn statistics(seed: u64, setting: &Setting) -> Option<(Halt, Statistics)> {
    const ATTEMPTS: usize = 50;
    let mut interpreter = Interpreter::new(seed);
    let names = Names::default();
    for attempt in 0..ATTEMPTS {
        let Setting { limits, rules, .. } = setting.clone();
        let mut session = Session::new(&mut interpreter, limits, rules, names.clone());
        let workers = LateWorkers {
            interpreter: Interpreter::new(seed),
            setting: setting.clone(),
            names: names.clone(),
            random: Random::new(seed ^ attempt as u64),
            paths: Vec::new(),
        };
        let halt =
            forward::explore_reduced_with(&mut session, WorkerPool::of(2, Box::new(workers)));
        if halt != Halt::Restart {
            return Some((halt, session.statistics));
        }
        // Everything begins again only if an execution has shown that the rules must change.
        assert_eq!(session.run.ending, Some(Ending::Restart), "seed {seed}");
    }
    None
}

/// Everything about graphs that does not depend on how far others got before a panic.
fn essence(statistics: &Statistics) -> (BTreeMap<u128, (u32, Terminal)>, Option<u32>) {
    let ends = |e: &(u32, Terminal)| e.1 != Terminal::Panic;
    let graphs = statistics.graphs.iter().filter(|(_, e)| ends(e)).map(|(h, e)| (*h, *e)).collect();
    let panics = statistics.graphs.values().filter(|e| e.1 == Terminal::Panic);
    (graphs, panics.map(|e| e.0).min())
}

#[test]
fn workers_change_no_graph() {
    let mut compared = 0;
    for seed in 0..seeds(2500) {
        let bound = [Some(0), Some(1), Some(2), Some(3), None][seed as usize % 5];
        let setting = Setting::new(bound);
        let (halt, without_object) = setting.statistics(seed, forward::explore_reduced);
        if halt != Halt::Done {
            continue;
        }
        let Some((halt, ours)) = statistics(seed, &setting) else {
            panic!("seed {seed}: the search with workers does not end")
        };
        assert_eq!(halt, Halt::Done, "seed {seed}: {:?}", ours.failure);
        assert_eq!(essence(&ours), essence(&without_object), "seed {seed}");
        compared += 1;
    }
    assert!(compared > 2000, "{compared}");
}
