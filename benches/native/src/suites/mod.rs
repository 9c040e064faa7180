//! The published suites: each is a folder that the user has, and gives a table of programs with our verdict beside the suite's.

mod genmc;
mod page;
mod program;
mod sctbench;
mod sv_comp;

use crate::speed::machine;
use anyhow::{Context, Result};
use page::Row;
use std::fs;
use std::path::PathBuf;

/// Which suites are run, and for how long.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A checkout of github.com/mc-imperial/sctbench
    #[arg(long, value_name = "DIR")]
    sctbench: Option<PathBuf>,
    /// A checkout of github.com/MPI-SWS/genmc
    #[arg(long, value_name = "DIR")]
    genmc: Option<PathBuf>,
    /// Folders with programs of SV-COMP, their verdicts in .yml files or in their names
    #[arg(long, value_name = "DIR")]
    sv_comp: Vec<PathBuf>,
    /// Seconds for each search
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Seconds for each search for a bug of SCTBench
    #[arg(long, default_value_t = 60)]
    bug_seconds: u64,
    /// Seconds for another one, at random, for a bug of SCTBench that was not found
    #[arg(long, default_value_t = 600)]
    random_seconds: u64,
    /// Of SV-COMP's family pthread-wmm, which has 898 programs of one form: only each N-th
    #[arg(long, default_value_t = 9, value_name = "N")]
    each: usize,
    /// Only programs with this in their names
    #[arg(long, default_value = "")]
    only: String,
}

impl Arguments {
    fn is_asked(&self, name: &str) -> bool {
        name.contains(&self.only)
    }
}

/// Runs the suites and prints the page.
pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    // Programs are compiled in other folders than this one.
    let folders = arguments.sctbench.iter_mut().chain(&mut arguments.genmc);
    for folder in folders.chain(&mut arguments.sv_comp) {
        *folder = fs::canonicalize(&folder).with_context(|| folder.display().to_string())?;
    }
    let work = std::env::temp_dir().join(format!("preempt-suites-{}", std::process::id()));
    fs::create_dir_all(&work)?;
    let text = text(&arguments, &work);
    fs::remove_dir_all(&work)?;
    let mut text = text?;
    // Where the suites lie is of no interest to a reader.
    let here = std::env::current_dir()?;
    let folders = arguments.sctbench.iter().chain(&arguments.genmc).chain(&arguments.sv_comp);
    for folder in folders.chain([&work]) {
        for from in [Some(folder.as_path()), folder.strip_prefix(&here).ok()].into_iter().flatten()
        {
            text = text.replace(&format!("{}/", from.display()), "");
        }
    }
    print!("{text}");
    Ok(())
}

fn text(arguments: &Arguments, work: &std::path::Path) -> Result<String> {
    let tables = [
        sctbench::table(arguments, work)?,
        genmc::table(arguments, work)?,
        sv_comp::table(arguments, work)?,
    ];
    let mut text = format!(
        "# Published suites of C and C++ programs\n\n\
         Made by `cargo run -p bench-native -- suites --sctbench DIR --genmc DIR --sv-comp DIR --seconds 5 > benches/C-PROGRAMS.md` \
         on {}. The suites are not part of this repository. Each program is compiled by `preempt cc -g`; a search has {} seconds, \
         one for a bug of SCTBench {}, and then one at random {}. CPU seconds are those of all processes that search: one samples beside the search by \
         bounds. *Correct*: our verdict is the suite's. *Different, explained*: it is another one, and the note says why. *Wrong*: it is another \
         one. *Unknown*: a limit was reached, or the \
         program does what is refused.\n\n",
        machine(),
        arguments.seconds,
        arguments.bug_seconds,
        arguments.random_seconds
    );
    text.push_str(&page::summary(&tables));
    for table in &tables {
        text.push_str(&page::section(table));
    }
    Ok(text)
}

/// Shows a row as soon as it is known, on the error output.
fn show(row: &Row) {
    eprint!("{:?} {}", row.grade, page::line(row));
}
