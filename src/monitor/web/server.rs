//! Connections, and their bounds: number, size and time.

use std::convert::Infallible;
use std::io;
use std::net::{TcpListener as StdListener, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

use super::body::ResponseBody;
use super::site::Site;

/// Maximum number of connections. Further ones are closed at once.
const MAX_CONNECTIONS: usize = 32;
/// Maximum size of the head of a request, in bytes: the minimum of `hyper`.
const MAX_HEAD: usize = 8 * 1024;
/// Maximum number of header lines. A browser sends about 15.
const MAX_HEADERS: usize = 48;
/// Time for a request and its answer. A stream of events has no end; see `STALLED` in `site`.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after an error of the operating system: no file descriptors, for example.
const PAUSE: Duration = Duration::from_millis(200);

/// Opens the port. Port 0 is any free one.
///
/// # Errors
/// The address is not one of this machine, or the port is in use.
pub fn bind(address: &str, port: u16) -> io::Result<StdListener> {
    let addresses = (address, port).to_socket_addrs()?;
    let listener = StdListener::bind(&*addresses.collect::<Vec<_>>())?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves until the program ends, on the current thread.
///
/// # Errors
/// The operating system allows no event loop.
pub fn run(listener: StdListener, site: Site) -> io::Result<Infallible> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    runtime.block_on(serve(listener, Arc::new(site)))
}

/// Serves until it is dropped.
///
/// # Errors
/// The listener cannot be used.
pub async fn serve(listener: StdListener, site: Arc<Site>) -> io::Result<Infallible> {
    let listener = TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            continue;
        };
        let site = Arc::clone(&site);
        tokio::spawn(async move {
            serve_connection(stream, site).await;
            drop(place);
        });
    }
}

/// Answers the one request of a connection.
async fn serve_connection(stream: TcpStream, site: Arc<Site>) {
    // Small events must not wait for one another.
    let _ = stream.set_nodelay(true);
    let events: Mutex<Option<mpsc::Sender<Infallible>>> = Mutex::new(None);
    let answer = service_fn(|request: Request<Incoming>| {
        let response = site.answer(&request, |alive| {
            *events.lock().unwrap_or_else(PoisonError::into_inner) = Some(alive);
        });
        async move { Ok::<Response<ResponseBody>, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = std::pin::pin!(connection);
    if tokio::time::timeout(REQUEST_TIMEOUT, connection.as_mut())
        .await
        .is_ok()
    {
        return;
    }
    let alive = events.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(alive) = alive {
        tokio::select! {
            _ = connection => {}
            () = alive.closed() => {}
        }
    }
}
