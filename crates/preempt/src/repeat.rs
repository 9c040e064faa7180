//! The command that runs exactly one test again.
//!
//! Cargo tells a test program which package it belongs to, and the test harness names the thread of a test after the
//! test; the name that `#[preempt::test]` gives begins with the crate. What is not known is left out of the command.

use std::path::Path;

/// `cargo test` for one test: package, test program, and the whole path of the test.
pub(crate) fn command(name: Option<&str>) -> String {
    let thread = std::thread::current();
    let variable = |name: &str| std::env::var(name).ok();
    let (package, folder) = (variable("CARGO_PKG_NAME"), variable("CARGO_MANIFEST_DIR"));
    let has =
        |path: &str| folder.as_ref().is_some_and(|folder| Path::new(folder).join(path).exists());
    let harness = thread.name().filter(|name| *name != "main" && *name != "preempt");
    compose(name, harness, package.as_deref(), program().as_deref(), has)
}

/// The option of cargo that selects the test program, where the files of its package say which it is.
fn option(package: &str, program: &str, has: impl Fn(&str) -> bool) -> Option<String> {
    if has(&format!("tests/{program}.rs")) || has(&format!("tests/{program}/main.rs")) {
        return Some(format!(" --test {program}"));
    }
    if has(&format!("src/bin/{program}.rs")) || has(&format!("src/bin/{program}/main.rs")) {
        return Some(format!(" --bin {program}"));
    }
    let named_after_package = program == package.replace('-', "_");
    match (has("src/lib.rs"), has("src/main.rs")) {
        (true, false) if named_after_package => Some(" --lib".into()),
        (false, true) if named_after_package => Some(format!(" --bin {package}")),
        // A library and a program of the same name cannot be told apart.
        _ => None,
    }
}

/// The name of the test program, without the hash that cargo adds.
fn program() -> Option<String> {
    let executable = std::env::current_exe().ok()?;
    let stem = executable.file_stem()?.to_str()?.to_string();
    Some(stem.rsplit_once('-').map_or(stem.clone(), |(program, _)| program.to_string()))
}

fn compose(
    name: Option<&str>,
    harness: Option<&str>,
    package: Option<&str>,
    program: Option<&str>,
    has: impl Fn(&str) -> bool,
) -> String {
    let mut command = String::from("cargo test");
    if let Some(package) = package {
        command.push_str(&format!(" -p {package}"));
    }
    if let (Some(package), Some(program)) = (package, program) {
        command.push_str(&option(package, program, has).unwrap_or_default());
    }
    // The first part of a name is the crate, which the harness leaves out.
    let path =
        harness.or_else(|| name.map(|name| name.split_once("::").map_or(name, |(_, path)| path)));
    if let Some(path) = path {
        command.push_str(&format!(" -- --exact {path}"));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_test_is_named() {
        let compose = |name, harness, package, program| {
            let files = ["tests/spin.rs", "src/lib.rs", "src/bin/tool.rs"];
            compose(name, harness, package, program, |path| files.contains(&path))
        };
        assert_eq!(
            compose(Some("spin::a::b"), Some("a::b"), Some("locks"), Some("spin")),
            "cargo test -p locks --test spin -- --exact a::b"
        );
        assert_eq!(
            compose(Some("locks::a::b"), None, Some("locks"), Some("locks")),
            "cargo test -p locks --lib -- --exact a::b"
        );
        assert_eq!(
            compose(Some("tool::a"), Some("a"), Some("spin-locks"), Some("tool")),
            "cargo test -p spin-locks --bin tool -- --exact a"
        );
        assert_eq!(
            compose(None, Some("a"), Some("spin-locks"), Some("spin_locks")),
            "cargo test -p spin-locks --lib -- --exact a"
        );
        let both = |path: &str| path == "src/lib.rs" || path == "src/main.rs";
        assert_eq!(option("locks", "locks", both), None);
        assert_eq!(compose(None, Some("a"), None, None), "cargo test -- --exact a");
        assert_eq!(compose(None, None, None, None), "cargo test");
    }
}
