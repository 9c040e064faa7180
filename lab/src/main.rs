//! `lab`: reproductions of published tables, one file or folder per table.
//!
//! `cargo run --release -p lab -- TABLE [options]` prints one table and writes it as Markdown, with
//! plots as SVG, to `lab/results/`; `lab all` does so for every one.
//! A new table is a function `fn(&Options) -> anyhow::Result<String>` and a line in [`TABLES`].

#![forbid(unsafe_code)]

#[path = "../../crates/preempt/tests/bodies/mod.rs"]
mod bodies;
mod card;
mod example;
mod hf_fig10;
mod hf_first;
mod hf_table1;
mod lmp09;
mod markdown;
mod mq07;
mod mq07_fig3;
mod mq07b_table1;
mod plot;
mod public_losses;
mod public_properties;
mod recorded;
mod s19_fig5;
mod s19_fig6;
mod spin;
mod tool;

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

const TABLES: &[Table] = &[
    Table {
        name: "hf-table1",
        about: "states by bound, with and without reduction (HF Table 1)",
        run: hf_table1::table1,
    },
    Table {
        name: "hf-table2",
        about: "states and transitions up to the first counterexample (HF Tables 2 and 3)",
        run: hf_first::table2,
    },
    Table {
        name: "hf-table4",
        about: "blocks in the counterexample (HF Table 4)",
        run: hf_first::table4,
    },
    Table { name: "hf-fig7", about: "states within a bound (HF Fig. 7)", run: hf_table1::fig7 },
    Table { name: "hf-fig8", about: "cost of a bound (HF Fig. 8)", run: hf_table1::fig8 },
    Table {
        name: "hf-fig10",
        about: "bounded relative to full search, on average (HF Fig. 10)",
        run: hf_fig10::run,
    },
    Table {
        name: "s19-fig5",
        about: "soundness of on-the-fly reduction within bounds, by SAT (S19 Fig. 5)",
        run: s19_fig5::run,
    },
    Table {
        name: "s19-fig6",
        about: "starvation freedom of Peterson's algorithm (S19 Fig. 6)",
        run: s19_fig6::run,
    },
    Table { name: "mq07-fig1", about: "coverage by bound (MQ07 Fig. 1)", run: mq07::fig1 },
    Table {
        name: "mq07-fig2",
        about: "coverage by executions, for several strategies (MQ07 Fig. 2)",
        run: mq07::fig2,
    },
    Table {
        name: "mq07-fig3",
        about: "states covered by bound, of models (MQ07 Figs. 1 and 3)",
        run: mq07_fig3::run,
    },
    Table {
        name: "mq07-table2",
        about: "bugs by the preemptions they need (MQ07 Table 2)",
        run: mq07::table2,
    },
    Table {
        name: "mq07b-table1",
        about: "executions with and without partial orders (MQ07b Table 1)",
        run: mq07b_table1::run,
    },
    Table {
        name: "lmp09-fig5",
        about: "eager and lazy translation of the Bluetooth driver (LMP09 Fig. 5)",
        run: lmp09::fig5,
    },
    Table {
        name: "lmp09-table1",
        about: "eager and lazy translation of permutations (LMP09 Table 1)",
        run: lmp09::table1,
    },
    Table {
        name: "card",
        about: "seconds by states, on the processor and on a graphics card",
        run: card::run,
    },
];

/// Tables that need something to be fetched first, which `lab all` leaves out.
const FETCHED: &[Table] = &[
    Table {
        name: "public-properties",
        about: "properties of public models, full and reduced, beside Spin",
        run: public_properties::run,
    },
    Table {
        name: "public-losses",
        about: "public models that Spin alone searches in less time",
        run: public_losses::run,
    },
];

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
    let done = if name == "all" {
        run_all(&options)
    } else if let Some(table) = TABLES.iter().chain(FETCHED).find(|t| t.name == name) {
        run(table, &options)
    } else {
        print_usage();
        bail!("there is no table `{name}`");
    };
    spin::clean();
    done
}

fn run_all(options: &Options) -> Result<()> {
    TABLES.iter().try_for_each(|table| run(table, options))
}

/// Prints a table and keeps it in `lab/results/`.
fn run(table: &Table, options: &Options) -> Result<()> {
    let folder = tool::root().join("lab/results");
    std::fs::create_dir_all(&folder)?;
    let text = (table.run)(options).with_context(|| table.name.to_owned())?;
    println!("{text}");
    let file = folder.join(format!("{}.md", table.name));
    let text = text.trim_end();
    std::fs::write(&file, format!("# {}: {}\n\n{text}\n", table.name, table.about))
        .with_context(|| file.display().to_string())
}

fn print_usage() {
    eprintln!("usage: lab TABLE [--emit FOLDER] [options of the table] | lab all\n\ntables:");
    for table in TABLES.iter().chain(FETCHED) {
        eprintln!("  {:17} {}", table.name, table.about);
    }
}
