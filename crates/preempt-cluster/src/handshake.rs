//! Both ends of a connection prove that they know the secret, before anything else is read.
//!
//! Each end sends a greeting of fixed length with a random number. Then each proves that it knows the secret: a keyed
//! hash (HMAC-SHA-256) over both random numbers, its own process number, the number that it takes the other end to
//! have, and what is searched. Nothing that an end reads until then decides about a length, and all of it together has
//! one deadline, however slowly the other end sends. The secret itself never travels; what follows is not encrypted.

use crate::refused::Refused;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How an end introduces itself: a word, the version, a random number.
const GREETING: usize = 16 + 16 + 32;
const WORD: &[u8; 16] = b"preempt-cluster\n";
/// The number of the process, how many threads, which search of the run, what is searched, and the proof.
const PROOF: usize = 4 + 4 + 8 + 32 + 32;

/// What both ends have to agree on.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) secret: &'a [u8],
    /// A hash of the model and the options.
    pub(crate) job: [u8; 32],
    /// Which search of the run.
    pub(crate) number: u64,
    /// Workers per process.
    pub(crate) threads: usize,
}

/// Why a connection was refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It does not speak this protocol, or stopped.
    Stranger(String),
    Version(String),
    Secret,
    Job,
    Threads,
    Search,
}

/// What the end that listens answers.
const WELCOME: u8 = 0;

impl Refusal {
    fn code(&self) -> u8 {
        match self {
            Refusal::Stranger(_) | Refusal::Version(_) => 1,
            Refusal::Secret => 2,
            Refusal::Job => 3,
            Refusal::Threads => 4,
            Refusal::Search => 5,
        }
    }

    fn of(code: u8) -> Self {
        match code {
            2 => Refusal::Secret,
            3 => Refusal::Job,
            4 => Refusal::Threads,
            5 => Refusal::Search,
            _ => Refusal::Stranger("it refused the connection".into()),
        }
    }

    /// The sentence for a connection with `whom`.
    pub(crate) fn sentence(&self, whom: &str) -> Refused {
        Refused(match self {
            Refusal::Stranger(why) => format!("{whom} is not a process of this search: {why}"),
            Refusal::Version(theirs) => format!(
                "{whom} runs preempt {theirs}, this is {}: all processes need the same version",
                version()
            ),
            Refusal::Secret => format!("{whom} does not know the secret"),
            Refusal::Job => format!("{whom} checks a different model or uses different options"),
            Refusal::Threads => {
                format!(
                    "{whom} has another number of threads: give all processes the same --threads"
                )
            }
            Refusal::Search => format!("{whom} is at a different search of the run"),
        })
    }
}

/// The version of the package, and behind `+` that of the messages: builds of one version may differ in them.
fn version() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), "+2")
}

fn greeting(version: &str, random: &[u8; 32]) -> [u8; GREETING] {
    let mut greeting = [0; GREETING];
    greeting[..16].copy_from_slice(WORD);
    let length = version.len().min(16);
    greeting[16..16 + length].copy_from_slice(&version.as_bytes()[..length]);
    greeting[32..].copy_from_slice(random);
    greeting
}

/// A connection that has to introduce itself before a deadline.
struct Timed<'a> {
    stream: &'a mut TcpStream,
    until: Instant,
}

impl<'a> Timed<'a> {
    fn new(stream: &'a mut TcpStream, patience: Duration) -> Self {
        Timed { stream, until: Instant::now() + patience }
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }

