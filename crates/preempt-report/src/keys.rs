//! The keys of everything in which one walks along an execution: the terminal, the page of a report, and the explorer.
//!
//! **Invariant:** a key means the same wherever it means anything. The lists behind `?` and the table of the book are made
//! from these rows, and tests compare the rows with what each of the three obeys.

use crate::xml;

/// Where keys are pressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// `preempt simulate --interactive`.
    Terminal,
    /// A page that `--html` writes.
    Page,
    /// `preempt serve`.
    Serve,
}

/// Some keys that belong together, and what they do.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// As browsers name them.
    pub keys: &'static [&'static str],
    /// What they do, in their order.
    pub does: &'static str,
    /// Where they do it.
    pub places: &'static [Place],
}

use Place::{Page, Serve, Terminal};

/// All of them.
pub const KEYS: &[Keys] = &[
    Keys {
        keys: &["j", "ArrowDown", "k", "ArrowUp"],
        does: "one step forward, back along the path",
        places: &[Terminal, Page, Serve],
    },
    Keys {
        keys: &["PageDown", "PageUp"],
        does: "twenty steps forward, back",
        places: &[Terminal, Page, Serve],
    },
    Keys {
        keys: &["g", "Home", "G", "End"],
        does: "to the start, to the end of the path",
        places: &[Terminal, Page, Serve],
    },
    Keys {
        keys: &["l", "ArrowRight", "h", "ArrowLeft"],
        does: "to the next, the previous run of one process",
        places: &[Page],
    },
    Keys { keys: &["x", "X"], does: "to the next, the previous preemption", places: &[Page] },
    Keys {
        keys: &["1", "2", "3", "4", "5", "6", "7", "8", "9"],
        does: "take the possible step with this number",
        places: &[Terminal, Serve],
    },
    Keys {
        keys: &["n", "p", "Enter"],
        does: "choose the next, the previous possible step; take it",
        places: &[Terminal, Serve],
    },
    Keys { keys: &["r"], does: "take ten steps at random", places: &[Terminal, Serve] },
    Keys {
        keys: &["u"],
        does: "run until a condition holds; without one, to a breakpoint",
        places: &[Terminal, Serve],
    },
    Keys {
        keys: &["B"],
        does: "set or remove a breakpoint at the line of the chosen step",
        places: &[Terminal, Serve],
    },
    Keys {
        keys: &["w", "W"],
        does: "watch an expression; forget the one that was added last",
        places: &[Terminal, Serve],
    },
    Keys {
        keys: &["/"],
        does: "find: the steps with a text on a page, elsewhere the variables whose names contain it",
        places: &[Terminal, Page, Serve],
    },
    Keys {
        keys: &["o"],
        does: "open the row of this step, so that nothing of it is cut (or click it twice)",
        places: &[Page, Serve],
    },
    Keys { keys: &["f"], does: "fold or unfold long runs", places: &[Page] },
    Keys { keys: &["m"], does: "the next view", places: &[Page, Serve] },
    Keys { keys: &["c"], does: "check a property", places: &[Serve] },
    Keys { keys: &["e"], does: "take the execution along as a file", places: &[Serve] },
    Keys { keys: &["b", "y"], does: "bookmark this state, copy a link to it", places: &[Serve] },
    Keys { keys: &["t"], does: "light or dark", places: &[Page, Serve] },
    Keys { keys: &["Escape"], does: "leave a field or a dialog", places: &[Terminal, Page, Serve] },
    Keys { keys: &["?"], does: "this list", places: &[Terminal, Page, Serve] },
    Keys { keys: &["q"], does: "end", places: &[Terminal] },
];

/// The rows of one place.
pub fn of(place: Place) -> impl Iterator<Item = &'static Keys> {
    KEYS.iter().filter(move |row| row.places.contains(&place))
}

impl Keys {
    /// The keys as people read them, one by one.
    pub fn names(&self) -> Vec<&'static str> {
        if self.keys.len() == 9 {
            return vec!["1", "…", "9"];
        }
        let name = |key: &&'static str| match *key {
            "ArrowDown" => "↓",
            "ArrowUp" => "↑",
            "ArrowRight" => "→",
            "ArrowLeft" => "←",
            "PageDown" => "Page↓",
            "PageUp" => "Page↑",
            "Escape" => "Esc",
            other => other,
        };
        self.keys.iter().map(name).collect()
    }
}

/// The list of a page.
pub fn html(place: Place) -> String {
    let row = |row: &Keys| {
        let keys = row.names().into_iter().map(|key| match key {
            "…" => "…".to_string(),
            key => format!("<kbd>{}</kbd>", xml::escape(key)),
        });
        format!(
            "<dt>{}</dt><dd>{}</dd>\n",
            keys.collect::<Vec<_>>().join(" "),
            xml::escape(row.does)
        )
    };
    of(place).map(row).collect()
}

/// The list of a terminal.
pub fn text(place: Place) -> String {
    let row = |row: &Keys| format!(" {:14} {}\n", row.names().join(" "), row.does);
    of(place).map(row).collect()
}

/// The table of the book.
pub fn markdown() -> String {
    let mut table = "| keys | | terminal | page | explorer |\n|---|---|---|---|---|\n".to_string();
    for row in KEYS {
        let keys = row.names().into_iter().map(|key| match key {
            "…" => "…".to_string(),
            key => format!("`{key}`"),
        });
        let keys = keys.collect::<Vec<_>>().join(" ");
        let [terminal, page, serve] =
            [Terminal, Page, Serve].map(|place| if row.places.contains(&place) { "✓" } else { "" });
        table += &format!("| {keys} | {} | {terminal} | {page} | {serve} |\n", row.does);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_key_means_two_things() {
        let mut all = BTreeSet::new();
        for key in KEYS.iter().flat_map(|row| row.keys) {
            assert!(all.insert(key), "{key}");
        }
    }

    #[test]
    fn the_page_obeys_its_keys_and_no_others() {
        let script = include_str!("../assets/page.js");
        assert_eq!(obeyed(script, "const actions = {"), listed(Page, &["Escape"]));
    }

    /// The names of the entries of an object in a script.
    fn obeyed(script: &str, begin: &str) -> BTreeSet<String> {
        let rest = script.split_once(begin).unwrap().1;
        let inside = rest.split_once("\n    };").unwrap().0;
        let words = inside.split([' ', '\n', ',']).filter_map(|word| word.strip_suffix(':'));
        words.map(|word| word.trim_matches('"').to_string()).collect()
    }

    /// The keys of a place, but for some that something else sees to.
    fn listed(place: Place, but: &[&str]) -> BTreeSet<String> {
        let keys = of(place).flat_map(|row| row.keys).filter(|key| !but.contains(key));
        keys.map(|key| key.to_string()).collect()
    }
}
