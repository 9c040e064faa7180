//! The test suites of published crates, unmodified, under `preempt cargo test`.
//!
//! ```text
//! cargo run -p bench-unmodified -- --preempt PATH [--seconds N] [--miri] [--known | --seeds | --speed] [--write FILE] [CRATE…]
//! ```
//!
//! Crates are fetched by cargo into `target/unmodified/` and copied, so that cargo takes each for a workspace of its
//! own; nothing else is changed. `--miri` sets `cfg(miri)`, by which many crates shorten their loops for slow
//! executions. `--known` runs tests over published versions with known bugs instead, `--seeds` crates with one mistake
//! each, `--speed` small bodies beside loom, shuttle and Miri. Without names all crates of the catalogue are run. `--write` writes the table to a file;
//! `benches/UNMODIFIED.md` is the one that is kept.

mod catalogue;
mod known;
mod seeds;
mod sources;
mod speed;
mod table;

use anyhow::{Context, Result, bail};
use catalogue::{CRATES, Crate};
use sources::Sources;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use table::{Row, table};

struct Arguments {
    preempt: PathBuf,
    seconds: u64,
    miri: bool,
    known: bool,
    seeds: bool,
    speed: bool,
    write: Option<PathBuf>,
    names: Vec<String>,
}

fn main() -> Result<()> {
    let arguments = arguments()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    if arguments.known {
        print!("{}", known::run(&arguments.preempt, &root.join("target/unmodified"))?);
        return Ok(());
    }
    if arguments.speed {
        print!("\n{}", speed::run(&arguments.preempt, &root, arguments.seconds)?);
        return Ok(());
    }
    if arguments.seeds {
        let folder = root.join("target/unmodified");
        let sources = Sources::fetch(&folder, &seeds::crates())?;
        print!("{}", seeds::run(&arguments.preempt, &sources, &folder, arguments.seconds)?);
        return Ok(());
    }
    let wanted: Vec<&Crate> = match arguments.names.is_empty() {
        true => CRATES.iter().collect(),
        false => arguments.names.iter().map(|name| find(name)).collect::<Result<_>>()?,
    };
    let names: Vec<_> = wanted.iter().map(|krate| (krate.name, krate.version)).collect();
    let sources = Sources::fetch(&root.join("target/unmodified"), &names)?;
    let mut rows = Vec::new();
    for krate in wanted {
        let row = run(&arguments, &sources, krate)?;
        println!("{}", row.line());
        rows.push(row);
    }
    let text = table(&rows, arguments.seconds, arguments.miri);
    match &arguments.write {
        Some(path) => std::fs::write(path, text).context("the table cannot be written"),
        None => {
            print!("\n{text}");
            Ok(())
        }
    }
}

fn find(name: &str) -> Result<&'static Crate> {
    CRATES.iter().find(|krate| krate.name == name).with_context(|| format!("no crate {name}"))
}

fn arguments() -> Result<Arguments> {
    let mut arguments = Arguments {
        preempt: "preempt".into(),
        seconds: 10,
        miri: false,
        known: false,
        seeds: false,
        speed: false,
        write: None,
        names: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--preempt" => arguments.preempt = PathBuf::from(value()?).canonicalize()?,
            "--seconds" => arguments.seconds = value()?.parse()?,
            "--write" => arguments.write = Some(value()?.into()),
            "--miri" => arguments.miri = true,
            "--known" => arguments.known = true,
            "--seeds" => arguments.seeds = true,
            "--speed" => arguments.speed = true,
            _ if word.starts_with('-') => bail!("there is no option {word}"),
            _ => arguments.names.push(word),
        }
    }
    Ok(arguments)
}

/// All tests of one crate.
fn run(arguments: &Arguments, sources: &Sources, krate: &Crate) -> Result<Row> {
    let folder = sources.copy(krate)?;
    let begin = Instant::now();
    let mut command = Command::new(&arguments.preempt);
    command.args(["cargo", "test"]).args(krate.words);
    command.args(["--", "--json", "--pauses", "kept"]);
    command.args(["--time", &format!("{}s", arguments.seconds)]);
    command.current_dir(&folder).env("CARGO_TARGET_DIR", sources.build_folder());
    if arguments.miri {
        command.env("RUSTFLAGS", "--cfg miri");
    }
    let output = command.output().context("preempt does not run")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let tests = text.lines().map(serde_json::from_str).collect::<Result<Vec<_>, _>>();
    let tests = tests.with_context(|| format!("{}: {text}", krate.name))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| line.starts_with("error"));
    Ok(Row::new(
        sources.label(krate),
        &tests,
        output.status.code(),
        last.unwrap_or_default(),
        begin.elapsed(),
    ))
}