    fn read_exact(&mut self, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            self.stream.set_read_timeout(Some(self.left()?))?;
            match self.stream.read(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => buffer = &mut buffer[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What is written is short: it fits into the buffers of the system.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write_all(bytes)
    }

    /// From now on the connection may take its time.
    fn finish(self) -> io::Result<()> {
        self.stream.set_read_timeout(None)?;
        self.stream.set_write_timeout(None)
    }
}

/// Reads a greeting; gives the random number.
fn read_greeting(stream: &mut Timed<'_>) -> Result<[u8; 32], Refusal> {
    let mut greeting = [0; GREETING];
    // The word comes first: a process that does not say it need not go on.
    let stopped = |error: io::Error| Refusal::Stranger(format!("it sent nothing ({error})"));
    stream.read_exact(&mut greeting[..16]).map_err(stopped)?;
    if greeting[..16] != *WORD {
        return Err(Refusal::Stranger("it uses a different protocol".into()));
    }
    stream.read_exact(&mut greeting[16..]).map_err(stopped)?;
    let theirs = greeting[16..32].split(|byte| *byte == 0).next().unwrap_or_default();
    if theirs != version().as_bytes() {
        let shown: String = theirs
            .iter()
            .filter(|byte| byte.is_ascii_graphic())
            .map(|byte| *byte as char)
            .collect();
        return Err(Refusal::Version(shown));
    }
    let mut random = [0; 32];
    random.copy_from_slice(&greeting[32..]);
    Ok(random)
}

fn keyed(terms: &Terms<'_>, parts: &[&[u8]]) -> Hmac<Sha256> {
    // A key may have any length.
    #[allow(clippy::expect_used)]
    let mut mac = Hmac::<Sha256>::new_from_slice(terms.secret).expect("any key will do");
    parts.iter().for_each(|part| mac.update(part));
    mac
}

/// The proof of process `from` to process `to`.
fn proof(
    terms: &Terms<'_>,
    role: &[u8],
    (from, to): (u32, u32),
    randoms: [&[u8; 32]; 2],
) -> [u8; PROOF] {
    let mut message = [0; PROOF];
    message[..4].copy_from_slice(&from.to_le_bytes());
    message[4..8].copy_from_slice(&(terms.threads as u32).to_le_bytes());
    message[8..16].copy_from_slice(&terms.number.to_le_bytes());
    message[16..48].copy_from_slice(&terms.job);
    let parts = [role, &to.to_le_bytes(), randoms[0], randoms[1], &message[..48]];
    let mac = keyed(terms, &parts).finalize().into_bytes();
    message[48..].copy_from_slice(&mac);
    message
}

/// Checks a proof; says which process gave it.
fn check(
    terms: &Terms<'_>,
    role: &[u8],
    to: u32,
    randoms: [&[u8; 32]; 2],
    message: &[u8; PROOF],
) -> Result<u32, Refusal> {
    let parts = [role, &to.to_le_bytes(), randoms[0], randoms[1], &message[..48]];
    keyed(terms, &parts).verify_slice(&message[48..]).map_err(|_| Refusal::Secret)?;
    let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| message[at + byte]));
    if number(4) != terms.threads as u32 {
        return Err(Refusal::Threads);
    }
    if message[16..48] != terms.job {
        return Err(Refusal::Job);
    }
    if message[8..16] != terms.number.to_le_bytes() {
        return Err(Refusal::Search);
    }
    Ok(number(0))
}

fn random() -> Result<[u8; 32], Refusal> {
    let mut random = [0; 32];
    getrandom::fill(&mut random)
        .map_err(|error| Refusal::Stranger(format!("no random numbers are available: {error}")))?;
    Ok(random)
}

fn broken(error: io::Error) -> Refusal {
    Refusal::Stranger(format!("the connection was lost ({error})"))
}

/// Introduces process `me` to process `to`, which listens.
pub(crate) fn call(
    stream: &mut TcpStream,
    terms: &Terms<'_>,
    me: usize,
    to: usize,
    patience: Duration,
) -> Result<(), Refusal> {
    let mut stream = Timed::new(stream, patience);
    let mine = random()?;
    stream.write_all(&greeting(version(), &mine)).map_err(broken)?;
    let theirs = read_greeting(&mut stream)?;
    let randoms = [&mine, &theirs];
    let proof = proof(terms, b"call", (me as u32, to as u32), randoms);
    stream.write_all(&proof).map_err(broken)?;
    let mut answer = [0; 1];
    stream.read_exact(&mut answer).map_err(broken)?;
    if answer[0] != WELCOME {
        return Err(Refusal::of(answer[0]));
    }
    let mut message = [0; PROOF];
    stream.read_exact(&mut message).map_err(broken)?;
    let who = check(terms, b"answer", me as u32, randoms, &message)?;
    stream.finish().map_err(broken)?;
    if who as usize == to { Ok(()) } else { Err(Refusal::Search) }
}

