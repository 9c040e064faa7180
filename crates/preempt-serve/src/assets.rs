//! The page, inside the binary.

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

/// The type and text behind a name.
pub(crate) fn find(name: &str) -> Option<(&'static str, &'static str)> {
    let found = ASSETS.iter().find(|(known, ..)| *known == name)?;
    Some((found.1, found.2))
}

#[cfg(test)]
mod tests {
    use super::*;

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
