//! Searches in files: checkpoints from which a killed search goes on, and more states than memory can hold.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn preempt() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt"));
    command.stdin(Stdio::null());
    command
}

fn model(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name)
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn check(name: &str, options: &[&str]) -> Value {
    let mut command = preempt();
    command.arg("check").arg(model(name)).args(["--no-claim", "--por", "off", "--json"]);
    json(&command.args(options).output().expect("it runs"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain name")
}

const EXACT: [&str; 5] = ["states", "transitions", "depth", "errors", "verdict"];

#[test]
fn states_in_files_have_the_same_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = ["--disk", text(folder.path())];
    for name in ["peterson.pml", "leader_election.pml", "bounded_buffer.pml", "wsq_bug1.pml"] {
        let (alone, in_files) = (check(name, &["--search", "bfs"]), check(name, &disk));
        assert_eq!(alone["verdict"], in_files["verdict"], "{name}: {in_files}");
        if alone["verdict"] == "violated" {
            let steps = |report: &Value| report["violation"]["steps"].clone();
            assert!(steps(&in_files).is_u64(), "{in_files}");
            continue;
        }
        for key in EXACT {
            assert_eq!(alone[key], in_files[key], "{key} of {name}");
        }
        let notes = in_files["notes"].to_string();
        assert!(notes.contains("written") && notes.contains("states/s"), "{notes}");
    }
    let left = std::fs::read_dir(folder.path()).expect("it is there").count();
    assert_eq!(left, 0, "nothing is left behind");
}

/// By preemptions: states and transitions of every bound, and least bounds.
#[test]
fn bounds_in_files_have_the_same_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = ["--disk", text(folder.path())];
    for name in ["peterson.pml", "leader_election.pml", "wsq.pml", "wsq_bug1.pml", "bluetooth.pml"]
    {
        for bounds in
            [&["--bound", "0"][..], &["--bound", "2"], &["--iterate", "3"], &["--iterate"]]
        {
            let alone = check(name, &[bounds, &["--processes", "1"]].concat());
            let in_files = check(name, &[bounds, &disk].concat());
            let what = format!("{bounds:?} of {name}");
            assert_eq!(alone["verdict"], in_files["verdict"], "{what}: {in_files}");
            if alone["verdict"] == "violated" {
                let least = |report: &Value| report["violation"]["preemptions"].clone();
                assert_eq!(least(&alone), least(&in_files), "{what}");
                continue;
            }
            for key in ["states", "transitions", "errors", "bound", "per_bound", "complete"] {
                assert_eq!(alone[key], in_files[key], "{key} of {what}");
            }
        }
    }
    // More than memory holds.
    let limit = ["--memory", "3M", "--bound", "3"];
    let in_files = check("bench_atomic.pml", &[&disk[..], &limit].concat());
    let whole = check("bench_atomic.pml", &["--bound", "3"]);
    for key in ["states", "verdict", "bound"] {
        assert_eq!(whole[key], in_files[key], "{key}");
    }
    assert!(in_files["memory_bytes"].as_u64().expect("a number") <= 3 << 20, "{in_files}");
}

/// One report for each property.
fn properties(name: &str, options: &[&str]) -> Vec<Value> {
    let mut command = preempt();
    command.arg("check").arg(model(name)).args(["--por", "off", "--json"]).args(options);
    let report = json(&command.output().expect("it runs"));
    report["results"].as_array().cloned().unwrap_or_else(|| vec![report])
}

/// Properties of infinite executions, with states in files and with checkpoints.
#[test]
fn infinite_executions_are_judged_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let saved = folder.path().join("saved");
    for (name, more) in [
        ("traffic_light.pml", &[][..]),
        ("traffic_light_starving.pml", &[]),
        ("traffic_light_starving.pml", &["--bound", "1"]),
        ("leader_election.pml", &["--fair"]),
        ("readers_writers.pml", &["--non-progress", "--no-deadlock"]),
    ] {
        let alone = properties(name, more);
        for way in [
            &["--disk", text(folder.path())][..],
            &["--checkpoint", text(&saved), "--every", "0s"],
            &["--checkpoint", text(&saved), "--every", "0s", "--processes", "2"],
        ] {
            let elsewhere = properties(name, &[more, way].concat());
            let verdicts = |reports: &[Value]| {
                reports.iter().map(|one| one["verdict"].clone()).collect::<Vec<_>>()
            };
            assert_eq!(verdicts(&alone), verdicts(&elsewhere), "{name} {more:?} {way:?}");
            for report in elsewhere.iter().filter(|one| one["verdict"] == "violated") {
                assert!(report["violation"]["trace"].is_array(), "{report}");
            }
            if way.contains(&"--checkpoint") {
                let resumed = preempt().arg("resume").arg(&saved).output().expect("it runs");
                let report = json(&resumed);
                let resumed = report["results"].as_array().cloned().unwrap_or(vec![report.clone()]);
                assert_eq!(verdicts(&alone), verdicts(&resumed), "{name} {more:?} {way:?} resumed");
                std::fs::remove_dir_all(&saved).expect("it is there");
            }
        }
    }
}

