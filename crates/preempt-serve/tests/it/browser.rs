//! Runs tests/browser/test.mjs when a browser and node are at hand.
//!
//! With `PREEMPT_SCREENSHOTS` set, the pictures of the book are made anew.

use crate::client::{Served, file, folder, models};
use crate::failing::page_of_a_failing_test;
use preempt_serve::RecordedFile;
use preempt_testing::{have, peer};
use std::path::{Path, PathBuf};
use std::process::Command;

const EVIL: &str = "</script><script>hacked=1</script><img src=x onerror=hacked=1>";

/// The models of the test, in a folder of its own: one of them is changed on the way.
fn written() -> PathBuf {
    let folder = folder("browser");
    for name in [
        "peterson.pml",
        "peterson_no_turn.pml",
        "alternating_bit.pml",
        "traffic_light.pml",
        "traffic_light.drawing.svg",
    ] {
        std::fs::copy(models().join(name), folder.join(name)).unwrap();
    }
    let texts = [
        (
            "slow.pml",
            "int a, b, c, d;
             active [3] proctype p() {
                 do :: a < b + 900 -> a++ :: b < c + 900 -> b++ :: c < d + 900 -> c++ :: d++ od }"
                .to_string(),
        ),
        (
            "evil.pml",
            format!(
                "/* {EVIL} */\nbyte x;\nactive proctype p() {{ printf(\"{EVIL}\\n\"); x = 1 }}\n"
            ),
        ),
        (
            "shop.pml",
            "byte seats = 1, sold, waiting;\n\n\
             active [2] proctype buyer() {\n    byte seen;\n    if\n    :: seats > 0 -> seen = seats; seats--;\n        \
             sold++\n    :: seats > 200 ->\n        waiting++;\n        seats = 99\n    :: else\n    fi\n}\n\n\
             ltl small { [] (sold < 2) }\nltl sold { <> (sold > 0) }\n"
                .into(),
        ),
        (
            "gate.bp",
            "decl opened, lost;\n\nvoid init() begin\n  opened, lost := F, F;\nend\n\n\
             thread visitor[2]() begin\n  decl seen;\n  seen := F;\n  assume(opened);\n  seen := opened;\n  \
             if (!seen) then\n    lost := T;\n  fi;\n  assert(!lost);\nend\n\n\
             thread keeper() begin\n  Open: skip;\n  opened := T;\nend\n"
                .into(),
        ),
        (
            "crowd.pml",
            "byte x[200];\nactive [200] proctype p() { byte n; do :: x[_pid]++ :: n++ od }\n"
                .into(),
        ),
    ];
    for (name, text) in texts {
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder
}

#[test]
fn the_page_in_a_real_browser() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(browser) = peer(&["chromium", "chromium-browser", "google-chrome"]) else { return };
    let Some(node) = peer(&["node"]) else { return };
    // The driver is installed once, for both browser tests.
    let driver = "../preempt-report/tests/browser/node_modules/playwright-core";
    let driver = manifest.join(driver).exists();
    if !have("`npm install` in crates/preempt-report/tests/browser", driver) {
        return;
    }
    let folder = written();
    let names = [
        "peterson.pml",
        "peterson_no_turn.pml",
        "alternating_bit.pml",
        "traffic_light.pml",
        "slow.pml",
        "evil.pml",
        "crowd.pml",
    ];
    let mut origins: Vec<_> = names.iter().map(|name| file(folder.join(name))).collect();
    origins.push(file(models().join("boolean/bluetooth-2-1.bp")));
    let page = page_of_a_failing_test();
    origins.push(Box::new(RecordedFile::new(page.clone())));
    origins.push(file(folder.join("shop.pml")));
    origins.push(file(folder.join("gate.bp")));
    let served = Served::new(origins);
    let output = Command::new(node)
        .arg("test.mjs")
        .arg(&browser)
        .arg(served.url())
        .arg(&folder)
        .arg(&page)
        .current_dir(manifest.join("tests/browser"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    if std::env::var_os("PREEMPT_SCREENSHOTS").is_some() {
        let images = manifest.join("../../docs/src/images");
        std::fs::create_dir_all(&images).unwrap();
        for name in [
            "serve-counterexample.png",
            "serve-graph.png",
            "serve-drawing.png",
            "test-deadlock.png",
        ] {
            std::fs::copy(folder.join(name), images.join(name)).unwrap();
        }
    }
}
