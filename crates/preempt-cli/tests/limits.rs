//! Limits are promises: `--time`, Ctrl-C and SIGTERM end any command within a second, whatever it is
//! doing, and threads, stack and address space may be scarce.
//!
//! A hundred slow inputs are generated: models with too many states for every kind of search, steps
//! that run for minutes, formulas and programs whose translation explodes. Here every sixth of them is
//! run, and must end as inconclusive for lack of time. `PREEMPT_SLOW_INPUTS=1` runs all of them, and measures by
//! how much they overrun.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("preempt-limits-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = folder().join(name);
    fs::write(&path, text).expect("an input can be written");
    path
}

fn preempt() -> Command {
    Command::new(env!("CARGO_BIN_EXE_preempt"))
}

fn check(path: &Path, options: &[&str]) -> Output {
    preempt().arg("check").arg(path).args(options).output().expect("the command runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A command that would take much longer than any test waits.
struct Slow {
    name: String,
    text: String,
    extension: &'static str,
    options: Vec<String>,
}

impl Slow {
    fn new(name: impl Into<String>, text: impl Into<String>, options: &str) -> Self {
        let options = options.split_whitespace().map(String::from).collect();
        Slow { name: name.into(), text: text.into(), extension: "pml", options }
    }

    fn boolean(name: impl Into<String>, text: impl Into<String>, options: &str) -> Self {
        Slow { extension: "bp", ..Slow::new(name, text, options) }
    }
}

/// `processes` counters up to 255, each of which is read: 256 to that power states.
fn counters(processes: usize, more: &str) -> String {
    let mut text = format!("byte x[{processes}];\n{more}\n");
    for process in 0..processes {
        let _ = writeln!(
            text,
            "active proctype p{process}() {{ do :: x[{process}] = (x[{process}] + 1) % 251 od }}"
        );
    }
    text
}

/// So many different statements in one process: much to translate, and then much to explore.
fn large_program(statements: usize) -> String {
    let mut text = String::from("int a, b, c;\nactive proctype p() { do\n");
    for number in 0..statements {
        let _ = writeln!(
            text,
            ":: (a + {number}) % 7 != b -> a = (a * {number} + c) % 1009; b = a % 5; c = c + {number}"
        );
    }
    text.push_str("od }\nactive proctype q() { do :: c = c ^ a od }\n");
    text
}

/// A loop of four thousand million steps inside a sequence of this kind.
fn long_sequence(kind: &str, width: usize) -> String {
    let step = "i = i + 1; ".repeat(width);
    format!(
        "int i, rounds; active proctype p() {{ {kind} {{ \
         do :: rounds < 2000000000 -> {step} rounds++ :: else -> break od }}; assert(i < 0) }}\n"
    )
}

/// Untils nested this deep: the automaton explodes.
fn large_formula(depth: usize) -> String {
    let mut formula = "<> (x == 0)".to_string();
    for number in 1..depth {
        formula = format!(
            "((x == {number}) U ({formula})) && ([] <> (x != {number}) || <> [] (y == {number}))"
        );
    }
    formula
}

/// A program that chooses all its variables anew, again and again.
fn constrained(variables: usize) -> String {
    let names: Vec<String> = (0..variables).map(|number| format!("v{number}")).collect();
    let (list, stars) = (names.join(", "), vec!["*"; variables].join(", "));
    let pairs: Vec<String> =
        names.windows(2).map(|pair| format!("('{} | {})", pair[0], pair[1])).collect();
    format!(
        "decl {list};\nvoid init() begin {list} := {stars}; end\nthread one() begin while (*) do {list} := {stars} constrain ({}); od; end\n\
         thread two() begin while (*) do {list} := {stars}; od; assert(v0 | !v0); end\n",
        pairs.join(" & ")
    )
}

/// A chain of so many procedures, each of which calls the next.
fn call_chain(length: usize) -> String {
    let mut text = String::from("decl g;\nvoid init() begin g := F; end\n");
    for number in 0..length {
        let next =
            if number + 1 == length { "g := !g;".into() } else { format!("p{}();", number + 1) };
        let _ = writeln!(text, "void p{number}() begin if (*) then {next} else g := !g; fi; end");
    }
    text.push_str(
        "thread one() begin while (*) do p0(); od; assert(g | !g); end\n\
         thread two() begin p0(); end\n",
    );
    text
}

/// About a hundred commands.
fn slow_inputs() -> Vec<Slow> {
    let mut all = Vec::new();
    let searches = [
        "",
        "--search dfs",
        "--search bfs",
        "--search idfs",
        "--search random --depth 1000000000",
        "--por off",
        "--por off --search bfs",
        "--store tree",
        "--store compact",
        "--store bitstate",
        "--threads 2",
        "--threads 2 --por off",
        "--bound 9",
        "--bound 9 --search dfs",
        "--bound 9 --por off --search dfs",
        "--bound 9 --threads 2",
        "--bound 9 --store bitstate",
        "--iterate",
        "--iterate --threads 2",
        "--iterate --store compact",
        "--iterate --store bitstate",
        "--compat spin",
        "--compat spin --bound 9",
        "--swarm",
        "--swarm --threads 2",
        "--acceptance",
        "--non-progress",
        "--acceptance --fair",
        "--acceptance --bound 3",
        "--acceptance --iterate",
        "--acceptance --store tree",
        "--backend interp",
        "--max-errors 0",
        "--formula [](x[0]<255)",
        "--formula [](x[0]<255) --por off",
        "--search dfs --store tree",
    ];
    for options in searches {
        all.push(Slow::new(format!("counters {options}"), counters(6, ""), options));
    }
    for options in
        ["", "--por off", "--search bfs", "--store bitstate", "--bound 3", "--acceptance"]
    {
        let text = counters(
            6,
            "int wide[20000];\nactive proctype w() { int i; do :: wide[i % 20000] = i; i++ od }",
        );
        all.push(Slow::new(format!("long states {options}"), text, options));
    }
    let blocks: String =
        (0..12).map(|n| format!("ltl p{n} {{ [] (x[0] != 25{}) }}\n", n % 4 + 2)).collect();
    for options in ["", "--por off", "--fair"] {
        all.push(Slow::new(format!("twelve properties {options}"), counters(6, &blocks), options));
    }
    for width in [1, 40] {
        for kind in ["atomic", "d_step"] {
            for options in [
                "",
                "--por off --search bfs",
                "--bound 1",
                "--iterate",
                "--backend interp",
                "--acceptance",
                "--threads 2",
            ] {
                all.push(Slow::new(
                    format!("{kind} {width} {options}"),
                    long_sequence(kind, width),
                    options,
                ));
            }
        }
    }
    for statements in [1_000, 8_000] {
        for options in ["", "--por off", "--bound 3", "--formula [](a<9999)"] {
            let name = format!("{statements} statements {options}");
            all.push(Slow::new(name, large_program(statements), options));
        }
    }
    for depth in [6, 8, 10, 12] {
        let text = format!(
            "byte x, y;\nltl large {{ {} }}\nactive proctype p() {{ do :: x++ :: y++ od }}\n",
            large_formula(depth)
        );
        all.push(Slow::new(format!("formula of depth {depth}"), text, ""));
    }
    for variables in [16, 20, 24, 40] {
        for method in ["explicit", "direct", "lazy", "eager"] {
            let options = format!("--method {method} --switches 6");
            all.push(Slow::boolean(
                format!("constrain {variables} {method}"),
                constrained(variables),
                &options,
            ));
        }
    }
    for (length, options) in [
        (10_000, "--switches 4"),
        (10_000, "--method lazy --switches 6"),
        (4_000, "--method eager --switches 8"),
        (2_000, "--method eager --switches 100000"),
        (3_000, "--bound 4"),
    ] {
        all.push(Slow::boolean(format!("chain {length} {options}"), call_chain(length), options));
    }
    all
}

/// Runs a command with a limit; how long it took.
fn run_limited(slow: &Slow, number: usize, limit: Duration) -> (Output, Duration) {
    let path = file(&format!("slow-{number}.{}", slow.extension), &slow.text);
    let limit = format!("{}ms", limit.as_millis());
    let start = Instant::now();
    let output = preempt()
        .arg("check")
        .arg(&path)
        .args(&slow.options)
        .args(["--json", "--quiet", "--memory", "2G", "--time", &limit])
        .output()
        .expect("the command runs");
    let _ = fs::remove_file(path);
    (output, start.elapsed())
}

#[test]
fn slow_inputs_end_with_their_time() {
    let campaign = std::env::var_os("PREEMPT_SLOW_INPUTS").is_some();
    let limit = Duration::from_millis(if campaign { 1000 } else { 300 });
    let inputs = slow_inputs();
    assert!(inputs.len() >= 100, "{} inputs", inputs.len());
    let (mut answered, mut overruns) = (0, Vec::new());
    for (number, slow) in inputs.iter().enumerate() {
        if !campaign && number % 6 != 0 {
            continue;
        }
        let (output, took) = run_limited(slow, number, limit);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{}: {error}\n{}", slow.name, said(&output)));
        let results = match &report["results"] {
            serde_json::Value::Array(results) => results.clone(),
            _ => vec![report.clone()],
        };
        let code = output.status.code();
        // What is answered in time is slow no more, which is no failure.
        if code == Some(3) {
            let limits = ["time", "memory", "sampling", "lossy_store", "depth"];
            let reasons: Vec<_> = results.iter().map(|result| result["stop"].clone()).collect();
            let is_limit = |stop: &serde_json::Value| limits.iter().any(|limit| stop == limit);
            assert!(reasons.iter().any(is_limit), "{}: {reasons:?}", slow.name);
        } else {
            assert!(matches!(code, Some(0 | 1)), "{}: {code:?} {}", slow.name, said(&output));
            answered += 1;
        }
        let whole: f64 = results.iter().filter_map(|result| result["seconds"].as_f64()).sum();
        assert!(whole <= took.as_secs_f64() + 0.01, "{}: {whole} of {took:?}", slow.name);
        if campaign {
            println!("{:>6} ms: {}", took.as_millis(), slow.name);
        }
        overruns.push((took.saturating_sub(limit), slow.name.clone()));
    }
    overruns.sort();
    overruns.reverse();
    if campaign {
        for (overrun, name) in &overruns {
            println!("{:>6} ms over: {name}", overrun.as_millis());
        }
        println!("{} commands, {answered} answered in time", overruns.len());
        let (worst, name) = &overruns[0];
        assert!(*worst <= Duration::from_secs(1), "{name}: {worst:?}");
    }
    assert!(answered * 3 < overruns.len(), "most of the inputs are slow: {answered} answered");
}

#[cfg(unix)]
#[test]
fn signals_end_what_cannot_be_interrupted() {
    let path = file("sequence.pml", &long_sequence("atomic", 40));
    for signal in ["-INT", "-TERM"] {
        let child = preempt()
            .arg("check")
            .arg(&path)
            .args(["--json", "--memory", "2G"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        std::thread::sleep(Duration::from_millis(500));
        let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.expect("kill runs").success());
        let output = child.wait_with_output().expect("the command ends");
        assert_eq!(output.status.code(), Some(3), "{signal}: {}", said(&output));
        assert!(said(&output).contains("interrupted"), "{signal}: {}", said(&output));
    }
}

/// With a violation in hand, the time limit only cuts the search for a simpler one.
#[test]
fn what_was_found_in_time_is_shown() {
    // The last but two, at its highest while the two behind it are: two preemptions, among many others.
    let mut text = String::from("byte x[60];\n");
    for process in 0..60 {
        let last = if process == 57 { "assert(x[57] + x[58] + x[59] < 6)" } else { "skip" };
        let next = format!("x[{process}] = (x[{process}] + 1) % 3; {last}");
        let _ = writeln!(text, "active proctype p{process}() {{ do :: {next} od }}");
    }
    let path = file("found.pml", &text);
    let output = check(&path, &["--search", "dfs", "--time", "4s", "--memory", "2G"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("a simpler counterexample may exist"), "{}", said(&output));
    let lines = said(&output).lines().count();
    assert!(lines < 2000, "{lines} lines");
    let all = ["--search", "dfs", "--time", "4s", "--memory", "2G", "--max-errors", "0"];
    let output = check(&path, &all);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("the search is incomplete"), "{}", said(&output));
}

const SMALL: &str = "byte x; active [3] proctype p() { byte t; t = x; x = t + 1 }\n";

/// Models whose counterexamples are long: an assertion, a deadlock, a cycle; the last steps of each are its only mistake.
fn long_traces(steps: u32) -> Vec<(String, &'static [&'static str])> {
    let beside = "active proctype Q() { do :: k = (k + 1) % 7 od }";
    let counts = |more: &str| {
        format!(
            "int n; byte k; active proctype P() {{ do :: n < {steps} -> n++ :: {more} od }} {beside}"
        )
    };
    vec![
        (counts("else -> assert(false)"), &["--search", "dfs"]),
        (counts("else -> assert(k > 7)"), &["--bound", "3", "--search", "dfs"]),
        (
            format!(
                "int n; active proctype P() {{ do :: n < {steps} -> n++; printf(\"%d\\n\", n) :: n == {steps} -> break od; n == 0 }}"
            ),
            &["--json", "report.json"],
        ),
        (counts("else -> n = n"), &["--formula", "<> (k == 9)"]),
    ]
}

#[test]
fn what_follows_a_search_belongs_to_the_limit() {
    for steps in [20_000, 200_000] {
        for (number, (text, options)) in long_traces(steps).into_iter().enumerate() {
            for limit in [300, 1500].map(Duration::from_millis) {
                let path = file(&format!("long-{steps}-{number}.pml"), &text);
                // A machine that is busy with something else now is not so three times.
                let late = (0..3).map_while(|_| overrun(&path, options, limit)).count();
                assert!(late < 3, "{options:?} with {limit:?} is late");
            }
        }
    }
}

/// Checks with a limit what has a long counterexample: by how much it was late, if it was.
fn overrun(path: &Path, options: &[&str], limit: Duration) -> Option<Duration> {
    let start = Instant::now();
    let time = format!("{}ms", limit.as_millis());
    let mut command = preempt();
    command.current_dir(folder()).arg("check").arg(path).args(["--time", &time, "-q"]);
    let output = command.args(options).output().expect("the command runs");
    let took = start.elapsed();
    let text = said(&output);
    assert!(matches!(output.status.code(), Some(1 | 3)), "{options:?}\n{text}");
    // What was found is never denied.
    assert!(!text.contains("holds"), "{options:?}\n{text}");
    took.checked_sub(limit + Duration::from_secs(2))
}

#[test]
fn more_threads_than_useful_are_cut() {
    let path = file("small.pml", SMALL);
    for threads in ["5000", "4294967295", "18446744073709551615"] {
        for more in [
            &[][..],
            &["--por", "off"],
            &["--bound", "2"],
            &["--iterate"],
            &["--swarm"],
            &["--acceptance"],
        ] {
            let output = check(&path, &[&["--threads", threads][..], more].concat());
            let code = if more == ["--swarm"] { 3 } else { 0 };
            assert_eq!(output.status.code(), Some(code), "{threads} {more:?}: {}", said(&output));
            let noted = said(&output).contains("threads were used")
                || said(&output).contains("one thread was used");
            assert!(noted, "{threads} {more:?}: {}", said(&output));
        }
    }
    for threads in ["0", "-1", "many"] {
        let output = check(&path, &["--threads", threads]);
        assert_eq!(output.status.code(), Some(2), "{threads}: {}", said(&output));
    }
}

/// Runs a check under a limit of the shell's.
#[cfg(target_os = "linux")]
fn check_under(limit: &str, path: &Path, options: &[&str]) -> Output {
    let script = format!("ulimit {limit} && exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_preempt"), "check"])
        .arg(path)
        .args(options)
        .output()
        .expect("a shell runs")
}

