//! Published C and C++ libraries: small programs that use them correctly must hold, and one planted bug in each must be
//! found. Prints a table.
//!
//! The libraries are not part of this repository. `FOLDER` has a checkout of each, under its own name
//! (`git clone https://github.com/OWNER/NAME` in it); what is missing there is a row that says so.

mod catalogue;

use anyhow::{Context, Result, ensure};
use catalogue::{LIBRARIES, Library, Seed};
use clap::Parser;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Parser)]
struct Arguments {
    /// The folder with the checkouts.
    folder: PathBuf,
    /// Seconds for each search.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Only drivers with this in their names.
    #[arg(long, default_value = "")]
    only: String,
}

/// What a search said.
struct Answer {
    verdict: String,
    executions: u64,
    seconds: f64,
    preemptions: Option<u64>,
    what: String,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let work = std::env::temp_dir().join(format!("preempt-libraries-{}", std::process::id()));
    fs::create_dir_all(&work)?;
    let printed = table(&arguments, &work);
    fs::remove_dir_all(&work)?;
    printed
}

fn table(arguments: &Arguments, work: &Path) -> Result<()> {
    println!(
        "# Published C and C++ libraries\n\n\
         Made by `cargo run -p bench-c-libraries -- FOLDER > benches/C-LIBRARIES.md`, {} seconds for each search. Each \
         program in `benches/c-libraries/drivers` uses a library as its documentation says, so nothing must be found; then one \
         bug is planted in the library, which must be found.\n\n\
         | library | program | as published | executions | seconds | planted bug | found | preemptions | executions | seconds |\n\
         |---|---|---|---:|---:|---|---|---:|---:|---:|",
        arguments.seconds
    );
    let mut notes = Vec::new();
    for library in LIBRARIES.iter().filter(|library| library.driver.contains(&arguments.only)) {
        let (_, name) = library.repository.split_once('/').context("a repository has an owner")?;
        let folder = arguments.folder.join(name);
        if !folder.exists() {
            println!("| {} | {} | no checkout | | | | | | | |", library.repository, library.driver);
            continue;
        }
        let answer = check(library, &folder, work, arguments.seconds)?;
        print!(
            "| {} | {} | {} | {} | {:.2} |",
            library.repository, library.driver, answer.verdict, answer.executions, answer.seconds
        );
        if answer.verdict == "violated" {
            let why = library.known.unwrap_or("NOT EXPLAINED");
            notes.push(format!("- {}: {} ({why}).", library.driver, answer.what));
        }
        match &library.seed {
            None => println!(" none | | | | |"),
            Some(seed) => {
                let copy = work.join(name);
                plant(seed, &folder, &copy)?;
                let found = check(library, &copy, work, arguments.seconds);
                fs::remove_dir_all(&copy)?;
                let found = found?;
                println!(
                    " {} | {} | {} | {} | {:.2} |",
                    seed.what,
                    if found.verdict == "violated" { &found.what } else { &found.verdict },
                    found.preemptions.map_or(String::new(), |n| n.to_string()),
                    found.executions,
                    found.seconds
                );
            }
        }
    }
    if !notes.is_empty() {
        println!("\nWhat was found in libraries as they are:\n\n{}", notes.join("\n"));
    }
    Ok(())
}

/// A copy of the library with the bug in it.
fn plant(seed: &Seed, folder: &Path, copy: &Path) -> Result<()> {
    let status = Command::new("cp").arg("-r").arg(folder).arg(copy).status()?;
    ensure!(status.success(), "{} cannot be copied", folder.display());
    let file = copy.join(seed.file);
    let text = fs::read_to_string(&file)?.replace("\r\n", "\n");
    ensure!(text.contains(seed.from), "{} has another text today", file.display());
    fs::write(&file, text.replacen(seed.from, seed.to, 1))?;
    Ok(())
}

fn check(library: &Library, folder: &Path, work: &Path, seconds: u64) -> Result<Answer> {
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers").join(library.driver);
    let program = work.join("program");
    let language = if library.driver.ends_with(".c") { "cc" } else { "c++" };
    let compiled = preempt()?
        .args([language, &format!("-std={}", library.standard), "-g", "-pthread", "-I"])
        .arg(folder.join(library.include))
        .arg(&driver)
        .args(library.sources.iter().map(|source| folder.join(source)))
        .arg("-o")
        .arg(&program)
        .output()?;
    ensure!(
        compiled.status.success(),
        "{}: {}",
        library.driver,
        String::from_utf8_lossy(&compiled.stderr)
    );
    let output = preempt()?
        .args(["run", "--json", "--time", &format!("{seconds}s"), "--"])
        .arg(&program)
        .output()?;
    let report: Value = serde_json::from_slice(&output.stdout).with_context(|| {
        format!("{}: {}", library.driver, String::from_utf8_lossy(&output.stderr))
    })?;
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    Ok(Answer {
        verdict: report["verdict"].as_str().unwrap_or("no verdict").to_owned(),
        executions: number(&report["executions"]),
        seconds: report["seconds"].as_f64().unwrap_or(0.0),
        preemptions: report["violation"]["preemptions"].as_u64(),
        what: report["violation"]["kind"].as_str().unwrap_or("").replace('_', " "),
    })
}

/// The command that was built with this one.
fn preempt() -> Result<Command> {
    let here = std::env::current_exe()?;
    let preempt = here.with_file_name("preempt");
    ensure!(preempt.exists(), "build the command first: cargo build --release --bin preempt");
    Ok(Command::new(preempt))
}
