//! Parts of files in the book, so that what a reader sees is what is compiled and checked.
//!
//! A line `<!-- excerpt PATH -->` says that the block of code below it is a file of the repository; `PATH:17:24` are lines
//! of it, `PATH:7:` those from one on, `PATH:name` those between `ANCHOR: name` and `ANCHOR_END: name`. The text is in
//! the page itself, so that it can be read wherever Markdown is shown, and not only in the book that mdbook makes.
//! `cargo xtask tidy` compares it with the file, `cargo xtask bless` renews it.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- excerpt ";
const END: &str = " -->";

/// Excerpts that are not what their files say, and includes that only mdbook understands.
pub(crate) fn complaints(root: &Path) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for (path, text) in pages(root)? {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        if text.contains("{{#") {
            complaints.push(format!(
                "{name}: an include, which is shown as it is elsewhere: use an excerpt"
            ));
        }
        match renewed(root, &text) {
            Ok(wanted) if wanted == text => {}
            Ok(_) => complaints
                .push(format!("{name}: an excerpt is not what its file says: cargo xtask bless")),
            Err(error) => complaints.push(format!("{name}: {error:#}")),
        }
    }
    Ok(complaints)
}

/// Writes all excerpts anew.
pub(crate) fn renew(root: &Path) -> Result<()> {
    for (path, text) in pages(root)? {
        let wanted = renewed(root, &text).with_context(|| path.display().to_string())?;
        if wanted != text {
            fs::write(&path, wanted)?;
        }
    }
    Ok(())
}

/// The pages of the book, with their texts.
fn pages(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let (mut folders, mut pages) = (vec![root.join("docs/src")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                let text = fs::read_to_string(&path)?;
                pages.push((path, text));
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// A page with its excerpts as their files are.
fn renewed(root: &Path, page: &str) -> Result<String> {
    let mut out = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        out += line;
        out.push('\n');
        let Some(place) = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END)) else {
            continue;
        };
        let fence = lines.next().filter(|line| line.starts_with("```"));
        let fence = fence.with_context(|| format!("no block of code follows {line}"))?;
        if !lines.by_ref().any(|line| line == "```") {
            bail!("the block below {line} does not end");
        }
        out += &format!("{fence}\n{}```\n", excerpt(root, place)?);
    }
    Ok(out)
}

/// The part of a file that a place names.
fn excerpt(root: &Path, place: &str) -> Result<String> {
    let mut parts = place.split(':');
    let file = parts.next().unwrap_or_default();
    let text = fs::read_to_string(root.join(file)).with_context(|| place.to_string())?;
    let lines: Vec<&str> = text.lines().collect();
    let number = |part: &str| part.parse::<usize>().ok();
    let (first, last) = match (parts.next(), parts.next()) {
        (None, _) => (1, lines.len()),
        (Some(name), None) if number(name).is_none() => {
            let at = |mark: String| lines.iter().position(|line| line.trim_end().ends_with(&mark));
            let begin = at(format!("ANCHOR: {name}")).with_context(|| place.to_string())?;
            let end = at(format!("ANCHOR_END: {name}")).with_context(|| place.to_string())?;
            (begin + 2, end)
        }
        (Some(first), last) => {
            let last = last.map_or(number(first), |last| number(last).or(Some(lines.len())));
            (number(first).context("no number")?, last.context("no number")?)
        }
    };
    let part = lines.get(first.saturating_sub(1)..last);
    let part = part.with_context(|| format!("{file} has no lines {first} to {last}"))?;
    Ok(part.iter().map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_files_lines_and_parts_with_names() {
        let root = std::env::temp_dir().join(format!("preempt-excerpts-{}", std::process::id()));
        fs::create_dir_all(root.join("docs/src")).unwrap();
        fs::write(root.join("a.rs"), "one\n// ANCHOR: two\ntwo\n// ANCHOR_END: two\nfive\n")
            .unwrap();
        let page = |place: &str, text: &str| {
            format!("# A\n<!-- excerpt a.rs{place} -->\n```rust\n{text}```\nEnd.\n")
        };
        for (place, text) in
            [(":two", "two\n"), (":5:", "five\n"), (":3:3", "two\n"), (":1", "one\n")]
        {
            let wanted = page(place, text);
            assert_eq!(renewed(&root, &page(place, "old\n")).unwrap(), wanted);
            assert_eq!(renewed(&root, &wanted).unwrap(), wanted);
        }
        assert!(renewed(&root, &page("", "")).unwrap().contains("ANCHOR"));
        for bad in [page(":7:9", ""), page(":none", ""), "<!-- excerpt a.rs -->\ntext\n".into()] {
            assert!(renewed(&root, &bad).is_err(), "{bad}");
        }
        fs::write(root.join("docs/src/a.md"), page(":two", "old\n")).unwrap();
        fs::write(root.join("docs/src/b.md"), "{{#include a}}\n").unwrap();
        assert_eq!(complaints(&root).unwrap().len(), 2);
        renew(&root).unwrap();
        assert_eq!(complaints(&root).unwrap().len(), 1);
        fs::remove_dir_all(&root).unwrap();
    }
}
