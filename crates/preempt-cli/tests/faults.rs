//! What ends a run early, or strains it, has a clear outcome and the right exit code.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const VIOLATED: Option<i32> = Some(1);
const FAILED: Option<i32> = Some(2);
const INCONCLUSIVE: Option<i32> = Some(3);

/// Far more states than any test here waits for.
const LARGE: [&str; 3] = ["-DN=16", "--por", "off"];

fn large() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/philosophers_ordered.pml")
}

fn preempt() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt"));
    command.arg("check");
    command
}

/// A model in a file of its own.
fn model(name: &str, text: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("preempt-faults-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    let path = folder.join(name);
    fs::write(&path, text).expect("a model can be written");
    path
}

fn run(path: &Path, arguments: &[&str]) -> Output {
    preempt().arg(path).args(arguments).output().expect("the command runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_memory_limit_ends_every_store_as_inconclusive() {
    let ways: [&[&str]; 6] = [
        &["--store", "exact"],
        &["--store", "tree"],
        &["--store", "compact"],
        &["--search", "dfs"],
        &["--threads", "2"],
        &["--threads", "2", "--search", "bfs"],
    ];
    for way in ways {
        let output = run(&large(), &[&LARGE[..], &["--memory", "16M"], way].concat());
        assert_eq!(output.status.code(), INCONCLUSIVE, "{way:?}: {}", said(&output));
        assert!(said(&output).contains("memory limit"), "{way:?}: {}", said(&output));
    }
}

#[test]
fn the_default_store_compresses_before_it_gives_up() {
    let output = run(&large(), &[&LARGE[..], &["--memory", "24M"]].concat());
    assert_eq!(output.status.code(), INCONCLUSIVE, "{}", said(&output));
    assert!(said(&output).contains("memory ran low"), "{}", said(&output));
}

#[test]
fn a_time_limit_ends_as_inconclusive() {
    for way in [&[][..], &["--search", "dfs"], &["--threads", "2"], &["--store", "bitstate"]] {
        let output = run(&large(), &[&LARGE[..], &["--time", "1s"], way].concat());
        assert_eq!(output.status.code(), INCONCLUSIVE, "{way:?}: {}", said(&output));
        assert!(said(&output).contains("time limit"), "{way:?}: {}", said(&output));
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_with_what_was_covered() {
    let child = preempt()
        .arg(large())
        .args(LARGE)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    std::thread::sleep(std::time::Duration::from_secs(2));
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill runs").success());
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(output.status.code(), INCONCLUSIVE, "{}", said(&output));
    assert!(said(&output).contains("interrupted"), "{}", said(&output));
}

#[test]
fn a_full_disk_is_told_and_the_answer_is_still_printed() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let path = model("full.pml", "byte x;\nactive proctype p() { x = 1; assert(x == 0) }\n");
    for option in ["--json", "--trace", "--html"] {
        let output = run(&path, &[option, "/dev/full"]);
        assert_eq!(output.status.code(), FAILED, "{option}: {}", said(&output));
        assert!(said(&output).contains("cannot write /dev/full"), "{option}: {}", said(&output));
        assert!(said(&output).contains("violated"), "{option}: {}", said(&output));
    }
    let full = File::options().write(true).open("/dev/full").expect("it can be opened");
    let output = preempt().arg(&path).stdout(full).output().expect("the command runs");
    assert_eq!(output.status.code(), FAILED);
    assert!(said(&output).contains("cannot write to standard output"), "{}", said(&output));
}

#[test]
fn a_huge_vector_is_just_a_vector() {
    let text = "int a[60000];\nactive proctype p() { a[59999] = 1; a[0] = 2 }\n\
                active proctype q() { a[30000] = 3; assert(a[59999] == 0) }\n";
    let path = model("huge.pml", text);
    for way in [&[][..], &["--store", "tree"], &["--search", "dfs"], &["--threads", "2"]] {
        let output = run(&path, way);
        assert_eq!(output.status.code(), VIOLATED, "{way:?}: {}", said(&output));
    }
    let output = run(&path, &["--memory", "1M", "--store", "exact"]);
    assert_eq!(output.status.code(), INCONCLUSIVE, "{}", said(&output));
}

#[test]
fn many_processes_run_and_too_many_are_a_violation() {
    let start = |count: u32| {
        format!(
            "proctype p() {{ skip }}\ninit {{ int i; do :: i < {count} -> run p(); i++ :: else -> break od }}\n"
        )
    };
    let output = run(&model("many.pml", &start(254)), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let stuck = start(255).replace("skip", "false");
    let output = run(&model("too_many.pml", &stuck), &["--first", "--no-deadlock"]);
    assert_eq!(output.status.code(), VIOLATED, "{}", said(&output));
    assert!(said(&output).contains("too many processes"), "{}", said(&output));
}

#[test]
fn long_channels_in_every_store() {
    let text = |slots: u32| {
        format!(
            "chan c = [{slots}] of {{ byte }};\n\
             init {{ int i; do :: i < {slots} -> c!1; i++ :: else -> break od; assert(full(c)) }}\n"
        )
    };
    for store in ["exact", "tree", "compact", "bitstate"] {
        let code = if matches!(store, "exact" | "tree") { Some(0) } else { INCONCLUSIVE };
        for slots in [255, 1024] {
            let output = run(&model("channel.pml", &text(slots)), &["--store", store]);
            assert_eq!(output.status.code(), code, "{store}: {}", said(&output));
        }
    }
    let output = run(&model("long_channel.pml", &text(65_536)), &[]);
    assert_eq!(output.status.code(), FAILED, "{}", said(&output));
    assert!(said(&output).contains("between 0 and 65535"), "{}", said(&output));
}

#[test]
fn a_long_d_step_is_no_violation_and_obeys_the_time_limit() {
    let long = model(
        "long_step.pml",
        "int i; active proctype P() { d_step { do :: i < 1000000 -> i++ :: else -> break od } }",
    );
    for backend in ["native", "interp"] {
        let output = run(&long, &["--backend", backend]);
        assert_eq!(output.status.code(), Some(0), "{backend}: {}", said(&output));
    }
    // Counting to the end of 32 bits takes much longer than that.
    let longer = model(
        "longer_step.pml",
        "byte x; int i; active proctype P() { x++; d_step { do :: i != -1 -> i++ :: else -> break od } }
         active proctype Q() { x++; x++; assert(x < 9) }",
    );
    let ways: [&[&str]; 6] = [
        &[],
        &["--backend", "interp"],
        &["--search", "bfs"],
        &["--threads", "2"],
        &["--bound", "1"],
        &["--formula", "[] (x < 5)"],
    ];
    for way in ways {
        let output = run(&longer, &[&["--time", "1s"], way].concat());
        assert_eq!(output.status.code(), INCONCLUSIVE, "{way:?}: {}", said(&output));
        assert!(said(&output).contains("time limit"), "{way:?}: {}", said(&output));
    }
    let endless = model("endless_step.pml", "bit x; init { d_step { do :: x = 1 - x od } }");
    let output = run(&endless, &[]);
    assert_eq!(output.status.code(), VIOLATED, "{}", said(&output));
    assert!(said(&output).contains("`d_step` never ends"), "{}", said(&output));
}
