//! Commands and options that other tools have, and what they are called here.

/// The command that does what a command of another tool does.
pub(super) fn command(word: &str) -> Option<&'static str> {
    COMMANDS.iter().find(|(theirs, _)| theirs.contains(&word)).map(|(_, ours)| *ours)
}

/// Why there is no command of ours in this build.
pub(super) fn left_out(word: &str) -> Option<String> {
    let feature = match word {
        "lsp" | "fmt" if !cfg!(feature = "lsp") => "lsp",
        "serve" if !cfg!(feature = "serve") => "serve",
        _ => return None,
    };
    Some(format!("`preempt {word}` is not part of this build: rebuild with `--features {feature}`"))
}

/// The option that does what an option of another tool does.
pub(super) fn option(word: &str) -> Option<&'static str> {
    let name = word.split('=').next().unwrap_or(word);
    OPTIONS.iter().find(|(theirs, _)| theirs.contains(&name)).map(|(_, ours)| *ours)
}

const COMMANDS: &[(&[&str], &str)] = &[
    (
        &["test", "nextest"],
        "the tests of a Rust crate are searched by `preempt cargo test`, in its folder",
    ),
    (&["verify", "prove", "model-check", "mc"], "a model is checked by `preempt check MODEL`"),
    (
        &["gcc", "clang", "compile", "build"],
        "C is compiled by `preempt cc -g PROGRAM.c -o PROGRAM`, Rust by `preempt cargo test`",
    ),
    (
        &["g++", "clang++", "cxx", "cpp"],
        "C++ is compiled by `preempt c++ -g PROGRAM.cc -o PROGRAM`",
    ),
    (
        &["exec", "start", "execute"],
        "a program is searched by `preempt run -- PROGRAM`, a model executed by `preempt simulate MODEL`",
    ),
    (
        &["open", "view", "show", "browse", "explore", "web", "gui"],
        "a model is explored in the browser by `preempt serve MODEL`",
    ),
    (&["format", "indent"], "a model is formatted by `preempt fmt MODEL`"),
    (&["trace", "trail", "rerun"], "a saved trace is executed by `preempt replay MODEL TRACE`"),
];

const OPTIONS: &[(&[&str], &str)] = &[
    (
        &["--preemptions", "--preemption-bound", "--max-preemptions", "--preempt"],
        "the bound on preemptions is `--bound N`; `--iterate` tries 0, 1, 2, …",
    ),
    (
        &["--context-switches", "--contexts", "--context-bound", "--max-switches"],
        "a bound on preemptions is `--bound N`, of a Boolean program on context switches `--switches N`",
    ),
    (
        &["--dfs", "--bfs", "--breadth-first", "--depth-first"],
        "the order of the search is `--search dfs` or `--search bfs`",
    ),
    (
        &["--property", "--prop", "--spec"],
        "an ltl block of the model is `--ltl NAME`, a formula of your own `--formula '[] (x < 2)'`",
    ),
    (
        &["--invariant", "--inv", "--always"],
        "an invariant is the formula `--formula '[] (x < 2)'`, or an `assert` in the model",
    ),
    (&["--timeout", "--time-limit", "--max-time", "--seconds"], "the time limit is `--time 60s`"),
    (&["--mem", "--memory-limit", "--max-memory"], "the memory limit is `--memory 8G`"),
    (&["--jobs", "--cores", "--workers", "--cpus", "-j"], "the number of threads is `--threads N`"),
    (&["--max-depth", "--steps"], "the limit on the depth is `--depth N`"),
    (
        &["--report", "--output", "--out", "-o"],
        "a report is written by `--html FILE` or `--json FILE`",
    ),
    (&["--deadlock", "--deadlocks", "--safety"], "deadlocks and assertions are always looked for"),
];
