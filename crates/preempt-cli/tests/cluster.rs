//! Searches on several processes over the loopback interface: the same numbers as one process, whoever dies or knocks.

use serde_json::Value;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn preempt() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt"));
    command.env_remove("PREEMPT_SECRET").stdin(Stdio::null());
    command
}

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {output:?}");
    })
}

/// One report for each property.
fn check(model: &Path, options: &[&str]) -> Vec<Value> {
    let output = preempt().arg("check").arg(model).args(options).arg("--json").output();
    let report = json(&output.expect("it runs"));
    match report["results"].as_array() {
        Some(results) => results.clone(),
        None => vec![report],
    }
}

/// What has to be the same with any number of processes, unless a violation ends the search.
fn compare(model: &Path, options: &[&str], processes: &str, keys: &[&str]) {
    let with = |more: &[&str], seconds: &str| {
        let limit: &[&str] = if all() { &["--time", seconds] } else { &[] };
        check(model, &[options, more, limit].concat())
    };
    let what = format!("{} {options:?} with {processes} processes", model.display());
    // Of all of Spin's examples some take too long here.
    let is_over = |reports: &[Value]| {
        let is_late = all() && reports.iter().any(|one| one["stop"] == "time");
        if is_late {
            println!("{what} is left out: {}", reports[0]["claim"]);
        }
        is_late
    };
    let alone = with(&["--search", "auto", "--por", "off"], "20s");
    if is_over(&alone) {
        return;
    }
    let spread = with(&["--processes", processes, "--por", "off"], "60s");
    if is_over(&spread) {
        return;
    }
    assert_eq!(alone.len(), spread.len(), "{what}");
    for (one, many) in alone.iter().zip(&spread) {
        assert_eq!(one["verdict"], many["verdict"], "{what}: {many}");
        assert_eq!(one["property"], many["property"], "{what}");
        if one["verdict"] != "violated" {
            for key in keys {
                assert_eq!(one[key], many[key], "{key} of {what}");
            }
        } else {
            assert!(many["violation"]["trace"].is_array(), "{what}");
        }
    }
}

/// `PREEMPT_SPREAD_ALL` asks for all of Spin's examples, with one, two and three processes each.
fn all() -> bool {
    std::env::var_os("PREEMPT_SPREAD_ALL").is_some()
}

/// With how many processes the example of this number is checked.
fn numbers(at: usize) -> &'static [&'static str] {
    match all() {
        true => &["1", "2", "3"],
        false => [&["2"][..], &["3"], &["1"], &["2"]][at % 4],
    }
}

/// All models in a folder and below it.
fn models_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => models_below(&path, found),
            path if path.extension().is_some_and(|end| end == "pml") => found.push(path),
            _ => {}
        }
    }
    found.sort();
}

/// Small and middle-sized models of ours, and Spin's examples where they are installed.
fn examples() -> Vec<PathBuf> {
    let spins = Path::new("/usr/share/doc/spin/examples");
    if all() {
        let mut found = Vec::new();
        models_below(spins, &mut found);
        // Some are no models of their own.
        let is_model = |path: &PathBuf| {
            let output = preempt().arg("check").arg(path).args(["--time", "1s"]).output();
            output.expect("it runs").status.code() != Some(2)
        };
        return found.into_iter().filter(is_model).collect();
    }
    let names = [
        "alternating_bit",
        "bluetooth",
        "bounded_buffer",
        "bounded_buffer_unlocked",
        "filesystem",
        "leader_election",
        "lost_update",
        "peterson",
        "peterson_no_turn",
        "philosophers",
        "readers_writers",
        "traffic_light",
        "traffic_light_starving",
        "transaction_manager",
        "wsq",
        "wsq_bug1",
    ];
    let ours = names.iter().map(|name| models().join(format!("{name}.pml")));
    let spins = spins.join("Examples");
    let names = ["abp", "hajek", "loops", "pathfinder", "peterson", "snoopy", "sort", "leader0"];
    let theirs = names.iter().map(|name| spins.join(format!("{name}.pml")));
    ours.chain(theirs.filter(|path| path.exists())).collect()
}

const EXACT: [&str; 4] = ["states", "transitions", "depth", "complete"];

#[test]
fn examples_have_the_same_numbers() {
    for (at, model) in examples().iter().enumerate() {
        for processes in numbers(at) {
            compare(model, &["--no-claim"], processes, &EXACT);
        }
    }
}

#[test]
fn threads_of_processes_have_the_same_numbers() {
    let model = models().join("bounded_buffer.pml");
    compare(&model, &["--no-claim", "--threads", "2"], "2", &EXACT[..2]);
    compare(&model, &["--no-claim", "--threads", "3"], "1", &EXACT[..2]);
}

