//! Models with C on the command line: every search agrees, failures have their exit codes, and nothing is
//! compiled where the user did not ask for it.

#[path = "../../preempt-embedded/tests/random/mod.rs"]
mod random;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn file(name: &str, text: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("preempt-embedded-c-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    let path = folder.join(name);
    fs::write(&path, text).expect("a file can be written");
    path
}

fn command(words: &[&str], path: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt"));
    command.arg(words[0]).arg(path).args(&words[1..]);
    // What tests compile is not kept.
    command.env("XDG_CACHE_HOME", path.with_extension("cache"));
    command
}

fn run(words: &[&str], path: &Path) -> Output {
    command(words, path).output().expect("the command runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Verdict and states of a check.
fn check(options: &[&str], path: &Path) -> (String, u64) {
    let output = run(&[&["check", "--json", "-q"], options].concat(), path);
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{options:?}: {e}: {}", said(&output)));
    let report = report["results"].get(0).unwrap_or(&report);
    let verdict = report["verdict"].as_str().unwrap_or_default().to_string();
    (verdict, report["states"].as_u64().unwrap_or(0))
}

/// Ways to search everything: the verdict is the same, and without reduction the number of states.
const WAYS: &[(&[&str], bool)] = &[
    (&["--por", "off"], true),
    (&["--por", "off", "--search", "dfs"], true),
    (&["--por", "off", "--search", "bfs", "--threads", "2"], true),
    (&["--por", "off", "--threads", "2"], true),
    (&["--por", "off", "--store", "tree"], true),
    (&["--por", "on"], false),
    (&["--por", "on", "--threads", "2"], false),
    (&["--iterate"], false),
    (&["--por", "on", "--search", "bfs"], false),
];

#[test]
fn every_search_agrees() {
    agree("random", random::model);
}

#[test]
fn every_search_agrees_beside_claims_with_c() {
    agree("random-claim", random::model_with_changing_claim);
}

#[test]
fn every_search_agrees_where_c_keeps_addresses() {
    agree("random-addresses", random::model_with_addresses);
}

fn agree(name: &str, model: fn(u64) -> String) {
    if !preempt_testing::peers(&["cc"]) {
        return;
    }
    let models = std::env::var("PREEMPT_FRAGMENT_MODELS").ok().and_then(|n| n.parse().ok());
    let (mut violated, models) = (0, models.unwrap_or(25));
    for seed in 1..=models {
        let path = file(&format!("{name}{seed}.pml"), &model(seed));
        let wanted = check(WAYS[0].0, &path);
        assert!(["holds", "violated"].contains(&&*wanted.0), "{seed}: {wanted:?}");
        violated += u64::from(wanted.0 == "violated");
        for (options, counts) in &WAYS[1..] {
            let found = check(options, &path);
            assert_eq!(found.0, wanted.0, "model {seed}: {options:?}");
            if *counts && wanted.0 == "holds" {
                assert_eq!(found.1, wanted.1, "model {seed}: {options:?}");
            }
            assert!(
                *counts || wanted.0 != "holds" || found.1 <= wanted.1 || options[0] == "--iterate"
            );
        }
    }
    assert!(violated > 0 && violated < models, "{violated} of {models} are violated");
}

#[test]
fn c_is_announced_and_its_failures_are_answers() {
    if !preempt_testing::peers(&["cc"]) {
        return;
    }
    let crash = file(
        "crash.pml",
        "byte x;\nactive [2] proctype p() {\n  x++;\n  if :: x == 2 -> c_code { *(volatile int *) 0 = now.x; } :: else fi\n}\n",
    );
    let output = run(&["check"], &crash);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("SIGSEGV") && said(&output).contains("crash.pml:4"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("contains C, which `cc` compiles"));
    let trace = crash.with_extension("trace");
    let trace = trace.to_str().expect("a plain path");
    assert_eq!(run(&["check", "-q", "--trace", trace], &crash).status.code(), Some(1));
    assert_eq!(run(&["replay", trace], &crash).status.code(), Some(1));

    let endless = file("endless.pml", "byte x; init { x = 1; c_code { for (;;) ; }; x = 2 }");
    assert_eq!(run(&["check", "--time", "1s"], &endless).status.code(), Some(3));

    let wrong = file("wrong.pml", "byte x;\ninit {\n  c_code { now.y = 2; }\n}");
    let output = run(&["check"], &wrong);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("wrong.pml:3"), "{}", said(&output));

    let nowhere = file("nowhere.pml", "int x;\ninit {\n  c_code { now.x = q_len(1); }\n}");
    let output = run(&["check"], &nowhere);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("q_len"), "{}", said(&output));

    let open = file("open.pml", "byte x;\ninit {\n  c_code { now.x = 2;\n}");
    let output = run(&["check"], &open);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("never closed"), "{}", said(&output));

    let output = command(&["check"], &crash).env("PREEMPT_C_COMPILER", "no-such-cc").output();
    let output = output.expect("the command runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("`no-such-cc` cannot be started"), "{}", said(&output));
}

#[test]
fn what_cannot_run_c_says_so() {
    if !preempt_testing::peers(&["cc"]) {
        return;
    }
    let path = file("plain.pml", "byte x; init { c_code { now.x = 2; }; assert(x == 2) }");
    for (words, why) in [
        (&["kernel"][..], "it contains C"),
        (&["check", "--processes", "2"], "one process"),
        (&["check", "--checkpoint", "/tmp/preempt-no-such-folder"], "one process"),
        (&["check", "--formula", "[] c_expr { now.x }"], "P0023"),
    ] {
        let output = run(words, &path);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
        assert!(said(&output).contains(why), "{words:?}: {}", said(&output));
    }
    // Formatting looks at the text only.
    let missing =
        command(&["fmt", "--check"], &path).env("PREEMPT_C_COMPILER", "no-such-cc").output();
    assert!(!said(&missing.expect("the command runs")).contains("no-such-cc"));
}

/// A depth-first search takes states that differ only in `UnMatched` memory for one; others say that they do not.
#[test]
fn unmatched_memory() {
    if !preempt_testing::peers(&["cc"]) {
        return;
    }
    let path = file(
        "unmatched.pml",
        "c_decl { int rounds; }\nc_track \"&rounds\" \"sizeof(int)\" \"UnMatched\"\nbyte x;\n\
         init { do :: c_expr { rounds < 9 } -> c_code { rounds++; }; x = 1 - x :: c_expr { rounds == 9 } -> break od; assert(false) }\n",
    );
    let states = |options: &[&str]| {
        let mut words = vec!["check", "--max-errors", "0", "--json"];
        words.extend(options);
        let output = run(&words, &path);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let report: serde_json::Value = serde_json::from_str(&text).expect("a report");
        let told = report["notes"].to_string().contains("were told apart");
        (output.status.code(), report["states"].as_u64(), told)
    };
    let together = states(&[]);
    // Three places in the loop, with either value of x; the end is never reached. Spin stores as many.
    assert_eq!(together, (Some(0), Some(6), false));
    for options in
        [&["--search", "bfs"][..], &["--threads", "2", "--search", "bfs"], &["--bound", "1"]]
    {
        let (code, found, told) = states(options);
        assert!(code == Some(1) && found > Some(20) && told, "{options:?}: {code:?} {found:?}");
    }
}

#[test]
fn formulas_ask_c() {
    if !preempt_testing::peers(&["cc"]) {
        return;
    }
    let model = |bound: u32| {
        format!(
            "c_decl {{ int level; }}\nc_track \"&level\" \"sizeof(int)\"\n\
             active [2] proctype p() {{ do :: c_expr {{ level < 4 }} -> c_code {{ level++; }} :: c_expr {{ level > 0 }} -> c_code {{ level--; }} od }}\n\
             ltl low {{ [] c_expr {{ level < {bound} }} }}\nltl again {{ [] <> c_expr {{ level == 0 }} }}\n"
        )
    };
    // The test of the level and its change are two steps, so two processes get one beyond.
    let low = file("low.pml", &model(6));
    for por in ["on", "off"] {
        assert_eq!(check(&["--ltl", "low", "--por", por], &low).0, "holds");
        assert_eq!(check(&["--ltl", "again", "--por", por], &low).0, "violated");
    }
    let high = file("high.pml", &model(5));
    assert_eq!(check(&["--ltl", "low"], &high).0, "violated");
}

/// A model whose processes count down what only the claim's C counts up.
const CLAIM_WITH_C: &str = "byte x; byte n;
c_decl { int ticks; }
c_track \"&ticks\" \"sizeof(int)\"
active [2] proctype p() { do :: x < 3 && n < 1 -> x++ :: x > 0 && n > 1 -> x-- :: n == 5 -> break od }
never {
  do
  :: c_expr { now.x == 2 && ticks < 3 } -> c_code { ticks++; now.n = now.n + 1; }
  :: x > 0 && n < 6 -> c_code { now.n = now.n + 1; }
  :: else
  :: c_expr { now.n >= 3 && now.x >= 2 && ticks >= 2 } -> break
  od
}
";

#[test]
fn claims_change_the_model_by_c() {
    if !preempt_testing::peers(&["cc"]) {
        return;
    }
    let path = file("claim.pml", CLAIM_WITH_C);
    for (options, _) in WAYS {
        assert_eq!(check(options, &path).0, "violated", "{options:?}");
    }
    let holds = file("claim-holds.pml", &CLAIM_WITH_C.replace("ticks >= 2", "ticks > 3"));
    let wanted = check(&["--por", "off"], &holds);
    assert_eq!(wanted.0, "holds");
    for (options, _) in WAYS {
        assert_eq!(check(options, &holds).0, "holds", "{options:?}");
        if options[0] != "--iterate" {
            // There is no reduction beside such a claim.
            assert_eq!(check(options, &holds), wanted, "{options:?}");
        }
    }
    assert_eq!(check(&["--bound", "0"], &holds).0, "holds_within_bound");
    let text = said(&run(&["check"], &holds));
    assert!(text.contains("C in the never claim changes what the model reads"), "{text}");

    // Infinite executions: the claim accepts where the C of its own counter comes around.
    let round = "accept: do :: n < 2 -> c_code { now.n = now.n + 1; } :: n == 2 -> c_code { now.n = 0; } od";
    let endless = file(
        "claim-endless.pml",
        &format!("byte x, n;\nactive proctype p() {{ do :: x = 1 - x od }}\nnever {{ {round} }}\n"),
    );
    for options in [
        &["--por", "off"][..],
        &["--por", "on"],
        &["--threads", "2"],
        &["--bound", "0"],
        &["--fair"],
    ] {
        assert_eq!(check(options, &endless).0, "violated", "{options:?}");
    }
    let never = round.replace("now.n = 0", "now.n = 3");
    let ended = file(
        "claim-ends.pml",
        &format!("byte x, n;\nactive proctype p() {{ do :: x = 1 - x od }}\nnever {{ {never} }}\n"),
    );
    assert_eq!(check(&[], &ended).0, "holds");

    // What ends the process is a violation with its line here, too.
    let crash = file(
        "claim-crash.pml",
        "byte x, n;\nactive proctype p() { do :: x = 1 - x od }\nnever {\n  do :: c_code { *(volatile int *) 0 = now.n; } od\n}\n",
    );
    let output = run(&["check"], &crash);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("SIGSEGV"), "{}", said(&output));
}

