//! Fetching published crates by cargo and changing the one line of their manifests that names loom or
//! shuttle.
//!
//! Everything is below `target/real-crates/`: nothing of it is ever committed.

use crate::catalogue::{Crate, Written};
use crate::row::Row;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a crate is tested with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tool {
    Preempt,
    /// The tool that its tests are written for: loom or shuttle.
    Original,
}

impl Tool {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::Preempt => "preempt",
            Tool::Original => "original",
        }
    }
}

/// Where everything happens.
pub(crate) struct Workspace {
    /// The project whose crates stand in for loom and shuttle.
    project: PathBuf,
    folder: PathBuf,
}

impl Workspace {
    /// Below the target folder of the project at `root`, with the crates of `project`.
    pub(crate) fn new(root: &Path, project: PathBuf) -> Result<Self> {
        let folder = root.join("target/real-crates");
        fs::create_dir_all(&folder)?;
        let workspace = Workspace { project, folder };
        workspace.write_counted_loom()?;
        Ok(workspace)
    }

    /// Where cargo builds: dependencies are shared between crates and tools.
    pub(crate) fn build_folder(&self) -> PathBuf {
        self.folder.join("build")
    }

    /// A file for the reports of one test.
    pub(crate) fn report_file(&self) -> PathBuf {
        self.folder.join(format!("report-{}.jsonl", std::process::id()))
    }

    /// Keeps the rows of a crate, so that a table can be put together from several runs.
    pub(crate) fn keep(&self, tool: Tool, name: &str, rows: &[Row]) -> Result<()> {
        let rows: Vec<_> = rows.iter().map(Row::to_json).collect();
        let text = serde_json::to_string_pretty(&rows)?;
        Ok(fs::write(self.folder.join(format!("{}-{name}.json", tool.name())), text)?)
    }

    /// The rows that the last run with this tool kept.
    pub(crate) fn kept(&self, tool: Tool, name: &str) -> Option<Vec<Row>> {
        let path = self.folder.join(format!("{}-{name}.json", tool.name()));
        let rows: Vec<serde_json::Value> =
            serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
        rows.iter().map(Row::from_json).collect()
    }

    /// A copy of a published crate, built with the tool in place of its loom or shuttle.
    pub(crate) fn prepare(&self, tool: Tool, krate: &Crate) -> Result<PathBuf> {
        let folder = self.copy(tool, krate.written, krate.name, krate.version)?;
        let mut patches = String::from("\n[workspace]\n\n[patch.crates-io]\n");
        for (other, version) in krate.with {
            let copy = self.copy(tool, krate.written, other, version)?;
            patches.push_str(&format!("{other} = {{ path = {:?} }}\n", copy.display().to_string()));
        }
        for (other, version) in krate.exposed {
            let copy = self.expose(&self.copy(tool, krate.written, other, version)?)?;
            patches.push_str(&format!("{other} = {{ path = {:?} }}\n", copy.display().to_string()));
        }
        let manifest = folder.join("Cargo.toml");
        let text = fs::read_to_string(&manifest)? + &patches;
        fs::write(manifest, text)?;
        Ok(folder)
    }

