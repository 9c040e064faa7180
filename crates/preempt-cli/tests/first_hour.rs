//! The first hours of the book (`docs/src/first-hour/`), replayed in an empty folder: files are saved as the page says, commands
//! run by a shell as they stand there, outputs compared.
//!
//! - A block below a line that ends in "as `NAME`:" is saved as that file.
//! - In a `console` block (see `console`) every line `$ …` goes to `bash`; what it changes of the folder it is in stays.
//! - The page tells to clone the repository as `preempt` where it needs one: here it is cloned from this folder.
//! - Every other block is an error of the page: nothing in these chapters is left untried.
//!
//! The commands are those of this build; `cargo` finds what it has downloaded before.

mod c_programs;
mod console;

use console::{Block, blocks, root, text};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One hour: an empty folder, and where the shell is in it.
struct Hour {
    /// Outside of this repository: its workspace would claim the crates that are made.
    folder: tempfile::TempDir,
    /// Its folder for the commands.
    root: PathBuf,
    here: PathBuf,
    code: i32,
    wrong: Vec<String>,
    commands: usize,
}

impl Hour {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder").join("hour");
        std::fs::create_dir(&root).expect("a folder");
        Hour { here: root.clone(), root, folder, code: 0, wrong: Vec::new(), commands: 0 }
    }

    /// A line as a shell runs it, in the folder that the one before has left it in.
    fn shell(&mut self, line: &str) -> String {
        let place = self.folder.path().join("place");
        let script = format!("exec 2>&1\n{line}\ncode=$?\npwd > {}\nexit $code", place.display());
        let bin = Path::new(env!("CARGO_BIN_EXE_preempt")).parent().expect("a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(&self.here)
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("NO_COLOR", "1")
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_NET_OFFLINE", "true")
            .env("PREEMPT_RUNTIME_DIR", c_programs::folder().join("runtime"))
            .env_remove("COLUMNS")
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env_remove("RUSTC_WRAPPER")
            .env_remove("RUSTFLAGS")
            .output()
            .expect("bash runs");
        self.code = output.status.code().unwrap_or(-1);
        if let Ok(left) = std::fs::read_to_string(&place) {
            self.here = PathBuf::from(left.trim_end());
        }
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn block(&mut self, block: &Block) {
        if block.language == "console" {
            for entry in block.entries() {
                self.commands += 1;
                let printed = match entry.command.as_str() {
                    "echo $?" => self.code.to_string(),
                    command => self.shell(command),
                };
                if let Err(printed) = entry.compare(&printed) {
                    let (line, command) = (entry.line, &entry.command);
                    self.wrong.push(format!("{line}: `{command}` prints\n{printed}\n"));
                }
            }
            return;
        }
        let name = block.above.strip_suffix("`:").and_then(|above| above.rsplit_once("as `"));
        let Some((_, name)) = name else {
            self.wrong.push(format!("{}: not to be saved, and no console", block.line));
            return;
        };
        let path = self.here.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, block.lines.join("\n") + "\n").expect("a file");
    }
}

fn replay(name: &str, prepare: impl FnOnce(&mut Hour)) -> Hour {
    let chapter = root().join(format!("docs/src/first-hour/{name}.md"));
    let mut hour = Hour::new();
    prepare(&mut hour);
    for block in blocks(&text(&chapter)) {
        hour.block(&block);
    }
    assert!(hour.wrong.is_empty(), "{}:\n{}", chapter.display(), hour.wrong.join("\n"));
    assert!(hour.commands >= 8, "only {} commands in {}", hour.commands, chapter.display());
    hour
}

/// What `git clone` makes of this repository: nothing that only lies about here.
fn clone(hour: &mut Hour, root: &Path) {
    let cloned = hour.shell(&format!("git clone --quiet 'file://{}' preempt", root.display()));
    assert_eq!(hour.code, 0, "{cloned}");
}

/// The same crate with a dependency by git: what the chapter says in brackets. Cargo keeps what it clones in a home of its own,
/// which finds the crates that were downloaded before.
fn by_git(hour: &mut Hour) {
    let home = hour.folder.path().join("home");
    std::fs::create_dir_all(&home).expect("a folder");
    hour.here = hour.root.clone();
    let own = format!("CARGO_HOME='{}'", home.display());
    let line = format!(
        "ln -s \"${{CARGO_HOME:-$HOME/.cargo}}/registry\" '{0}/registry' && cargo new --quiet --lib by-git && cd by-git && \
         {own} CARGO_NET_OFFLINE=false cargo add --quiet --dev preempt --git \"file://{1}/preempt\"",
        home.display(),
        hour.root.display()
    );
    let added = hour.shell(&line);
    if added.contains("download")
        && !preempt_testing::have("the registry of crates", hour.code == 0)
    {
        return;
    }
    assert_eq!(hour.code, 0, "{added}");
    let line = "mkdir tests && cp ../counters/tests/counter.rs tests/ && \
                CARGO_TARGET_DIR=../counters/target cargo test --test counter";
    let tested = hour.shell(&format!("export {own}; {line}"));
    assert_eq!(hour.code, 0, "{tested}");
    assert!(tested.contains("test counter ... ok"), "{tested}");
}

#[test]
fn with_a_model() {
    replay("promela", |_| ());
}

#[test]
fn with_a_boolean_program() {
    replay("boolean", |_| ());
}

#[test]
fn with_a_c_program() {
    if c_programs::has("gcc") {
        replay("c", |_| ());
    }
}

#[test]
fn with_a_rust_test() {
    let root = root().canonicalize().expect("a folder");
    if preempt_testing::have("a repository that can be cloned", root.join(".git").exists()) {
        let mut hour = replay("rust", |hour| clone(hour, &root));
        by_git(&mut hour);
    }
}

#[test]
fn with_any_rust_crate() {
    if c_programs::has("gcc") {
        replay("any-crate", |_| ());
    }
}
