//! Connections between all processes of a search.
//!
//! Process `i` calls those before it and is called by those behind it, on the address of its line in the hosts file and on
//! no other. Many that call introduce themselves at once, each in a time of its own, so that one that says nothing keeps
//! no other process waiting.

use crate::handshake::{Terms, answer, call};
use crate::hosts::Hosts;
use crate::refused::Refused;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a connection may take to introduce itself.
const INTRODUCTION: Duration = Duration::from_secs(2);
/// How many connections may introduce themselves at once.
const MOST_AT_ONCE: usize = 128;
/// How many refusals are kept.
const MOST_REFUSALS: usize = 8;
const NAP: Duration = Duration::from_millis(3);

/// Listens where the hosts file says.
pub(crate) fn listen(hosts: &Hosts, me: usize) -> Result<TcpListener, Refused> {
    let addresses = hosts.addresses(me)?;
    let listener = TcpListener::bind(&addresses[..]).map_err(|error| {
        Refused(format!("cannot listen on {} (process {me}): {error}", hosts.line(me)))
    })?;
    let nonblocking = listener.set_nonblocking(true);
    nonblocking
        .map_err(|error| Refused(format!("cannot listen on {}: {error}", hosts.line(me))))?;
    Ok(listener)
}

/// What a process needs to connect with all others.
pub(crate) struct Mesh<'a> {
    pub(crate) hosts: &'a Hosts,
    pub(crate) me: usize,
    pub(crate) listener: &'a TcpListener,
    pub(crate) terms: &'a Terms<'a>,
    pub(crate) patience: Duration,
    /// Says why not to wait any longer.
    pub(crate) give_up: &'a dyn Fn() -> Option<String>,
}

/// Connects with all others. `refusals` gets a sentence for each connection that was turned away, `log` as soon as it was.
pub(crate) fn connect(
    mesh: &Mesh<'_>,
    log: fn(&str),
    refusals: &mut Vec<String>,
) -> Result<Vec<Option<TcpStream>>, Refused> {
    let Mesh { hosts, me, listener, terms, patience, give_up } = *mesh;
    let deadline = Instant::now() + patience;
    let mut streams: Vec<Option<TcpStream>> = (0..hosts.len()).map(|_| None).collect();
    for (to, stream) in streams.iter_mut().enumerate().take(me) {
        *stream = Some(reach(mesh, to, deadline)?);
    }
    let mut refuse = |why: String| {
        log(&why);
        if refusals.len() < MOST_REFUSALS {
            refusals.push(why);
        }
    };
    std::thread::scope(|scope| {
        let (sender, introduced) = mpsc::channel();
        let mut at_once = 0;
        loop {
            for (whom, result) in introduced.try_iter() {
                at_once -= 1;
                match result {
                    Ok((who, stream))
                        if who > me && streams.get(who).is_some_and(Option::is_none) =>
                    {
                        streams[who] = Some(stream);
                    }
                    Ok((who, _)) => refuse(format!("{whom} says that it is process {who}")),
                    Err(Refused(why)) => refuse(why),
                }
            }
            let missing = (me + 1..hosts.len()).find(|other| streams[*other].is_none());
            let Some(missing) = missing else { return Ok(()) };
            // A process that has introduced itself may have nothing to do, and end before it is seen here.
            if at_once == 0
                && let Some(why) = give_up()
            {
                return Err(Refused(why));
            }
            if Instant::now() >= deadline {
                return Err(Refused(format!(
                    "process {missing} ({}) did not connect within {} s",
                    hosts.line(missing),
                    patience.as_secs()
                )));
            }
            if at_once >= MOST_AT_ONCE {
                std::thread::sleep(NAP);
                continue;
            }
            match listener.accept() {
                Ok((stream, address)) => {
                    at_once += 1;
                    let sender = sender.clone();
                    scope.spawn(move || {
                        let whom = address.to_string();
                        let result = introduce(stream, &whom, terms, me);
                        // No process waits for it once all have come.
                        let _ = sender.send((whom, result));
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(NAP),
                Err(error) => return Err(Refused(format!("cannot accept connections: {error}"))),
            }
        }
    })
    .map_err(|Refused(why)| {
        Refused(refusals.last().map_or(why.clone(), |last| format!("{why} ({last})")))
    })?;
    Ok(streams)
}

/// Lets a connection introduce itself; says which process it is.
fn introduce(
    mut stream: TcpStream,
    whom: &str,
    terms: &Terms<'_>,
    me: usize,
) -> Result<(usize, TcpStream), Refused> {
    prepare(&stream).map_err(|error| Refused(format!("{whom}: {error}")))?;
    let who = answer(&mut stream, terms, me, INTRODUCTION);
    who.map(|who| (who, stream)).map_err(|refusal| refusal.sentence(whom))
}

/// Calls a process until it answers.
fn reach(mesh: &Mesh<'_>, to: usize, deadline: Instant) -> Result<TcpStream, Refused> {
    let Mesh { hosts, me, terms, give_up, .. } = *mesh;
    let addresses = hosts.addresses(to)?;
    let whom = format!("process {to} ({})", hosts.line(to));
    loop {
        if let Some(why) = give_up() {
            return Err(Refused(why));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let called = addresses
            .iter()
            .map(|address| TcpStream::connect_timeout(address, left.clamp(NAP, INTRODUCTION)));
        let called = called.reduce(|one, other| one.or(other));
        match called {
            Some(Ok(mut stream)) => {
                prepare(&stream).map_err(|error| Refused(format!("{whom}: {error}")))?;
                let patience = left.max(INTRODUCTION);
                return match call(&mut stream, terms, me, to, patience) {
                    Ok(()) => Ok(stream),
                    Err(refusal) => Err(refusal.sentence(&whom)),
                };
            }
            _ if left > Duration::ZERO => std::thread::sleep(10 * NAP),
            Some(Err(error)) => return Err(Refused(format!("{whom} cannot be reached: {error}"))),
            None => return Err(Refused(format!("{whom} has no address"))),
        }
    }
}

/// Small messages go out at once, and a machine that has gone is noticed within seconds.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new()
        .with_time(Duration::from_secs(4))
        .with_interval(Duration::from_secs(2))
        .with_retries(2);
    let socket = socket2::SockRef::from(stream);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(Duration::from_secs(8)))?;
    Ok(())
}
