//! The processes that `--processes` starts on this machine.

use super::SECRET;
use crate::failure::Failure;
use preempt_cluster::Hosts;
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::Write;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the others may take to end, once this process has its answer.
const FAREWELL: Duration = Duration::from_secs(3);

/// The other processes; those that do not end by themselves are ended with this one.
pub(crate) struct Children {
    running: RefCell<Vec<Child>>,
    /// The file in which the processes read each other's addresses; removed with this value.
    _hosts: tempfile::NamedTempFile,
}

impl Children {
    /// Why it is no use to wait for them.
    pub(super) fn missing(&self) -> Option<String> {
        let mut running = self.running.borrow_mut();
        running.iter_mut().enumerate().find_map(|(at, child)| {
            let status = child.try_wait().ok().flatten()?;
            Some(format!("process {} ended before the search began ({status})", at + 1))
        })
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        let deadline = Instant::now() + FAREWELL;
        for child in self.running.get_mut() {
            while let Ok(None) = child.try_wait() {
                if Instant::now() >= deadline {
                    let _ = child.kill();
                    let _ = child.wait();
                    break;
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

/// Starts all processes but this one.
pub(super) fn start(
    count: usize,
    words: &[OsString],
) -> Result<(Hosts, Vec<u8>, Children), Failure> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Failure::Input(format!("{what} for --processes: {error}"))
    };
    // All ports are taken at the same time, so that no two are the same.
    let listeners: Result<Vec<TcpListener>, _> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    let listeners = listeners.map_err(|error| failed("no port is free", &error))?;
    let addresses: Result<Vec<String>, _> = listeners
        .iter()
        .map(|listener| listener.local_addr().map(|address| address.to_string()))
        .collect();
    let text = addresses.map_err(|error| failed("no port is free", &error))?.join("\n");
    drop(listeners);
    let hosts = Hosts::parse(&text).map_err(|refused| Failure::Input(refused.0))?;
    let mut file = tempfile::NamedTempFile::new()
        .and_then(|mut file| file.write_all(text.as_bytes()).map(|()| file))
        .map_err(|error| failed("no temporary file", &error))?;
    file.flush().map_err(|error| failed("no temporary file", &error))?;
    let secret = preempt_cluster::random_secret().map_err(|refused| Failure::Input(refused.0))?;
    let program = std::env::current_exe().map_err(|error| failed("no program", &error))?;
    let words = without_processes(words.iter().cloned());
    let mut running = Vec::new();
    for process in 1..count {
        let child = Command::new(&program)
            .args(&words)
            .arg("--hosts")
            .arg(file.path())
            .args(["--process", &process.to_string()])
            .env(SECRET, &secret)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        running.push(child.map_err(|error| failed("a process cannot be started", &error))?);
    }
    let children = Children { running: RefCell::new(running), _hosts: file };
    Ok((hosts, secret.into_bytes(), children))
}

/// The command line, less `--processes`.
fn without_processes(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--processes") => drop(words.next()),
            Some(word) if word.starts_with("--processes=") => {}
            _ => kept.push(word),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_others_get_the_same_command() {
        let words = |text: &str| -> Vec<OsString> { text.split(' ').map(Into::into).collect() };
        for (given, kept) in [
            ("check a.pml --processes 3 --por off", "check a.pml --por off"),
            ("check --processes=3 a.pml", "check a.pml"),
            ("check a.pml --process 1", "check a.pml --process 1"),
        ] {
            assert_eq!(without_processes(words(given).into_iter()), words(kept));
        }
    }
}
