//! Installs the peers that tests compare with: Spin, compilers, build systems, a browser, an assembler for graphics cards.
//!
//! A contributor without administrator rights must be able to run the suite, so what cannot be installed is reported, and tests
//! that need it are skipped and counted. Where all are there, and in continuous integration, a test whose peer is
//! missing fails (`crates/preempt-testing`).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command that tests use, and the Debian package that brings it.
const PEERS: [(&str, &str); 15] = [
    ("spin", "spin"),
    ("gcc", "gcc"),
    ("tcc", "tcc"),
    ("g++", "g++"),
    ("clang", "clang"),
    ("make", "make"),
    ("cmake", "cmake"),
    ("meson", "meson"),
    ("ninja", "ninja-build"),
    ("python3", "python3-yaml"),
    ("pip3", "python3-pip"),
    ("gdb", "gdb"),
    ("chromium", "chromium"),
    ("node", "nodejs"),
    ("npm", "npm"),
];

/// Folders with packages of Node that tests need: what drives the browser, and what the extension for VS Code is made and
/// tested with.
const NODE_FOLDERS: [&str; 2] = ["crates/preempt-report/tests/browser", "editors/vscode"];

/// The Python package that brings the assembler for graphics cards, and where it lies in a folder of such packages.
const ASSEMBLER: (&str, &str) = ("nvidia-cuda-nvcc-cu12", "nvidia/cuda_nvcc/bin");

/// The folder of the assembler for graphics cards, which tests look for on the path.
pub(crate) fn assembler_folder(root: &Path) -> PathBuf {
    root.join("target/peers/python").join(ASSEMBLER.1)
}

fn install_assembler(root: &Path) {
    if exists("ptxas") || assembler_folder(root).join("ptxas").is_file() {
        return;
    }
    println!("installing {}", ASSEMBLER.0);
    let target = root.join("target/peers/python");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
        .arg(target)
        .arg(ASSEMBLER.0);
    if !quiet(&mut pip) {
        println!("could not install it");
    }
}

/// Installs missing peers where this machine allows it; gives those that are missing all the same.
pub(crate) fn install_peers(root: &Path) -> Vec<&'static str> {
    install_packages();
    install_assembler(root);
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
    let assembles = exists("ptxas") || assembler_folder(root).join("ptxas").is_file();
    let commands = commands.chain((!assembles).then_some("ptxas"));
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
