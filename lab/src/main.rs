//! `lab`: reproductions of published tables, one file or folder per table.
//!
//! `cargo run --release -p lab -- TABLE [options]` prints one table;
//! `lab all` runs every registered one and writes Markdown to `lab/results/`.
//! A new table is a function `fn(&Options) -> anyhow::Result<String>` and a line in [`TABLES`].

mod s19_fig5;

use anyhow::{Context, Result, bail};
use std::path::PathBuf;

/// What a table may be asked to do.
pub(crate) struct Options {
    /// Write counterexamples there as models.
    pub(crate) emit: Option<PathBuf>,
    /// The table's own arguments.
    pub(crate) rest: Vec<String>,
}

struct Table {
    name: &'static str,
    about: &'static str,
    run: fn(&Options) -> Result<String>,
}

const TABLES: &[Table] = &[Table {
    name: "s19-fig5",
    about: "soundness of on-the-fly reduction within bounds, by SAT (S19 Fig. 5)",
    run: s19_fig5::run,
}];

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        print_usage();
        std::process::exit(2);
    };
    let mut options = Options { emit: None, rest: Vec::new() };
    while let Some(argument) = arguments.next() {
        if argument == "--emit" {
            let folder = arguments.next().context("--emit needs a folder")?;
            options.emit = Some(folder.into());
        } else {
            options.rest.push(argument);
        }
    }
    if name == "all" {
        return run_all(&options);
    }
    let Some(table) = TABLES.iter().find(|t| t.name == name) else {
        print_usage();
        bail!("there is no table `{name}`");
    };
    println!("{}", (table.run)(&options)?);
    Ok(())
}

fn run_all(options: &Options) -> Result<()> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("results");
    std::fs::create_dir_all(&folder)?;
    for table in TABLES {
        let text = (table.run)(options).with_context(|| table.name.to_owned())?;
        println!("{text}");
        let file = folder.join(format!("{}.md", table.name));
        std::fs::write(&file, format!("# {}: {}\n\n{text}\n", table.name, table.about))
            .with_context(|| file.display().to_string())?;
    }
    Ok(())
}

fn print_usage() {
    eprintln!("usage: lab TABLE [--emit FOLDER] [options of the table] | lab all\n\ntables:");
    for table in TABLES {
        eprintln!("  {:12} {}", table.name, table.about);
    }
}
