//! loom, shuttle and preempt on the same test bodies, in one run.
//!
//! `cargo run --release -p bench-rust-testing -- 300` prints `benches/RUST-TESTING.md`, all of it. Time is
//! processor time, so that other load on the machine does not matter; all three tools use one
//! thread. Each measurement is a process of its own: loom ends the process on a deadlock, and some searches do
//! not end at all. A measurement that does not end counts with its time limit, which flatters the
//! peer.

#![allow(clippy::duplicate_mod, reason = "each tool gets its own copy of the bodies")]

mod bodies;
mod weak;
mod with_loom;
mod with_preempt;
mod with_shuttle;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

static EXECUTIONS: AtomicU64 = AtomicU64::new(0);
/// How often the body was begun, also by executions that were stopped to learn something about the test.
static STARTED: AtomicU64 = AtomicU64::new(0);
static GRAPHS: AtomicU64 = AtomicU64::new(0);
/// Executions of all searches that ended, where a search is repeated.
static REPEATED: AtomicU64 = AtomicU64::new(0);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|a| a == "one") {
        return one(&arguments[1..]);
    }
    let limit = arguments.last().and_then(|a| a.parse().ok()).unwrap_or(1000);
    if arguments.first().is_some_and(|a| a == "weak") {
        print!("{}", weak::tables(limit));
        return ExitCode::SUCCESS;
    }
    print!("{}", tables(limit));
    ExitCode::SUCCESS
}

/// What a measurement needs to know.
#[derive(Clone)]
struct Case {
    tool: &'static str,
    body: &'static str,
    size: usize,
    broken: bool,
    bound: Option<u32>,
}

/// What a measurement gave.
#[derive(Clone, Debug)]
struct Result {
    status: String,
    executions: u64,
    seconds: f64,
    started: u64,
}

/// What the tables are about.
fn introduction(limit: u64) -> String {
    format!(
        "# loom, shuttle and preempt on the same test bodies\n\n\
         Made by `cargo run --release -p bench-rust-testing -- {limit} > benches/RUST-TESTING.md` (the argument is \
         the limit per search in milliseconds of processor time), in one run. The bodies are one text compiled \
         against each tool (`crates/preempt/tests/bodies/programs.rs`); loom 0.7, shuttle 0.9. Each cell shows how \
         the search ended, the number of executions of the body, and processor time including the start of the \
         tool. shuttle has no preemption bound, so it is compared with unbounded search only. A search that did \
         not end counts with the limit, which flatters it.\n\n\
         preempt never runs a body more often than loom or shuttle to exhaust the same bound, except where loom \
         loses executions: see \"What loom loses\". loom fails `racy_counter`, `spinlock` and `ticketlock` \
         in its first execution because it lets SeqCst operations see old values: it also fails them at bound 0, \
         where no update can be lost (see \"Wrong answers\").\n\n"
    )
}

/// \[MQ07b\] Table 1 on our queue, and \[MQ07\] Table 2.
fn papers() -> String {
    use preempt::{Check, Strategy};
    let mut text = String::from(
        "\n## [MQ07b] Table 1 on our work-stealing queue\n\n\
         Executions of plain context-bounded search (cb-dfs) and partial orders (cb-por, one execution each at \
         most). As in the paper: nearly equal at small bounds, with a growing gap.\n\n\
         | size | bound | cb-dfs | cb-por |\n|---|---|---|---|\n",
    );
    for size in [3, 4, 5] {
        let body = move || with_preempt::work_stealing(size, with_preempt::Steal::Correct);
        let check = Check::new().time(Duration::from_secs(600)).preemptions(4);
        let plain = check.clone().strategy(Strategy::ContextBoundedDfs).run(body);
        let reduced = check.strategy(Strategy::PartialOrders).run(body);
        let mut before = 0;
        for (plain, reduced) in plain.per_bound.iter().zip(&reduced.per_bound) {
            // Plain search explores every bound from the beginning.
            let executions = plain.executions - before;
            before = plain.executions;
            let _ = writeln!(
                text,
                "| {size} | {} | {executions} | {} |",
                plain.preemptions, reduced.partial_orders
            );
        }
    }
    text.push_str(
        "\n## [MQ07] Table 2: bugs by the preemptions they need\n\n\
         From `cargo test -p preempt --test bugs`; each is found at this bound, and plain search confirms that none \
         exists below it.\n\n\
         | preemptions | bugs |\n|---|---|\n\
         | 0 | bounded queue with one condition variable (deadlock), order of two stores |\n\
         | 1 | Bluetooth driver, philosophers 2 to 4, Treiber stack without tags (ABA), ticket lock drawn in two \
         steps, work-stealing queue that reads top early, use after free, file system, lost update |\n\
         | 2 | spin lock taken in two steps, work-stealing queue whose thief does not compete |\n\
         | 3 | work-stealing queue whose owner does not compete for the last item |\n",
    );
    text
}

