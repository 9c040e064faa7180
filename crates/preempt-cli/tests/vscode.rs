//! The extension for VS Code: packaged, its grammars, and its logic by a real client library against the real server. Nothing here
//! starts VS Code itself.

use std::path::{Path, PathBuf};
use std::process::Command;

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[test]
fn the_extension_is_packaged_and_speaks_with_the_server() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("editors/vscode");
    let Some(node) = find("node") else {
        println!("skipped: no node on the path");
        return;
    };
    if find("npm").is_none() || !folder.join("node_modules/esbuild").is_dir() {
        println!("skipped: run `npm install` in editors/vscode first");
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
