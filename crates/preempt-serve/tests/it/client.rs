//! A server in this process, and just enough HTTP to ask it anything, proper or not.

use preempt_serve::{About, BooleanFile, Origin, PromelaFile, SearchOption, SearchOptions, Server};
use preempt_verify::{Request, Storage};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A server that ends with this value.
pub(crate) struct Served {
    pub(crate) port: u16,
    pub(crate) token: String,
    stop: Arc<AtomicBool>,
    running: Option<JoinHandle<()>>,
}

/// A response.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// The folder of the example models.
pub(crate) fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

/// A model from a file.
pub(crate) fn file(path: PathBuf) -> Box<dyn Origin> {
    match path.extension().is_some_and(|extension| extension == "bp") {
        true => Box::new(BooleanFile::new(path)),
        false => Box::new(PromelaFile::new(path, Vec::new(), Default::default())),
    }
}

/// A folder for one test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Two options, and a rule about them.
fn some_options() -> SearchOptions {
    let option = |name: &str, values: &[&str], value_name: Option<&str>| SearchOption {
        name: name.into(),
        about: format!("What {name} means"),
        values: values.iter().map(|value| value.to_string()).collect(),
        value_name: value_name.map(String::from),
    };
    let read = |words: &[String], about: About| {
        let mut request = Request::default();
        for word in words {
            match word.as_str() {
                "--first" => request.first = true,
                "--store=tree" if about == About::Boolean => {
                    return Err("--store is for models".into());
                }
                "--store=tree" => request.storage = Storage::Tree,
                "--bound=1" => {}
                other => return Err(format!("{other} is not understood")),
            }
        }
        Ok(request)
    };
    let list =
        vec![option("--first", &[], None), option("--store", &["exact", "tree"], Some("STORE"))];
    SearchOptions { list, read: Box::new(read) }
}

impl Served {
    pub(crate) fn new(origins: Vec<Box<dyn Origin>>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let server = Server::bind(origins, 0).unwrap().stop(stop.clone());
        let server = server.search_options(some_options());
        let url = server.url();
        let (port, token) = url.strip_prefix("http://127.0.0.1:").unwrap().split_once('/').unwrap();
        let (port, token) = (port.parse().unwrap(), token.trim_matches('/').to_string());
        let running = Some(std::thread::spawn(move || server.run().unwrap()));
        Served { port, token, stop, running }
    }

    /// Example models by name.
    pub(crate) fn examples(names: &[&str]) -> Self {
        Served::new(names.iter().map(|name| file(models().join(name))).collect())
    }

    /// A model from text.
    pub(crate) fn text(test: &str, text: &str) -> (Self, PathBuf) {
        let path = folder(test).join("model.pml");
        std::fs::write(&path, text).unwrap();
        (Served::new(vec![file(path.clone())]), path)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Sends bytes as they are.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Response {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // The server may refuse before it has read everything.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Response { status, head: head.to_lowercase(), body: body.to_string() }
    }

    /// Sends a request with these headers beside the usual ones.
    pub(crate) fn request(&self, method: &str, path: &str, more: &str, body: &str) -> Response {
        let length = body.len();
        let port = self.port;
        self.raw(
            format!(
                "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\ncontent-length: {length}\r\n{more}\r\n{body}"
            )
            .as_bytes(),
        )
    }

    pub(crate) fn get(&self, name: &str) -> Response {
        self.request("GET", &format!("/{}/{name}", self.token), "", "")
    }

    pub(crate) fn post(&self, question: &str, body: &Value) -> Response {
        let path = format!("/{}/api/{question}", self.token);
        self.request("POST", &path, "content-type: application/json\r\n", &body.to_string())
    }

    /// Asks, and expects an answer.
    pub(crate) fn ask(&self, question: &str, body: Value) -> Value {
        let response = self.post(question, &body);
        assert_eq!(response.status, 200, "{question} {body}: {}", response.body);
        serde_json::from_str(&response.body).unwrap()
    }

    /// Asks, and expects a refusal.
    pub(crate) fn refused(&self, question: &str, body: Value) -> (u16, String) {
        let response = self.post(question, &body);
        let answer: Value = serde_json::from_str(&response.body).unwrap();
        (response.status, answer["problem"].as_str().unwrap().to_string())
    }

    /// The stream of events.
    pub(crate) fn events(&self) -> Events {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (token, port) = (&self.token, self.port);
        write!(stream, "GET /{token}/api/events HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n")
            .unwrap();
        let mut events = Events { lines: BufReader::new(stream) };
        while !events.line().trim().is_empty() {}
        events
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(running) = self.running.take() {
            let _ = running.join();
        }
    }
}

/// What the server tells by itself.
pub(crate) struct Events {
    lines: BufReader<TcpStream>,
}

impl Events {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("an event in time");
        line
    }

    /// The next event of a kind.
    pub(crate) fn next(&mut self, kind: &str) -> Value {
        let deadline = Instant::now() + Duration::from_secs(40);
        loop {
            assert!(Instant::now() < deadline, "no event `{kind}` in time");
            if let Some(data) = self.line().strip_prefix("data: ") {
                let event: Value = serde_json::from_str(data).unwrap();
                if event["event"] == kind {
                    return event;
                }
            }
        }
    }
}
