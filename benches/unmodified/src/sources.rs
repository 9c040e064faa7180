//! Fetching published crates by cargo. Everything is below `target/unmodified/`: nothing of it is ever committed.

use crate::catalogue::Crate;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// Where the sources are.
pub(crate) struct Sources {
    folder: PathBuf,
    /// Version and folder of each crate.
    found: HashMap<String, (String, PathBuf)>,
}

impl Sources {
    /// Lets cargo download the crates.
    pub(crate) fn fetch(folder: &Path, crates: &[(&str, &str)]) -> Result<Self> {
        let fetched = folder.join("fetch");
        fs::create_dir_all(fetched.join("src"))?;
        fs::write(fetched.join("src/lib.rs"), "")?;
        let line = |(name, version): &(&str, &str)| format!("{name} = \"{version}\"\n");
        let needed: String = crates.iter().map(line).collect();
        let package = "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n";
        fs::write(
            fetched.join("Cargo.toml"),
            format!("{package}[workspace]\n[dependencies]\n{needed}"),
        )?;
        let output = Command::new("cargo")
            .args(["metadata", "--format-version=1"])
            .current_dir(&fetched)
            .stderr(std::process::Stdio::inherit())
            .output()?;
        ensure!(output.status.success(), "cargo cannot fetch the crates");
        let known: Value = serde_json::from_slice(&output.stdout)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let packages = known["packages"].as_array().context("no packages")?;
        let mut found = HashMap::new();
        for &(name, version) in crates {
            let start = version.split('.').next().unwrap_or_default();
            let is_it = |package: &&Value| {
                package["name"] == name && text(&package["version"]).starts_with(start)
            };
            // Of several versions the one that was asked for matches its requirement.
            let matching = packages
                .iter()
                .filter(is_it)
                .find(|package| text(&package["version"]).starts_with(version));
            let package = matching.with_context(|| format!("cargo did not fetch {name}"))?;
            let manifest = PathBuf::from(text(&package["manifest_path"]));
            let from = manifest.parent().context("a manifest without a folder")?.to_path_buf();
            found.insert(name.to_string(), (text(&package["version"]), from));
        }
        Ok(Sources { folder: folder.to_path_buf(), found })
    }

    /// Where cargo builds: dependencies are shared between crates.
    pub(crate) fn build_folder(&self) -> PathBuf {
        self.folder.join("build")
    }

    /// Name and version.
    pub(crate) fn label(&self, krate: &Crate) -> String {
        let version = self.found.get(krate.name).map_or("", |(version, _)| version.as_str());
        format!("{} {version}", krate.name)
    }

    /// Where cargo keeps the sources of a crate.
    pub(crate) fn folder_of(&self, name: &str) -> Result<&Path> {
        Ok(&self.found.get(name).context("not fetched")?.1)
    }

    /// A copy that cargo takes for a workspace of its own.
    pub(crate) fn copy(&self, krate: &Crate) -> Result<PathBuf> {
        let (version, from) = self.found.get(krate.name).context("not fetched")?;
        let to = self.folder.join(format!("{}-{version}", krate.name));
        let _ = fs::remove_dir_all(&to);
        copy(from, &to)?;
        let manifest = to.join("Cargo.toml");
        let text = fs::read_to_string(&manifest)?;
        fs::write(&manifest, format!("{text}\n[workspace]\n"))?;
        Ok(to)
    }
}

/// Copies a folder.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => _ = fs::copy(entry.path(), target)?,
        }
    }
    Ok(())
}