fn tables(limit: u64) -> String {
    let mut text = introduction(limit);
    let exhaust: &[(&str, usize, &[Option<u32>])] = &[
        ("racy_counter", 2, &[Some(1), Some(2), None]),
        ("racy_counter", 3, &[Some(1), Some(2), Some(3), None]),
        ("mutex_counter", 3, &[Some(1), Some(2), Some(3), None]),
        ("independent", 4, &[Some(1), Some(2), None]),
        ("bluetooth", 1, &[Some(1), Some(2), None]),
        ("bluetooth", 2, &[Some(1), Some(2), Some(3)]),
        ("philosophers", 3, &[Some(1), Some(2), None]),
        ("philosophers", 4, &[Some(1), Some(2)]),
        ("treiber", 3, &[Some(1), Some(2), None]),
        ("ticketlock", 2, &[Some(1), Some(2), None]),
    ];
    let mut ratios = Ratios::default();
    text.push_str("## To exhaust\n\n");
    text.push_str(HEADER);
    for &(body, size, bounds) in exhaust {
        for &bound in bounds {
            row(&mut text, &mut ratios, body, size, false, bound, limit);
        }
    }
    let bugs: &[(&str, usize)] = &[
        ("racy_counter", 2),
        ("bluetooth", 1),
        ("bluetooth", 2),
        ("work_stealing", 2),
        ("bounded_queue", 1),
        ("philosophers", 2),
        ("philosophers", 3),
        ("philosophers", 4),
        ("treiber", 3),
        ("spinlock", 2),
        ("ticketlock", 2),
    ];
    text.push_str("\n## To the first failure\n\n");
    text.push_str(HEADER);
    for &(body, size) in bugs {
        row(&mut text, &mut ratios, body, size, true, None, limit);
    }
    text.push_str("\n## Summary\n\n");
    let _ = writeln!(
        text,
        "Geometric mean of time ratios: loom {:.1}x over {} rows, shuttle's depth-first search {:.1}x \
         over {} rows (a search that did not end counts with its limit of {limit} ms).",
        ratios.loom.mean(),
        ratios.loom.0.len(),
        ratios.shuttle.mean(),
        ratios.shuttle.0.len()
    );
    text.push_str("\n## Wrong answers\n\n");
    text.push_str(
        "| body | bound | truth | preempt | loom | shuttle dfs |\n|---|---|---|---|---|---|\n",
    );
    for (body, size, broken, bound, truth) in WRONG {
        let case = |tool| Case { tool, body, size, broken, bound };
        let answers = ["preempt", "loom", "shuttle"].map(|tool| match (tool, bound) {
            ("shuttle", Some(_)) => "has no bound".into(),
            _ => measure(&case(tool), limit).status,
        });
        let bound = bound.map_or("none".into(), |b| b.to_string());
        let _ = writeln!(text, "| {body} {size} | {bound} | {truth} | {} |", answers.join(" | "));
    }
    text.push_str("\n`cargo test -p bench-rust-testing` checks these.\n");
    text.push_str("\n## What loom loses\n\n");
    text.push_str(
        "Distinct outcomes of correct programs (what was popped, what was left, how often a thread had to \
         try again; the order of entries in a log) that executions within the bound can have, by \
         plain depth-first search without any reduction, by preempt, and by loom.\n\n\
         | body | bound | plain search | preempt | loom | lost by loom |\n|---|---|---|---|---|---|\n",
    );
    for (body, size, bound) in OUTCOMES {
        let seen = |tool| outcomes(&Case { tool, body, size, broken: false, bound }, 10 * limit);
        let [plain, ours, loom] = ["preempt-dfs", "preempt", "loom"].map(seen);
        let lost = plain.difference(&loom).count();
        let name = bound.map_or("none".into(), |b| b.to_string());
        let _ = writeln!(
            text,
            "| {body} {size} | {name} | {} | {} | {} | {lost} |",
            plain.len(),
            ours.len(),
            loom.len(),
        );
    }
    text.push_str("\n## Without bound: our strategies\n\n");
    text.push_str(
        "The default runs the body for unknown local histories only and remembers states; the optimal \
         reduction runs it exactly once per partial order and remembers nothing but the current path; sleep \
         sets imagine states and remember histories.\n\n\
         | body | default | optimal | sleep sets |\n|---|---|---|---|\n",
    );
    for (body, size) in UNBOUNDED {
        let case = |tool| Case { tool, body, size, broken: false, bound: None };
        let cells = ["preempt", "preempt-optimal", "preempt-sleep"]
            .map(|tool| show(&measure(&case(tool), 10 * limit)));
        let _ = writeln!(text, "| {body} {size} | {} |", cells.join(" | "));
    }
    text.push_str("\n## Executions per second, three-thread counter, random schedules\n\n");
    text.push_str("| tool | executions/s |\n|---|---|\n");
    for tool in ["preempt-random", "preempt-dfs", "shuttle-random"] {
        let case = Case { tool, body: "racy_counter", size: 3, broken: false, bound: None };
        let result = measure(&case, limit);
        let _ = writeln!(text, "| {tool} | {:.0} |", result.executions as f64 / result.seconds);
    }
    text.push_str(&papers());
    text
}

