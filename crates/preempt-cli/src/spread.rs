//! Searches that are made elsewhere: over processes (`--processes`, `--hosts`), in files (`--disk`), or here but written
//! down from time to time (`--checkpoint`).
//!
//! With `--processes N` this process is the first of N, and starts the others: the same command, with a hosts file of
//! addresses on the loopback interface and a random secret in their environment. They report nothing.

use crate::arguments::CheckArguments;
use crate::failure::Failure;
#[cfg(feature = "cluster")]
use crate::output::complain;
use preempt_check::RemoteSearch;
use preempt_disk::checkpoint;
use preempt_disk::{Broken, Manifest, OnDisk, Saved};
use preempt_promela::model::Model;
#[cfg(feature = "cluster")]
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "cluster")]
mod local;

/// The variable that holds the secret.
#[cfg(feature = "cluster")]
const SECRET: &str = "PREEMPT_SECRET";

/// Where a search is made.
#[derive(Default)]
pub(crate) struct Spread {
    elsewhere: Option<Arc<dyn RemoteSearch>>,
    is_silent: bool,
    #[cfg(feature = "cluster")]
    _children: Option<local::Children>,
}

impl Spread {
    /// What makes the searches, if they are not made here.
    pub(crate) fn elsewhere(&self) -> Option<Arc<dyn RemoteSearch>> {
        self.elsewhere.clone()
    }

    /// Whether this process reports.
    pub(crate) fn reports(&self) -> bool {
        !self.is_silent
    }
}

/// Where the searches of a command are made.
pub(crate) fn over(arguments: &CheckArguments, model: &Model) -> Result<Spread, Failure> {
    if let Some(folder) = &arguments.limits.disk {
        let on_disk = OnDisk::new(folder.clone());
        return Ok(Spread { elsewhere: Some(Arc::new(on_disk)), ..Spread::default() });
    }
    let spreads = arguments.machines.processes.is_some() || arguments.machines.hosts.is_some();
    if (spreads || arguments.limits.checkpoint.is_some()) && !model.embedded.is_empty() {
        // Its memory may hold addresses, which mean nothing in another process.
        let message = "a model with C is searched by one process from start to end: --processes, --hosts and --checkpoint do not apply";
        return Err(Failure::Input(message.into()));
    }
    if let Some(folder) = arguments.limits.checkpoint.as_ref().filter(|_| !spreads) {
        let (manifest, resumed) = manifests(arguments, model)?;
        let saved = Saved {
            folder: whole(folder),
            every: arguments.limits.every,
            manifest,
            resumed,
            searches: Default::default(),
        };
        return Ok(Spread { elsewhere: Some(Arc::new(saved)), ..Spread::default() });
    }
    over_processes(arguments, model)
}

/// What a checkpoint says beside the states, and the one that the search goes on from.
fn manifests(
    arguments: &CheckArguments,
    model: &Model,
) -> Result<(Manifest, Option<Manifest>), Failure> {
    let job = job(arguments, model);
    let job: Vec<u8> = [1, 2].iter().flat_map(|seed| hash(&job, *seed).to_le_bytes()).collect();
    let refused = |Broken(why)| Failure::Input(why);
    let resumed = match &arguments.resumed {
        None => None,
        Some(folder) => {
            let manifest = Manifest::read(folder).map_err(refused)?;
            if manifest.job != job {
                return Err(Failure::Input(format!(
                    "cannot resume from {}: the model or the options have changed",
                    folder.display()
                )));
            }
            checkpoint::verify(folder, &manifest).map_err(refused)?;
            Some(manifest)
        }
    };
    let words = arguments.given.words.iter().map(|word| word.to_string_lossy().into_owned());
    let present = std::env::current_dir().unwrap_or_default();
    let manifest = Manifest {
        job,
        words: words.collect(),
        folder: present.to_string_lossy().into_owned(),
        ..Manifest::default()
    };
    Ok((manifest, resumed))
}