/// Memory that suffices for a tree only: a process changes its store in the middle of the search.
#[test]
fn trees_of_processes_have_the_same_numbers() {
    let cases: [(&str, &[&str]); 3] = [
        ("bench_channels.pml", &["-D", "SIZE=3", "--memory", "16M"]),
        ("bench_atomic.pml", &["--memory", "4M"]),
        ("peterson_n.pml", &["-D", "N=4", "--no-claim", "--memory", "4M"]),
    ];
    for (name, options) in cases {
        let model = models().join(name);
        let alone = check(&model, &[options, &["--por", "off"]].concat());
        assert_eq!(alone[0]["verdict"], "holds", "it fits: {name}");
        for processes in ["2", "3"] {
            compare(&model, options, processes, &EXACT);
        }
    }
}

/// With reduction verdicts are those without, and the numbers those of any number of processes.
#[test]
fn reduction_is_the_same_for_all() {
    let mut smaller = 0;
    for (at, model) in examples().iter().enumerate() {
        let full = check(model, &["--no-claim", "--por", "off"]);
        let with = |processes: &str| {
            check(model, &["--no-claim", "--por", "on", "--processes", processes]).remove(0)
        };
        let (one, many) = (with("1"), with(["2", "3"][at % 2]));
        let what = model.display();
        assert_eq!(one["verdict"], full[0]["verdict"], "{what}");
        assert_eq!(many["verdict"], full[0]["verdict"], "{what}");
        if one["verdict"] != "violated" {
            EXACT.iter().for_each(|key| assert_eq!(one[key], many[key], "{key} of {what}"));
            let states = |report: &Value| report["states"].as_u64();
            assert!(states(&one) <= states(&full[0]), "{what}");
            smaller += u64::from(states(&one) < states(&full[0]));
        }
    }
    // Asked for with these words it is used also where the first states say that it does not pay.
    assert!(smaller >= 8, "{smaller}");
}

#[test]
fn bounds_are_exact() {
    for (at, model) in examples().iter().enumerate().filter(|(at, _)| at % 2 == 0 || all()) {
        for processes in numbers(at / 2) {
            compare(model, &["--no-claim", "--bound", "2"], processes, &["states", "bound"]);
        }
    }
    // The fewest preemptions, found by iteration.
    for name in ["lost_update", "wsq_bug1", "bluetooth", "peterson_no_turn"] {
        let model = models().join(format!("{name}.pml"));
        let cost = |more: &[&str]| {
            let options = [&["--no-claim", "--iterate", "--por", "off"], more].concat();
            check(&model, &options)[0]["violation"]["preemptions"].clone()
        };
        assert_eq!(cost(&[]), cost(&["--processes", "2"]), "{name}");
    }
}

#[test]
fn rows_of_bounds_are_the_same() {
    let model = models().join("wsq.pml");
    let rows = |more: &[&str]| {
        let options = [&["--no-claim", "--iterate", "4", "--por", "off"], more].concat();
        let report = check(&model, &options).remove(0);
        let rows = report["per_bound"].as_array().expect("there are rows").clone();
        rows.iter().map(|row| (row["bound"].clone(), row["states"].clone())).collect::<Vec<_>>()
    };
    let alone = rows(&[]);
    assert!(alone.len() > 3, "{alone:?}");
    for processes in ["1", "2", "3"] {
        assert_eq!(rows(&["--processes", processes]), alone, "{processes}");
    }
}

#[test]
fn infinite_executions_are_judged_alike() {
    if all() {
        for (at, model) in examples().iter().enumerate() {
            numbers(at).iter().for_each(|processes| compare(model, &[], processes, &EXACT[..2]));
        }
    }
    let names = ["traffic_light", "traffic_light_starving", "leader_election"];
    for (at, name) in names.iter().enumerate() {
        let model = models().join(format!("{name}.pml"));
        compare(&model, &[], ["2", "3", "2"][at], &EXACT[..2]);
        compare(&model, &["--fair"], "2", &EXACT[..2]);
    }
    let model = models().join("readers_writers.pml");
    compare(&model, &["--non-progress", "--no-deadlock"], "2", &EXACT[..2]);
    let model = models().join("traffic_light_starving.pml");
    compare(&model, &["--bound", "1"], "2", &[]);
    let spins = Path::new("/usr/share/doc/spin/examples/Examples/LTL");
    for name in ["diskhead.pml", "leader2.pml", "petersonN.pml"] {
        let model = spins.join(name);
        if model.exists() && name != "petersonN.pml" {
            compare(&model, &[], "2", &EXACT[..2]);
        }
    }
}

/// A folder with a hosts file for so many processes on free ports, and a secret.
struct Ground {
    folder: tempfile::TempDir,
    ports: Vec<u16>,
}

