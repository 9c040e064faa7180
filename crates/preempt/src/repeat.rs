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
    let is_test = |program: &str| {
        let tests = folder.as_ref().map(|folder| Path::new(folder).join("tests"));
        tests.is_some_and(|tests| {
            tests.join(format!("{program}.rs")).exists()
                || tests.join(program).join("main.rs").exists()
        })
    };
    let harness = thread.name().filter(|name| *name != "main" && *name != "preempt");
    compose(name, harness, package.as_deref(), program().as_deref(), is_test)
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
    is_test: impl Fn(&str) -> bool,
) -> String {
    let mut command = String::from("cargo test");
    if let Some(package) = package {
        command.push_str(&format!(" -p {package}"));
    }
    if let Some(program) = program.filter(|program| is_test(program)) {
        command.push_str(&format!(" --test {program}"));
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
            compose(name, harness, package, program, |program| program == "spin")
        };
        assert_eq!(
            compose(Some("spin::a::b"), Some("a::b"), Some("locks"), Some("spin")),
            "cargo test -p locks --test spin -- --exact a::b"
        );
        assert_eq!(
            compose(Some("locks::a::b"), None, Some("locks"), Some("locks")),
            "cargo test -p locks -- --exact a::b"
        );
        assert_eq!(compose(None, Some("a"), None, None), "cargo test -- --exact a");
        assert_eq!(compose(None, None, None, None), "cargo test");
    }
}
