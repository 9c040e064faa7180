//! Installs the peers that tests compare with: Spin, a C compiler for it, a browser.
//!
//! Everything here is optional: a test whose peer is missing says so and passes, because a
//! contributor without administrator rights must be able to run the suite.

use std::path::Path;
use std::process::{Command, Stdio};

/// A command that tests use, and the Debian package that brings it.
const PEERS: [(&str, &str); 8] = [
    ("spin", "spin"),
    ("gcc", "gcc"),
    ("g++", "g++"),
    ("cmake", "cmake"),
    ("gdb", "gdb"),
    ("chromium", "chromium"),
    ("node", "nodejs"),
    ("npm", "npm"),
];

/// Where the browser test keeps the package that drives the browser.
const BROWSER_TEST: &str = "crates/preempt-report/tests/browser";

/// Installs missing peers where this machine allows it.
pub(crate) fn install_peers(root: &Path) {
    install_packages();
    let folder = root.join(BROWSER_TEST);
    if exists("npm") && !folder.join("node_modules").is_dir() {
        println!("installing the browser driver");
        let arguments = ["install", "--no-audit", "--no-fund", "--ignore-scripts"];
        if !quiet(Command::new("npm").args(arguments).current_dir(&folder)) {
            println!("could not install it: the browser test will be skipped");
        }
    }
}

fn install_packages() {
    let missing: Vec<_> = PEERS.iter().filter(|(command, _)| !exists(command)).collect();
    if missing.is_empty() {
        return;
    }
    let packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
    println!("installing {}", packages.join(", "));
    let installed = exists("apt-get")
        && quiet(privileged("apt-get").args(["update"]))
        && quiet(
            privileged("apt-get")
                .args(["install", "-y", "--no-install-recommends"])
                .args(&packages),
        );
    if !installed {
        println!(
            "could not install {}: tests that compare with them will be skipped",
            packages.join(", ")
        );
    }
}

fn exists(command: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(command).is_file())
    })
}

/// `command` itself for root, otherwise through `sudo` without a prompt.
fn privileged(command: &str) -> Command {
    let root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.starts_with(b"0"));
    if root || !exists("sudo") {
        return Command::new(command);
    }
    let mut sudo = Command::new("sudo");
    sudo.args(["-n", command]);
    sudo
}

fn quiet(command: &mut Command) -> bool {
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
