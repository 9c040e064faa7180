//! The integration tests of loom and of shuttle themselves, as packages over either tool.

use crate::workspace::{Tool, Workspace, copy_folder};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// loom's tests, unchanged.
pub(crate) fn prepare_loom(workspace: &Workspace, tool: Tool, version: &str) -> Result<PathBuf> {
    let (path, package) = workspace.loom(tool);
    let lines = format!(
        "[features]\nfutures = [\"loom/futures\"]\n\n[dependencies]\nfutures-util = \"0.3\"\n\
         loom = {{ package = \"{package}\", path = {:?} }}\n",
        path.display().to_string()
    );
    let folder = workspace.package(tool, "loom-own-tests", &lines)?;
    copy_folder(&workspace.published("loom", version)?.join("tests"), &folder.join("tests"))?;
    Ok(folder)
}

/// Files of shuttle's tests that are about parts of shuttle which preempt does not have. Each reason
/// is also in docs/src/migration.md.
const NOT_APPLICABLE: &[(&str, &str)] = &[
    (
        "basic/atomic",
        "shuttle's vector clocks as numbers, and methods that std has not had for long",
    ),
    ("basic/annotation", "needs shuttle's feature `annotation`"),
    ("basic/clocks", "shuttle's vector clocks as numbers"),
    (
        "basic/execution",
        "spans of the crate tracing, and the order in which shuttle ends an execution",
    ),
    ("basic/labels", "labels of tasks"),
    ("basic/metrics", "shuttle's log of executions"),
    ("basic/mpsc", "shuttle's vector clocks as numbers"),
    ("basic/once", "const constructors in statics"),
    ("basic/replay", "schedules that depend on shuttle's vector clocks"),
    ("basic/resource_signatures", "signatures of objects"),
    ("basic/tag", "deprecated tags of tasks"),
    ("basic/teardown", "the order in which shuttle ends an execution, seen from destructors"),
    ("basic/thread", "spans of the crate tracing, and shuttle's engine"),
    ("basic/tracing", "spans of the crate tracing"),
    ("demo/surw", "a scheduler over shuttle's signatures"),
    ("future/batch_semaphore", "shuttle's vector clocks as numbers, and reservations"),
    ("execution_state_global_subscriber", "spans of the crate tracing"),
];

/// Tests of other files that are about such parts: how the name ends, and why it does not apply. A test that is
/// not here must pass.
const TESTS_NOT_APPLICABLE: &[(&str, &str)] = &[
    ("condvar::replay_producer_consumer_broken2", SHUTTLES_SCHEDULE),
    ("random::random_mod_10_equals_7_replay_fails", SHUTTLES_SCHEDULE),
    ("async_match_deadlock::async_match_deadlock_replay", SHUTTLES_SCHEDULE),
    ("bounded_buffer::test_bounded_buffer_minimal_deadlock_replay", SHUTTLES_SCHEDULE),
    ("shrink::shrink_after_min", SHUTTLES_SCHEDULE),
    ("shrink::shrink_before_min", SHUTTLES_SCHEDULE),
    ("dfs::trivial_one_thread", COUNTS),
    ("dfs::trivial_two_threads", COUNTS),
    ("dfs::two_threads", COUNTS),
    ("dfs::two_threads_depth_4", COUNTS),
    ("dfs::two_threads_depth_5", COUNTS),
    ("dfs::yield_loop_max_depth", COUNTS),
    ("dfs::yield_loop_one_thread", COUNTS),
    ("dfs::yield_loop_three_threads", COUNTS),
    ("dfs::yield_loop_two_threads", COUNTS),
    ("dfs::yield_loop_two_threads_bounded", COUNTS),
    ("lazy_static::shared_static", COUNTS),
    ("portfolio::portfolio_stop_force_unwinds_atomic_drop", COUNTS),
    ("basic::drop_shuttle_future", COUNTS),
    ("basic::drop_shuttle_yield_future", COUNTS),
    ("pct::no_concurrency", "preempt does not mind a test without concurrency"),
    ("pct::yield_spin_loop_unfair", "a yield is fair in preempt, whoever asks for it"),
    (
        "pct::yield_spin_loop_fair",
        "a limit of 50 steps, of which preempt's tasks need more than shuttle's",
    ),
    ("rwlock::double_read", READ_TWICE),
    ("rwlock::double_try_read", READ_TWICE),
    ("rwlock::read_try_read", READ_TWICE),
    (
        "mutex::mutex_unfair",
        "spawning a thread is a switch in shuttle, and the test records it through std",
    ),
    ("task::async_tasks_created_at_same_src_location_have_different_signatures", SIGNATURES),
    ("task::async_tasks_created_in_different_src_locations_have_different_signatures", SIGNATURES),
    ("task::sync_tasks_created_at_same_src_location_have_different_signatures", SIGNATURES),
    ("task::sync_tasks_created_in_different_src_locations_have_different_signatures", SIGNATURES),
    ("task::task_signatures_consistent_across_shuttle_iterations", SIGNATURES),
    (
        "abort_freedom::panic_handling_avoids_aborting",
        "preempt reports a panic during unwinding as such, without an option",
    ),
    ("basic::join_handle_abort", "shuttle drops tasks that are aborted while they are blocked"),
    ("uncontrolled_nondeterminism::panic_context_switch_when_expecting_rng", FIRST_DIFFERENCE),
    ("uncontrolled_nondeterminism::panic_rng_when_expecting_context_switch", FIRST_DIFFERENCE),
    ("uncontrolled_nondeterminism::panic_ended_earlier", FIRST_DIFFERENCE),
    ("uncontrolled_nondeterminism::panic_should_have_ended", FIRST_DIFFERENCE),
];