/// Which steps may wait is decided without looking at the files: as many states as a process of a cluster has.
#[test]
fn files_are_searched_with_reduction() {
    let folder = tempfile::tempdir().expect("a folder");
    let ask = |name: &str, options: &[&str]| {
        let mut command = preempt();
        command.arg("check").arg(model(name)).args(["--no-claim", "--json"]).args(options);
        json(&command.output().expect("it runs"))
    };
    for name in ["leader_election.pml", "bounded_buffer.pml", "wsq_bug1.pml"] {
        let full = ask(name, &["--por", "off"]);
        let reduced = ask(name, &["--por", "on", "--disk", text(folder.path())]);
        assert_eq!(reduced["verdict"], full["verdict"], "{name}: {reduced}");
        if full["verdict"] == "violated" {
            continue;
        }
        let spread = ask(name, &["--por", "on", "--processes", "1"]);
        for key in EXACT {
            assert_eq!(reduced[key], spread[key], "{key} of {name}");
        }
        assert!(reduced["states"].as_u64() <= full["states"].as_u64(), "{name}");
    }
    let states = |por: &str| ask("leader_election.pml", &["--por", por])["states"].as_u64();
    assert!(states("on") < states("off"), "there is something to leave out");
}

/// 58,979 states of 176 bytes are three times 3 MB and more.
#[test]
fn more_states_than_memory_can_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    let limit = ["--memory", "3M"];
    let alone =
        check("bench_atomic.pml", &[&["--search", "bfs", "--store", "exact"][..], &limit].concat());
    assert_eq!(alone["verdict"], "inconclusive", "{alone}");
    let disk = ["--disk", text(folder.path())];
    let in_files = check("bench_atomic.pml", &[&disk[..], &limit].concat());
    let whole = check("bench_atomic.pml", &["--search", "bfs"]);
    for key in EXACT {
        assert_eq!(whole[key], in_files[key], "{key}");
    }
    let used = in_files["memory_bytes"].as_u64().expect("a number");
    assert!(used <= 3 << 20, "{used}");
}

fn in_shell(script: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_preempt"));
    command.arg("check").args(arguments).args(["--no-claim", "--por", "off", "--json"]);
    command.stdin(Stdio::null()).output().expect("there is a shell")
}

/// Files may have 40 blocks of 512 bytes; the signal that says so is ignored, and the write fails.
const NO_ROOM: &str = "trap '' XFSZ; ulimit -f 40; exec \"$0\" \"$@\"";

#[test]
fn a_full_disk_is_an_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = model("bounded_buffer.pml");
    let output = in_shell(NO_ROOM, &[text(&file), "--disk", text(folder.path())]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let report = json(&output);
    assert!(report["claim"].to_string().contains("a file could not be written"), "{report}");
    // Checkpoints are not the search: it goes on to its end.
    let options = [text(&file), "--checkpoint", text(folder.path()), "--every", "0s"];
    let output = in_shell(NO_ROOM, &options);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report = json(&output);
    assert_eq!(report["states"], 34_000);
    assert!(report["notes"].to_string().contains("could not be written"), "{report}");
    // The last one that could be written is whole.
    let resumed = preempt().arg("resume").arg(folder.path()).output().expect("it runs");
    assert_eq!(resumed.status.code(), Some(0), "{resumed:?}");
    assert_eq!(json(&resumed)["states"], 34_000);
}