/// Correct programs whose outcomes are counted.
const OUTCOMES: [(&str, usize, Option<u32>); 7] = [
    ("treiber_outcomes", 3, Some(0)),
    ("treiber_outcomes", 3, Some(1)),
    ("treiber_outcomes", 3, Some(2)),
    ("treiber_outcomes", 3, None),
    ("log_outcomes", 3, Some(0)),
    ("log_outcomes", 3, Some(1)),
    ("log_outcomes", 3, Some(2)),
];

/// Correct programs to be exhausted.
const UNBOUNDED: [(&str, usize); 7] = [
    ("racy_counter", 3),
    ("racy_counter", 4),
    ("mutex_counter", 3),
    ("bluetooth", 2),
    ("work_stealing", 3),
    ("work_stealing", 4),
    ("philosophers", 5),
];

/// Questions that some tool answers wrongly, with the right answer.
const WRONG: [(&str, usize, bool, Option<u32>, &str); 8] = [
    ("philosophers", 4, true, Some(1), "deadlocks with one preemption"),
    ("bounded_queue", 1, true, Some(0), "deadlocks without preemption"),
    ("store_buffering", 1, false, None, "holds (SeqCst)"),
    ("work_stealing", 2, false, None, "holds (SeqCst)"),
    ("spinlock", 2, false, None, "holds, finite with yields"),
    ("racy_counter", 2, true, Some(0), "holds without preemption (SeqCst)"),
    ("spinlock", 2, true, Some(0), "holds without preemption (SeqCst)"),
    ("ticketlock", 2, true, Some(0), "holds without preemption (SeqCst)"),
];

