//! What dependencies bring along, compared with `deny.toml`: licences, versions beside each other, crates that are not wanted.
//!
//! `cargo deny check` does the same and asks a database for advisories. This needs nothing but what cargo has already: the
//! lock file and the manifests of the packages, which a build has fetched. Of `deny.toml` it reads three lists, an entry a
//! line.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The lists of `deny.toml`.
#[derive(Debug, Default, PartialEq)]
struct Rules {
    licences: BTreeSet<String>,
    /// Crates that only these others may depend on.
    denied: BTreeMap<String, Vec<String>>,
    /// `name@version` of what may stand beside another version.
    skipped: BTreeSet<String>,
}

/// A package that is not ours.
struct Package {
    name: String,
    version: String,
    licence: String,
    /// Names of packages that depend on it.
    dependents: BTreeSet<String>,
}

/// Everything that the rules do not allow.
pub(crate) fn complaints(root: &Path) -> Result<Vec<String>> {
    let rules = read(&std::fs::read_to_string(root.join("deny.toml")).context("deny.toml")?);
    Ok(compare(&rules, &packages(root)?))
}

/// The texts between quotation marks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

fn read(text: &str) -> Rules {
    let mut rules = Rules::default();
    let mut list = "";
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        match line.split_once(" = [") {
            Some((name, _)) if !line.starts_with('{') => list = name,
            _ if line == "]" => list = "",
            _ => {}
        }
        let Some(first) = quoted(line).next() else { continue };
        match list {
            "allow" => _ = rules.licences.insert(first.into()),
            "skip" => _ = rules.skipped.insert(first.into()),
            "deny" => {
                let wrappers = line.split_once("wrappers = [").map_or("", |(_, rest)| rest);
                let wrappers = wrappers.split(']').next().unwrap_or_default();
                rules.denied.insert(first.into(), quoted(wrappers).map(Into::into).collect());
            }
            _ => {}
        }
    }
    rules
}

/// Whether one of the alternatives is allowed: `OR` and `/` between them, `AND` between what is all needed.
fn is_allowed(expression: &str, rules: &Rules) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    let all = |part: &str| part.split(" OR ").any(|one| rules.licences.contains(one.trim()));
    expression.split(" AND ").all(all)
}

fn compare(rules: &Rules, packages: &[Package]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Package { name, version, licence, dependents } in packages {
        versions.entry(name).or_default().push(version);
        if !is_allowed(licence, rules) {
            complaints.push(format!("{name} {version}: deny.toml does not allow `{licence}`"));
        }
        if let Some(wrappers) = rules.denied.get(name)
            && let Some(other) = dependents.iter().find(|other| !wrappers.contains(other))
        {
            complaints.push(format!("{name} {version}: deny.toml denies it, {other} needs it"));
        }
    }
    for (name, versions) in versions {
        let open: Vec<_> =
            versions.iter().filter(|v| !rules.skipped.contains(&format!("{name}@{v}"))).collect();
        if open.len() > 1 {
            complaints.push(format!("{name}: versions {open:?}, and deny.toml gives no reason"));
        }
    }
    complaints
}

/// All packages that are not ours, as they are built on this platform.
fn packages(root: &Path) -> Result<Vec<Package>> {
    let platform = Command::new("rustc").arg("-vV").output().context("rustc")?;
    let platform = String::from_utf8_lossy(&platform.stdout).into_owned();
    let platform = platform.lines().find_map(|line| line.strip_prefix("host: "));
    let output = Command::new("cargo")
        .args(["metadata", "--locked", "--format-version", "1", "--filter-platform"])
        .arg(platform.context("rustc names no platform")?)
        .current_dir(root)
        .output()?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    }
    let found: Value = serde_json::from_slice(&output.stdout)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let names: BTreeMap<String, String> =
        list(&found["packages"]).iter().map(|p| (text(&p["id"]), text(&p["name"]))).collect();
    let mut dependents: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for node in list(&found["resolve"]["nodes"]) {
        let name = names.get(&text(&node["id"])).cloned().unwrap_or_default();
        for dependency in list(&node["dependencies"]) {
            dependents.entry(text(&dependency)).or_default().insert(name.clone());
        }
    }
    let packages = list(&found["packages"]).into_iter().filter(|p| !p["source"].is_null());
    Ok(packages
        .map(|p| Package {
            name: text(&p["name"]),
            version: text(&p["version"]),
            licence: text(&p["license"]),
            dependents: dependents.remove(&text(&p["id"])).unwrap_or_default(),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "[licenses]\nallow = [\n    \"MIT\",\n    \"Zlib\",\n]\n[bans]\ndeny = [\n    \
        { crate = \"old\", wrappers = [\"needs-it\"], reason = \"unmaintained\" },\n]\nskip = [\n    \
        { crate = \"twice@1.0.0\", reason = \"another\" },\n]\n";

    fn package(name: &str, version: &str, licence: &str, dependents: &[&str]) -> Package {
        let dependents = dependents.iter().map(|name| name.to_string()).collect();
        Package { name: name.into(), version: version.into(), licence: licence.into(), dependents }
    }

    #[test]
    fn what_is_not_allowed_is_noticed() {
        let rules = read(RULES);
        assert_eq!(rules.licences.len(), 2);
        let good = [
            package("a", "1.0.0", "MIT OR GPL-3.0", &[]),
            package("b", "1.0.0", "(MIT/Apache-2.0) AND Zlib", &[]),
            package("old", "1.0.0", "MIT", &["needs-it"]),
            package("twice", "1.0.0", "MIT", &[]),
            package("twice", "2.0.0", "MIT", &[]),
        ];
        assert_eq!(compare(&rules, &good), Vec::<String>::new());
        let bad = [
            package("a", "1.0.0", "GPL-3.0", &[]),
            package("a", "2.0.0", "MIT AND GPL-3.0", &[]),
            package("old", "1.0.0", "MIT", &["ours", "needs-it"]),
        ];
        assert_eq!(compare(&rules, &bad).len(), 4, "{:?}", compare(&rules, &bad));
    }
}
