//! What a newcomer types, and the answer that names what was meant: exit code 2, and the command that works.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MODEL: &str = "byte x;\nactive [2] proctype adder() { x++; assert(x <= 2) }\n";
const PROGRAM: &str =
    "decl bool a;\nvoid init() begin a := F; end\nthread t() begin assert(!a); end\n";

/// A folder with a file of every kind.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("meant").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("crate")).expect("a folder");
    let files = [
        ("model.pml", MODEL),
        ("other.pml", MODEL),
        ("peterson.pml", MODEL),
        ("transfer.bp", PROGRAM),
        ("promela.c", MODEL),
        ("account.c", "int main(void) { return 0; }"),
        ("queue.cpp", "int main() {}"),
        ("lib.rs", "fn main() {}"),
        ("bug.html", "<!doctype html>"),
        ("model.pml.trail", "-4:-4:-4\n1:0:0\n"),
        ("program", "\x7fELF and more"),
        ("crate/Cargo.toml", "[package]"),
    ];
    for (name, text) in files {
        std::fs::write(folder.join(name), text).expect("a file");
    }
    let model = folder.join("crate/broken.pml");
    std::fs::write(&model, MODEL.replace("x <= 2", "x <= 1")).expect("a file");
    let saved = preempt(&folder, "check crate/broken.pml --quiet --trace bug.trace");
    assert_eq!(saved.status.code(), Some(1), "{}", said(&saved));
    folder
}

/// Words with spaces are written with `_` here.
fn preempt(folder: &Path, line: &str) -> Output {
    let words = line.split(' ').filter(|word| !word.is_empty()).map(|word| word.replace('_', " "));
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt"));
    command.args(words).current_dir(folder).env("NO_COLOR", "1").output().expect("preempt runs")
}

fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_was_meant_is_named() {
    let folder = folder("wrong");
    let lines = [
        // Files that another command takes.
        (
            "check account.c",
            "`preempt cc -g account.c -o account`, then run `preempt run -- ./account`",
        ),
        ("simulate account.c", "`preempt cc -g account.c -o account`"),
        ("account.c", "`preempt cc -g account.c -o account`"),
        ("check queue.cpp", "`preempt c++ -g queue.cpp -o queue`"),
        ("check lib.rs", "the chapter \"Any Rust crate, as it is\""),
        ("lib.rs", "`preempt cargo test` checks the tests of its crate"),
        ("check crate", "run `preempt cargo test` in its folder"),
        ("check crate/Cargo.toml", "run `preempt cargo test` in its folder"),
        ("check .", "name a model in it"),
        ("check program", "`preempt run -- ./program`"),
        ("check bug.html", "`preempt serve bug.html` walks through its execution"),
        ("check bug.trace", "`preempt replay MODEL bug.trace` executes it again"),
        ("check model.pml.trail", "`preempt replay MODEL model.pml.trail` executes it again"),
        ("replay bug.trace", "`preempt replay MODEL bug.trace` executes it again"),
        ("run lib.rs", "`preempt cargo test` checks the tests of its crate"),
        ("run account.c", "`preempt cc -g account.c -o account`"),
        ("run model.pml", "`preempt check model.pml` checks it"),
        ("run ./program", "`preempt run -- ./program`"),
        ("run program 3", "`preempt run -- ./program 3`"),
        ("run --bound 2 program", "`preempt run --bound 2 -- ./program`"),
        // Files that are not there.
        ("check petersen.pml", "did you mean `peterson.pml`?"),
        ("check peterson", "did you mean `peterson.pml`?"),
        ("serve crate/broken", "did you mean `crate/broken.pml`?"),
        ("check transfers.bp", "did you mean `transfer.bp`?"),
        ("replay model.pml bug.trac", "did you mean `bug.trace`?"),
        // Commands.
        ("model.pml", "`preempt check model.pml` checks it"),
        ("test", "`preempt cargo test`, in its folder"),
        ("verify model.pml", "`preempt check MODEL`"),
        ("gcc -g account.c", "`preempt cc -g PROGRAM.c -o PROGRAM`"),
        ("chekc model.pml", "'check'"),
        ("open model.pml", "`preempt serve MODEL`"),
        ("-run -a model.pml", "`preempt spin -run -a model.pml`"),
        // Options.
        ("check model.pml --ltl []_(x_<=_2)", "a formula itself is checked by --formula"),
        ("check model.pml --preemptions 2", "`--bound N`; `--iterate` tries 0, 1, 2, …"),
        ("check model.pml --max-preemptions=2", "`--bound N`"),
        ("check model.pml --boud 2", "'--bound'"),
        ("check model.pml --dfs", "`--search dfs`"),
        ("check model.pml --invariant x<=2", "`--formula '[] (x < 2)'`"),
        ("check model.pml --timeout 60", "`--time 60s`"),
        ("check model.pml --memory 2000", "2000M are megabytes"),
        ("check model.pml --output bug.html", "`--html FILE`"),
        ("check model.pml -j 4", "`--threads N`"),
        ("check model.pml -bfs", "`preempt explain spin`"),
        ("check model.pml other.pml", "takes one model; other.pml is a second one"),
        ("check transfer.bp --ltl served", "Promela"),
    ];
    let mut wrong = Vec::new();
    for (line, advice) in lines {
        let output = preempt(&folder, line);
        let said = said(&output);
        if output.status.code() != Some(2) || !said.contains(advice) {
            wrong.push(format!("preempt {line}: {:?}: {said}\n    not: {advice}", output.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_right_is_not_corrected() {
    let folder = folder("right");
    // Any name will do for a model.
    for line in ["check promela.c", "check model.pml", "check transfer.bp", "spin -run model.pml"] {
        let output = preempt(&folder, line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", said(&output));
    }
    // A new name is like no other.
    let output = preempt(&folder, "check unheard_of.xyz");
    assert!(!said(&output).contains("did you mean"), "{}", said(&output));
    // What is in front of a program is not taken for one.
    let output = preempt(&folder, "run --bound x -- ./program");
    assert!(said(&output).contains("--bound"), "{}", said(&output));
}
