//! The command line as scripts see it: exit codes, machine-readable output, bad input, limits.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn models() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

fn preempt(arguments: &[&str]) -> Output {
    preempt_in(&models(), arguments)
}

fn preempt_in(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_str(&stdout(output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(output)))
}

/// A folder for what tests write.
fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("command_line");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A file of this test process, with some text in it.
fn file(name: &str, text: &str) -> PathBuf {
    let path = folder().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn exit_codes_tell_the_verdict() {
    assert_eq!(code(&preempt(&["check", "peterson.pml", "-q"])), 0);
    assert_eq!(code(&preempt(&["check", "peterson_no_turn.pml", "-q"])), 1);
    assert_eq!(code(&preempt(&["check", "peterson_no_turn.pml", "-q", "--bound", "0"])), 0);
    assert_eq!(code(&preempt(&["check", "no_such_file.pml"])), 2);
    assert_eq!(code(&preempt(&["check"])), 2);
    assert_eq!(code(&preempt(&["frobnicate"])), 2);
    assert_eq!(code(&preempt(&["check", "peterson.pml", "--depth", "3", "-q"])), 3);
    assert_eq!(code(&preempt(&["check", "peterson.pml", "--store", "bitstate", "-q"])), 3);
}

#[test]
fn a_bound_is_stated_in_words() {
    let output = preempt(&["check", "peterson_no_turn.pml", "--bound", "0", "--json"]);
    let report = json(&output);
    assert_eq!(report["verdict"], "holds_within_bound");
    assert_eq!(report["bound"], 0);
    let claim = report["claim"].as_str().unwrap();
    assert!(claim.contains("at most 0 preemptions"), "{claim}");
}

#[test]
fn a_search_that_counts_all_violations_is_complete() {
    let first = json(&preempt(&["check", "peterson_no_turn.pml", "--json"]));
    assert_eq!((&first["verdict"], &first["complete"]), (&"violated".into(), &false.into()));
    let all = json(&preempt(&["check", "peterson_no_turn.pml", "--json", "--max-errors", "0"]));
    assert_eq!((&all["verdict"], &all["complete"]), (&"violated".into(), &true.into()));
    assert!(all["states"].as_u64() > first["states"].as_u64(), "{all}");
}

/// Spin's `-q`: both processes end, one message is left behind. (Spin 6.5.2: no error without the
/// flag, an invalid end state with it.)
#[test]
fn messages_left_behind_matter_on_request() {
    let model = file(
        "left_behind.pml",
        "chan c = [2] of { byte };\n\
         active proctype sender() { c!1; c!2 }\n\
         active proctype receiver() { byte x; c?x }\n",
    );
    let model = model.to_str().unwrap();
    assert_eq!(code(&preempt(&["check", model, "-q"])), 0);
    for backend in ["native", "interp"] {
        let report =
            json(&preempt(&["check", model, "--json", "--empty-channels", "--backend", backend]));
        assert_eq!(report["violation"]["kind"], "invalid_end_state", "{report}");
    }
    // Spin's own command ends well when it has found a violation.
    let spin = preempt_in(&folder(), &["spin", "-run", "-q", model]);
    assert_eq!(code(&spin), 0);
    assert!(stdout(&spin).starts_with("pan:1: invalid end state (at depth "), "{}", stdout(&spin));
}

/// One line before the search: each choice is named, and follows from the options.
#[test]
fn a_plan_is_explained_in_one_line() {
    let plan = |options: &[&str]| {
        let output = preempt(
            &[&["check", "peterson.pml", "--no-claim", "--explain-plan"], options].concat(),
        );
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let text = stdout(&output);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("plan: ")).collect();
        assert_eq!(lines.len(), 1, "{text}");
        assert!(text.starts_with("plan: store "), "{text}");
        assert!(lines[0].contains("; executor "), "{text}");
        lines[0].to_owned()
    };
    assert!(plan(&[]).contains("frontier stack (depth-first, where reduction"));
    assert!(plan(&["--por", "off"]).contains("frontier levels"));
    assert!(plan(&["--bound", "1", "-q"]).contains("frontier buckets"));
    assert!(plan(&["--store", "tree"]).contains("store tree"));
    let together = plan(&["--bound", "2", "--threads", "2", "--por", "off"]);
    assert!(together.contains("executor 2 threads") && together.contains("reduction none"));
    let alone = plan(&["--search", "dfs", "--threads", "2"]);
    assert!(alone.contains("executor one thread") && alone.contains("not depth-first"), "{alone}");
    assert_eq!(code(&preempt(&["check", "peterson.pml", "--explain-plan", "--json"])), 2);
    assert_eq!(code(&preempt(&["check", "boolean/bluetooth-1-1.bp", "--explain-plan"])), 2);
}