/// A path that means the same in any folder.
fn whole(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

fn hash(bytes: &[u8], seed: u64) -> u64 {
    preempt_check::store::hash_with_seed(bytes, seed)
}

/// Meets the other processes, if there are any.
#[cfg(not(feature = "cluster"))]
fn over_processes(arguments: &CheckArguments, _model: &Model) -> Result<Spread, Failure> {
    // The table of options has refused them.
    let _ = (&arguments.machines.process, &arguments.machines.secret, &arguments.resume_options);
    Ok(Spread::default())
}

/// Meets the other processes, if there are any.
#[cfg(feature = "cluster")]
fn over_processes(arguments: &CheckArguments, model: &Model) -> Result<Spread, Failure> {
    use preempt_cluster::{Cluster, Hosts, Membership, Plan};
    use std::time::Duration;

    let refused = |preempt_cluster::Refused(why)| Failure::Input(why);
    let (hosts, process, secret, children) =
        match (arguments.machines.processes, &arguments.machines.hosts) {
            (Some(count), _) => {
                let (hosts, secret, children) =
                    local::start(count.into(), &words_for_others(arguments))?;
                (hosts, 0, secret, Some(children))
            }
            (None, Some(path)) => {
                let hosts = Hosts::read(path).map_err(refused)?;
                (hosts, arguments.machines.process.unwrap_or(0), secret(arguments)?, None)
            }
            (None, None) => return Ok(Spread::default()),
        };
    let checkpoints = match &arguments.limits.checkpoint {
        None => None,
        Some(folder) => {
            let (manifest, resumed) = manifests(arguments, model)?;
            Some(Plan { folder: whole(folder), every: arguments.limits.every, manifest, resumed })
        }
    };
    let on_this_machine = children.as_ref().map_or(1, |_| hosts.len());
    let membership = Membership {
        hosts,
        process,
        secret,
        job: job(arguments, model),
        threads: threads(arguments),
        on_this_machine,
        patience: match children {
            Some(_) => Duration::from_secs(20),
            None => Duration::from_secs(60),
        },
        checkpoints,
        log: if process == 0 && !arguments.output.quiet { log_refusal } else { |_| () },
    };
    let give_up = || children.as_ref().and_then(local::Children::missing);
    let cluster = Cluster::join(membership, &give_up).map_err(refused)?;
    Ok(Spread {
        is_silent: !cluster.is_first(),
        elsewhere: Some(Arc::new(cluster)),
        _children: children,
    })
}

/// Threads of each process: by default all cores of this machine, which those that are started here share.
#[cfg(feature = "cluster")]
fn threads(arguments: &CheckArguments) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let here = arguments.machines.processes.map_or(1, usize::from).max(1);
    // More than so many only wait for each other.
    let most = (2 * cores).max(8);
    arguments.search.threads.unwrap_or((cores / here).max(1)).clamp(1, most)
}

/// The command of the other processes.
#[cfg(feature = "cluster")]
fn words_for_others(arguments: &CheckArguments) -> Vec<OsString> {
    let mut words = match &arguments.resumed {
        None => arguments.given.words.clone(),
        Some(folder) => {
            let mut words = vec!["resume".into(), folder.clone().into()];
            words.extend(arguments.resume_options.iter().cloned());
            words
        }
    };
    if arguments.search.threads.is_none() {
        words.extend(["--threads".into(), threads(arguments).to_string().into()]);
    }
    words
}

/// What all processes know, from the file or the variable.
#[cfg(feature = "cluster")]
fn secret(arguments: &CheckArguments) -> Result<Vec<u8>, Failure> {
    match &arguments.machines.secret {
        Some(path) => {
            let text = std::fs::read(path).map_err(|error| Failure::io("read", path, &error))?;
            Ok(text.trim_ascii().to_vec())
        }
        None => match std::env::var(SECRET) {
            Ok(secret) => Ok(secret.trim().as_bytes().to_vec()),
            Err(_) => Err(Failure::Input(format!(
                "--hosts needs a shared secret: give --secret FILE or set {SECRET}"
            ))),
        },
    }
}

/// What is checked, so that processes with other models or options are told: the sources of the model and the options
/// that change what is searched.
fn job(arguments: &CheckArguments, model: &Model) -> Vec<u8> {
    let request = arguments.request();
    let settings = crate::request::settings(arguments);
    let mut text = format!(
        "{:?} {settings:?} {:?}",
        preempt_verify::Request { memory: None, threads: 1, ..request },
        arguments.properties.selection()
    );
    for define in &arguments.model.define {
        text.push_str(define);
        text.push('\n');
    }
    for file in &model.sources.files {
        text.push_str(&format!("{} ", file.text.len()));
        text.push_str(&file.text);
    }
    text.into_bytes()
}

/// The first process is the one that is watched.
#[cfg(feature = "cluster")]
fn log_refusal(why: &str) {
    complain(&format!("note: a connection was refused: {why}"));
}
