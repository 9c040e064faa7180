//! The loom tests of published crates, run through preempt-loom and through loom.
//!
//! ```text
//! cargo run -p bench-real-crates -- [--release] [--seconds N] [--ours | --loom] [--write FILE] [CRATE[=TEST]…]
//! ```
//!
//! Crates are fetched by cargo into `target/real-crates/`; only the line of their manifests that
//! names loom is changed. Without names all crates of the catalogue are run. `--write` writes the
//! table to a file; `benches/REAL-CRATES.md` is the one that is kept.

mod catalogue;
mod runner;
mod suites;
mod table;
mod workspace;

use anyhow::{Context, Result, bail};
use catalogue::{CRATES, Crate, LOOM, SHUTTLE};
use runner::{Options, Outcome, Row, Target, Tests};
use std::path::{Path, PathBuf};
use table::Section;
use workspace::{Tool, Workspace};

struct Arguments {
    seconds: u64,
    release: bool,
    tools: Vec<Tool>,
    write: Option<PathBuf>,
    /// Names of crates, each with a part of the names of its tests.
    names: Vec<(String, String)>,
}

fn main() -> Result<()> {
    let arguments = arguments()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let workspace = Workspace::new(&root)?;
    let mut sections = Vec::new();
    for (krate, part) in selected(&arguments)? {
        let side = |tool: Tool| {
            if !arguments.tools.contains(&tool) {
                return Ok(Vec::new());
            }
            let rows = run_crate(&workspace, tool, krate, part, &arguments);
            rows.map_err(|error| {
                eprintln!("{} with {}: {error:#}", krate.name, tool.name());
                format!("{error:#}")
            })
        };
        sections.push(Section {
            title: format!("{} {}", krate.name, krate.version),
            ours: side(Tool::Preempt),
            theirs: side(Tool::Loom),
        });
    }
    let text = table::render(&sections, arguments.seconds, arguments.release);
    match arguments.write {
        Some(path) => std::fs::write(&path, text).with_context(|| path.display().to_string())?,
        None => println!("{text}"),
    }
    Ok(())
}

fn run_crate(
    workspace: &Workspace,
    tool: Tool,
    krate: &Crate,
    part: &str,
    arguments: &Arguments,
) -> Result<Vec<Row>> {
    let own = krate.name == LOOM || krate.name == SHUTTLE;
    let folder = match krate.name {
        LOOM => suites::prepare_loom(workspace, tool, krate.version)?,
        SHUTTLE => suites::prepare_shuttle(workspace, tool, krate.version)?,
        name => workspace.prepare(tool, name, krate.version, krate.with)?,
    };
    let tests = match krate.test {
        _ if own => Tests::All,
        Some(test) => Tests::One(test),
        None => Tests::Library,
    };
    let target = Target {
        folder: &folder,
        cfg: krate.cfg,
        features: krate.features,
        tests,
        release: arguments.release,
        keep_going: krate.name == SHUTTLE,
    };
    let options = Options { seconds: arguments.seconds, ignored_too: krate.name == LOOM };
    let mut rows = Vec::new();
    for (file, executable) in runner::build(workspace, tool, &target)? {
        for test in runner::list(&executable)? {
            let chosen =
                krate.prefixes.is_empty() || krate.prefixes.iter().any(|p| test.starts_with(p));
            if !chosen || !test.contains(part) {
                continue;
            }
            for mut row in runner::run(workspace, &executable, &folder, &test, &options)? {
                if row.outcome == Outcome::Passed && krate.name != SHUTTLE {
                    continue;
                }
                if own {
                    row.test = format!("{file}::{}", row.test);
                }
                print_row(tool, krate.name, &row);
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

fn print_row(tool: Tool, name: &str, row: &Row) {
    let outcome = match &row.outcome {
        Outcome::Holds => "holds".to_string(),
        other => format!("{other:?}"),
    };
    eprintln!(
        "{:8} {name} {}: {outcome}, {} executions, {:.3} s",
        tool.name(),
        row.test,
        row.executions,
        row.seconds
    );
}

fn selected(arguments: &Arguments) -> Result<Vec<(&'static Crate, &str)>> {
    if arguments.names.is_empty() {
        return Ok(CRATES.iter().map(|krate| (krate, "")).collect());
    }
    let find = |(name, part): &'_ (String, String)| -> Result<(&'static Crate, String)> {
        let krate = CRATES.iter().find(|krate| krate.name == name);
        Ok((krate.with_context(|| format!("no crate {name} in the catalogue"))?, part.clone()))
    };
    let mut found = Vec::new();
    for entry in &arguments.names {
        found.push((find(entry)?.0, entry.1.as_str()));
    }
    Ok(found)
}

fn arguments() -> Result<Arguments> {
    let mut arguments = Arguments {
        seconds: 3,
        release: false,
        tools: vec![Tool::Preempt, Tool::Loom],
        write: None,
        names: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => {
                arguments.seconds = words.next().context("--seconds needs a number")?.parse()?;
            }
            "--release" => arguments.release = true,
            "--ours" => arguments.tools = vec![Tool::Preempt],
            "--loom" => arguments.tools = vec![Tool::Loom],
            "--write" => {
                arguments.write = Some(words.next().context("--write needs a file")?.into())
            }
            option if option.starts_with('-') => bail!("unknown option {option}"),
            name => {
                let (name, part) = name.split_once('=').unwrap_or((name, ""));
                arguments.names.push((name.to_string(), part.to_string()));
            }
        }
    }
    Ok(arguments)
}
