//! What reports say is true: replays are judged by what happens now, printed values are those that
//! the program had, what a counterexample executes is not unreached, pictures show the violation, and
//! nothing from a model reaches the terminal as a command.

use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("preempt-statements-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = folder().join(name);
    fs::write(&path, text).expect("a file can be written");
    path
}

fn preempt<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt"));
    command.args(arguments).output().expect("the command runs")
}

fn on(command: &str, path: &Path, more: &[&str]) -> Output {
    let mut words = vec![command.to_string(), path.to_string_lossy().into_owned()];
    words.extend(more.iter().map(|word| word.to_string()));
    preempt(&words)
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn said(output: &Output) -> String {
    stdout(output) + &String::from_utf8_lossy(&output.stderr)
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(output)))
}

/// Saves the counterexample of one model and replays it on another version of it: the exit code and
/// what was said.
fn replayed(name: &str, old: &str, new: &str, options: &[&str]) -> (Option<i32>, String) {
    let path = file(&format!("{name}.pml"), old);
    let trace = folder().join(format!("{name}.trace"));
    let saved = on("check", &path, &[options, &["--trace", &trace.to_string_lossy()]].concat());
    assert_eq!(saved.status.code(), Some(1), "{name}: {}", said(&saved));
    fs::write(&path, new).expect("the model can be changed");
    let output = on("replay", &path, &[&*trace.to_string_lossy()]);
    (output.status.code(), said(&output))
}

#[test]
fn a_replay_is_judged_by_what_happens_now() {
    let model = |value: &str, guard: &str| {
        format!("byte x; active proctype P() {{ x = {value}; {guard} -> x++; assert(x != 2) }}\n")
    };
    let old = model("1", "true");
    let (code, text) = replayed("same", &old, &old, &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("violated again: assertion violated"), "{text}");
    let (code, text) = replayed("mended", &old, &model("2", "true"), &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("nothing is violated (when it was saved: assertion violated"), "{text}");
    let (code, text) = replayed("other", &old, &model("1", "(x == 5)"), &[]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("not an execution of"), "{text}");
}

#[test]
fn replays_of_ends_options_and_earlier_violations() {
    let stuck = |go: &str| format!("bool go; active proctype P() {{ go = {go}; (go) }}\n");
    assert_eq!(replayed("stuck", &stuck("0"), &stuck("0"), &[]).0, Some(1));
    assert_eq!(replayed("moving", &stuck("0"), &stuck("1"), &[]).0, Some(0));
    // The macro that it was saved with is part of the trace.
    let text = "byte x; active proctype P() { x = N; assert(x < 3) }\n";
    assert_eq!(replayed("macro", text, text, &["-D", "N=4"]).0, Some(1));
    // Another violation than before, and before the end.
    let old = "byte x; active proctype P() { x = 1; x = 2; assert(x != 2) }\n";
    let new = "byte x; active proctype P() { x = 1; x = x / (x - 1); assert(x != 2) }\n";
    let (code, text) = replayed("earlier", old, new, &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("after step 2") && text.contains("when it was saved"), "{text}");
    // Messages left behind, which count on request only.
    let left = "chan q = [1] of { byte }; active proctype P() { q!1 }\n";
    assert_eq!(replayed("left", left, left, &["--empty-channels"]).0, Some(1));
}