/// A violation beside such a claim is saved and replayed, as a trace of ours and as a trail of Spin, and Spin's are
/// replayed here.
#[test]
fn claims_with_c_are_replayed() {
    if !preempt_testing::peers(&["spin", "cc"]) {
        return;
    }
    for (name, text) in [
        ("replayed.pml", CLAIM_WITH_C.to_string()),
        (
            "replayed-cycle.pml",
            "byte x, n;\nactive proctype p() { do :: n > 0 -> x = 1 - x :: n == 0 -> x = 3 od }\nnever {\n  do :: atomic { n < 2 -> c_code { now.n = now.n + 1; }; (n > 0) } :: n == 2 -> c_code { now.n = 0; } -> break od;\naccept: do :: c_code { now.n = 1 - now.n; } od\n}\n".to_string(),
        ),
    ] {
        let path = file(name, &text);
        let folder = path.parent().expect("it has a folder").join(name.replace('.', "-"));
        fs::create_dir_all(&folder).expect("a folder can be made");
        let at = |name: &str| folder.join(name).to_string_lossy().into_owned();
        for saved in ["ours.trace", "ours.trail"] {
            let saved = at(saved);
            assert_eq!(run(&["check", "-q", "--trace", &saved], &path).status.code(), Some(1));
            let output = run(&["replay", &saved], &path);
            assert_eq!(output.status.code(), Some(1), "{saved}: {}", said(&output));
        }
        let tool = |program: &str, words: &[&str]| {
            let output = Command::new(program).args(words).current_dir(&folder).output();
            output.expect("it starts")
        };
        let model = path.to_string_lossy().into_owned();
        assert!(tool("spin", &["-a", &model]).status.success());
        assert!(tool(&preempt_testing::c_compiler(), &["-w", "-DNOREDUCE", "-o", "pan", "pan.c"]).status.success());
        // Spin's verifier follows our trail to its end.
        let followed = tool("./pan", &["-r", "ours.trail"]);
        let followed = String::from_utf8_lossy(&followed.stdout).into_owned();
        let numbers = fs::read_to_string(folder.join("ours.trail")).expect("it was written");
        let last = numbers.lines().last().and_then(|line| line.split(':').next()).expect("a line");
        assert!(followed.contains(&format!("trail ends after {last} steps")), "{followed}\n{numbers}");
        // And we follow its own.
        tool("./pan", &["-a"]);
        let trail = fs::read_dir(&folder).expect("it is there").filter_map(Result::ok);
        let mut trail = trail.map(|entry| entry.path()).filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().contains("pml"))
        });
        let trail = trail.next().or_else(|| {
            let beside = path.with_extension("pml.trail");
            beside.exists().then_some(beside)
        });
        let trail = trail.expect("Spin saved a trail").to_string_lossy().into_owned();
        let output = run(&["replay", &trail], &path);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    }
}
