//! The programs that tests compare with: Spin, compilers, a browser.
//!
//! A contributor without them must be able to run the suite, so a test whose peer is missing is skipped there. Where they are
//! meant to be, a missing one is a failure: in continuous integration (`CI` is set), and where `cargo xtask test` has
//! installed them (`PREEMPT_PEERS=required`). `PREEMPT_PEERS=optional` overrides both. What was skipped is appended to the
//! file that `PREEMPT_SKIPS` names, for the harness shows nothing of a test that passes.
//!
//! **Invariant:** this is the only place that decides whether a missing peer is a failure.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Where Debian installs the examples of Spin.
pub const SPIN_EXAMPLES: &str = "/usr/share/doc/spin/examples/Examples";

/// Whether all of these commands are installed; otherwise the test that asks is to be skipped, or fails.
pub fn peers(commands: &[&str]) -> bool {
    let missing: Vec<&str> = commands.iter().copied().filter(|name| find(name).is_none()).collect();
    have(&missing.join(" and "), missing.is_empty())
}

/// The first of these commands that is installed; without one the test that asks is to be skipped, or fails.
pub fn peer(commands: &[&str]) -> Option<PathBuf> {
    let found = commands.iter().find_map(|name| find(name));
    have(&commands.join(" or "), found.is_some());
    found
}

/// Whether a command is installed that takes minutes to build, so that `cargo xtask test` does not install it: a missing one is a
/// failure in continuous integration alone.
pub fn heavy_peer(command: &str) -> bool {
    let is_there = find(command).is_some();
    is_there || have_if(command, false, decide("", &set("CI")))
}

/// What compiles Spin's verifiers: `PREEMPT_CC`, or tcc if it is installed, which takes a fifteenth of
/// gcc's time, or gcc.
pub fn c_compiler() -> String {
    let quick = || if find("tcc").is_some() { "tcc" } else { "gcc" }.to_string();
    std::env::var("PREEMPT_CC").unwrap_or_else(|_| quick())
}

/// Whether Debian's examples of Spin are installed, as for [`peers`].
pub fn spin_examples() -> bool {
    have("Debian's examples of Spin", Path::new(SPIN_EXAMPLES).is_dir())
}

/// Whether something that a test needs is there, as for [`peers`]: `what` names it.
pub fn have(what: &str, is_there: bool) -> bool {
    have_if(what, is_there, decide(&set("PREEMPT_PEERS"), &set("CI")))
}

fn have_if(what: &str, is_there: bool, required: bool) -> bool {
    if !is_there {
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("a test");
        assert!(!required, "{test}: {what} is missing, and here it must not be (PREEMPT_PEERS)");
        println!("skipped: {what} is not installed");
        note(&format!("{test}: {what}"));
    }
    is_there
}

/// Where a command is.
pub fn find(command: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(command)).find(|path| path.is_file())
}

fn set(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn decide(peers: &str, ci: &str) -> bool {
    match peers {
        "required" => true,
        "optional" => false,
        _ => !ci.is_empty() && ci != "false" && ci != "0",
    }
}

/// Adds a line to the list of what was skipped, if there is to be one.
fn note(line: &str) {
    let Some(path) = std::env::var_os("PREEMPT_SKIPS") else { return };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    // One write per line: several tests append at once.
    let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    if let Err(error) = written {
        println!("the list of skipped tests cannot be written: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_peers_are_failures_where_they_are_meant_to_be() {
        assert!(decide("required", "") && decide("", "true") && decide("", "1"));
        assert!(!decide("", "") && !decide("", "false") && !decide("optional", "true"));
    }

    #[test]
    fn commands_are_found_on_the_path() {
        assert!(find("no-such-command-as-this").is_none());
        assert!(cfg!(not(unix)) || find("sh").is_some());
    }
}