#[test]
fn replays_of_infinite_executions() {
    let light = |other: &str| {
        format!(
            "bool red, go; ltl served {{ [] <> red }}\n\
             active proctype P() {{ accept: do :: red = {other}; go = 1 :: go = 0 od }}\n"
        )
    };
    let (code, text) = replayed("cycle", &light("1"), &light("1"), &["--ltl", "served"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("violated again"), "{text}");
    // The same steps, but what they do satisfies the property.
    let served = light("1").replace("go = 0", "red = 1");
    let (code, text) = replayed("served", &light("1"), &served, &["--ltl", "served"]);
    assert_eq!(code, Some(0), "{text}");
    for options in
        [&["--acceptance", "--no-claim"][..], &["--non-progress"], &["--formula", "<> (go && red)"]]
    {
        let (code, text) = replayed("options", &light("1"), &light("1"), options);
        assert_eq!(code, Some(1), "{options:?}: {text}");
    }
    let progress = light("1").replace("accept:", "progress: skip; accept:");
    let looping = progress.replace("do ::", "do :: false -> skip ::");
    let (code, text) = replayed("progress", &looping, &looping, &["--non-progress"]);
    assert_eq!(code, Some(1), "{text}");
    // An execution that ends, whose last state repeats.
    let ends = |value: u8| {
        format!("byte x; ltl p {{ <> (x == 2) }} active proctype P() {{ x = {value} }}\n")
    };
    assert_eq!(replayed("ends", &ends(1), &ends(1), &[]).0, Some(1));
    assert_eq!(replayed("ends well", &ends(1), &ends(2), &[]).0, Some(0));
    // A trace that is no cycle any more proves nothing.
    let counting = "byte x; ltl p { <> (x == 9) } active proctype P() { do :: x = 1 - x od }\n";
    let onwards = counting.replace("1 - x", "x + 1");
    let (code, text) = replayed("onwards", counting, &onwards, &[]);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn a_trace_from_elsewhere_brings_no_options_of_its_own() {
    let path = file("plain.pml", "byte x; active proctype P() { x = 1; assert(x == 0) }\n");
    let trace = folder().join("plain.trace");
    on("check", &path, &["--trace", &trace.to_string_lossy()]);
    let victim = folder().join("victim");
    let text = fs::read_to_string(&trace).expect("the trace was saved");
    let option = format!("\"options\": [\"--json\", \"{}\",", victim.display());
    fs::write(&trace, text.replace("\"options\": [", &option)).expect("it can be changed");
    let output = on("replay", &path, &[&*trace.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(!victim.exists());
}

#[test]
fn printed_values_are_those_of_the_program() {
    let path = file(
        "printf.pml",
        "byte a; active proctype P() { byte b; a = 7; b = 3; b++; printf(\"a is %d, b is %d\\n\", a, b); assert(false) }\n",
    );
    for options in [&[][..], &["--por", "off"], &["--backend", "interp"], &["--formula", "[] true"]]
    {
        let output = on("check", &path, options);
        if output.status.code() == Some(1) {
            assert!(stdout(&output).contains("a is 7, b is 4"), "{options:?}: {}", said(&output));
        }
    }
    let plain = on("check", &path, &["--json"]);
    let steps = json(&plain)["violation"]["trace"].clone();
    let printed: String =
        steps.as_array().into_iter().flatten().filter_map(|s| s["output"].as_str()).collect();
    assert_eq!(printed, "a is 7, b is 4\n");
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as usize % bound
    }
}

/// A model of a few processes whose branches depend on shared variables; every statement stands in a
/// line of its own.
fn random_model(random: &mut Random) -> String {
    let mut text = String::from("byte x, y, z;\nbyte few[2];\n");
    for process in 0..2 + random.below(2) {
        let _ = writeln!(text, "active proctype p{process}() {{ byte t;");
        for _ in 0..1 + random.below(3) {
            let name = |random: &mut Random| ["x", "y", "z"][random.below(3)];
            let (a, b, c) = (name(random), name(random), name(random));
            let (n, m) = (random.below(3), random.below(3));
            let _ = match random.below(6) {
                0 => writeln!(text, "if\n:: {a} == {n} ->\n{b} = {m}\n:: else ->\n{c}++\nfi;"),
                1 => writeln!(text, "t = {a};\n{b} = t + {n};"),
                // Where this is an error, the execution ends, and a search that reduces may not see
                // what others would have done.
                4 => writeln!(text, "few[{a}] = {n};"),
                5 => writeln!(text, "{b} = 6 / {a};"),
                2 => writeln!(text, "atomic {{\n{a} = {n};\n{b} = {m}\n}};"),
                _ => writeln!(text, "{a} = {n};\nassert({a} == {n});"),
            };
        }
        text.push_str("skip\n}\n");
    }
    text
}

/// Ways to search, of which some list what they have not reached though they stopped at an error.
const WAYS: [&[&str]; 10] = [
    &["--max-errors", "0"],
    &[],
    &["--search", "dfs"],
    &["--search", "bfs", "--max-errors", "3"],
    &["--bound", "1", "--max-errors", "0"],
    &["--iterate"],
    &["--bound", "2", "--search", "dfs", "--max-errors", "0"],
    &["--threads", "2", "--max-errors", "0"],
    &["--formula", "[] (x < 2)"],
    &["--store", "bitstate", "--max-errors", "0"],
];

#[test]
fn what_a_counterexample_executes_is_not_unreached() {
    let cases = std::env::var("PREEMPT_STATEMENT_CASES").ok().and_then(|n| n.parse().ok());
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut violated = 0;
    for case in 0..cases.unwrap_or(40) {
        let text = random_model(&mut random);
        let path = file("unreached.pml", &text);
        let mut options = vec!["--json"];
        options.extend(WAYS[random.below(WAYS.len())]);
        let report = json(&on("check", &path, &options));
        violated += usize::from(report["verdict"] == "violated");
        let lines = |list: &Value| -> Vec<u64> {
            list.as_array().into_iter().flatten().filter_map(|p| p["line"].as_u64()).collect()
        };
        let executed = lines(&report["violation"]["trace"]);
        for line in lines(&report["unreached"]) {
            assert!(
                !executed.contains(&line),
                "case {case}, {options:?}: line {line} is executed\n{text}"
            );
        }
    }
    assert!(violated > 3, "some are violated: {violated}");
}

#[test]
fn graphs_show_the_violation() {
    let path = file(
        "graph.pml",
        "byte x; active [2] proctype P() { byte t; t = x; x = t + 1 }\n\
         active proctype Q() { (x > 0) -> assert(x == 2) }\n",
    );
    for (extension, bold, bad) in
        [("dot", "penwidth=2.5", "color=red"), ("svg", "edge trace", "state error")]
    {
        let graph = folder().join(format!("graph.{extension}"));
        let output = on("check", &path, &["--graph", &graph.to_string_lossy()]);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        let picture = fs::read_to_string(&graph).expect("the graph was written");
        let report = json(&on("check", &path, &["--json"]));
        let steps = report["violation"]["steps"].as_u64().unwrap_or_default() as usize;
        assert_eq!(picture.matches(bold).count(), steps, "{picture}");
        assert!(picture.contains(bad) && picture.contains("assertion violated"), "{picture}");
        assert!(picture.contains("P(0) @ "), "control locations: {picture}");
    }
    // Too large: the verdict stays, and what can be drawn is drawn.
    let large = file(
        "large.pml",
        "byte x, y; active proctype P() { do :: x++ od } active proctype Q() { do :: y++; assert(y != 3) od }\n",
    );
    let graph = folder().join("large.dot");
    let output = on("check", &large, &["--graph", &graph.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("shows those of the counterexample"), "{}", said(&output));
    assert!(fs::read_to_string(&graph).expect("it was written").contains("penwidth=2.5"));
    let holds = file("holds.pml", "byte x, y; active proctype P() { do :: x++ :: y++ od }\n");
    let graph = folder().join("holds.dot");
    let output = on("check", &holds, &["--no-hide", "--graph", &graph.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("was not written"), "{}", said(&output));
    assert!(!graph.exists());
}

#[test]
fn nothing_to_check_gets_no_tick() {
    let path = file("nothing.pml", "byte x; active proctype P() { x = 1 }\n");
    let usual = stdout(&on("check", &path, &[]));
    assert!(usual.contains("✓ holds"), "{usual}");
    let output = on("check", &path, &["--no-deadlock"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(stdout(&output).starts_with("! nothing to check"), "{}", said(&output));
    let asserts = file("asserts.pml", "byte x; active proctype P() { x = 1; assert(x == 1) }\n");
    assert!(stdout(&on("check", &asserts, &["--no-deadlock"])).contains("✓ holds"));
    let output = on("check", &asserts, &["--no-deadlock", "--no-assert"]);
    assert!(stdout(&output).starts_with("! nothing to check"), "{}", said(&output));
}

/// An escape that would clear the screen, in every place where a model can put it.
#[test]
fn models_cannot_command_the_terminal() {
    let escape = "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}2J\u{202e}";
    let name = format!("esc{escape}.pml");
    let path = file(
        &name,
        &format!(
            "byte x; /* {escape} */ active proctype P() {{ x = 1; printf(\"{escape}\\n\"); assert(x == 0) }}\n"
        ),
    );
    let wrong = file(
        &format!("wrong{escape}.pml"),
        &format!("byte x; active proctype P() {{ {escape} y = 1 }}\n"),
    );
    let trace = folder().join("esc.trace");
    let saved = on("check", &path, &["--trace", &trace.to_string_lossy()]);
    let trace = trace.to_string_lossy().into_owned();
    let missing = folder().join(format!("missing{escape}.pml"));
    for output in [
        saved,
        on("check", &path, &["--no-assert"]),
        on("check", &path, &["--report", "spin"]),
        on("check", &wrong, &[]),
        on("check", &missing, &[]),
        on("check", &path, &["--formula", &format!("[] {escape}")]),
        on("check", &path, &["--ltl", escape]),
        on("simulate", &path, &["--seed", "1"]),
        on("replay", &path, &[&trace]),
        on("replay", &missing, &[&trace]),
        preempt(&["ltl", escape]),
        preempt(&["explain", escape]),
        Command::new(env!("CARGO_BIN_EXE_preempt"))
            .args(["spin", "-run", &path.to_string_lossy()])
            .current_dir(folder())
            .output()
            .expect("the command runs"),
    ] {
        let text = said(&output);
        assert!(!text.is_empty());
        let obeyed =
            text.chars().find(|c| c.is_control() && !"\n\t".contains(*c) || *c == '\u{202e}');
        assert_eq!(obeyed, None, "{text:?}");
    }
    let _ = fs::remove_file(path.with_extension("pml.trail"));
}

#[cfg(unix)]
#[test]
fn files_are_written_whole_or_not_at_all() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let path = file("whole.pml", "byte x; active proctype P() { x = 1; assert(x == 0) }\n");
    let folder = folder().join("whole");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let (report, link) = (folder.join("report.json"), folder.join("link.json"));
    fs::write(&report, "old").expect("a file can be written");
    fs::set_permissions(&report, fs::Permissions::from_mode(0o640)).expect("its mode can be set");
    symlink(&report, &link).expect("a link can be made");
    let output = on("check", &path, &["--json", &link.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let text = fs::read_to_string(&report).expect("the report is there");
    assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
    assert!(fs::symlink_metadata(&link).expect("the link is there").is_symlink());
    assert_eq!(fs::metadata(&report).expect("it is there").permissions().mode() & 0o777, 0o640);
    // Where it cannot be written, what was there stays, and nothing is left beside it.
    let limited = Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 1 && exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_preempt"),
        ])
        .args(["check", &path.to_string_lossy(), "--html", &report.to_string_lossy()])
        .output()
        .expect("a shell runs");
    assert_eq!(limited.status.code(), Some(2), "{}", said(&limited));
    assert!(said(&limited).contains("cannot write"), "{}", said(&limited));
    assert_eq!(fs::read_to_string(&report).expect("it is still there"), text);
    assert_eq!(fs::read_dir(&folder).expect("the folder is there").count(), 2);
}