    /// An empty package below the tool's folder, with these lines in its manifest.
    pub(crate) fn package(&self, tool: Tool, name: &str, lines: &str) -> Result<PathBuf> {
        let folder = self.folder.join(tool.name()).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("src"))?;
        fs::write(folder.join("src/lib.rs"), "")?;
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n{lines}"
        );
        fs::write(folder.join("Cargo.toml"), manifest)?;
        Ok(folder)
    }

    /// The folder of a crate of this project.
    pub(crate) fn our_crate(&self, name: &str) -> PathBuf {
        self.project.join("crates").join(name)
    }

    /// The folder of the package that is to be called `loom`, and its name.
    pub(crate) fn loom(&self, tool: Tool) -> (PathBuf, &'static str) {
        match tool {
            Tool::Preempt => (self.our_crate("preempt-loom"), "preempt-loom"),
            Tool::Original => (self.folder.join("counted-loom"), "counted-loom"),
        }
    }

    /// The folder of the package that is to be called `shuttle`; shuttle itself is taken as it is.
    pub(crate) fn shuttle(&self, tool: Tool) -> Option<(PathBuf, &'static str)> {
        (tool == Tool::Preempt).then(|| (self.our_crate("preempt-shuttle"), "preempt-shuttle"))
    }

    /// The sources of a published crate, as cargo unpacked them.
    pub(crate) fn published(&self, name: &str, version: &str) -> Result<PathBuf> {
        let folder = self.folder.join("fetch");
        fs::create_dir_all(folder.join("src"))?;
        fs::write(folder.join("src/lib.rs"), "")?;
        let manifest = format!(
            "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\n{name} = \"={version}\"\n"
        );
        fs::write(folder.join("Cargo.toml"), manifest)?;
        let output = Command::new("cargo")
            .args(["metadata", "--format-version", "1"])
            .current_dir(&folder)
            .output()
            .context("cargo metadata")?;
        if !output.status.success() {
            bail!("cannot fetch {name} {version}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let packages = metadata["packages"].as_array().context("no packages")?;
        let package = packages
            .iter()
            .find(|package| package["name"] == name && package["version"] == version)
            .with_context(|| format!("cargo does not know {name} {version}"))?;
        let manifest = package["manifest_path"].as_str().context("no manifest")?;
        Ok(Path::new(manifest).parent().context("no folder")?.to_path_buf())
    }

    fn copy(&self, tool: Tool, written: Written, name: &str, version: &str) -> Result<PathBuf> {
        let source = self.published(name, version)?;
        let folder = self.folder.join(tool.name()).join(format!("{name}-{version}"));
        copy_folder(&source, &folder)?;
        let mut text = fs::read_to_string(source.join("Cargo.toml"))?;
        let (names, stand_in): (&[&str], _) = match written {
            Written::ForLoom => (&["loom", "loom-crate"], Some(self.loom(tool))),
            Written::ForShuttle => (&["shuttle"], self.shuttle(tool)),
        };
        if let Some((path, package)) = stand_in {
            text = with_stand_in(&text, names, package, &path);
        }
        fs::write(folder.join("Cargo.toml"), without_benchmarks(&text))?;
        let _ = fs::remove_file(folder.join("Cargo.lock"));
        Ok(folder)
    }

    /// Copies such a copy once more, so that crates which depend on it have its loom, too.
    fn expose(&self, folder: &Path) -> Result<PathBuf> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let exposed = folder.with_file_name(format!("{name}-exposed"));
        copy_folder(folder, &exposed)?;
        let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
        let (before, after) = ("dev-dependencies.loom]", "dependencies.loom]");
        fs::write(exposed.join("Cargo.toml"), manifest.replace(before, after))?;
        expose_sources(&exposed.join("src"))?;
        Ok(exposed)
    }

    fn write_counted_loom(&self) -> Result<()> {
        let folder = self.folder.join("counted-loom");
        fs::create_dir_all(folder.join("src"))?;
        fs::write(folder.join("src/lib.rs"), include_str!("counted/lib.rs"))?;
        let manifest = "[package]\nname = \"counted-loom\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
                        [workspace]\n\n[features]\nfutures = [\"loom/futures\"]\ncheckpoint = []\n\n\
                        [dependencies]\nloom = \"=0.7.2\"\n";
        fs::write(folder.join("Cargo.toml"), manifest)?;
        Ok(())
    }
}

/// The manifest with another package for the dependency of one of these names. Published manifests
/// are in a normal form: one table per dependency.
fn with_stand_in(manifest: &str, names: &[&str], package: &str, path: &Path) -> String {
    let ends: Vec<String> = names.iter().map(|name| format!("dependencies.{name}]")).collect();
    let mut text = String::new();
    let mut inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = ends.iter().any(|end| line.ends_with(end));
        }
        if inside && line.starts_with("package = ") {
            continue;
        }
        if inside && line.starts_with("version = ") {
            text.push_str(&format!("package = \"{package}\"\n"));
            text.push_str(&format!("path = {:?}\n", path.display().to_string()));
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// The manifest without what only benchmarks need, which takes longest to compile.
fn without_benchmarks(manifest: &str) -> String {
    const ONLY_FOR_BENCHMARKS: [&str; 3] =
        ["[[bench]]", "[dev-dependencies.criterion]", "[dev-dependencies.many_cpus_benchmarking]"];
    let mut text = String::new();
    let mut inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = ONLY_FOR_BENCHMARKS.contains(&line);
        }
        if !inside {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Replaces the condition in all sources, but where it is about a module of tests.
fn expose_sources(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            expose_sources(&path)?;
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let changed = exposed(&text);
        if changed != text {
            fs::write(&path, changed)?;
        }
    }
    Ok(())
}

fn exposed(text: &str) -> String {
    let (tests, kept) =
        ("#[cfg(all(test, loom))]\nmod tests", "#[cfg(all(test, any(loom)))]\nmod tests");
    let text = text.replace(tests, kept);
    text.replace("all(test, loom)", "loom").replace("all(loom, test)", "loom")
}

fn is_different(a: &Path, b: &Path) -> Result<bool> {
    Ok(!b.exists() || fs::read(a)? != fs::read(b)?)
}

pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if entry.file_name() != "Cargo.toml" && is_different(&entry.path(), &target)? {
            // Cargo would compile again what was only written again.
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benchmarks_are_left_out() {
        let manifest = "[package]\nname = \"a\"\n\n[[bench]]\nname = \"b\"\n\n[dev-dependencies.criterion]\n\
                        version = \"1\"\n\n[features]\n";
        let expected = "[package]\nname = \"a\"\n\n[features]\n";
        assert_eq!(without_benchmarks(manifest), expected);
    }

    #[test]
    fn conditions_are_exposed() {
        let text = "#[cfg(not(all(test, loom)))]\nmod std;\n#[cfg(all(loom, test))]\nuse a;\n\
                    #[cfg(all(test, loom))]\nmod tests {}\n";
        let expected = "#[cfg(not(loom))]\nmod std;\n#[cfg(loom)]\nuse a;\n\
                        #[cfg(all(test, any(loom)))]\nmod tests {}\n";
        assert_eq!(exposed(text), expected);
    }

    #[test]
    fn only_the_loom_line_changes() {
        let manifest = "[dependencies.a]\nversion = \"1\"\n\n[target.\"cfg(loom)\".dependencies.loom]\n\
                        version = \"0.7\"\noptional = true\n\n[dependencies.b]\nversion = \"2\"\n";
        let expected = "[dependencies.a]\nversion = \"1\"\n\n[target.\"cfg(loom)\".dependencies.loom]\n\
                        package = \"preempt-loom\"\npath = \"/p\"\noptional = true\n\n\
                        [dependencies.b]\nversion = \"2\"\n";
        assert_eq!(with_stand_in(manifest, &["loom"], "preempt-loom", Path::new("/p")), expected);
    }
}
