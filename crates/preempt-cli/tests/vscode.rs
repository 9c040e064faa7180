//! The extension for VS Code: packaged, its grammars, and its logic by a real client library against the real server. Nothing here
//! starts VS Code itself.

use std::path::Path;
use std::process::Command;

#[test]
fn the_extension_is_packaged_and_speaks_with_the_server() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("editors/vscode");
    let Some(node) = preempt_testing::peer(&["node"]) else { return };
    let is_made = folder.join("node_modules/esbuild").is_dir();
    let packages = "`npm install` in editors/vscode";
    if !preempt_testing::peers(&["npm"]) || !preempt_testing::have(packages, is_made) {
        return;
    }
    let examples = format!("{}:/usr/share/doc/spin/examples", root.join("models").display());
    let output = Command::new(node)
        .args(["--test", "test/"])
        .current_dir(&folder)
        .env("PREEMPT", env!("CARGO_BIN_EXE_preempt"))
        .env("EXAMPLES", examples)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("# fail 0"), "{text}");
}
