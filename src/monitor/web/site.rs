//! What the server answers.

use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, ORIGIN};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, spawn_blocking};

use super::body::ResponseBody;
use super::feed::{Cursor, Feed};
use super::request_guard::{Refusal, check_no_body, check_source, check_token};
use super::robot::{Robot, Robots};
use super::token::Token;
use super::visitor::Visitor;
use crate::monitor::pause::Client;

/// Minimum time between two events for a client: the page draws 20 times a second.
const FRAME_PERIOD: Duration = Duration::from_millis(50);
/// Time without changes after which an empty event shows whether the client is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Time after which a client that reads nothing is disconnected.
const STALLED: Duration = Duration::from_secs(30);
/// Size of what a client gets at once.
const CHUNK: usize = 256 * 1024;

/// The key in the query of the page's request for events. A header of the browser would not do: it sends none to a robot's address
/// without encryption.
const PAGE: &str = "page";

/// The comment in the stream of events after all that had happened before the client connected.
pub(in crate::monitor) const UP_TO_DATE: &str = ": up to date\n\n";

/// What the page may do to the robot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Stop to tick the tree. Its goals continue.
    Pause,
    /// One tick of a paused tree.
    Step,
    /// Tick again.
    Resume,
    /// Cancel the navigation goal. It names the goal, so that it does not cancel the next one.
    Cancel,
}

impl Act {
    /// The last part of its path.
    #[cfg(feature = "ros")]
    pub(super) fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, act)| *act == self);
        found.map_or("", |(name, _)| name)
    }

    /// All acts, with the last part of their paths.
    const ALL: [(&'static str, Self); 4] = [
        ("pause", Self::Pause),
        ("step", Self::Step),
        ("resume", Self::Resume),
        ("cancel", Self::Cancel),
    ];
}

/// The node behind a page. Its answers may wait for the tick thread, so they are made on threads of their own.
pub trait Controls: Send + Sync {
    /// Does something to the robot. `goal` is the ID of the goal that a cancel is for; empty for other acts.
    ///
    /// # Errors
    /// The reason why it cannot be done.
    fn act(&self, act: Act, goal: &str, client: Client) -> Result<(), String>;

    /// The numbers of the node, in the text format of Prometheus.
    fn metrics(&self) -> String;
}

/// What one server shows, and to whom.
pub struct Site {
    /// The robots to choose from.
    pub robots: Robots,
    /// The secret of those who may read and act.
    pub token: Token,
    /// A name of this machine that clients may use, besides its addresses.
    pub name: Option<String>,
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").finish_non_exhaustive()
    }
}

