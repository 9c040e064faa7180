//! Names of files that may have been meant by a name that no file has.

use std::path::{Path, PathBuf};

/// What to add to a sentence about a file that is not there: its neighbours of nearly the same name.
pub(crate) fn hint(path: &Path) -> String {
    let Some(wanted) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return String::new();
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut near: Vec<(usize, String)> = names(folder)
        .into_iter()
        .filter_map(|name| Some((distance(&wanted, &name)?, name)))
        .collect();
    near.sort();
    match near.first() {
        Some((_, name)) => format!("; did you mean `{}`?", joined(folder, name).display()),
        None => String::new(),
    }
}

/// The files and folders in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn joined(folder: &Path, name: &str) -> PathBuf {
    if folder == Path::new(".") { PathBuf::from(name) } else { folder.join(name) }
}

/// How many letters of two names differ; none if they have too little in common.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    // The ending was left out.
    if !wanted.contains('.') && name.strip_prefix(wanted).is_some_and(|end| end.starts_with('.')) {
        return Some(1);
    }
    let (wanted, name): (Vec<char>, Vec<char>) =
        (wanted.to_lowercase().chars().collect(), name.to_lowercase().chars().collect());
    let mut last: Vec<usize> = (0..=name.len()).collect();
    for (at, letter) in wanted.iter().enumerate() {
        let mut row = vec![at + 1];
        for (other, letter_of_name) in name.iter().enumerate() {
            let change = last[other] + usize::from(letter != letter_of_name);
            row.push(change.min(last[other + 1] + 1).min(row[other] + 1));
        }
        last = row;
    }
    last.last().copied().filter(|count| *count <= (wanted.len() / 4).clamp(1, 3))
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn slips_are_near_and_other_names_are_not() {
        assert_eq!(distance("petersen.pml", "peterson.pml"), Some(1));
        assert_eq!(distance("Peterson.pml", "peterson.pml"), Some(0));
        assert_eq!(distance("peterson", "peterson.pml"), Some(1));
        assert_eq!(distance("petreson.pml", "peterson.pml"), Some(2));
        assert_eq!(distance("a.pml", "b.pml"), Some(1));
        assert_eq!(distance("lock.pml", "queue.pml"), None);
        assert_eq!(distance("peterson", "peterson_n"), Some(2));
    }
}