/// Answers a connection; says which process it is from.
pub(crate) fn answer(
    stream: &mut TcpStream,
    terms: &Terms<'_>,
    me: usize,
    patience: Duration,
) -> Result<usize, Refusal> {
    let mut stream = Timed::new(stream, patience);
    let mine = random()?;
    let theirs = read_greeting(&mut stream);
    if !matches!(theirs, Err(Refusal::Stranger(_))) {
        // A peer of another version learns which one this is.
        stream.write_all(&greeting(version(), &mine)).map_err(broken)?;
    }
    let theirs = theirs?;
    let mut message = [0; PROOF];
    stream.read_exact(&mut message).map_err(broken)?;
    let randoms = [&theirs, &mine];
    match check(terms, b"call", me as u32, randoms, &message) {
        Ok(who) => {
            let proof = proof(terms, b"answer", (me as u32, who), randoms);
            stream.write_all(&[WELCOME]).map_err(broken)?;
            stream.write_all(&proof).map_err(broken)?;
            stream.finish().map_err(broken)?;
            Ok(who as usize)
        }
        Err(refusal) => {
            let _ = stream.write_all(&[refusal.code()]);
            Err(refusal)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const PATIENCE: Duration = Duration::from_secs(2);

    fn terms(secret: &[u8]) -> Terms<'_> {
        Terms { secret, job: [7; 32], number: 3, threads: 2 }
    }

    /// What both ends say when the caller does this.
    fn meet<R: Send>(caller: impl FnOnce(TcpStream) -> R + Send) -> (R, Result<usize, Refusal>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        std::thread::scope(|scope| {
            let caller =
                scope.spawn(move || caller(TcpStream::connect(address).expect("it listens")));
            let (mut stream, _) = listener.accept().expect("a connection");
            let answered = answer(&mut stream, &terms(b"a good secret"), 0, PATIENCE);
            drop(stream);
            (caller.join().expect("no panic"), answered)
        })
    }

    #[test]
    fn those_who_know_the_secret_meet() {
        let both = meet(|mut stream| call(&mut stream, &terms(b"a good secret"), 2, 0, PATIENCE));
        assert_eq!(both, (Ok(()), Ok(2)));
    }

    #[test]
    fn others_are_refused() {
        let with = |terms: Terms<'static>| {
            meet(move |mut stream| call(&mut stream, &terms, 1, 0, PATIENCE))
        };
        let right = terms(b"a good secret");
        assert_eq!(with(terms(b"guess")), (Err(Refusal::Secret), Err(Refusal::Secret)));
        let other = Terms { job: [8; 32], ..right };
        assert_eq!(with(other), (Err(Refusal::Job), Err(Refusal::Job)));
        let other = Terms { threads: 3, ..right };
        assert_eq!(with(other), (Err(Refusal::Threads), Err(Refusal::Threads)));
        let other = Terms { number: 4, ..right };
        assert_eq!(with(other), (Err(Refusal::Search), Err(Refusal::Search)));
        // Meant for another process.
        let both = meet(|mut stream| call(&mut stream, &right, 1, 5, PATIENCE));
        assert_eq!(both, (Err(Refusal::Secret), Err(Refusal::Secret)));
    }

    #[test]
    fn strangers_and_other_versions_are_told_apart() {
        let (_, answered) = meet(|mut stream| stream.write_all(b"GET / HTTP/1.1\r\n\r\n"));
        assert_eq!(answered, Err(Refusal::Stranger("it uses a different protocol".into())));
        let (_, answered) = meet(drop);
        assert!(matches!(answered, Err(Refusal::Stranger(_))), "{answered:?}");
        let (theirs, answered) = meet(|mut stream| {
            stream.write_all(&greeting("0.0.1-old", &[1; 32])).expect("it is read");
            let mut reply = [0; GREETING];
            stream.read_exact(&mut reply).map(|()| reply[16..21].to_vec())
        });
        assert_eq!(answered, Err(Refusal::Version("0.0.1-old".into())));
        assert_eq!(theirs.expect("it was answered"), version().as_bytes()[..5]);
    }

    /// A byte now and then does not extend the time.
    #[test]
    fn a_slow_end_has_no_more_time() {
        let begin = Instant::now();
        let (_, answered) = meet(|mut stream| {
            let greeting = greeting(version(), &[1; 32]);
            for byte in greeting {
                if stream.write_all(&[byte]).is_err() {
                    return;
                }
                std::thread::sleep(PATIENCE / 8);
            }
        });
        assert!(matches!(answered, Err(Refusal::Stranger(_))), "{answered:?}");
        // The other end notices at its next byte.
        assert!(begin.elapsed() < 2 * PATIENCE, "{:?}", begin.elapsed());
    }

    #[test]
    fn a_proof_cannot_be_used_again() {
        let (first, second) = ([1; 32], [2; 32]);
        let message = proof(&terms(b"s"), b"call", (1, 0), [&first, &second]);
        assert_eq!(check(&terms(b"s"), b"call", 0, [&first, &second], &message), Ok(1));
        let other = [3; 32];
        for randoms in [[&first, &other], [&second, &first]] {
            let checked = check(&terms(b"s"), b"call", 0, randoms, &message);
            assert_eq!(checked, Err(Refusal::Secret));
        }
        let checked = check(&terms(b"s"), b"answer", 0, [&first, &second], &message);
        assert_eq!(checked, Err(Refusal::Secret), "nor in the other role");
    }
}