/// Waits until there is something to go on from, however slow the machine is.
fn wait_for_checkpoint(folder: &Path) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !folder.join("manifest").exists() {
        assert!(Instant::now() < deadline, "there is no checkpoint");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills a search again and again, at other moments each time, and lets it go on.
fn kill_and_resume(name: &str, options: &[&str], kills: u64, keys: &[&str]) {
    let expected = check(name, options);
    let folder = tempfile::tempdir().expect("a folder");
    let saved = folder.path().join("saved");
    let mut resumed = 0;
    for kill in 0..kills {
        let mut command = preempt();
        match saved.join("manifest").exists() {
            true => {
                resumed += 1;
                command.arg("resume").arg(&saved);
            }
            false => {
                command.arg("check").arg(model(name)).args([
                    "--no-claim",
                    "--por",
                    "off",
                    "--json",
                ]);
                command.args(options).arg("--checkpoint").arg(&saved).args(["--every", "50ms"]);
            }
        }
        let mut child = command.stdout(Stdio::null()).spawn().expect("it runs");
        wait_for_checkpoint(&saved);
        std::thread::sleep(Duration::from_millis(kill * 7919 % 900));
        child.kill().expect("it can be killed");
        let _ = child.wait();
    }
    assert!(resumed > 0 || kills < 2, "there was a checkpoint");
    forget_the_end(&saved);
    let last = preempt().arg("resume").arg(&saved).output().expect("it runs");
    let report = json(&last);
    for key in keys {
        assert_eq!(report[key], expected[key], "{key} of {name} after {kills} kills: {report}");
    }
}

#[test]
fn a_killed_search_goes_on() {
    let kills = std::env::var("PREEMPT_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    kill_and_resume("worst_case.pml", &[], kills, &EXACT);
    kill_and_resume("worst_case.pml", &["--bound", "3"], kills, &["states", "verdict", "bound"]);
}

/// A search on two processes is killed, and goes on with one, two or three.
#[test]
fn a_killed_search_goes_on_with_other_processes() {
    let kills = std::env::var("PREEMPT_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_u64);
    for (options, keys) in
        [(&[][..], &EXACT[..]), (&["--bound", "3"][..], &["states", "verdict", "bound"][..])]
    {
        let expected = check("worst_case.pml", options);
        let folder = tempfile::tempdir().expect("a folder");
        let saved = folder.path().join("saved");
        let mut resumed = 0;
        for kill in 0..kills {
            let mut command = preempt();
            match saved.join("manifest").exists() {
                true => {
                    resumed += 1;
                    let processes = (1 + kill % 3).to_string();
                    command.arg("resume").arg(&saved).args(["--processes", &processes]);
                }
                false => {
                    command.arg("check").arg(model("worst_case.pml"));
                    command.args(["--no-claim", "--por", "off", "--json", "--processes", "2"]);
                    command.args(options).arg("--checkpoint").arg(&saved).args(["--every", "50ms"]);
                }
            }
            let mut child = command.stdout(Stdio::null()).spawn().expect("it runs");
            wait_for_checkpoint(&saved);
            std::thread::sleep(Duration::from_millis(kill * 7919 % 900));
            child.kill().expect("it can be killed");
            let _ = child.wait();
        }
        assert!(resumed > 0 || kills < 2, "there was a checkpoint");
        forget_the_end(&saved);
        let last = preempt().arg("resume").arg(&saved).args(["--processes", "3"]).output();
        let report = json(&last.expect("it runs"));
        for key in keys {
            assert_eq!(report[key], expected[key], "{key} after {kills} kills: {report}");
        }
        // A single process goes on as well.
        forget_the_end(&saved);
        let last = preempt().arg("resume").arg(&saved).args(["--processes", "1"]).output();
        assert_eq!(json(&last.expect("it runs"))["states"], expected["states"]);
    }
}

/// Has a search that is over be resumed as if it had been killed just before its end.
fn forget_the_end(saved: &Path) {
    for entry in std::fs::read_dir(saved).expect("it is there").flatten() {
        if entry.file_name().to_string_lossy().starts_with("finished-") {
            std::fs::remove_file(entry.path()).expect("it can be removed");
        }
    }
}

/// Of several properties those that were finished are not checked again, and the others are.
#[test]
fn finished_properties_are_not_checked_again() {
    for processes in [&[][..], &["--processes", "2"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let saved = folder.path();
        let all = [processes, &["--checkpoint", text(saved), "--every", "0s"]].concat();
        let first = properties("traffic_light.pml", &all);
        assert!(first.len() > 1, "it has several");
        std::fs::remove_file(saved.join("finished-1")).expect("it was written");
        for (was_finished, is_new) in
            [([true, false], "the second is checked"), ([true; 2], "none is")]
        {
            let resumed = preempt().arg("resume").arg(saved).args(processes).output();
            let report = json(&resumed.expect("it runs"));
            let again = report["results"].as_array().expect("there are several").clone();
            assert_eq!(first.len(), again.len(), "{report}");
            for (one, other) in first.iter().zip(&again) {
                for key in ["property", "verdict", "states", "transitions"] {
                    assert_eq!(one[key], other[key], "{key}: {is_new}: {report}");
                }
            }
            for (other, was_finished) in again.iter().zip(was_finished) {
                let says = other["notes"].to_string().contains("finished before");
                assert_eq!(says, was_finished, "{is_new}: {report}");
            }
        }
        // Another run in the same folder has nothing to do with this one.
        let new = properties("traffic_light.pml", &all);
        assert!(!new.iter().any(|one| one["notes"].to_string().contains("finished before")));
    }
}

/// With every level a checkpoint: the next one is asked for before all processes have heard that the last one is done.
#[test]
fn checkpoints_in_quick_succession_are_whole() {
    let expected = check("bounded_buffer.pml", &["--search", "bfs"]);
    for processes in ["1", "2", "3"] {
        let folder = tempfile::tempdir().expect("a folder");
        let saved = text(folder.path());
        let all = ["--checkpoint", saved, "--every", "0s", "--processes", processes];
        let first = check("bounded_buffer.pml", &all);
        forget_the_end(folder.path());
        let resumed = preempt().arg("resume").arg(saved).output().expect("it runs");
        for report in [first, json(&resumed)] {
            EXACT.iter().for_each(|key| assert_eq!(report[key], expected[key], "{key}: {report}"));
        }
    }
}

#[test]
fn a_violation_found_before_is_not_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let saved = text(folder.path());
    let all = ["--max-errors", "0"];
    let first =
        check("wsq_bug1.pml", &[&all[..], &["--checkpoint", saved, "--every", "0s"]].concat());
    assert_eq!(first["verdict"], "violated", "{first}");
    forget_the_end(folder.path());
    let resumed = preempt().arg("resume").arg(saved).output().expect("it runs");
    let report = json(&resumed);
    assert_eq!(resumed.status.code(), Some(1), "{resumed:?}");
    for key in ["states", "transitions", "errors"] {
        assert_eq!(report[key], first[key], "{key}");
    }
    assert_eq!(report["violation"]["preemptions"], first["violation"]["preemptions"]);
}

#[test]
fn damaged_and_foreign_checkpoints_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("model.pml");
    std::fs::copy(model("bounded_buffer.pml"), &copy).expect("there is room");
    let saved = folder.path().join("saved");
    let save = || {
        let mut command = preempt();
        command.arg("check").arg(&copy).args(["--no-claim", "--por", "off"]);
        let output = command.arg("--checkpoint").arg(&saved).args(["--every", "0s"]).output();
        assert_eq!(output.expect("it runs").status.code(), Some(0));
    };
    let refused = |why: &str| {
        let output = preempt().arg("resume").arg(&saved).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(why), "{why}: {said}");
    };
    refused("No such file");
    save();
    let part = std::fs::read_dir(&saved).expect("it is there").flatten();
    let part = part.map(|entry| entry.path()).find(|path| text(path).contains("part-"));
    let part = part.expect("there is one");
    let whole = std::fs::read(&part).expect("it is there");
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    std::fs::write(&part, &damaged).expect("there is room");
    refused("it is damaged");
    std::fs::write(&part, &whole[..whole.len() / 2]).expect("there is room");
    refused("it is damaged");
    std::fs::write(&part, "something else").expect("there is room");
    refused("it is not a checkpoint file");
    std::fs::remove_file(&part).expect("it is there");
    refused("No such file");
    save();
    std::fs::write(saved.join("manifest"), "something else").expect("there is room");
    refused("it is not a checkpoint file");
    save();
    let mut changed = std::fs::read_to_string(&copy).expect("it is there");
    changed.push_str("\n/* another model */\n");
    std::fs::write(&copy, changed).expect("there is room");
    refused("the model or the options have changed");
}

#[test]
fn parts_of_a_swarm_are_merged() {
    let folder = tempfile::tempdir().expect("a folder");
    let reports: Vec<PathBuf> =
        (1..=2).map(|at| folder.path().join(format!("{at}.json"))).collect();
    for (at, report) in (1..).zip(&reports) {
        let mut command = preempt();
        command.arg("check").arg(model("lost_update.pml")).args(["--no-claim", "--swarm"]);
        command.args(["--memory", "32M", "--part", &format!("{at}/2"), "--json"]).arg(report);
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    }
    let merged = preempt().arg("merge").args(&reports).arg("--json").output().expect("it runs");
    assert_eq!(merged.status.code(), Some(1), "{merged:?}");
    let report = json(&merged);
    assert_eq!((report["parts"].as_u64(), report["verdict"].as_str()), (Some(2), Some("violated")));
    std::fs::write(&reports[0], "no report").expect("there is room");
    let refused = preempt().arg("merge").args(&reports).output().expect("it runs");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let refused = preempt().args(["check", "a.pml", "--swarm", "--part", "3/2"]).output();
    assert_eq!(refused.expect("it runs").status.code(), Some(2));
}
