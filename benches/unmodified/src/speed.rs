//! How many executions a second: the same bodies over std's types as they are (`preempt cargo test`, Miri), and over
//! those of loom and shuttle, in one run.
//!
//! The text of the bodies is that of the tests of the crate `preempt`. Everything is compiled with optimisations. loom and
//! shuttle are stopped after the time that preempt gets; Miri executes a number of seeds, where it is installed.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Bodies, in Rust.
const BODIES: &[(&str, &str)] = &[
    ("racy_counter_2", "racy_counter(2, false)"),
    ("racy_counter_4", "racy_counter(4, false)"),
    ("mutex_counter_2", "mutex_counter(2)"),
    ("mutex_counter_4", "mutex_counter(4)"),
    ("philosophers_3", "philosophers(3, false)"),
    ("bluetooth_2", "bluetooth(2, false)"),
    ("treiber_3", "treiber(3, false)"),
    ("ticketlock_3", "ticketlock(3, false)"),
    ("bounded_queue_2", "bounded_queue(2, false)"),
];

const SEEDS: u32 = 8;

const PEERS: &str = r#"//! Executions of loom and shuttle until the time is over.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

static COUNT: AtomicU64 = AtomicU64::new(0);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (tool, name) = (words[0].as_str(), words[1].as_str());
    let limit = Duration::from_secs(words[2].parse().unwrap());
    let begin = Instant::now();
    let end = move || {
        let seconds = begin.elapsed().as_secs_f64();
        println!("{} {seconds}", COUNT.load(Ordering::Relaxed));
        std::process::exit(0)
    };
    std::panic::set_hook(Box::new(|_| {}));
    let counted = move |body: fn()| {
        move || {
            if begin.elapsed() > limit {
                end()
            }
            COUNT.fetch_add(1, Ordering::Relaxed);
            body();
        }
    };
    let _ = catch_unwind(AssertUnwindSafe(|| match tool {
        "loom" => {
            let mut builder = loom::model::Builder::new();
            builder.max_branches = 20_000;
            builder.check(counted(speed::with_loom::body(name)))
        }
        _ => shuttle::check_random(counted(speed::with_shuttle::body(name)), 100_000_000),
    }));
    end()
}
"#;

/// Runs every body with every tool, and gives the table.
pub(crate) fn run(preempt: &Path, root: &Path, seconds: u64) -> Result<String> {
    let folder = root.join("target/unmodified/speed");
    write_crate(&folder, &root.join("crates/preempt/tests/bodies/programs.rs"))?;
    let built = Command::new("cargo").args(["build", "--release"]).current_dir(&folder).status()?;
    ensure!(built.success(), "the bodies do not compile");
    let orders = ours(preempt, &folder, seconds, "orders")?;
    let random = ours(preempt, &folder, seconds, "random")?;
    let has_miri = miri(&folder, &["--version"]).is_ok_and(|output| output.status.success());
    let mut table = String::from(
        "| body | preempt, as it is | answer | preempt, at random | loom | shuttle | Miri |\n|---|---|---|---|---|---|---|\n",
    );
    for (name, _) in BODIES {
        let (found, sampled) = (of(&orders, name)?, of(&random, name)?);
        let verdict = match found["bound"].as_u64() {
            Some(bound) if found["verdict"] != "holds" => format!("holds within {bound}"),
            _ => found["verdict"].as_str().unwrap_or_default().to_string(),
        };
        let mut row = format!("| {name} | {} | {verdict} | {} |", rate(found), rate(sampled));
        for tool in ["loom", "shuttle"] {
            write!(row, " {} |", peer(&folder, tool, name, seconds)?)?;
        }
        let with_miri = if has_miri { miri_rate(&folder, name)? } else { "-".into() };
        writeln!(row, " {with_miri} |")?;
        print!("{row}");
        table += &row;
    }
    Ok(table)
}

