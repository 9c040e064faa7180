//! Real models are accepted: our own, the semantic probes, and those that Debian's package of Spin
//! installs (looked up where the package puts them, skipped when it is absent).

mod support;

use std::path::{Path, PathBuf};

use preempt_promela::syntax::render::render_all;
use support::{models_below, parse_file};

fn refused(files: &[PathBuf]) -> Vec<(PathBuf, String)> {
    let mut refused = Vec::new();
    for file in files {
        let parsed = parse_file(file);
        assert_eq!(
            parsed.model.is_none(),
            parsed.diagnostics.iter().any(|d| d.is_error()),
            "{file:?}"
        );
        if parsed.model.is_none() {
            refused.push((file.clone(), render_all(&parsed.diagnostics, &parsed.sources, false)));
        }
    }
    refused
}

#[test]
fn probes_are_accepted() {
    let files = models_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/micro"));
    assert_eq!(files.len(), 24);
    let refused = refused(&files);
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn example_models_are_accepted_without_a_warning() {
    let files = models_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models"));
    assert!(files.len() >= 13, "{files:?}");
    for file in &files {
        let parsed = parse_file(file);
        let text = render_all(&parsed.diagnostics, &parsed.sources, false);
        assert!(parsed.model.is_some() && parsed.diagnostics.is_empty(), "{text}");
        let first_line = parsed.sources.files[0].text.lines().next().unwrap_or("");
        assert!(first_line.starts_with("/* expect: "), "{file:?} has no header");
    }
}

#[test]
fn debian_examples_are_accepted_as_spin_does() {
    if !preempt_testing::spin_examples() {
        return;
    }
    let files = models_below(Path::new(preempt_testing::SPIN_EXAMPLES));
    assert_eq!(files.len(), 78);
    let refused = refused(&files);
    let names: Vec<&str> = refused.iter().filter_map(|(f, _)| f.file_name()?.to_str()).collect();
    // Spin refuses one of its formulas, too.
    assert_eq!(names, ["patterns.pml"], "{refused:#?}");
    assert!(refused[0].1.contains("ltl pc10"), "{}", refused[0].1);
}
