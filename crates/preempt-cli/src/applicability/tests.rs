//! Walks all pairs of options on three small inputs: no panic, and nothing is ignored in silence.
//!
//! Whether an option is honoured is seen by its effect: with it, something about the answer differs
//! (verdict, numbers, notes, files) from the answer without it, on at least one input. Options that are
//! mere permissions have no effect on small inputs and are looked at elsewhere (`tests/limits.rs`).

use crate::arguments::{self, Cli};
use crate::failure::Failure;
use crate::output::capture::capture;
use clap::CommandFactory;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Violated with one preemption, several ways in; messages, a handshake, a deadlock, printed text.
const RACE: &str = "
#ifndef N
#define N 2
#endif
byte x, done, seen; byte unread; chan q = [1] of { byte }; chan meet = [0] of { byte };
active [N] proctype adder() { byte t; t = x; x = t + 1; unread = x; printf(\"%d\\n\", t); done++ }
active proctype sender() { q!3; meet!1 }
active proctype receiver() { byte m; meet?m; (done == N) -> assert(x == N); seen = m }
";

/// Properties of infinite executions, a claim, accept and progress labels, a cycle.
const LIGHT: &str = "
bool red; byte turns, x;
ltl served { [] <> red }
never odd { do :: (turns == 3) -> break :: else od }
active proctype light() { accept: do :: red = true; turns = (turns + 1) % 4 :: red = false; x = 1 - x od }
active proctype walker() { byte n; do :: n < 2 -> progress: n++ :: else -> break od }
";

/// Reaches its target with two switches.
const BOOLEAN: &str = "
decl g, h;
void init() begin g, h := F, F; end
thread one() begin g := T; h := F & g = h; assert(!g); end
thread two() begin if (g) then T1: h := T; fi; end
";

/// One value for each option; the words that follow the file.
const SAMPLES: &[(&str, &[&str])] = &[
    ("define", &["-D", "N=3"]),
    ("no_merge", &["--no-merge"]),
    ("no_reset", &["--no-reset"]),
    ("no_hide", &["--no-hide"]),
    ("bound", &["--bound", "1"]),
    ("iterate", &["--iterate", "3"]),
    ("gpu", &["--gpu"]),
    ("gpu_memory", &["--gpu-memory", "1G"]),
    ("por", &["--por", "off"]),
    ("por", &["--por", "on"]),
    ("compat", &["--compat", "spin"]),
    ("search", &["--search", "dfs"]),
    ("search", &["--search", "bfs"]),
    ("search", &["--search", "idfs"]),
    ("search", &["--search", "random"]),
    ("search", &["--search", "restarts"]),
    ("seed", &["--seed", "5"]),
    ("swarm", &["--swarm"]),
    ("first", &["--first"]),
    ("max_errors", &["--max-errors", "0"]),
    ("depth", &["--depth", "4"]),
    ("threads", &["--threads", "2"]),
    ("explain_plan", &["--explain-plan"]),
    ("disk", &["--disk", "{folder}/disk"]),
    ("checkpoint", &["--checkpoint", "{folder}/saved"]),
    ("every", &["--every", "1h"]),
    ("part", &["--part", "2/3"]),
    ("processes", &["--processes", "1"]),
    ("hosts", &["--hosts", "{folder}/hosts.txt"]),
    ("process", &["--process", "0"]),
    ("secret", &["--secret", "{folder}/secret"]),
    ("backend", &["--backend", "interp"]),
    ("store", &["--store", "exact"]),
    ("store", &["--store", "tree"]),
    ("store", &["--store", "compact"]),
    ("store", &["--store", "bitstate"]),
    ("bits", &["--bits", "16"]),
    ("hashes", &["--hashes", "2"]),
    ("memory", &["--memory", "32M"]),
    ("time", &["--time", "1h"]),
    ("ltl", &["--ltl", "served"]),
    ("formula", &["--formula", "[] (x < 2)"]),
    ("claim", &["--claim", "odd"]),
    ("claim_file", &["--claim-file", "{folder}/other.never"]),
    ("no_claim", &["--no-claim"]),
    ("acceptance", &["--acceptance"]),
    ("no_acceptance", &["--no-acceptance"]),
    ("non_progress", &["--non-progress"]),
    ("fair", &["--fair"]),
    ("no_deadlock", &["--no-deadlock"]),
    ("empty_channels", &["--empty-channels"]),
    ("no_assert", &["--no-assert"]),
    ("switches", &["--switches", "1"]),
    ("rounds", &["--rounds", "1"]),
    ("method", &["--method", "direct"]),
    ("method", &["--method", "explicit"]),
    ("method", &["--method", "lazy"]),
    ("method", &["--method", "eager"]),
    ("target", &["--target", "T1"]),
    ("dialect", &["--dialect", "boppo"]),
    ("trace", &["--trace", "{folder}/out.trace"]),
    ("certificate", &["--certificate", "{folder}/out.cert"]),
    ("trails", &["--trails", "{folder}/out"]),
    ("html", &["--html", "{folder}/out.html"]),
    ("msc", &["--msc", "{folder}/out.svg"]),
    ("graph", &["--graph", "{folder}/out.dot"]),
    ("json", &["--json", "{folder}/out.json"]),
    ("report", &["--report", "spin"]),
    ("quiet", &["--quiet"]),
];

/// A folder with the three inputs.
fn inputs() -> (PathBuf, Vec<PathBuf>) {
    let folder = std::env::temp_dir().join(format!("preempt-pairs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let texts = [("race.pml", RACE), ("light.pml", LIGHT), ("switch.bp", BOOLEAN)];
    std::fs::write(folder.join("other.never"), "never { do :: skip od }").expect("written");
    let write = |(name, text): (&str, &str)| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("an input can be written");
        path
    };
    (folder.clone(), texts.map(write).into())
}

fn words(folder: &Path, file: &Path, options: &[&[&str]]) -> Vec<std::ffi::OsString> {
    let options = options.iter().flat_map(|option| option.iter());
    let options = options.map(|word| word.replace("{folder}", &folder.to_string_lossy()));
    let command = ["preempt".into(), "check".into(), file.to_string_lossy().into_owned()];
    let mut words: Vec<std::ffi::OsString> =
        command.into_iter().chain(options).map(Into::into).collect();
    // A table of bits as large as it usually is would take most of the time.
    let has = |word: &str| words.iter().any(|given| given == word);
    if (has("bitstate") || has("--swarm")) && !has("--memory") {
        words.extend(["--memory".into(), "16M".into()]);
    }
    let has = |word: &str| words.iter().any(|given| given == word);
    // So would ten thousand executions that never end.
    if has("random") && !has("--depth") {
        words.extend(["--depth".into(), "7".into()]);
    }
    words
}

/// What a command came to: the answer without times, or the sentence of the refusal.
fn outcome(folder: &Path, file: &Path, options: &[&[&str]]) -> Result<String, String> {
    let words = words(folder, file, options);
    let line = format!("{words:?}");
    for entry in std::fs::read_dir(folder).expect("the folder is there").flatten() {
        if entry.file_name().to_string_lossy().starts_with("out.") {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let _ = std::fs::remove_dir_all(folder.join("saved"));
    let cli = arguments::parse(words).unwrap_or_else(|error| panic!("{line}: {error}"));
    let (result, [output, error]) = capture(|| crate::dispatch(cli.command));
    match result {
        Ok(code) => {
            let files = std::fs::read_dir(folder).expect("the folder is there").flatten();
            let files: BTreeMap<_, _> =
                files.map(|file| (file.file_name(), std::fs::read(file.path()).ok())).collect();
            let timeless = |text: &str| {
                let lines = text.lines().filter(|line| {
                    !["elapsed time", "rate ", "actual memory usage", "bytes per stored state"]
                        .iter()
                        .any(|part| line.contains(part))
                });
                lines.collect::<Vec<_>>().join("\n")
            };
            Ok(format!("{code:?}\n{}\n{}\n{:?}", timeless(&output), timeless(&error), files.keys()))
        }
        Err(Failure::Input(sentence)) => Err(sentence),
        Err(other) => panic!("{line}: {other}\n{error}"),
    }
}

#[test]
fn every_option_has_a_sample() {
    let sampled: BTreeSet<&str> = SAMPLES.iter().map(|(field, _)| *field).collect();
    let command = Cli::command();
    let check = command.find_subcommand("check").expect("there is a check");
    let all = check.get_arguments().map(|argument| argument.get_id().as_str());
    let all: BTreeSet<&str> = all.filter(|id| !["file", "help", "version"].contains(id)).collect();
    assert_eq!(sampled, all);
    assert!(super::TABLE.iter().all(|row| all.contains(row.option)));
}

/// Options that permit, or ask for what is the case anyway, or have nothing to do on these inputs: they
/// may be without an effect beside some others.
const MAY_BE_WITHOUT_EFFECT: &[&str] = &[
    // Permissions.
    "--threads",
    "--memory",
    "--time",
    "--every",
    "--backend",
    "--store",
    "--bits",
    "--hashes",
    // Nothing is merged or reset in these models.
    "--no-merge",
    "--no-reset",
    // As things are by default, or with the other option.
    "--por on",
    "--no-acceptance",
    "--search dfs",
    "--first",
    "--iterate",
    "--max-errors",
    "--no-claim",
    "--no-deadlock",
    "--switches",
    "--rounds",
    "--method",
    "--target",
    "--dialect",
];

/// Options beside which little is left to see: a single line, or the properties of one model.
const LITTLE_TO_SEE: &[&str] = &["--quiet", "--fair", "--claim", "--ltl", "--formula"];

#[test]
fn all_pairs_are_honoured_or_refused() {
    let (folder, files) = inputs();
    let (mut runs, mut refused) = (0, 0);
    // For an option beside another one: whether it made a difference on some input.
    let mut effects: BTreeMap<(String, String), bool> = BTreeMap::new();
    for file in &files {
        let alone: Vec<_> =
            SAMPLES.iter().map(|(_, option)| outcome(&folder, file, &[option])).collect();
        for (one, (field, option)) in SAMPLES.iter().enumerate() {
            for (two, (other_field, other)) in SAMPLES.iter().enumerate().skip(one) {
                if field == other_field {
                    continue;
                }
                runs += 1;
                let Ok(both) = outcome(&folder, file, &[option, other]) else {
                    refused += 1;
                    continue;
                };
                for (seen, beside, base) in [(option, other, two), (other, option, one)] {
                    let pair = (seen.join(" "), beside.join(" "));
                    let differs = alone[base].as_ref() != Ok(&both);
                    *effects.entry(pair).or_default() |= differs;
                }
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    let silent = effects.into_iter().filter(|(_, differs)| !differs).map(|(pair, _)| pair);
    let is_one_of = |list: &[&str], line: &str| list.iter().any(|flag| line.starts_with(flag));
    let explained = |(option, beside): &(String, String)| {
        is_one_of(MAY_BE_WITHOUT_EFFECT, option) || is_one_of(LITTLE_TO_SEE, beside)
    };
    let silent = silent.filter(|pair| !explained(pair));
    let silent: Vec<_> = silent.map(|(a, b)| format!("{a} beside {b}")).collect();
    assert!(silent.is_empty(), "ignored in silence: {silent:#?}");
    assert!(runs > 3000 && refused > 1000, "{runs} runs, {refused} refused");
}
