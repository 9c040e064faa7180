//! The file that says where the processes of a search listen: one `host:port` per line, process 0 first.

use crate::refused::Refused;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

/// More processes than this are no cluster that this was made for.
const MOST: usize = 4096;

/// Where each process listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hosts {
    lines: Vec<String>,
}

impl Hosts {
    /// Reads a hosts file. Empty lines and what follows `#` are skipped.
    pub fn read(path: &Path) -> Result<Self, Refused> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Refused(format!("cannot read {}: {error}", path.display())))?;
        Self::parse(&text).map_err(|Refused(why)| Refused(format!("{}: {why}", path.display())))
    }

    /// Reads the text of a hosts file.
    pub fn parse(text: &str) -> Result<Self, Refused> {
        let mut lines: Vec<String> = Vec::new();
        for (at, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let refused = |why: &str| Err(Refused(format!("line {at}: `{line}` {why}")));
            let Some((host, port)) = line.rsplit_once(':') else {
                return refused("has no port: a line is host:port");
            };
            if host.is_empty() || host.contains(char::is_whitespace) {
                return refused("has no host: a line is host:port");
            }
            if !port.parse::<u16>().is_ok_and(|port| port != 0) {
                return refused("has no port between 1 and 65535");
            }
            if lines.iter().any(|other| other == line) {
                return refused("is there twice: each process listens on its own address");
            }
            lines.push(line.to_owned());
        }
        match lines.len() {
            0 => Err(Refused("it names no process".into())),
            MOST.. => Err(Refused(format!("it names more than {MOST} processes"))),
            _ => Ok(Hosts { lines }),
        }
    }

    /// How many processes there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// There is always one.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The line of a process.
    pub fn line(&self, process: usize) -> &str {
        self.lines.get(process).map_or("", String::as_str)
    }

    /// The addresses of a process.
    pub(crate) fn addresses(&self, process: usize) -> Result<Vec<SocketAddr>, Refused> {
        let line = self.line(process);
        let found = line.to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        match found {
            Ok(addresses) if !addresses.is_empty() => Ok(addresses),
            Ok(_) => Err(Refused(format!("process {process}: {line} has no address"))),
            Err(error) => Err(Refused(format!("process {process}: {line}: {error}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_hosts_and_ports() {
        let hosts =
            Hosts::parse("# us\n a.example:4000 \n\n[::1]:4001 # two\n").expect("it is right");
        assert_eq!(
            (hosts.len(), hosts.line(0), hosts.line(1)),
            (2, "a.example:4000", "[::1]:4001")
        );
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, why) in [
            ("", "it names no process"),
            ("a:1\nb", "line 2: `b` has no port: a line is host:port"),
            ("a:0", "line 1: `a:0` has no port between 1 and 65535"),
            ("a:70000", "line 1: `a:70000` has no port between 1 and 65535"),
            (":80", "line 1: `:80` has no host: a line is host:port"),
            ("a b:80", "line 1: `a b:80` has no host: a line is host:port"),
            ("a:1\na:1", "line 2: `a:1` is there twice: each process listens on its own address"),
        ] {
            assert_eq!(Hosts::parse(text), Err(Refused(why.into())), "{text}");
        }
    }
}
