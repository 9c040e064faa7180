//! Runs tests/browser/test.mjs when a browser and node are at hand.

use crate::examples::{self, source};
use crate::page::{output_folder, write};
use preempt_core::Value;
use preempt_testing::{have, peer};
use std::path::Path;
use std::process::Command;

/// Pages for the browser and for people to look at.
fn write_pages() {
    write(
        "peterson",
        &examples::peterson_without_turn(),
        &[source("peterson.pml", examples::PETERSON)],
    );
    write("lock", &examples::check_then_set(), &[source("lock.pml", examples::CHECK_THEN_SET)]);
    write("serve", &examples::lasso(), &[source("serve.pml", examples::LASSO)]);
    write("protocol", &examples::protocol(), &[source("protocol.pml", examples::PROTOCOL)]);
    write("reads", &examples::message_passing(), &[]);
    write("crowd", &examples::crowd(9), &[]);
    write("still", &examples::still_crowd(200), &[]);
    write("bound", &examples::within_bound(), &[]);
    write(
        "holds",
        &examples::holds_with_unreached_code(),
        &[source("peterson.pml", examples::PETERSON)],
    );
    write("waits", &examples::observed_deadlock(), &[source("peterson.pml", examples::PETERSON)]);
    write("decided", &examples::decided(), &[source("serve.pml", examples::LASSO)]);
    let lines: String = (1..=40).map(|n| format!("line {n} of the long model\n")).collect();
    write("long", &examples::long(100_000), &[source("long.pml", &lines)]);
    let evil = "</script><script>hacked=1</script><img src=x onerror=\"hacked=1\">";
    let mut claim = examples::protocol();
    claim.sentence = evil.into();
    let violation = claim.violation.as_mut().unwrap();
    violation.message = evil.into();
    for step in &mut violation.trace.steps {
        step.process = evil.into();
        step.text = evil.into();
        step.output = evil.into();
        for change in &mut step.changes {
            change.name = evil.into();
            if let Some(Value::Queue(messages)) = &mut change.to {
                messages.iter_mut().for_each(|m| *m = evil.into());
            }
        }
    }
    write("evil", &claim, &[source("protocol.pml", evil)]);
}

#[test]
fn the_page_in_a_real_browser() {
    write_pages();
    let folder = output_folder().unwrap();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let Some(browser) = peer(&["chromium", "chromium-browser", "google-chrome"]) else { return };
    let Some(node) = peer(&["node"]) else { return };
    let driver = scripts.join("node_modules/playwright-core").exists();
    if !have("`npm install` in crates/preempt-report/tests/browser", driver) {
        return;
    }
    let output = Command::new(node)
        .arg("test.mjs")
        .args([&browser, &folder])
        .current_dir(&scripts)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}