impl Ground {
    fn new(processes: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listeners: Vec<_> =
            (0..processes).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
        let port = |listener: &TcpListener| listener.local_addr().expect("its address").port();
        let ports: Vec<u16> = listeners.iter().map(port).collect();
        let lines: String = ports.iter().map(|port| format!("127.0.0.1:{port}\n")).collect();
        let ground = Ground { folder, ports };
        ground.write("hosts", &lines);
        ground.write("secret", "one that is long enough\n");
        ground
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("there is room");
    }

    fn command(&self, model: &str, process: usize, secret: &str) -> Command {
        self.command_of_threads(model, process, secret, "1")
    }

    fn command_of_threads(
        &self,
        model: &str,
        process: usize,
        secret: &str,
        threads: &str,
    ) -> Command {
        let mut command = preempt();
        command.arg("check").arg(models().join(model)).args(["--por", "off", "--no-claim"]);
        command.arg("--hosts").arg(self.path("hosts")).arg("--process").arg(process.to_string());
        command.arg("--secret").arg(self.path(secret)).args(["--threads", threads]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start(&self, model: &str, process: usize) -> Child {
        self.command(model, process, "secret").arg("--json").spawn().expect("it runs")
    }
}

fn sentence(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn only_those_with_the_secret_take_part() {
    let ground = Ground::new(2);
    ground.write("guess", "another that is long enough");
    let first = ground.start("bounded_buffer.pml", 0);
    let address = format!("127.0.0.1:{}", ground.ports[0]);
    // A port scanner, once the process listens.
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match TcpStream::connect(&address) {
            Ok(mut stream) => {
                stream.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("it is taken");
                break;
            }
            Err(error) if Instant::now() > deadline => panic!("{error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    // It listens on the address of the hosts file only.
    #[cfg(target_os = "linux")]
    assert!(TcpStream::connect(("127.0.0.2", ground.ports[0])).is_err());
    let wrong = ground.command("bounded_buffer.pml", 1, "guess").output().expect("it runs");
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    assert!(sentence(&wrong).contains("does not know the secret"), "{wrong:?}");
    let other = ground.command("peterson.pml", 1, "secret").output().expect("it runs");
    assert_eq!(other.status.code(), Some(2), "{other:?}");
    assert!(sentence(&other).contains("checks a different model"), "{other:?}");
    let mut threads = ground.command_of_threads("bounded_buffer.pml", 1, "secret", "2");
    let threads = threads.output().expect("it runs");
    assert_eq!(threads.status.code(), Some(2), "{threads:?}");
    assert!(sentence(&threads).contains("another number of threads"), "{threads:?}");
    let second = ground.start("bounded_buffer.pml", 1).wait_with_output().expect("it runs");
    let first = first.wait_with_output().expect("it runs");
    assert_eq!((first.status.code(), second.status.code()), (Some(0), Some(0)), "{first:?}");
    let report = json(&first);
    assert_eq!(report["states"], 34_000);
    assert!(second.stdout.is_empty(), "the first process reports");
    let notes = report["notes"].to_string();
    assert!(notes.contains("uses a different protocol"), "{notes}");
    assert!(notes.contains("does not know the secret"), "{notes}");
}

#[test]
fn mistakes_are_refused_with_a_sentence() {
    let ground = Ground::new(2);
    ground.write("short", "abc");
    let refused = |command: &mut Command, why: &str| {
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = sentence(&output);
        assert!(said.contains(why), "{said}");
        assert_eq!(said.trim().lines().count(), 1, "{said}");
    };
    refused(&mut ground.command("peterson.pml", 7, "secret"), "--process 7 does not exist");
    refused(&mut ground.command("peterson.pml", 0, "short"), "the secret is too short");
    refused(&mut ground.command("peterson.pml", 0, "none"), "cannot read");
    for (text, why) in [
        ("", "it names no process"),
        ("localhost", "line 1: `localhost` has no port"),
        ("a:1\na:1\n", "line 2: `a:1` is there twice"),
        ("[bad]:80", "process 0"),
    ] {
        ground.write("hosts", text);
        refused(&mut ground.command("peterson.pml", 0, "secret"), why);
    }
    let mut command = preempt();
    let model = models().join("peterson.pml");
    command.arg("check").arg(model).arg("--hosts").arg(ground.path("hosts"));
    refused(command.args(["--process", "0"]), "needs a shared secret");
}

/// A model that keeps processes busy for a while.
const LARGE: &str = "peterson_n.pml";

/// A model that no machine has finished when the test interferes: more than 10^11 states.
const ENDLESS: [&str; 3] = ["philosophers_ordered.pml", "-D", "N=20"];

/// A process that dies ends the search of all others, with what was covered.
#[test]
fn a_process_that_dies_ends_the_search() {
    let kills = std::env::var("PREEMPT_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    for kill in 0..kills {
        let ground = Ground::new(2);
        let start = |process: usize| {
            let mut command = ground.command(ENDLESS[0], process, "secret");
            command.args(&ENDLESS[1..]).arg("--json").spawn().expect("it runs")
        };
        let mut children = vec![start(0), start(1)];
        std::thread::sleep(Duration::from_millis(400 + kill * 7919 % 1500));
        let mut victim = children.remove((kill % 2) as usize);
        victim.kill().expect("it can be killed");
        let _ = victim.wait();
        let start = Instant::now();
        let left = children.remove(0).wait_with_output().expect("it runs");
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        // Killed before it had met the other one, or in the middle.
        let code = left.status.code();
        assert!(code == Some(3) || code == Some(2), "kill {kill}: {left:?}");
        if code == Some(3) && kill % 2 == 1 {
            let report = json(&left);
            assert_eq!(report["verdict"], "inconclusive", "{report}");
            assert!(report["notes"].to_string().contains("was lost"), "{report}");
        }
    }
}

/// Three processes, one of which is killed: the search goes on with the two that remain, at new addresses, and then with
/// three new ones.
#[test]
fn a_search_goes_on_with_the_remaining_and_with_new_hosts() {
    let ground = Ground::new(3);
    let saved = ground.path("saved");
    let save = |process: usize| {
        let mut command = ground.command(LARGE, process, "secret");
        command.args(["-D", "N=4", "--json", "--checkpoint"]).arg(&saved).args(["--every", "0s"]);
        command.spawn().expect("it runs")
    };
    let mut children: Vec<Child> = (0..3).map(save).collect();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !saved.join("manifest").exists() {
        assert!(Instant::now() < deadline, "there is no checkpoint");
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut victim = children.pop().expect("there are three");
    victim.kill().expect("it can be killed");
    let _ = victim.wait();
    for child in children {
        let left = child.wait_with_output().expect("it runs");
        // It may have been at the end already.
        assert!(matches!(left.status.code(), Some(0 | 3)), "{left:?}");
    }
    let model = models().join(LARGE);
    let options = ["-D", "N=4", "--no-claim", "--por", "off"];
    let expected = check(&model, &[&options[..], &["--search", "bfs"]].concat()).remove(0);
    for processes in [2, 3] {
        let others = Ground::new(processes);
        let resume = |process: usize| {
            let mut command = preempt();
            command.arg("resume").arg(&saved).arg("--hosts").arg(others.path("hosts"));
            command.args(["--process", &process.to_string(), "--secret"]);
            command.arg(others.path("secret")).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("it runs")
        };
        let children: Vec<Child> = (0..processes).map(resume).collect();
        let ended = children.into_iter().map(|child| child.wait_with_output().expect("it runs"));
        let outputs: Vec<Output> = ended.collect();
        assert!(outputs.iter().all(|one| one.status.code() == Some(0)), "{outputs:?}");
        let report = json(&outputs[0]);
        EXACT.iter().for_each(|key| assert_eq!(report[key], expected[key], "{key}: {report}"));
        let notes = report["notes"].to_string();
        assert!(notes.contains("resumed from a checkpoint"), "{notes}");
        assert!(notes.contains(&format!("{processes} processes of one thread")), "{notes}");
    }
}

/// Without `--threads` the processes of a machine share its cores.
#[test]
fn processes_use_all_cores() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let model = models().join("bounded_buffer.pml");
    for processes in [1, 2] {
        let count = processes.to_string();
        let options = ["--no-claim", "--por", "off", "--processes", &count];
        let report = check(&model, &options).remove(0);
        assert_eq!(report["states"], 34_000);
        let threads = (cores / processes).max(1);
        let notes = report["notes"].to_string();
        let said = match threads {
            1 => "of one thread".to_owned(),
            _ => format!("of {threads} threads"),
        };
        assert!(processes == 1 || notes.contains(&said), "{said}: {notes}");
    }
}

#[test]
fn limits_end_all_processes() {
    let model = models().join(ENDLESS[0]);
    let start = Instant::now();
    let limited = |limit: &[&str]| {
        check(&model, &[&ENDLESS[1..], &["--no-claim", "--processes", "2"], limit].concat())
            .remove(0)
    };
    let report = limited(&["--time", "1s"]);
    assert_eq!(report["verdict"], "inconclusive", "{report}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let report = limited(&["--memory", "4M"]);
    assert_eq!(report["verdict"], "inconclusive", "{report}");
    assert!(report["claim"].to_string().contains("memory"), "{report}");
}