const SHUTTLES_SCHEDULE: &str = "a schedule of shuttle's steps";
const COUNTS: &str =
    "a number of executions: preempt has fewer, and some more to learn about the test";
const READ_TWICE: &str =
    "shuttle forbids a second read by the same thread; std does not, unless a writer waits";
const SIGNATURES: &str = "signatures of tasks";
const FIRST_DIFFERENCE: &str =
    "which difference comes first depends on shuttle's steps; one is reported";

/// Why a test of shuttle's does not apply to preempt.
pub(crate) fn not_applicable(test: &str) -> Option<&'static str> {
    let ends = |(name, _): &&(&str, &str)| test.ends_with(&format!("::{name}"));
    TESTS_NOT_APPLICABLE.iter().find(ends).map(|(_, reason)| *reason)
}

/// shuttle's tests: one target per file, so that each compiles or not by itself. Only the attribute
/// that turns logging on is removed.
pub(crate) fn prepare_shuttle(workspace: &Workspace, tool: Tool, version: &str) -> Result<PathBuf> {
    let shuttle = match workspace.shuttle(tool) {
        Some((path, package)) => {
            format!("{{ package = \"{package}\", path = {:?} }}", path.display().to_string())
        }
        None => format!("\"={version}\""),
    };
    let lines = format!(
        "[dependencies]\nshuttle = {shuttle}\nfutures = \"0.3\"\npin-project = \"1\"\nregex = \"1\"\n\
         tempfile = \"3\"\ntracing = \"0.1\"\nrand = \"0.8\"\n"
    );
    let folder = workspace.package(tool, "shuttle-own-tests", &lines)?;
    let source = workspace.published("shuttle", version)?.join("tests");
    let root = fs::read_to_string(source.join("mod.rs"))?;
    let support = root.find("use shuttle::scheduler").context("shuttle's tests look different")?;
    let support = &root[support..];
    for directory in ["basic", "future", "data", "demo", "advanced"] {
        for entry in fs::read_dir(source.join(directory))? {
            let path = entry?.path();
            let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let file = format!("{directory}/{name}");
            if name == "mod" || NOT_APPLICABLE.iter().any(|(other, _)| *other == file) {
                continue;
            }
            let text = fs::read_to_string(&path)?.replace("use test_log::test;\n", "");
            write_target(&folder, directory, name, &text, support)?;
        }
    }
    Ok(folder)
}

fn write_target(
    folder: &Path,
    directory: &str,
    name: &str,
    text: &str,
    support: &str,
) -> Result<()> {
    let module = folder.join("tests").join(directory).join(format!("{name}.rs"));
    fs::create_dir_all(module.parent().context("no folder")?)?;
    fs::write(&module, text)?;
    let target = format!(
        "#![allow(warnings)]\nmod {directory} {{\n#[path = {:?}]\nmod {name};\n}}\n{support}",
        module.display().to_string()
    );
    fs::write(folder.join("tests").join(format!("{directory}_{name}.rs")), target)?;
    Ok(())
}
