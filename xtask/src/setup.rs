//! Installs the peers that tests compare with: Spin, compilers, build systems, a browser.
//!
//! A contributor without administrator rights must be able to run the suite, so what cannot be installed is reported, and tests
//! that need it are skipped and counted. Where all are there, and in continuous integration, a test whose peer is
//! missing fails (`crates/preempt-testing`).

use std::path::Path;
use std::process::{Command, Stdio};

/// A command that tests use, and the Debian package that brings it.
const PEERS: [(&str, &str); 13] = [
    ("spin", "spin"),
    ("gcc", "gcc"),
    ("g++", "g++"),
    ("clang", "clang"),
    ("make", "make"),
    ("cmake", "cmake"),
    ("meson", "meson"),
    ("ninja", "ninja-build"),
    ("python3", "python3-yaml"),
    ("gdb", "gdb"),
    ("chromium", "chromium"),
    ("node", "nodejs"),
    ("npm", "npm"),
];

/// Folders with packages of Node that tests need: what drives the browser, and what the extension for VS Code is made and
/// tested with.
const NODE_FOLDERS: [&str; 2] = ["crates/preempt-report/tests/browser", "editors/vscode"];

/// Installs missing peers where this machine allows it; gives those that are missing all the same.
pub(crate) fn install_peers(root: &Path) -> Vec<&'static str> {
    install_packages();
    for folder in NODE_FOLDERS {
        let path = root.join(folder);
        if exists("npm") && !path.join("node_modules").is_dir() {
            println!("installing the packages of {folder}");
            let arguments = ["install", "--no-audit", "--no-fund", "--ignore-scripts"];
            if !quiet(Command::new("npm").args(arguments).current_dir(&path)) {
                println!("could not install them");
            }
        }
    }
    let commands = PEERS.iter().map(|(command, _)| *command).filter(|command| !exists(command));
    let folders = NODE_FOLDERS.iter().copied();
    let folders = folders.filter(|folder| !root.join(folder).join("node_modules").is_dir());
    commands.chain(folders).collect()
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
        println!("could not install {}", packages.join(", "));
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