fn write_crate(folder: &Path, programs: &Path) -> Result<()> {
    fs::create_dir_all(folder.join("src/bin"))?;
    fs::write(
        folder.join("Cargo.toml"),
        "[package]\nname = \"speed\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
         [features]\ndefault = [\"peers\"]\npeers = [\"dep:loom\", \"dep:shuttle\"]\n\
         [[bin]]\nname = \"peers\"\nrequired-features = [\"peers\"]\n\
         [dependencies]\nloom = { version = \"0.7\", optional = true }\nshuttle = { version = \"0.9\", optional = true }\n",
    )?;
    fs::write(folder.join("src/bin/peers.rs"), PEERS)?;
    let arms: String = BODIES
        .iter()
        .map(|(name, body)| format!("            {name:?} => || {{ programs::{body}; }},\n"))
        .collect();
    let module = |name: &str, tool: &str| {
        format!(
            "pub mod {name} {{\n    #[path = {programs:?}]\n    #[allow(dead_code, private_interfaces)]\n    mod programs;\n    mod tool {{\n\
             \x20       pub(crate) use {tool}::hint;\n\
             \x20       pub(crate) use {tool}::sync::atomic::{{AtomicBool, AtomicIsize, AtomicUsize, Ordering::SeqCst}};\n\
             \x20       pub(crate) use {tool}::sync::{{Arc, Condvar, Mutex}};\n\
             \x20       pub(crate) use {tool}::thread::{{self, JoinHandle}};\n    }}\n\
             \x20   pub fn body(name: &str) -> fn() {{\n        match name {{\n{arms}            _ => panic!(\"no such body\"),\n        }}\n    }}\n}}\n"
        )
    };
    let tests: String = BODIES
        .iter()
        .map(|(name, _)| format!("#[test]\nfn {name}() {{ as_it_is::body({name:?})() }}\n"))
        .collect();
    let peers = ["loom", "shuttle"].map(|tool| {
        format!("#[cfg(feature = \"peers\")]\n{}", module(&format!("with_{tool}"), tool))
    });
    let text = format!("{}{}{tests}", module("as_it_is", "std"), peers.concat());
    Ok(fs::write(folder.join("src/lib.rs"), text)?)
}

/// The report about a test.
fn of<'a>(reports: &'a [Value], name: &str) -> Result<&'a Value> {
    let found = reports.iter().find(|report| report["test"] == name);
    found.with_context(|| format!("there is no report about {name}"))
}

/// Executions, and how many a second.
fn rate(report: &Value) -> String {
    let executions = report["executions"].as_f64().unwrap_or_default();
    let seconds = report["seconds"].as_f64().unwrap_or(1.0);
    format!("{executions} ({:.0}/s)", executions / seconds)
}

fn ours(preempt: &Path, folder: &Path, seconds: u64, search: &str) -> Result<Vec<Value>> {
    let output = Command::new(preempt)
        .args(["cargo", "test", "--release", "--no-default-features", "--lib", "--"])
        .args(["--json", "--search", search, "--time", &format!("{seconds}s")])
        .current_dir(folder)
        .output()
        .context("preempt does not run")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
    lines.with_context(|| format!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Executions of loom or shuttle, and how many a second.
fn peer(folder: &Path, tool: &str, name: &str, seconds: u64) -> Result<String> {
    let program: PathBuf = folder.join("target/release/peers");
    let output = Command::new(program).args([tool, name, &seconds.to_string()]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers = text.lines().last().and_then(|line| line.split_once(' '));
    let (count, time) = numbers.with_context(|| format!("{tool}, {name}: {text}"))?;
    let (count, time): (f64, f64) = (count.parse()?, time.parse()?);
    Ok(format!("{count} ({:.0}/s)", count / time))
}

fn miri(folder: &Path, words: &[&str]) -> std::io::Result<std::process::Output> {
    Command::new("cargo")
        .args(["+nightly", "miri"])
        .args(words)
        .env("MIRIFLAGS", format!("-Zmiri-many-seeds=0..{SEEDS}"))
        .env("CARGO_TARGET_DIR", folder.join("target/miri"))
        .env_remove("RUSTUP_TOOLCHAIN")
        .current_dir(folder)
        .output()
}

/// Executions of Miri a second, without its start.
fn miri_rate(folder: &Path, name: &str) -> Result<String> {
    let words = ["test", "--no-default-features", "--lib", "--", "--exact"];
    let time = |test: &str| -> Result<f64> {
        let begin = Instant::now();
        miri(folder, &[&words[..], &[test]].concat())?;
        Ok(begin.elapsed().as_secs_f64())
    };
    time("no such test")?;
    let start = time("no such test")?;
    let took = (time(name)? - start).max(0.001);
    Ok(format!("{SEEDS} ({:.1}/s)", f64::from(SEEDS) / took))
}
