//! Where an execution can be looked at: a page for the browser, and the same in an editor.
//!
//! On a terminal the lines are links as terminals know them (OSC 8), which others ignore; elsewhere they are addresses.

use std::fmt::Write;
use std::path::Path;

/// What the extension for VS Code answers to.
const IN_VS_CODE: &str = "vscode://preempt.preempt/execution?page=";

/// The lines that lead to a page, for the end of a report.
pub fn links(page: &Path, on_terminal: bool) -> String {
    let path = page.display().to_string();
    let encoded = encoded(&path);
    let link = |address: &str, text: &str| match on_terminal {
        true => format!("\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"),
        false => text.to_string(),
    };
    let editor = format!("{IN_VS_CODE}{encoded}");
    let mut text = format!(
        "as a page: {}\n",
        link(&format!("file://{encoded}"), &crate::visible(&path, false))
    );
    let _ = writeln!(text, "in VS Code: {}", link(&editor, &editor));
    text
}

/// A path in an address: bytes that mean something there as `%2F`.
fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(byte));
            }
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_an_address() {
        let plain = links(Path::new("/tmp/a b/c#1.html"), false);
        assert_eq!(
            plain,
            "as a page: /tmp/a b/c#1.html\n\
             in VS Code: vscode://preempt.preempt/execution?page=/tmp/a%20b/c%231.html\n"
        );
        let linked = links(Path::new("/t/\u{e4}.html"), true);
        let first = "as a page: \x1b]8;;file:///t/%C3%A4.html\x1b\\/t/\u{e4}.html\x1b]8;;\x1b\\\n";
        assert!(linked.starts_with(first), "{linked:?}");
    }
}