#[cfg(target_os = "linux")]
#[test]
fn a_small_stack_is_enough() {
    let nested =
        format!("byte x; active proctype p() {{ x = {}1{} }}\n", "(".repeat(100), ")".repeat(100));
    for (name, text) in [("small_stack.pml", SMALL), ("nested.pml", &nested)] {
        let path = file(name, text);
        for options in [&[][..], &["--threads", "4"], &["--formula", "[] (x < 9)"]] {
            let output = check_under("-s 64", &path, options);
            assert_eq!(output.status.code(), Some(0), "{name} {options:?}: {}", said(&output));
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn little_address_space_ends_in_an_answer() {
    let small = file("small_space.pml", SMALL);
    let large = file("large_space.pml", &counters(6, ""));
    let ways: [&[&str]; 7] = [
        &[],
        &["--threads", "8"],
        &["--threads", "8", "--por", "off"],
        &["--threads", "8", "--bound", "2"],
        &["--swarm"],
        &["--swarm", "--threads", "8"],
        &["--store", "bitstate"],
    ];
    for limit in ["-v 400000", "-v 800000", "-v 1500000"] {
        for options in ways {
            let output = check_under(limit, &small, options);
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 3)), "{limit} {options:?}: {code:?} {}", said(&output));
            let options = [options, &["--time", "400ms"]].concat();
            let output = check_under(limit, &large, &options);
            let code = output.status.code();
            assert_eq!(code, Some(3), "{limit} {options:?}: {code:?} {}", said(&output));
        }
    }
}

