//! The HTTP side: a page, its scripts, questions with answers in JSON, and one stream of events.
//!
//! **Invariants:** nothing is answered before the [guard](crate::guard) let the request in; bodies,
//! headers, waiting times and [connections](crate::connections) are limited, so that those without the token
//! cannot keep out those with it; no path names a file on disk.

use crate::api;
use crate::assets;
use crate::connections::{Connections, Patient, Place};
use crate::explorer::{Explorer, Refusal};
use crate::guard::{Denied, Guard};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// A path of a million steps fits, and not much more.
const LARGEST_BODY: usize = 8 << 20;
const HEADER_TIME: Duration = Duration::from_secs(10);
const BODY_TIME: Duration = Duration::from_secs(20);
/// Keeps a stream of events open, and finds out when it is no longer read.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The page may load what this server serves, and nothing else; its scripts and styles are files.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Serves until the future is dropped.
pub(crate) async fn serve(listener: TcpListener, explorer: Arc<Explorer>, guard: Guard) {
    let connections = Connections::default();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (explorer, guard) = (explorer.clone(), guard.clone());
        connections.open(move |place| async move {
            let place = Arc::new(place);
            let service = service_fn(|request| {
                let (explorer, guard, place) = (explorer.clone(), guard.clone(), place.clone());
                async move { Ok::<_, Infallible>(respond(request, &explorer, &guard, &place).await) }
            });
            // A connection that fails is the other side's affair.
            let _ = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIME)
                .max_buf_size(64 << 10)
                .serve_connection(TokioIo::new(Patient::new(stream)), service)
                .await;
        });
    }
}

async fn respond(
    request: Request<Incoming>,
    explorer: &Arc<Explorer>,
    guard: &Guard,
    place: &Place,
) -> Response<Answer> {
    let path = request.uri().path().to_string();
    let mut response = match guard.admit(&path, request.headers()) {
        Err(denied) => last(&Refusal {
            status: 403,
            message: match denied {
                Denied::Host => "the request is for another host name",
                Denied::Origin => "requests from other pages are refused",
                Denied::Token => "the address lacks the token that preempt serve printed",
            }
            .into(),
        }),
        Ok(_) if !place.admit() => {
            last(&Refusal { status: 503, message: "there are too many connections".into() })
        }
        Ok(asked) => match asked.strip_prefix("api/") {
            Some("events") => events(&request, explorer),
            Some(question) => {
                let question = question.to_string();
                question_answered(request, question, explorer).await
            }
            None => asset(&request, asked),
        },
    };
    let headers = response.headers_mut();
    let fixed = [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn asset(request: &Request<Incoming>, name: &str) -> Response<Answer> {
    let found = assets::find(name).filter(|_| request.method() == Method::GET);
    match found {
        Some((kind, text)) => whole(StatusCode::OK, kind, text.into_owned()),
        None => refuse(&Refusal { status: 404, message: "there is nothing here".into() }),
    }
}

async fn question_answered(
    request: Request<Incoming>,
    question: String,
    explorer: &Arc<Explorer>,
) -> Response<Answer> {
    // A form of another page can send neither this method with this type nor read the answer.
    let is_json =
        request.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if request.method() != Method::POST || !is_json {
        let message = "requests must be posted as application/json".into();
        return refuse(&Refusal { status: 405, message });
    }
    let body = Limited::new(request.into_body(), LARGEST_BODY).collect();
    let body = match tokio::time::timeout(BODY_TIME, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => {
            return refuse(&Refusal { status: 413, message: "the request is too large".into() });
        }
        Err(_) => {
            return refuse(&Refusal { status: 408, message: "the request took too long".into() });
        }
    };
    let explorer = explorer.clone();
    let work = tokio::task::spawn_blocking(move || {
        api::answer(&explorer, &question, &body).map(|answer| answer.to_string())
    });
    match work.await {
        Ok(Ok(answer)) => whole(StatusCode::OK, "application/json", answer),
        Ok(Err(refusal)) => refuse(&refusal),
        Err(_) => refuse(&Refusal { status: 500, message: "a bug in preempt".into() }),
    }
}

fn refuse(refusal: &Refusal) -> Response<Answer> {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    whole(status, "application/json", json!({ "problem": refusal.message }).to_string())
}

/// A refusal after which the connection is closed.
fn last(refusal: &Refusal) -> Response<Answer> {
    let mut response = refuse(refusal);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

fn whole(status: StatusCode, kind: &'static str, text: String) -> Response<Answer> {
    let mut response = Response::new(Answer::Whole(Full::new(Bytes::from(text))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A stream of events, as browsers read it.
fn events(request: &Request<Incoming>, explorer: &Arc<Explorer>) -> Response<Answer> {
    if request.method() != Method::GET {
        return refuse(&Refusal { status: 405, message: "events are read by GET".into() });
    }
    let mut heard = explorer.listen();
    let (sender, receiver) = mpsc::channel(16);
    tokio::spawn(async move {
        use tokio::sync::broadcast::error::RecvError;
        loop {
            let text = match tokio::time::timeout(HEARTBEAT, heard.recv()).await {
                Ok(Ok(event)) => format!("data: {event}\n\n"),
                // Progress that was missed will be followed by more.
                Ok(Err(RecvError::Lagged(_))) => continue,
                Ok(Err(RecvError::Closed)) => return,
                Err(_) => ": still here\n\n".to_string(),
            };
            if sender.send(Bytes::from(text)).await.is_err() {
                return;
            }
        }
    });
    let mut response = Response::new(Answer::Events(receiver));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// The body of a response.
enum Answer {
    Whole(Full<Bytes>),
    Events(mpsc::Receiver<Bytes>),
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Answer::Whole(body) => Pin::new(body).poll_frame(context),
            Answer::Events(receiver) => {
                receiver.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Answer::Whole(body) => body.is_end_stream(),
            Answer::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Answer::Whole(body) => body.size_hint(),
            Answer::Events(_) => SizeHint::default(),
        }
    }
}
