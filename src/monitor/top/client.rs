//! The connection to a node: reads its stream of events, and connects again when it is lost.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, HOST};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::address::Address;
use super::event_parser::EventParser;
use super::robot::Update;

/// Time between two attempts to connect.
const RETRY_PERIOD: Duration = Duration::from_secs(1);
/// Maximum time for a connection and the first part of its answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time for the names of the robots.
const NAMES_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size of the names of the robots, in bytes.
const MAX_NAMES: usize = 1 << 20;
/// Time without data after which the connection is lost. The server sends something every 10 s.
const SILENCE: Duration = Duration::from_secs(30);

/// Reads the events of a node on the current thread, until `send` returns false.
pub(super) fn run(address: &Address, mut send: impl FnMut(Update) -> bool) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(stay_connected(address, &mut send)),
        Err(error) => drop(send(Update::Disconnected(error.to_string()))),
    }
}

async fn stay_connected(address: &Address, send: &mut impl FnMut(Update) -> bool) {
    loop {
        let reason = match read(address, send).await {
            Ok(()) => return,
            Err(reason) => reason,
        };
        if !send(Update::Disconnected(reason)) {
            return;
        }
        tokio::time::sleep(RETRY_PERIOD).await;
    }
}

/// Reads the stream until `send` returns false.
async fn read(address: &Address, send: &mut impl FnMut(Update) -> bool) -> Result<(), String> {
    let answer = tokio::time::timeout(CONNECT_TIMEOUT, request(address, "/events"));
    let mut body = answer
        .await
        .map_err(|_| format!("{address} does not answer"))??
        .into_body();
    if !send(Update::Connected) {
        return Ok(());
    }
    let mut parser = EventParser::default();
    loop {
        let piece = tokio::time::timeout(SILENCE, next(&mut body)).await;
        let piece = piece.map_err(|_| format!("{address} is silent for {} s", SILENCE.as_secs()))??;
        let Some(piece) = piece else {
            return Err(format!("{address} has closed the connection"));
        };
        for event in parser.take(&piece)? {
            if !send(Update::Event(event)) {
                return Ok(());
            }
        }
    }
}

/// The next piece of a body; `None` at its end.
async fn next(body: &mut Incoming) -> Result<Option<Bytes>, String> {
    loop {
        match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
            None => return Ok(None),
            Some(Err(error)) => return Err(format!("the connection is lost: {error}")),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

/// The names of the robots of a process.
///
/// # Errors
/// The node cannot be reached, or does not answer in time.
pub(super) fn robots(address: &Address) -> Result<Vec<String>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| error.to_string())?;
    let names = async {
        let mut body = request(address, "/robots").await?.into_body();
        let mut text = Vec::new();
        while let Some(piece) = next(&mut body).await?
            && text.len() < MAX_NAMES
        {
            text.extend_from_slice(&piece);
        }
        serde_json::from_slice(&text).map_err(|error| error.to_string())
    };
    runtime.block_on(async {
        let answer = tokio::time::timeout(NAMES_TIMEOUT, names).await;
        answer.map_err(|_| format!("{address} does not answer"))?
    })
}

/// Asks for something.
async fn request(address: &Address, path: &str) -> Result<Response<Incoming>, String> {
    let with_address = |error: &dyn std::fmt::Display| format!("{address}: {error}");
    let stream = TcpStream::connect(&address.authority)
        .await
        .map_err(|error| with_address(&error))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| with_address(&error))?;
    // It ends with the response: the runtime ends before that only together with the program.
    tokio::spawn(connection);
    let request = Request::get(address.request(path))
        .header(HOST, &address.authority)
        .header(AUTHORIZATION, format!("Bearer {}", address.token))
        .body(String::new())
        .map_err(|_| "the token has characters that no token has".to_owned())?;
    let response = sender
        .send_request(request)
        .await
        .map_err(|error| with_address(&error))?;
    match response.status() {
        StatusCode::OK => Ok(response),
        StatusCode::NOT_FOUND => Err(format!("{address}: there is no robot of this name")),
        StatusCode::UNAUTHORIZED => Err(format!(
            "{address}: the token is missing or wrong: the node prints its address with the token when it starts"
        )),
        status => Err(format!(
            "{address} answers {status}: is this the monitor port of navtree?"
        )),
    }
}