const HEADER: &str = "| body | bound | preempt: executions, time | loom | shuttle dfs | loom/preempt | \
shuttle/preempt |\n|---|---|---|---|---|---|---|\n";

#[derive(Default)]
struct Ratios {
    loom: Geometric,
    shuttle: Geometric,
}

#[derive(Default)]
struct Geometric(Vec<f64>);

impl Geometric {
    fn mean(&self) -> f64 {
        let sum: f64 = self.0.iter().map(|r| r.ln()).sum();
        (sum / self.0.len().max(1) as f64).exp()
    }
}

fn row(
    text: &mut String,
    ratios: &mut Ratios,
    body: &'static str,
    size: usize,
    broken: bool,
    bound: Option<u32>,
    limit: u64,
) {
    let case = |tool| Case { tool, body, size, broken, bound };
    let ours = measure(&case("preempt"), limit);
    let loom = measure(&case("loom"), limit);
    let ratio = |theirs: &Result| theirs.seconds / ours.seconds;
    ratios.loom.0.push(ratio(&loom));
    // shuttle has no bound: compare with the unbounded search only.
    let shuttle = bound.is_none().then(|| measure(&case("shuttle"), limit));
    if let Some(shuttle) = &shuttle {
        ratios.shuttle.0.push(ratio(shuttle));
    }
    let bound = bound.map_or("none".into(), |b| b.to_string());
    let shown = shuttle.as_ref().map_or(String::new(), show);
    let times = shuttle.as_ref().map_or(String::new(), |s| format!("{:.1}x", ratio(s)));
    let _ = writeln!(
        text,
        "| {body} {size} | {bound} | {} | {} | {shown} | {:.1}x | {times} |",
        show(&ours),
        show(&loom),
        ratio(&loom),
    );
}

fn show(result: &Result) -> String {
    let Result { status, executions, seconds, .. } = result;
    format!("{status} {executions}, {:.1} ms", seconds * 1000.0)
}

/// The distinct outcomes that a tool's executions have.
fn outcomes(case: &Case, limit: u64) -> BTreeSet<String> {
    let text = run(case, limit).unwrap_or_default();
    text.lines().filter_map(|l| l.strip_prefix("OUTCOME ")).map(str::to_string).collect()
}

/// Runs one measurement in a process of its own; what it printed.
fn run(case: &Case, limit: u64) -> Option<String> {
    let executable = std::env::current_exe().ok()?;
    let bound = case.bound.map_or("none".into(), |b| b.to_string());
    let output = Command::new(executable)
        .args(["one", case.tool, case.body, &case.size.to_string(), &case.broken.to_string()])
        .args([&bound, &limit.to_string()])
        .stderr(std::process::Stdio::null())
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn measure(case: &Case, limit: u64) -> Result {
    let failed = |status: &str| Result {
        status: status.into(),
        executions: 0,
        seconds: limit as f64 / 1000.0,
        started: 0,
    };
    let Some(text) = run(case, limit) else { return failed("did not start") };
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["RESULT", status, executions, seconds, started] = words[..]
            && let (Ok(executions), Ok(seconds)) = (executions.parse(), seconds.parse())
            && let Ok(started) = started.parse()
        {
            return Result { status: status.into(), executions, seconds, started };
        }
    }
    failed("aborted")
}

