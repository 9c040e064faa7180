//! The page, inside the binary.

use preempt_report::keys;
use std::borrow::Cow;

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! assets {
    ($($name:literal: $kind:ident from $file:literal,)*) => {
        const ASSETS: &[(&str, &str, &str)] =
            &[$(($name, $kind, include_str!(concat!("../assets/", $file)))),*];
    };
}

assets! {
    "": HTML from "index.html",
    "style.css": STYLE from "style.css",
    "app.js": SCRIPT from "app.js",
    "chart.js": SCRIPT from "chart.js",
    "check.js": SCRIPT from "check.js",
    "compare.js": SCRIPT from "compare.js",
    "dom.js": SCRIPT from "dom.js",
    "drawn.js": SCRIPT from "drawn.js",
    "edit.js": SCRIPT from "edit.js",
    "export.js": SCRIPT from "export.js",
    "keys.js": SCRIPT from "keys.js",
    "lanes.js": SCRIPT from "lanes.js",
    "pictures.js": SCRIPT from "pictures.js",
    "server.js": SCRIPT from "server.js",
    "source.js": SCRIPT from "source.js",
    "state.js": SCRIPT from "state.js",
    "steps.js": SCRIPT from "steps.js",
}

/// What the page of a report uses, too.
const SHARED: &[(&str, &str, &str)] = &[("drawing.js", SCRIPT, preempt_report::drawing::SCRIPT)];

/// The type and text behind a name.
pub(crate) fn find(name: &str) -> Option<(&'static str, Cow<'static, str>)> {
    let (_, kind, text) = ASSETS.iter().chain(SHARED).find(|(known, ..)| *known == name)?;
    // The list of keys has one definition.
    let text = match *kind {
        HTML => text.replace("{{keys}}", &keys::html(keys::Place::Serve)).into(),
        _ => Cow::Borrowed(*text),
    };
    Some((kind, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn only_what_is_listed_is_found() {
        assert!(find("").is_some_and(|(_, text)| text.starts_with("<!doctype html>")));
        for name in
            ["/", "index.html", "../Cargo.toml", "app.js/", "APP.JS", "%61pp.js", "app.js?x"]
        {
            assert!(find(name).is_none(), "{name}");
        }
    }

    #[test]
    fn the_page_obeys_the_keys_of_its_list_and_no_others() {
        let script = find("keys.js").unwrap().1;
        let inside = script.split_once("const keys = {\n").unwrap().1.split_once("\n};").unwrap().0;
        let entry =
            |line: &str| line.trim().split(':').next().unwrap().trim_matches('"').to_string();
        let mut obeyed: BTreeSet<String> = inside.lines().map(entry).collect();
        // Numbers, the step that is chosen and fields have their own lines of code.
        obeyed.extend(["Enter", "Escape"].map(String::from));
        obeyed.extend((1..=9).map(|digit| digit.to_string()));
        let listed = keys::of(keys::Place::Serve).flat_map(|row| row.keys);
        assert_eq!(obeyed, listed.map(|key| key.to_string()).collect());
        let page = find("").unwrap().1;
        assert!(page.contains("<dt><kbd>u</kbd></dt>") && !page.contains("{{"));
    }

    #[test]
    fn every_script_that_is_imported_is_served() {
        for (name, _, text) in ASSETS {
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let from = line.split("\"./").nth(1).and_then(|rest| rest.split('"').next());
                let imported = from.unwrap_or_else(|| panic!("{name}: {line}"));
                assert!(find(imported).is_some(), "{name} imports {imported}");
            }
        }
    }
}
