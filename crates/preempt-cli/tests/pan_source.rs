//! The `pan.c` of `preempt spin -a` is compiled and run as Spin's verifier is.

use std::path::Path;
use std::process::{Command, Output};

fn run(program: &str, words: &[&str], folder: &Path) -> Output {
    Command::new(program).args(words).current_dir(folder).output().expect("it starts")
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_verifier_is_generated_compiled_and_run() {
    if !preempt_testing::peers(&["cc"]) {
        return;
    }
    let preempt = env!("CARGO_BIN_EXE_preempt");
    let folder = std::env::temp_dir().join(format!("preempt-pan-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let text = "byte x, y;\nactive [2] proctype p() { byte t; t = x; x = t + 1; y++ }\n\
                active proctype q() { y == 2; assert(x >= LEAST) }\nltl never_three { [] (x < 3) }\n";
    std::fs::write(folder.join("m.pml"), text).expect("written");
    let version = run(preempt, &["spin", "-V"], &folder);
    assert!(printed(&version).contains("Spin Version 6"), "{version:?}");
    for (least, errors) in [("1", 0), ("2", 1)] {
        let define = format!("-DLEAST={least}");
        let made = run(preempt, &["spin", "-a", "-o3", &define, "m.pml"], &folder);
        assert!(made.status.success(), "{made:?}");
        let switches = ["-DSAFETY", "-DNOCLAIM", "-DMEMLIM=512", "-w", "-o", "pan", "pan.c"];
        let compiled = run("cc", &switches, &folder);
        assert!(compiled.status.success(), "{compiled:?}");
        let found = run("./pan", &["-m10000", "-c1"], &folder);
        // As Spin's does, whatever it finds.
        assert_eq!(found.status.code(), Some(0), "{found:?}");
        assert!(printed(&found).contains(&format!("errors: {errors}")), "{found:?}");
        assert!(printed(&found).contains("pan: elapsed time"), "{found:?}");
        assert!(String::from_utf8_lossy(&found.stderr).contains("--memory 512M"), "{found:?}");
    }
    // What Spin would replay is replayed, in the form that iSpin reads.
    let words = [
        "spin",
        "-p",
        "-s",
        "-r",
        "-X",
        "-v",
        "-n1",
        "-g",
        "-k",
        "m.pml.trail",
        "-DLEAST=2",
        "m.pml",
    ];
    let replayed = run(preempt, &words, &folder);
    assert!(printed(&replayed).contains("assertion violated"), "{replayed:?}");
    // Not everything has an equivalent.
    let refused = run("./pan", &["-D"], &folder);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    // A wrong model has no verifier.
    std::fs::remove_file(folder.join("pan.c")).expect("it was there");
    std::fs::write(folder.join("wrong.pml"), "init { x = 1 }").expect("written");
    assert_eq!(run(preempt, &["spin", "-a", "wrong.pml"], &folder).status.code(), Some(2));
    assert!(!folder.join("pan.c").exists());
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn messages_in_the_form_of_front_ends() {
    let path = std::env::temp_dir().join(format!("preempt-front-{}.pml", std::process::id()));
    let text = "chan q = [1] of { byte, byte };\ninit { byte x; q!3,4; q?x,_ }\n";
    std::fs::write(&path, text).expect("written");
    let file = path.to_str().expect("a plain path");
    let preempt = env!("CARGO_BIN_EXE_preempt");
    let folder = std::env::temp_dir();
    let shown = printed(&run(preempt, &["spin", "-p", "-s", "-r", "-X", file], &folder));
    assert!(shown.contains("(state -)\t[values: 1!3,4]\n"), "{shown}");
    assert!(shown.contains("(state -)\t[values: 1?3,4]\n"), "{shown}");
    let shown = printed(&run(preempt, &["spin", "-s", "-X", file], &folder));
    assert!(shown.contains("(state -)\t[1!3,4]\n"), "{shown}");
    let _ = std::fs::remove_file(path);
}
