//! The recipes in `docs/recipes`: the shell understands them, and so does `preempt`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn recipes(extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recipes");
    let files = std::fs::read_dir(folder).expect("they are there").flatten();
    let files = files.map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|one| one == extension)).collect()
}

/// The words behind `preempt` on a line, with variables as a job would have them.
fn commands(text: &str) -> Vec<Vec<String>> {
    let joined = text.replace("\n              ", " ");
    let lines = joined.lines().filter_map(|line| line.split_once("preempt check "));
    lines
        .filter(|(before, _)| !before.contains('#'))
        .map(|(_, line)| {
            let line = line.split([';', '\'']).next().unwrap_or_default();
            let values = [
                ("$((JOB_COMPLETION_INDEX + 1))", "3"),
                ("$JOB_COMPLETION_INDEX", "2"),
                ("${SLURM_CPUS_PER_TASK:-1}", "4"),
                ("$SLURM_CPUS_PER_TASK", "4"),
                ("$SLURM_JOB_ID", "77"),
                ("$SLURM_PROCID", "1"),
                ("$MODEL", "model.pml"),
                ("$PARTS", "64"),
                ("$PART", "3"),
                ("\"", ""),
            ];
            let line = values
                .iter()
                .fold(line.to_owned(), |line, (name, value)| line.replace(name, value));
            line.split_whitespace().map(Into::into).collect()
        })
        .collect()
}

#[test]
fn every_command_is_one_of_ours() {
    let mut found = 0;
    for path in recipes("sbatch").into_iter().chain(recipes("yaml")) {
        let text = std::fs::read_to_string(&path).expect("it is there");
        for words in commands(&text) {
            found += 1;
            // The options are understood: what is missing is the model.
            let output = Command::new(env!("CARGO_BIN_EXE_preempt"))
                .arg("check")
                .args(&words)
                .stdin(Stdio::null())
                .output()
                .expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("cannot read"), "{}: {words:?}: {said}", path.display());
        }
    }
    assert_eq!(found, 3);
}

#[test]
fn the_shell_understands_the_scripts() {
    let Some(bash) = preempt_testing::peer(&["bash"]) else { return };
    for path in recipes("sbatch") {
        let output = Command::new(&bash).arg("-n").arg(&path).output().expect("it runs");
        assert!(output.status.success(), "{}: {output:?}", path.display());
    }
}

#[test]
fn the_job_is_yaml() {
    let parse = "import sys, yaml; job = yaml.safe_load(open(sys.argv[1])); \
                 assert job['kind'] == 'Job' and job['spec']['completionMode'] == 'Indexed'; \
                 assert job['spec']['template']['spec']['containers'][0]['args']";
    for path in recipes("yaml") {
        let has_parser = Command::new("python3").args(["-c", "import yaml"]).output();
        let has_parser = has_parser.is_ok_and(|output| output.status.success());
        if !preempt_testing::have("python3 with a parser for YAML", has_parser) {
            return;
        }
        let output = Command::new("python3").args(["-c", parse]).arg(&path).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{}: {output:?}", path.display());
    }
}
