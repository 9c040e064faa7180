//! A graphics card from the command line, where there is none: what it would be given is accepted by its assembler.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn preempt(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_preempt")).args(words).output().expect("preempt runs")
}

fn models() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let entries =
        std::fs::read_dir(folder).expect("the models").map(|e| e.expect("an entry").path());
    let mut found: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "pml")).collect();
    found.sort();
    found
}

/// Every model has a kernel that the assembler takes, for the card that speed is measured on.
#[test]
fn the_kernels_of_all_models_can_be_assembled() {
    let Some(ptxas) = preempt_testing::peer(&["ptxas"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    // What they are for.
    let formula = "[] (_nr_pr > 0 -> X (_nr_pr < 9))";
    let kinds: [&[&str]; 6] = [
        &[],
        &["--bound"],
        &["--formula", formula],
        &["--bound", "--formula", formula],
        &["--folded"],
        &["--folded", "--formula", formula],
    ];
    let mut assembled_models = [0; 6];
    let all = models().into_iter().flat_map(|model| (0..6).map(move |kind| (model.clone(), kind)));
    for (model, kind) in all {
        let path = model.to_str().expect("a path");
        let printed = preempt(&[&["kernel", path], kinds[kind]].concat());
        let said = String::from_utf8_lossy(&printed.stderr);
        if kinds[kind].contains(&"--bound") && said.contains("waits for `timeout`") {
            continue;
        }
        assembled_models[kind] += 1;
        assert!(printed.status.success(), "{path}: {}", String::from_utf8_lossy(&printed.stderr));
        let text = folder.path().join("kernel.ptx");
        std::fs::write(&text, &printed.stdout).expect("a file");
        let assembled = Command::new(&ptxas)
            .args(["-arch=sm_90", "-o"])
            .arg(folder.path().join("kernel.cubin"))
            .arg(&text)
            .output()
            .expect("the assembler runs");
        let said = String::from_utf8_lossy(&assembled.stderr);
        assert!(assembled.status.success(), "{path}: {said}");
    }
    assert!(assembled_models.iter().all(|count| *count > 20), "{assembled_models:?}");
}

/// The model that a card is measured with has the states of a program written by hand for it alone.
#[test]
fn the_model_that_a_card_is_measured_with() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/models/peterson_steps.pml");
    let model = model.to_str().expect("a path");
    for (size, states, steps) in [("N=2", "416", "801"), ("N=3", "30,686", "85863")] {
        for backend in [&[][..], &["--backend", "interp"]] {
            let exactly = ["--por", "off", "--no-merge", "--no-reset", "--no-hide"];
            let line = [&["check", model, "-D", size], &exactly[..], backend].concat();
            let found = preempt(&line);
            let said = String::from_utf8_lossy(&found.stdout);
            assert!(said.contains(&format!("({states} states, all explored)")), "{said}");
            assert!(said.contains(&format!("{steps} transitions")), "{said}");
        }
    }
}

/// Without a driver one sentence, and nothing is searched.
#[test]
fn without_a_card_one_sentence() {
    if preempt_gpu::Driver::open().is_ok() {
        return;
    }
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/peterson.pml");
    let model = model.to_str().expect("a path");
    for property in [&[][..], &["--formula", "[] (_nr_pr < 9)"]] {
        let found = preempt(&[&["check", model, "--gpu"], property].concat());
        assert_eq!(found.status.code(), Some(2));
        let said = String::from_utf8_lossy(&found.stderr);
        assert!(said.contains("--gpu needs a graphics card: there is no driver"), "{said}");
        assert_eq!(said.trim().lines().count(), 1, "{said}");
        assert!(found.stdout.is_empty());
    }
}

/// What a card cannot do is refused before one is looked for.
#[test]
fn what_a_card_cannot_do_is_refused() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/peterson.pml");
    let model = model.to_str().expect("a path");
    for (words, because) in [
        (&["--por", "on"][..], "--por cannot be combined with --gpu"),
        (&["--store", "bitstate"], "--store cannot be combined with --gpu"),
        (&["--non-progress"], "--gpu is for what finite executions show"),
        (&["--formula", "[] <> (_nr_pr == 9)"], "--gpu is for what finite executions show"),
    ] {
        let mut line = vec!["check", model, "--gpu"];
        line.extend(words);
        let found = preempt(&line);
        let said = String::from_utf8_lossy(&found.stderr);
        assert_eq!(found.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(because), "{words:?}: {said}");
    }
    let found = preempt(&["check", model, "--gpu-memory", "1G"]);
    let said = String::from_utf8_lossy(&found.stderr);
    assert!(said.contains("--gpu-memory needs --gpu"), "{said}");
}