/// A program with recursion; the assertion behind it fails if `fails`, after `deep` calls at least.
fn recursion(deep: usize, fails: bool) -> String {
    let mut text = String::from("decl g;\nvoid init() begin g := F; end\n");
    let _ = writeln!(text, "void p() begin if (*) then p(); else g := T; fi; end");
    for level in 0..deep {
        let call = if level == 0 { "skip;".into() } else { format!("q{}();", level - 1) };
        let last = if level == 0 && fails { " assert(!g);" } else { "" };
        let _ = writeln!(text, "void q{level}() begin {call}{last} end");
    }
    let call = if deep == 0 { "skip".into() } else { format!("q{}()", deep - 1) };
    let _ = writeln!(text, "thread one() begin p(); {call}; end");
    let _ = writeln!(text, "thread two() begin p(); assert(g | !g); end");
    text
}

/// Under `--bound` stacks are followed up to a limit. To reach it is no mistake of the program: a real violation
/// beyond the first execution that reaches it is found, and without one nothing is claimed. Before, every
/// recursive program was "violated: a stack grew beyond 64 frames".
#[test]
fn a_limit_of_ours_is_no_violation() {
    for deep in [0, 1, 3] {
        for fails in [false, true] {
            let path = file(&format!("recursion-{deep}-{fails}.bp"), &recursion(deep, fails));
            let without = said(&check(&path, &[]));
            assert_eq!(without.contains("violated"), fails && deep > 0, "{without}");
            for options in
                [&["--bound", "0"][..], &["--bound", "2"], &["--bound", "1", "--por", "off"]]
            {
                let output = check(&path, options);
                let text = said(&output);
                assert!(!text.contains("stack grew"), "{options:?}: {text}");
                let expected = if fails && deep > 0 { 1 } else { 3 };
                assert_eq!(output.status.code(), Some(expected), "{options:?}: {text}");
            }
        }
    }
}

/// The counterexample goes through indivisible sequences that wait in the middle.
#[test]
fn ends_inside_sequences_are_shown_depth_first() {
    let text = "bit g;\n\
        active proctype p() { bit x; do :: atomic { do :: (g == 1) -> x = 1 - x :: else -> break od };\n\
        atomic { (g == 1); x = g }; g = 0 od }\n\
        active proctype q() { g = 1 - g }\n";
    let path = file("waits_inside.pml", text);
    for options in
        [&["--search", "dfs"][..], &["--search", "dfs", "--por", "off"], &["--search", "bfs"]]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_preempt"))
            .arg("check")
            .arg(&path)
            .args(options)
            .output()
            .expect("the command runs");
        assert_eq!(output.status.code(), Some(1), "{options:?}: {}", said(&output));
    }
}
