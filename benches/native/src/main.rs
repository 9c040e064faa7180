//! Benchmarks of C and C++ programs: how fast they are executed (`benches/NATIVE.md`), and what is found in the published
//! suites SCTBench, GenMC's tests and SV-COMP (`suites`, `benches/C-PROGRAMS.md`).

mod speed;
mod suites;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Rounds of which the speed is the median.
    #[arg(default_value_t = 5)]
    rounds: usize,
}

#[derive(Subcommand)]
enum Command {
    /// Verdicts on the programs of published suites.
    Suites(suites::Arguments),
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match arguments.command {
        Some(Command::Suites(suites)) => suites::run(suites),
        None => speed::measure_all(arguments.rounds),
    }
}