/// One measurement, in this process.
fn one(arguments: &[String]) -> ExitCode {
    let [tool, body, size, broken, bound, limit] = arguments else { return ExitCode::FAILURE };
    let (Ok(size), Ok(limit)) = (size.parse::<usize>(), limit.parse::<u64>()) else {
        return ExitCode::FAILURE;
    };
    let broken = broken == "true";
    let bound: Option<u32> = bound.parse().ok();
    let begin = processor_time();
    let started = Instant::now();
    std::thread::spawn(move || {
        while processor_time() - begin < limit as f64 / 1000.0 && started.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        finish("timeout", begin);
    });
    let function = match tool.split('-').next() {
        Some("preempt") => bodies::weak_with_preempt(body).or_else(|| bodies::with_preempt(body)),
        Some("loom") => bodies::weak_with_loom(body).or_else(|| bodies::with_loom(body)),
        _ => bodies::with_shuttle(body),
    };
    let Some(function) = function else { return ExitCode::FAILURE };
    let counted = move || {
        EXECUTIONS.fetch_add(1, Ordering::Relaxed);
        STARTED.fetch_add(1, Ordering::Relaxed);
        function(size, broken);
    };
    if tool != "preempt" && !tool.starts_with("preempt-") {
        // The first panic is the answer; what the tool does afterwards may end the process.
        std::panic::set_hook(Box::new(move |_| finish("failure", begin)));
    }
    let status = match tool.as_str() {
        "loom" => with_loom_search(bound, counted),
        // The timer ends these.
        "loom-repeated" => loop {
            with_loom_search(bound, counted);
        },
        "preempt-repeated" => {
            let mut executions = 0;
            loop {
                ours(tool, bound, counted);
                // `ours` has stored those of the last search.
                executions += EXECUTIONS.load(Ordering::Relaxed);
                REPEATED.store(executions, Ordering::Relaxed);
            }
        }
        "shuttle" => {
            shuttle::check_dfs(counted, None);
            "exhausted"
        }
        "shuttle-random" => {
            shuttle::check_random(counted, 100_000_000);
            "sampled"
        }
        _ => ours(tool, bound, counted),
    };
    finish(status, begin)
}

fn with_loom_search(bound: Option<u32>, body: impl Fn() + Sync + Send + 'static) -> &'static str {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = bound.map(|b| b as usize);
    builder.max_branches = 20_000;
    builder.check(body);
    "exhausted"
}

fn ours(tool: &str, bound: Option<u32>, body: impl Fn() + Sync) -> &'static str {
    use preempt::{Check, Outcome, Strategy};
    let check = Check::new().time(Duration::from_secs(3600));
    let check = match bound {
        Some(bound) => check.preemptions(bound),
        None => check.unbounded(),
    };
    let check = match tool {
        "preempt-random" => check.strategy(Strategy::Random { seed: 1 }).executions(u64::MAX),
        "preempt-dfs" => check.strategy(Strategy::ContextBoundedDfs),
        "preempt-optimal" => check.strategy(Strategy::Optimal),
        "preempt-sleep" => check.strategy(Strategy::SleepSets),
        _ => check.strategy(Strategy::PartialOrders),
    };
    let report = check.run(body);
    // Repeating the failure for its report is not part of the search.
    EXECUTIONS.store(report.executions, Ordering::Relaxed);
    GRAPHS.store(report.partial_orders, Ordering::Relaxed);
    match report.outcome {
        Outcome::Failed(_) => "failure",
        Outcome::Inconclusive(_) => "inconclusive",
        Outcome::Holds | Outcome::HoldsWithinBound(_) => "exhausted",
    }
}

/// However slow the machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Processor time of this process, in seconds.
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to the structure it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn finish(status: &str, begin: f64) -> ! {
    let seconds = processor_time() - begin;
    let mut out = std::io::stdout().lock();
    let outcomes = bodies::OUTCOMES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for outcome in outcomes.iter() {
        let _ = writeln!(out, "OUTCOME {outcome:?}");
    }
    let _ = writeln!(out, "GRAPHS {}", GRAPHS.load(Ordering::Relaxed));
    let executions = match REPEATED.load(Ordering::Relaxed) {
        0 => EXECUTIONS.load(Ordering::Relaxed),
        repeated => repeated,
    };
    let started = STARTED.load(Ordering::Relaxed);
    let _ = writeln!(out, "RESULT {status} {executions} {seconds} {started}");
    let _ = out.flush();
    std::process::exit(0)
}
