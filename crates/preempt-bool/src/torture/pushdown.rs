//! Random pushdown systems against an interpreter of their rules, which knows nothing of programs.

use super::random;
use crate::check::check;
use crate::limits::Limits;
use crate::options::{Method, Options, Switches};
use crate::parse_pushdown;
use preempt_core::{Stop, Verdict};
use preempt_testing::Random;
use std::collections::{HashSet, VecDeque};
use std::fmt::Write;

/// State and top, then state and what replaces it, the top last.
type Rule = (u32, Option<u32>, u32, Vec<u32>);

struct System {
    threads: Vec<Vec<Rule>>,
    state: u32,
    stacks: Vec<Vec<u32>>,
    target: (u32, Vec<Option<u32>>),
}

fn random_system(seed: u64) -> System {
    let mut r = random(seed ^ 0x0BAD_5EED);
    let count = 2 + r.below(2);
    let (states, symbols) = (2 + r.below(2), 2 + r.below(3));
    let mut threads: Vec<Vec<Rule>> = Vec::new();
    for _ in 0..count {
        if !threads.is_empty() && r.chance(30) {
            threads.push(threads[0].clone());
            continue;
        }
        let mut rules = Vec::new();
        for _ in 0..3 + r.below(5) {
            let mut symbol = || r.below(symbols) as u32;
            let (from, top, below) = (symbol(), symbol(), symbol());
            let replaced = match r.below(5) {
                0 | 1 => vec![top],
                2 | 3 => Vec::new(),
                _ => vec![below, top],
            };
            let from = (!r.chance(4)).then_some(from);
            if from.is_none() && replaced.is_empty() {
                continue;
            }
            rules.push((r.below(states) as u32, from, r.below(states) as u32, replaced));
        }
        threads.push(rules);
    }
    let mut stacks: Vec<Vec<u32>> = Vec::new();
    for t in 0..count {
        let height = [1, 1, 1, 1, 2, 0][r.below(6)];
        let stack: Vec<u32> = (0..height).map(|_| r.below(symbols) as u32).collect();
        stacks.push(if t > 0 && r.chance(40) { stacks[0].clone() } else { stack });
    }
    let tops = (0..count).map(|_| (!r.chance(20)).then(|| r.below(symbols) as u32)).collect();
    let target = (r.below(states) as u32, tops);
    let mut system = System { threads, state: 0, stacks, target };
    if r.chance(60) {
        system.target = system.walk(&mut r);
    }
    system
}

fn shown(symbols: &[u32], between: &str) -> String {
    if symbols.is_empty() {
        return "-".into();
    }
    symbols.iter().map(u32::to_string).collect::<Vec<_>>().join(between)
}

impl System {
    /// What is visible after some steps.
    fn walk(&self, r: &mut Random) -> (u32, Vec<Option<u32>>) {
        let (mut state, mut stacks) = (self.state, self.stacks.clone());
        for _ in 0..4 + r.below(40) {
            let t = r.below(self.threads.len());
            let rules = &self.threads[t];
            if rules.is_empty() {
                continue;
            }
            let (from_state, from, to, replaced) = &rules[r.below(rules.len())];
            if *from_state == state && *from == stacks[t].last().copied() && stacks[t].len() < 4 {
                stacks[t].pop();
                stacks[t].extend(replaced);
                state = *to;
            }
        }
        (state, stacks.iter().map(|s| s.last().copied()).collect())
    }

    fn text(&self) -> (String, String, String) {
        let mut text = String::from("3\n");
        for rules in &self.threads {
            text.push_str("PDA 0 4\n");
            for (state, from, to, replaced) in rules {
                let from = from.map_or("-".into(), |symbol| symbol.to_string());
                let mut pushed = replaced.clone();
                pushed.reverse();
                let _ = writeln!(text, "{state} {from} -> {to} {}", shown(&pushed, " "));
            }
        }
        let stacks: Vec<String> = self.stacks.iter().map(|s| shown(s, ".")).collect();
        let tops: Vec<String> = self
            .target
            .1
            .iter()
            .map(|t| shown(&t.iter().copied().collect::<Vec<_>>(), "."))
            .collect();
        let initial = format!("{}|{}", self.state, stacks.join(","));
        (text, initial, format!("{}|{}", self.target.0, tops.join(",")))
    }

    /// The fewest switches to the target, and whether stacks that were too high were left out.
    fn brute_force(&self, most: u32) -> (Option<u32>, bool) {
        let mut truncated = false;
        let mut seen = HashSet::new();
        let mut work = VecDeque::new();
        work.push_back((0, None, self.state, self.stacks.clone()));
        let mut best = None;
        while let Some(now) = work.pop_front() {
            if !seen.insert(now.clone()) {
                continue;
            }
            let (switches, last, state, stacks) = now;
            let tops: Vec<Option<u32>> = stacks.iter().map(|s| s.last().copied()).collect();
            if (state, tops) == self.target {
                best = Some(best.map_or(switches, |b: u32| b.min(switches)));
                continue;
            }
            for (t, rules) in self.threads.iter().enumerate() {
                let cost = switches + u32::from(last.is_some_and(|l| l != t));
                if cost > most {
                    continue;
                }
                for (from_state, from, to, replaced) in rules {
                    if *from_state != state || *from != stacks[t].last().copied() {
                        continue;
                    }
                    let mut next = stacks.clone();
                    next[t].pop();
                    next[t].extend(replaced);
                    if next[t].len() > 5 || seen.len() > 30_000 {
                        truncated = true;
                        continue;
                    }
                    work.push_back((cost, Some(t), *to, next));
                }
            }
        }
        (best, truncated)
    }
}

#[test]
fn pushdown_systems_behave_as_their_rules_say() {
    let most = 3;
    let mut met = [0; 5];
    let mut exact = 0;
    for seed in super::seeds(80) {
        let system = random_system(seed);
        let (text, initial, target) = system.text();
        let shown = format!("seed {seed}: {initial} to {target}\n{text}");
        let program = parse_pushdown(&text, "random.pds", Some(&initial), Some(&target))
            .unwrap_or_else(|e| panic!("{}\n{shown}", e[0]));
        let (best, truncated) = system.brute_force(most);
        exact += usize::from(!truncated);
        for method in [None, Some(Method::Direct), Some(Method::Lazy), Some(Method::Explicit)] {
            let limits = Limits { memory_bytes: Some(128 << 20), ..Limits::default() };
            let switches = Switches::Iterate(most);
            let options = Options { method, switches, limits, max_frames: 8, ..Options::default() };
            let report = check(&program, &options).unwrap();
            let found = match report.claim.verdict {
                Verdict::Violated => report.switches,
                Verdict::Holds | Verdict::HoldsWithinBound(_) | Verdict::Nothing => None,
                Verdict::Inconclusive(Stop::Memory | Stop::Depth) => continue,
                Verdict::Inconclusive(stop) => panic!("{method:?}: {stop}\n{shown}"),
            };
            if truncated {
                let within = best.is_none_or(|b| found.is_some_and(|f| f <= b));
                assert!(within, "{method:?}: {found:?}, {best:?}\n{shown}");
            } else {
                assert_eq!(found, best, "{method:?}\n{shown}");
            }
            if method == Some(Method::Direct) {
                met[found.map_or(4, |k| k as usize)] += 1;
            }
        }
    }
    eprintln!(
        "pushdown systems: violated with 0 to 3 switches, not violated: {met:?}; {exact} exact"
    );
    assert!(met[0] > 0 && met[1] + met[2] + met[3] > 5 && met[4] > 5 && exact > 20, "{met:?}");
}