/// A file of the page: its path, type and content.
type PageFile = (&'static str, &'static str, &'static str);

const SCRIPT: &str = "text/javascript; charset=utf-8";

const FILES: [PageFile; 8] = [
    ("/", "text/html; charset=utf-8", include_str!("page/page.html")),
    (
        "/page.css",
        "text/css; charset=utf-8",
        include_str!("page/page.css"),
    ),
    ("/run.js", SCRIPT, include_str!("page/run.js")),
    ("/tree.js", SCRIPT, include_str!("page/tree.js")),
    ("/details.js", SCRIPT, include_str!("page/details.js")),
    ("/timeline.js", SCRIPT, include_str!("page/timeline.js")),
    ("/page.js", SCRIPT, include_str!("page/page.js")),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
];

/// Nothing is loaded from other hosts, no script but the page's own runs, and no other page may contain it.
const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (
        HeaderName::from_static("content-security-policy"),
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
        ),
    ),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (
        HeaderName::from_static("x-content-type-options"),
        HeaderValue::from_static("nosniff"),
    ),
    (
        HeaderName::from_static("referrer-policy"),
        HeaderValue::from_static("no-referrer"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// The answer to a request.
enum Answer {
    /// It is known.
    Now(Response<ResponseBody>),
    /// A thread asks the node.
    Asked(JoinHandle<Response<ResponseBody>>),
}

impl Site {
    /// Answers the request of a connection.
    pub(super) fn answer<B>(
        &self,
        request: &Request<B>,
        visitor: &Visitor,
    ) -> impl Future<Output = Response<ResponseBody>> + use<B> {
        let answer = self.try_answer(request, visitor);
        async move {
            let answer = match answer {
                Ok(Answer::Now(response)) => Ok(response),
                Ok(Answer::Asked(asked)) => asked
                    .await
                    .map_err(|_| (StatusCode::INTERNAL_SERVER_ERROR, "the request has panicked\n")),
                Err(refusal) => Err(refusal),
            };
            let mut response = answer
                .unwrap_or_else(|(status, reason)| text(status, "text/plain; charset=utf-8", reason.into()));
            for (name, value) in HEADERS {
                response.headers_mut().insert(name, value);
            }
            response
        }
    }

    fn try_answer<B>(&self, request: &Request<B>, visitor: &Visitor) -> Result<Answer, Refusal> {
        check_source(request, self.name.as_deref())?;
        check_no_body(request)?;
        let path = request.uri().path();
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        if is_read && let Some((_, kind, content)) = FILES.iter().find(|(of, ..)| *of == path) {
            return Ok(Answer::Now(text(StatusCode::OK, kind, (*content).into())));
        }
        check_token(request, &self.token)?;
        let is_stream = path == "/events" && *request.method() == Method::GET;
        if !visitor.trust(is_stream) {
            return Err((StatusCode::SERVICE_UNAVAILABLE, "too many pages are open\n"));
        }
        let query = request.uri().query();
        let robot = self
            .robots
            .chosen(query)
            .ok_or((StatusCode::NOT_FOUND, "there is no robot of this name here\n"))?;
        match path {
            "/robots" if is_read => {
                let names = self.robots.names();
                Ok(Answer::Now(text(
                    StatusCode::OK,
                    "application/json",
                    names.into(),
                )))
            }
            "/events" if is_stream => {
                let mut keys = query
                    .unwrap_or_default()
                    .split('&')
                    .map(|pair| pair.trim_end_matches('='));
                let page = keys.any(|key| key == PAGE).then(|| self.robots.begin_page());
                Ok(Answer::Now(events(&robot, visitor, page)))
            }
            "/metrics" if is_read => metrics(&robot),
            _ => match path.strip_prefix("/act/") {
                Some(_) if *request.method() == Method::POST && self.robots.is_ambiguous(query) => Err((
                    StatusCode::BAD_REQUEST,
                    "this process has several robots: add ?robot=NAME; GET /robots lists the names\n",
                )),
                Some(name) if *request.method() == Method::POST => act(&robot, name, client_of(request)),
                Some(_) => Err((StatusCode::METHOD_NOT_ALLOWED, "acts are POST requests\n")),
                None => Err((StatusCode::NOT_FOUND, "there is nothing here\n")),
            },
        }
    }
}

fn metrics(robot: &Robot) -> Result<Answer, Refusal> {
    let controls = robot
        .controls
        .clone()
        .ok_or((StatusCode::NOT_FOUND, "a recording has no metrics\n"))?;
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let ask = move || text(StatusCode::OK, kind, controls.metrics().into());
    Ok(Answer::Asked(spawn_blocking(ask)))
}

fn act(robot: &Robot, path: &str, client: Client) -> Result<Answer, Refusal> {
    let (name, goal) = path.split_once('/').unwrap_or((path, ""));
    let known = Act::ALL.iter().find(|(known, _)| *known == name);
    let (Some((_, act)), Some(controls)) = (known, robot.controls.clone()) else {
        return Err((StatusCode::NOT_FOUND, "there is no such act here\n"));
    };
    if goal.is_empty() == (*act == Act::Cancel) {
        return Err((
            StatusCode::BAD_REQUEST,
            "a cancel names its goal, /act/cancel/ID, and no other act does\n",
        ));
    }
    let kind = "text/plain; charset=utf-8";
    let goal = goal.to_owned();
    let ask = move || match controls.act(*act, &goal, client) {
        Ok(()) => text(StatusCode::OK, kind, "done\n".into()),
        Err(reason) => text(StatusCode::CONFLICT, kind, format!("{reason}\n").into()),
    };
    Ok(Answer::Asked(spawn_blocking(ask)))
}

/// A stream of events. `page`: what it holds if the client is a page.
fn events(robot: &Robot, visitor: &Visitor, page: Option<watch::Receiver<()>>) -> Response<ResponseBody> {
    let (events, receiver) = mpsc::channel(1);
    let (alive, ended) = mpsc::channel(1);
    visitor.begin_events(alive);
    let sent = send_events(robot.feed.clone(), events, ended);
    tokio::spawn(async move {
        sent.await;
        drop(page);
    });
    let mut response = Response::new(ResponseBody::Events(receiver));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// The client of a request. A browser sends one of these headers with each POST request, also while the page's stream of
/// events is interrupted.
fn client_of<B>(request: &Request<B>) -> Client {
    let headers = request.headers();
    if headers.contains_key(ORIGIN) || headers.contains_key("sec-fetch-site") {
        Client::Page
    } else {
        Client::Program
    }
}

fn text(status: StatusCode, kind: &'static str, body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Sends the events of a feed to one client, until the feed has ended, or the client has gone or reads nothing any more.
async fn send_events(feed: Feed, events: mpsc::Sender<Bytes>, _ended: mpsc::Receiver<Infallible>) {
    let mut cursor = Cursor::default();
    let mut version = feed.watch();
    let mut is_behind = true;
    loop {
        version.mark_unchanged();
        let mut text = feed.read(&mut cursor, CHUNK);
        if is_behind && text.len() < CHUNK {
            text.push_str(UP_TO_DATE);
            is_behind = false;
        }
        if text.is_empty() && feed.has_ended() {
            return;
        }
        if text.is_empty() {
            tokio::select! {
                // At once: a closed page is not to count as one that watches.
                () = events.closed() => return,
                changed = version.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => return,
                },
                () = tokio::time::sleep(KEEP_ALIVE) => text.push_str(": still here\n\n"),
            }
        }
        let is_whole = text.len() < CHUNK;
        let sent = tokio::time::timeout(STALLED, events.send(text.into())).await;
        if !matches!(sent, Ok(Ok(()))) {
            return;
        }
        if is_whole {
            tokio::time::sleep(FRAME_PERIOD).await;
        }
    }
}