#[test]
fn iterating_finds_the_least_bound() {
    let report = json(&preempt(&["check", "peterson_no_turn.pml", "--iterate", "--json"]));
    assert_eq!(report["verdict"], "violated");
    assert_eq!(report["violation"]["preemptions"], 1);
    let rows = report["per_bound"].as_array().unwrap();
    assert!(!rows.is_empty());
}

#[test]
fn both_backends_agree() {
    for model in ["peterson.pml", "alternating_bit.pml", "leader_election.pml"] {
        let native = json(&preempt(&["check", model, "--json", "--por", "off"]));
        let interp =
            json(&preempt(&["check", model, "--json", "--por", "off", "--backend", "interp"]));
        for key in ["verdict", "states", "transitions", "errors", "matched"] {
            assert_eq!(native[key], interp[key], "{model}: {key}");
        }
    }
}

#[test]
fn a_mistake_is_shown_with_its_line() {
    let path = file("wrong.pml", "byte x;\nactive proctype P() { x = y + 1 }\n");
    let output = preempt(&["check", path.to_str().unwrap()]);
    assert_eq!(code(&output), 2);
    let message = stderr(&output);
    assert!(message.contains("wrong.pml:2:"), "{message}");
    assert!(message.contains("x = y + 1"), "{message}");
    assert!(message.contains("error[P"), "{message}");
}

