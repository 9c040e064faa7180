//! Real build systems with `preempt cc` and `preempt c++`, and a schedule under a debugger.

mod c_programs;

use c_programs::{folder, has, preempt, root, run};
use std::path::{Path, PathBuf};
use std::process::Command;

const PREEMPT: &str = env!("CARGO_BIN_EXE_preempt");

/// A project with a C program that has the bug of `account.c`, and one in C++.
fn project(name: &str) -> PathBuf {
    let project = folder().join(name);
    let _ = std::fs::remove_dir_all(&project);
    std::fs::create_dir_all(&project).expect("a folder");
    for (from, to) in [("account.c", "account.c"), ("queue.cc", "queue.cc")] {
        std::fs::copy(root().join("models/native").join(from), project.join(to)).expect("a source");
    }
    project
}

/// Runs a command in a folder, with our command in the path and the runtime where tests keep it.
fn succeeds(folder: &Path, command: &str, arguments: &[&str]) {
    let bin = Path::new(PREEMPT).parent().expect("a folder").to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(bin).chain(std::env::split_paths(&path));
    let output = Command::new(command)
        .args(arguments)
        .current_dir(folder)
        .env("PATH", std::env::join_paths(path).expect("a path"))
        .env("PREEMPT_RUNTIME_DIR", c_programs::folder().join("runtime"))
        .output()
        .unwrap_or_else(|error| panic!("{command}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command} {arguments:?}: {out}{error}");
}

/// Both programs were made so that they can be searched.
fn check(folder: &Path) {
    let (code, report) = run(&folder.join("account"), &[]);
    assert_eq!((code, report["violation"]["kind"].as_str()), (Some(1), Some("assertion")));
    let (code, report) = run(&folder.join("queue"), &["--bound", "1"]);
    assert_eq!(code, Some(0), "{report}");
}

fn skipped(tool: &str) -> bool {
    !has("gcc") || !has("g++") || !preempt_testing::peers(&[tool])
}

#[test]
fn make_builds_with_the_wrappers() {
    if skipped("make") {
        return;
    }
    let project = project("with-make");
    let rules = "CFLAGS = -O1\nCXXFLAGS = -std=c++20\nall: account queue\n\
                 account: account.o\n\t$(CC) -o $@ $^ -pthread\n\
                 queue: queue.o\n\t$(CXX) -o $@ $^ -pthread\n\
                 %.o: %.cc\n\t$(CXX) $(CXXFLAGS) -c -o $@ $<\n";
    std::fs::write(project.join("Makefile"), rules).expect("a Makefile");
    succeeds(&project, "make", &["CC=preempt cc", "CXX=preempt c++"]);
    check(&project);
}

#[test]
fn makefiles_that_name_a_compiler_build_in_a_shell() {
    if skipped("make") {
        return;
    }
    let project = project("in-a-shell");
    let rules = "all: account queue\n\
                 account: account.c\n\tgcc -O1 -o $@ $^ -pthread\n\
                 queue: queue.cc\n\tg++ -std=c++20 -o $@ $^ -pthread\n";
    std::fs::write(project.join("Makefile"), rules).expect("a Makefile");
    succeeds(&project, PREEMPT, &["shell", "make"]);
    check(&project);
    let output = preempt().args(["shell", "sh", "-c", "exit 7"]).output().expect("preempt runs");
    assert_eq!(output.status.code(), Some(7));
    let output = preempt().args(["shell", "no-such-command"]).output().expect("preempt runs");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_static_program_is_refused_with_a_sentence() {
    if !has("gcc") {
        return;
    }
    let output = preempt().args(["cc", "-static", "account.c"]).output().expect("preempt runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("-static cannot be used"), "{text}");
}

#[test]
fn cmake_builds_with_the_wrappers() {
    if skipped("cmake") || skipped("make") {
        return;
    }
    let project = project("with-cmake");
    let rules = "cmake_minimum_required(VERSION 3.10)\nproject(account C CXX)\n\
                 set(CMAKE_CXX_STANDARD 20)\nfind_package(Threads REQUIRED)\n\
                 add_executable(account account.c)\n\
                 target_link_libraries(account Threads::Threads)\n\
                 add_executable(queue queue.cc)\ntarget_link_libraries(queue Threads::Threads)\n";
    std::fs::write(project.join("CMakeLists.txt"), rules).expect("a CMakeLists.txt");
    succeeds(
        &project,
        "cmake",
        &[
            "-B",
            "build",
            "-G",
            "Unix Makefiles",
            "-DCMAKE_C_COMPILER=preempt",
            "-DCMAKE_C_COMPILER_ARG1=cc",
            "-DCMAKE_CXX_COMPILER=preempt",
            "-DCMAKE_CXX_COMPILER_ARG1=c++",
        ],
    );
    succeeds(&project, "cmake", &["--build", "build"]);
    check(&project.join("build"));
}

#[test]
fn meson_builds_with_the_wrappers() {
    if skipped("meson") || skipped("ninja") {
        return;
    }
    let project = project("with-meson");
    let rules = "project('account', 'c', 'cpp', default_options: ['cpp_std=c++20'])\n\
                 threads = dependency('threads')\n\
                 executable('account', 'account.c', dependencies: threads)\n\
                 executable('queue', 'queue.cc', dependencies: threads)\n";
    std::fs::write(project.join("meson.build"), rules).expect("a meson.build");
    let native = "[binaries]\nc = ['preempt', 'cc']\ncpp = ['preempt', 'c++']\n";
    std::fs::write(project.join("preempt.ini"), native).expect("a native file");
    succeeds(&project, "meson", &["setup", "--native-file", "preempt.ini", "build"]);
    succeeds(&project, "ninja", &["-C", "build"]);
    check(&project.join("build"));
}

#[test]
fn a_schedule_is_stepped_through_in_a_debugger() {
    if skipped("gdb") {
        return;
    }
    let source = root().join("models/native/account.c");
    let program = c_programs::compile(&source, &[], ["gcc", "g++"]);
    let report = preempt().arg("run").arg("--").arg(&program).output().expect("preempt runs");
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    let schedule = text
        .split_once("--replay ")
        .and_then(|(_, rest)| rest.split_whitespace().next())
        .unwrap_or_else(|| panic!("no schedule in {text}"));
    // Both threads stop before they write; the second one comes first in this schedule.
    let script = folder().join("account.gdb");
    let commands = "set debuginfod enabled off\nset breakpoint pending on\nbreak account.c:17\nrun\n\
                    print seen\nbacktrace\ncontinue\nprint balance\nkill\nquit\n";
    std::fs::write(&script, commands).expect("a script");
    let debugger = format!("gdb -q -batch -nx -x {}", script.display());
    let output = preempt()
        .args(["run", "--replay", schedule, "--debugger", &debugger, "--"])
        .arg(&program)
        .output()
        .expect("preempt runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let all = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(all.contains("balance = seen + 1;"), "{all}");
    assert!(all.contains("$1 = 0") && all.contains("$2 = 1"), "{all}");
    assert!(all.contains("deposit"), "{all}");
}

/// Like gcc, `preempt cc` does not link C++ programs; it says what does.
#[test]
fn a_cxx_program_names_the_other_command() {
    if skipped("g++") {
        return;
    }
    let project = project("with-the-wrong-command");
    let program = project.join("queue");
    let mut command = preempt();
    command.args(["cc", "-std=c++20", "queue.cc", "-o"]).arg(&program).current_dir(&project);
    let output = command.output().expect("preempt runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("`preempt c++`"), "{said}");
}
