//! What comes in from outside: limits of the system, signals, full disks, options that were saved, and whoever connects.

mod c_programs;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn preempt() -> Command {
    Command::new(env!("CARGO_BIN_EXE_preempt"))
}

fn model(name: &str) -> PathBuf {
    c_programs::root().join("models").join(name)
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("doors").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs a line of the shell, in which `$PREEMPT` is the command.
#[cfg(target_os = "linux")]
fn shell(line: &str) -> Output {
    let mut command = Command::new("bash");
    command.args(["-c", line]).env("PREEMPT", env!("CARGO_BIN_EXE_preempt"));
    command.env("PREEMPT_RUNTIME_DIR", c_programs::folder().join("runtime"));
    command.output().expect("bash runs")
}

#[cfg(target_os = "linux")]
#[test]
fn little_address_space_is_enough_for_a_small_model() {
    let file = model("peterson.pml");
    let output = shell(&format!("ulimit -v 200000; exec $PREEMPT check {}", file.display()));
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_printed_is_a_failure() {
    for words in ["help", "--help", "--version", "check --help", "man", "explain"] {
        let output = shell(&format!("exec $PREEMPT {words} > /dev/full"));
        assert_eq!(output.status.code(), Some(2), "{words}: {}", said(&output));
    }
    assert_eq!(
        shell("$PREEMPT help | head -1 > /dev/null; exit ${PIPESTATUS[0]}").status.code(),
        Some(0)
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_cannot_be_run_here_is_no_bug_of_ours() {
    if !c_programs::has("gcc") {
        return;
    }
    let folder = folder("run");
    let source = folder.join("killer.c");
    std::fs::write(
        &source,
        "#include <signal.h>\n#include <pthread.h>\nvoid *t(void *a) { return 0; }\n\
         int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); pthread_join(p, 0); kill(0, SIGKILL); return 0; }\n",
    )
    .unwrap();
    let program = c_programs::compile(&source, &[], ["gcc", "g++"]);
    // It ends its own process group, and with it the search that would report.
    let output = shell(&format!("exec $PREEMPT run -- {}", program.display()));
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("killed"), "{}", said(&output));
    for kilobytes in [100_000, 4_000_000, 100_000_000] {
        let line = format!("ulimit -v {kilobytes}; exec $PREEMPT run -- {}", program.display());
        let output = shell(&line);
        assert!(matches!(output.status.code(), Some(2 | 3)), "{kilobytes}: {}", said(&output));
        assert!(!said(&output).contains("bug in preempt"), "{}", said(&output));
    }
}

#[test]
fn a_size_needs_a_unit() {
    let output =
        preempt().arg("check").arg(model("peterson.pml")).args(["--memory", "2000"]).output();
    let output = output.expect("preempt runs");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("2000M"), "{}", said(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn the_editors_server_ends_when_it_is_told_to() {
    let mut server = preempt()
        .arg("lsp")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    std::thread::sleep(Duration::from_millis(300));
    let told = Command::new("kill").arg(server.id().to_string()).status().expect("kill runs");
    assert!(told.success());
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match server.try_wait().expect("it is ours") {
            Some(status) => {
                assert_eq!(status.code(), Some(0));
                break;
            }
            None if Instant::now() > deadline => {
                let _ = server.kill();
                panic!("it survived the first signal");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[test]
fn a_disk_that_cannot_be_written_to_is_not_too_small() {
    let nowhere = folder("disk").join("a file");
    std::fs::write(&nowhere, "").unwrap();
    let output = preempt()
        .arg("check")
        .arg(model("peterson.pml"))
        .arg("--disk")
        .arg(nowhere.join("below"))
        .output()
        .expect("preempt runs");
    assert!(matches!(output.status.code(), Some(2 | 3)), "{}", said(&output));
    assert!(!said(&output).contains("more disk space"), "{}", said(&output));
}

/// A search with checkpoints that has not ended.
fn begun(folder: &Path, time: &str, more: &[&str]) -> Output {
    preempt()
        .arg("check")
        .arg(model("bench_processes.pml"))
        .args(["--time", time, "--every", "100ms", "--por", "off", "--checkpoint"])
        .arg(folder)
        .args(more)
        .output()
        .expect("preempt runs")
}

#[test]
fn what_was_said_before_may_be_said_again() {
    let folder = folder("resume").join("checkpoint");
    let output = begun(&folder, "800ms", &["-q", "--no-deadlock"]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    for words in [&["-q"][..], &["--quiet", "--no-deadlock"], &["--por", "off"]] {
        let output = preempt()
            .arg("resume")
            .arg(&folder)
            .args(words)
            .args(["--time", "500ms"])
            .output()
            .expect("preempt runs");
        assert_eq!(output.status.code(), Some(3), "{words:?}: {}", said(&output));
    }
    let output = preempt().arg("resume").arg(&folder).args(["--por", "on"]).output();
    assert_eq!(output.expect("preempt runs").status.code(), Some(2));
}

#[test]
fn a_checkpoint_that_is_gone_is_not_intact() {
    let folder = folder("gone").join("checkpoint");
    let removed = {
        let folder = folder.clone();
        std::thread::spawn(move || {
            let deadline = Instant::now() + Duration::from_secs(20);
            // Once there is a first one.
            while !folder.is_dir() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(10));
            }
            std::thread::sleep(Duration::from_millis(500));
            // In one step, for the search goes on writing into it.
            std::fs::rename(&folder, folder.with_extension("gone")).expect("it is there");
        })
    };
    let output = begun(&folder, "3s", &[]);
    removed.join().expect("it was removed");
    let text = said(&output);
    assert!(text.contains("could not be written"), "{text}");
    assert!(text.contains("there is none that can be resumed"), "{text}");
}