#[test]
fn bad_properties_are_refused() {
    let unknown = preempt(&["check", "peterson.pml", "--formula", "[] nonsense"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("nonsense"), "{}", stderr(&unknown));
    let missing = preempt(&["check", "traffic_light.pml", "--ltl", "no_such_property"]);
    assert_eq!(code(&missing), 2);
    assert!(stderr(&missing).contains("no_such_property"));
    let syntax = preempt(&["ltl", "[] (p"]);
    assert_eq!(code(&syntax), 2);
}

#[test]
fn a_trace_is_saved_and_replayed() {
    let path = file("lost.trace", "");
    let trace = path.to_str().unwrap();
    let checked = preempt(&["check", "lost_update.pml", "--trace", trace]);
    assert_eq!(code(&checked), 1, "{}", stderr(&checked));
    let replayed = preempt(&["replay", "lost_update.pml", trace]);
    assert_eq!(code(&replayed), 1, "{}", stderr(&replayed));
    let other = preempt(&["replay", "peterson.pml", trace]);
    assert_eq!(code(&other), 2);
    assert!(stderr(&other).contains("not an execution"), "{}", stderr(&other));
    std::fs::write(&path, "{ not json").unwrap();
    assert_eq!(code(&preempt(&["replay", "lost_update.pml", trace])), 2);
}

#[test]
fn simulations_repeat_with_their_seed() {
    let first = stdout(&preempt(&["simulate", "peterson.pml", "--seed", "7", "--steps", "30"]));
    let again = stdout(&preempt(&["simulate", "peterson.pml", "--seed", "7", "--steps", "30"]));
    assert!(first.starts_with("seed 7"), "{first}");
    assert_eq!(first, again);
    let other = stdout(&preempt(&["simulate", "peterson.pml", "--seed", "8", "--steps", "30"]));
    assert_ne!(first, other);
}

#[test]
fn an_interactive_simulation_follows_commands() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_preempt"))
        .args(["simulate", "peterson.pml", "--interactive"])
        .current_dir(models())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    use std::io::Write;
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"1\nv\nb\nt\nr 3\n99\nb 9\nbreak 17\nc\np\nv turn\nclear 5\nwhat\nq\n")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0);
    let text = stdout(&output);
    assert!(text.contains("wants[") || text.contains("turn"), "{text}");
    for said in [
        "there is no such step",
        "at the start",
        "breakpoints before line 17",
        "before line 17\n",
        "there is no breakpoint at line 5",
        "not understood",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn values_that_are_cut_are_told_once() {
    let model = file(
        "cut.pml",
        "byte x; int i;\nactive proctype A() {\n  do :: i < 3 -> i++;\n    x = i + 300\n  :: else -> break od;\n  assert(x == 1)\n}\n",
    );
    let model = model.to_str().unwrap();
    let simulated = preempt(&["simulate", model, "--seed", "1"]);
    let said = stderr(&simulated);
    assert_eq!(said.matches("cut.pml:4: value 301 is cut to 45 (8 bits)").count(), 1, "{said}");
    assert_eq!(said.matches("P0084").count(), 1, "{said}");
    let checked = preempt(&["check", model]);
    assert!(stdout(&checked).contains("value 301 is cut to 45"), "{}", stdout(&checked));
}

/// More states than any test has time for. What is never read would not be part of the state.
const ENDLESS: &str = "int a, b, c;
active proctype A() { do :: a++ :: b++ :: c++ :: (a + b + c == 123456789) -> break od }
";

#[test]
fn limits_end_in_partial_answers() {
    let big = file("big.pml", ENDLESS);
    let big = big.to_str().unwrap();
    let memory = preempt(&["check", big, "--memory", "64M", "--json"]);
    assert_eq!(code(&memory), 3, "{}", stderr(&memory));
    assert!(json(&memory)["states"].as_u64().unwrap() > 1000);
    let time = preempt(&["check", big, "--time", "1s", "--json"]);
    assert_eq!(code(&time), 3);
    assert_eq!(json(&time)["verdict"], "inconclusive");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_in_a_partial_answer() {
    let big = file("endless.pml", ENDLESS);
    let child = Command::new(env!("CARGO_BIN_EXE_preempt"))
        .args(["check", big.to_str().unwrap(), "--json", "--memory", "2G"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 3, "{}", stderr(&output));
    assert_eq!(json(&output)["verdict"], "inconclusive");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_no_verdict() {
    let output = preempt(&["check", "peterson_no_turn.pml", "--trace", "/dev/full"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("/dev/full"), "{}", stderr(&output));
    assert!(stdout(&output).contains("violated"), "{}", stdout(&output));
}

#[test]
fn spin_lines_are_understood() {
    let model = models().join("peterson.pml");
    let model = model.to_str().unwrap();
    let output = preempt_in(&folder(), &["spin", "-run", "-noreduce", model]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains(&format!("preempt check {model}")), "{}", stderr(&output));
    assert!(stdout(&output).contains("states, stored"), "{}", stdout(&output));
}

#[test]
fn help_and_explanations_are_there() {
    for arguments in [
        vec!["--help"],
        vec!["check", "--help"],
        vec!["man"],
        vec!["man", "check"],
        vec!["completions", "bash"],
        vec!["explain"],
        vec!["explain", "P0001"],
        vec!["explain", "holds_within_bound"],
        vec!["explain", "spin"],
        vec!["ltl", "[](p -> <>q)", "--hoa"],
        vec!["ltl", "<>[]!p", "--normal-form", "--dot"],
        vec!["ltl", "X p", "--stutter"],
    ] {
        let output = preempt(&arguments);
        assert_eq!(code(&output), 0, "{arguments:?}: {}", stderr(&output));
        assert!(!stdout(&output).is_empty(), "{arguments:?}");
    }
    assert_eq!(code(&preempt(&["explain", "P9999"])), 2);
    assert_eq!(code(&preempt(&["man", "nothing"])), 2);
}

/// `serve` prints where it is, answers there, and ends well on Ctrl-C.
#[test]
fn serve_prints_its_address() {
    use std::io::{BufRead, BufReader, Read, Write};
    let root = models().join("..");
    let mut child = Command::new(env!("CARGO_BIN_EXE_preempt"))
        .args([
            "serve",
            "models/peterson.pml",
            "models/boolean/bluetooth-2-1.bp",
            "--no-open",
            "--at",
            "01",
        ])
        .current_dir(&root)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut url = String::new();
    lines.read_line(&mut url).unwrap();
    let address = url.trim().strip_prefix("http://").unwrap().strip_suffix("/#path=01").unwrap();
    let (host, token) = address.split_once('/').unwrap();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    write!(stream, "GET /{token}/ HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<!doctype html>"), "{page}");
    // SAFETY: the child is ours and has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn serve_refuses_what_it_cannot_show() {
    let refused = |arguments: &[&str]| {
        let output = preempt(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        stderr(&output)
    };
    assert!(refused(&["serve", "missing.pml", "--no-open"]).contains("missing.pml"));
    assert!(refused(&["serve", "--no-open"]).contains("FILES"));
    assert!(refused(&["serve", "peterson.pml", "--at", "../x", "--no-open"]).contains("path"));
    assert!(
        refused(&["serve", "boolean/bluetooth-2-1.bp", "--no-merge", "--no-open"])
            .contains("--no-merge")
    );
}

/// `lsp` speaks the protocol over standard input and output, with the diagnostics of `check`.
#[test]
fn lsp_says_what_check_says() {
    use std::io::{BufRead, BufReader, Read, Write};
    let path = file("wrong.pml", "byte x;\nactive proctype p() { x = y; undefined!1 }\n");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_preempt"))
        .arg("lsp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut send = |message: serde_json::Value| {
        let body = message.to_string();
        write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        input.flush().unwrap();
    };
    let mut receive = || {
        let mut length = 0;
        loop {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            match line.trim().split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        output.read_exact(&mut body).unwrap();
        serde_json::from_slice::<serde_json::Value>(&body).unwrap()
    };
    use serde_json::json;
    let uri = format!("file://{}", path.display());
    send(
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "capabilities": {} } }),
    );
    assert_eq!(receive()["result"]["capabilities"]["hoverProvider"], true);
    send(json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
    let document = json!({ "uri": uri, "languageId": "promela", "version": 1, "text": text });
    send(
        json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": document } }),
    );
    let told = receive();
    let codes: Vec<&str> = told["params"]["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes.len(), 2, "{told}");
    let checked = stderr(&preempt(&["check", path.to_str().unwrap()]));
    for code in codes {
        assert!(checked.contains(&format!("[{code}]")), "{code}: {checked}");
    }
    send(json!({ "jsonrpc": "2.0", "id": 2, "method": "shutdown" }));
    assert_eq!(receive()["id"], 2);
    send(json!({ "jsonrpc": "2.0", "method": "exit" }));
    assert!(child.wait().unwrap().success());
}

#[test]
fn fmt_indents_in_place() {
    let path = file("crooked.pml", "active proctype p() {\n\n\n      skip   \n}\n");
    let name = path.to_str().unwrap();
    let asked = preempt(&["fmt", "--check", name]);
    assert_eq!((code(&asked), stdout(&asked).trim()), (1, name));
    assert_eq!(code(&preempt(&["fmt", name])), 0);
    assert_eq!(code(&preempt(&["fmt", "--check", name])), 0);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "active proctype p() {\n\n    skip\n}\n");
    assert_eq!(code(&preempt(&["fmt", "missing.pml"])), 2);
}

#[test]
fn fmt_prints_on_request_and_as_spin_does() {
    let crooked = "active proctype p() {\n      skip\n}\n";
    let straight = "active proctype p() {\n    skip\n}\n";
    let path = file("crooked_too.pml", crooked);
    let name = path.to_str().unwrap();
    for words in [["fmt", "--print", name], ["spin", "-pp", name]] {
        let printed = preempt(&words);
        assert_eq!((code(&printed), stdout(&printed).as_str()), (0, straight), "{words:?}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), crooked);
    let piped = Command::new(env!("CARGO_BIN_EXE_preempt"))
        .args(["spin", "-pp"])
        .stdin(std::fs::File::open(&path).unwrap())
        .output()
        .unwrap();
    assert_eq!((code(&piped), stdout(&piped).as_str()), (0, straight));
}

/// The command line offers every search that draws executions at random, by its name.
#[test]
fn every_sampler_is_offered_by_its_name() {
    assert!(preempt_check::search::SAMPLERS.len() > 1);
    for sampler in preempt_check::search::SAMPLERS {
        let found =
            preempt(&["check", "lost_update.pml", "--search", sampler.name, "--seed", "3", "-q"]);
        assert_eq!(code(&found), 1, "{}: {}", sampler.name, stderr(&found));
        let nothing = preempt(&["check", "peterson.pml", "--search", sampler.name, "-q"]);
        assert_eq!(code(&nothing), 3, "{}: {}", sampler.name, stderr(&nothing));
    }
}
