//! Sizes and times of translation beside Spin's, for the formulas of the size table.
//!
//! `cargo run --release -p preempt-ltl --example against_spin` needs `spin` on the path.
//! Ours is the median of 21 runs in this process; Spin's is the least of 5 runs of
//! `spin -f` (3 s limit), shown with and without the time that `spin -V` takes.

use preempt_ltl::{parse, translate};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SIZES: &str = include_str!("../tests/sizes.tsv");
const LIMIT: Duration = Duration::from_secs(3);

fn main() {
    let start_up =
        (0..20).filter_map(|_| timed(&["-V"])).map(|(time, _)| time).min().unwrap_or_default();
    println!("`spin -V` takes {} µs\n", start_up.as_micros());
    println!("| formula | our states | our µs | Spin states | Spin µs | less start-up |");
    println!("|---|---|---|---|---|---|");
    let (mut faster, mut faster_without_start, mut compared, mut worst) = (0, 0, 0, 0);
    for line in SIZES.lines() {
        let text = line.split('\t').next().unwrap_or_default();
        let Ok(parsed) = parse(text) else { continue };
        let mut times: Vec<Duration> = Vec::new();
        let mut states = 0;
        for _ in 0..21 {
            let start = Instant::now();
            if let Ok(parsed) = parse(text)
                && let Ok(automaton) = translate(&parsed.formula)
            {
                states = automaton.len();
            }
            times.push(start.elapsed());
        }
        times.sort_unstable();
        let ours = times[times.len() / 2];
        worst = worst.max(ours.as_micros());
        let spin = if parsed.formula.has_next() {
            "refuses X | |".to_owned()
        } else {
            // Spin's own weak until is not known to `spin -f`; give it the dual of until.
            let shown = weak_free(&parsed.formula).display(&parsed.names).to_string();
            match (0..5).map_while(|_| timed(&["-f", &shown])).min_by_key(|(time, _)| *time) {
                Some((time, claim)) => {
                    compared += 1;
                    let own = time.saturating_sub(start_up);
                    faster += usize::from(ours < time);
                    faster_without_start += usize::from(ours < own);
                    let labels = claim
                        .lines()
                        .filter(|l| l.ends_with(':') && !l.starts_with("accept_init"))
                        .count();
                    format!("{labels} | {} | {}", time.as_micros(), own.as_micros())
                }
                None => {
                    compared += 1;
                    faster += 1;
                    faster_without_start += 1;
                    "gave up | > 3 s |".to_owned()
                }
            }
        };
        println!("| `{text}` | {states} | {} | {spin} |", ours.as_micros());
    }
    println!(
        "\nfaster than Spin in {faster} of {compared} ({faster_without_start} of {compared} \
         when Spin's start-up is taken off); slowest of ours {worst} µs"
    );
}

/// Wall-clock time and output, or `None` beyond the limit.
fn timed(arguments: &[&str]) -> Option<(Duration, String)> {
    let start = Instant::now();
    let mut child = Command::new("spin")
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    loop {
        match child.try_wait().ok()? {
            Some(_) => break,
            None if start.elapsed() > LIMIT => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            None => std::thread::sleep(Duration::from_micros(50)),
        }
    }
    let time = start.elapsed();
    let output = child.wait_with_output().ok()?;
    Some((time, String::from_utf8_lossy(&output.stdout).into_owned()))
}

fn weak_free(formula: &preempt_ltl::Formula) -> preempt_ltl::Formula {
    use preempt_ltl::Formula as F;
    let again = |f: &F| weak_free(f);
    match formula {
        F::True | F::False | F::Prop(_) => formula.clone(),
        F::Not(f) => again(f).not(),
        F::Next(f) => again(f).next(),
        F::Always(f) => again(f).always(),
        F::Eventually(f) => again(f).eventually(),
        F::And(f, g) => again(f).and(again(g)),
        F::Or(f, g) => again(f).or(again(g)),
        F::Implies(f, g) => again(f).implies(again(g)),
        F::Equivalent(f, g) => again(f).equivalent(again(g)),
        F::Until(f, g) => again(f).until(again(g)),
        F::Release(f, g) => again(f).release(again(g)),
        F::WeakUntil(f, g) => again(g).release(again(f).or(again(g))),
    }
}
