//! The loom and shuttle tests of published crates, run through preempt and through the original tool.
//!
//! ```text
//! cargo run -p bench-real-crates -- [--release] [--seeds] [--further] [--seconds N] [--ours | --original | --table] [--write FILE] [--note TEXT] [--project DIR] [CRATE[=TEST]…]
//! ```
//!
//! Crates are fetched by cargo into `target/real-crates/`; only the line of their manifests that
//! names the tool is changed. Without names all crates of the catalogue's first list are run, and with
//! `--further` those of its second. `--write` writes the
//! table to a file; `benches/REAL-CRATES.md` is the one that is kept. `--project` takes preempt's
//! crates from another checkout. What is not run this time (`--ours`, `--original`, `--table`) is taken from the last
//! run that did. `--seeds` puts bugs into some crates instead and says which tool finds them.

mod catalogue;
mod row;
mod runner;
mod seed_table;
mod seeds;
mod suites;
mod table;
mod workspace;

use anyhow::{Context, Result, bail};
use catalogue::{CRATES, Crate, FURTHER, LOOM, SHUTTLE, Written};
use row::{Outcome, Row};
use runner::{Options, Target, Tests};
use seed_table::SEEDS;
use seeds::Seed;
use std::path::{Path, PathBuf};
use table::{Head, Section};
use workspace::{Tool, Workspace};

struct Arguments {
    seconds: u64,
    release: bool,
    seeds: bool,
    further: bool,
    /// Run nothing: put the table together from what earlier runs kept.
    table_only: bool,
    tools: Vec<Tool>,
    write: Option<PathBuf>,
    project: Option<PathBuf>,
    /// A sentence for the head of the table.
    note: String,
    /// Names of crates, each with a part of the names of its tests.
    names: Vec<(String, String)>,
}

fn main() -> Result<()> {
    let arguments = arguments()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let project = arguments.project.clone().unwrap_or_else(|| root.clone());
    let workspace = Workspace::new(&root, project)?;
    if arguments.seeds {
        return run_seeds(&workspace, &arguments);
    }
    let mut sections = Vec::new();
    for (krate, part) in selected(&arguments)? {
        let side = |tool: Tool| {
            if !arguments.tools.contains(&tool) || arguments.table_only {
                return workspace.kept(tool, &krate.label()).ok_or_else(|| "not run".to_string());
            }
            let rows = run_crate(&workspace, tool, krate, (part, None), &arguments);
            let rows = rows.and_then(|rows| {
                if part.is_empty() {
                    workspace.keep(tool, &krate.label(), &rows)?;
                }
                Ok(rows)
            });
            rows.map_err(|error| {
                eprintln!("{} with {}: {error:#}", krate.name, tool.name());
                format!("{error:#}")
            })
        };
        sections.push(Section {
            title: format!("{} {}", krate.label(), krate.version),
            remark: krate.remark,
            ours: side(Tool::Preempt),
            theirs: side(Tool::Original),
        });
    }
    let (title, command) = match arguments.further {
        true => (
            "Further crates' loom and shuttle tests",
            "cargo run -p bench-real-crates -- --release --further",
        ),
        false => ("Real crates' loom tests", "cargo run -p bench-real-crates"),
    };
    let Arguments { seconds, release, ref note, .. } = arguments;
    let text = table::render(&sections, &Head { title, command, seconds, release, note });
    match arguments.write {
        Some(path) => std::fs::write(&path, text).with_context(|| path.display().to_string())?,
        None => println!("{text}"),
    }
    Ok(())
}

/// Runs the crates with bugs in them and writes which tool found which.
fn run_seeds(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    let mut text = String::from(table::SEEDS);
    let names = &arguments.names;
    let chosen =
        |seed: &&Seed| names.is_empty() || names.iter().any(|(name, _)| name == seed.krate);
    for seed in SEEDS.iter().filter(chosen) {
        let mut cells = Vec::new();
        for tool in [Tool::Preempt, Tool::Original] {
            if !arguments.tools.contains(&tool) {
                cells.push("not run".to_string());
                continue;
            }
            let rows =
                run_crate(workspace, tool, seed.krate()?, (seed.test, Some(seed)), arguments)?;
            cells.push(table::finding(&rows));
        }
        text.push_str(&format!(
            "| {} | {} | {} |\n",
            seed.krate()?.name,
            seed.what,
            cells.join(" | ")
        ));
    }
    match &arguments.write {
        Some(path) => std::fs::write(path, text).with_context(|| path.display().to_string())?,
        None => println!("{text}"),
    }
    Ok(())
}

fn run_crate(
    workspace: &Workspace,
    tool: Tool,
    krate: &Crate,
    (part, seed): (&str, Option<&Seed>),
    arguments: &Arguments,
) -> Result<Vec<Row>> {
    let own = krate.name == LOOM || krate.name == SHUTTLE;
    let folder = match krate.name {
        LOOM => suites::prepare_loom(workspace, tool, krate.version)?,
        SHUTTLE => suites::prepare_shuttle(workspace, tool, krate.version)?,
        _ => workspace.prepare(tool, krate)?,
    };
    if let Some(seed) = seed {
        seed.plant(workspace, tool, &folder)?;
    }
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
    for (file, executable) in runner::build(workspace, &target)? {
        for test in runner::list(&executable)? {
            let chosen =
                krate.prefixes.is_empty() || krate.prefixes.iter().any(|p| test.starts_with(p));
            if !chosen || !test.contains(part) {
                continue;
            }
            let other = if krate.name == SHUTTLE { suites::not_applicable(&test) } else { None };
            if let Some(reason) = other.filter(|_| tool == Tool::Preempt) {
                eprintln!("{:8} {} {test}: does not apply ({reason})", tool.name(), krate.name);
                continue;
            }
            for mut row in runner::run(workspace, &executable, &folder, &test, &options)? {
                if row.outcome == Outcome::Passed && krate.written == Written::ForLoom {
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
        let list = if arguments.further { FURTHER } else { CRATES };
        return Ok(list.iter().map(|krate| (krate, "")).collect());
    }
    let find = |(name, part): &'_ (String, String)| -> Result<(&'static Crate, String)> {
        let krate = CRATES.iter().chain(FURTHER).find(|krate| krate.label() == *name);
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
        seeds: false,
        further: false,
        table_only: false,
        tools: vec![Tool::Preempt, Tool::Original],
        write: None,
        project: None,
        note: String::new(),
        names: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => {
                arguments.seconds = words.next().context("--seconds needs a number")?.parse()?;
            }
            "--release" => arguments.release = true,
            "--table" => arguments.table_only = true,
            "--seeds" => arguments.seeds = true,
            "--further" => arguments.further = true,
            "--ours" => arguments.tools = vec![Tool::Preempt],
            "--original" => arguments.tools = vec![Tool::Original],
            "--write" => {
                arguments.write = Some(words.next().context("--write needs a file")?.into())
            }
            "--note" => arguments.note = words.next().context("--note needs a sentence")?,
            "--project" => {
                let folder = words.next().context("--project needs a folder")?;
                arguments.project = Some(Path::new(&folder).canonicalize()?);
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
