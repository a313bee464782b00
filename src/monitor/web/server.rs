//! Connections, and their bounds: number, size and time.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{TcpListener as StdListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

use super::body::ResponseBody;
use super::site::Site;
use super::visitor::{Places, Visitor};
use crate::worker::IDLE_TIME;

/// Maximum number of streams of events, and of connections with other requests, that have shown the token. Further ones are
/// refused.
const MAX_TRUSTED: usize = 24;
/// Maximum number of connections that have not shown the token. A further one takes the place of the oldest, so that
/// idle ones do not keep others out.
const MAX_STRANGERS: usize = 16;
/// Maximum size of the head of a request, in bytes: the minimum of `hyper`.
const MAX_HEAD: usize = 8 * 1024;
/// Maximum number of header lines. A browser sends about 15.
const MAX_HEADERS: usize = 48;
/// Time for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for a request and its answer. A stream of events has no end; see `STALLED` in `site`.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Time without an acknowledgement of sent data after which a client has vanished. A stream of events sends each
/// `KEEP_ALIVE` of `site` at least.
#[cfg(target_os = "linux")]
const VANISHED: Duration = Duration::from_secs(10);
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
    runtime()?.block_on(serve(listener, Arc::new(site)))
}

/// One thread serves all connections. Others exist only while a request asks a node, which may wait for its tick thread.
pub(super) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .thread_name("monitor-request")
        .thread_keep_alive(IDLE_TIME)
        .build()
}

/// Serves until it is dropped.
///
/// # Errors
/// The listener cannot be used.
pub async fn serve(listener: StdListener, site: Arc<Site>) -> io::Result<Infallible> {
    let listener = TcpListener::from_std(listener)?;
    let places = Places::new(MAX_TRUSTED);
    let mut strangers = Strangers::default();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        prepare(&stream);
        let is_trusted = Arc::new(AtomicBool::new(false));
        let visitor = Visitor::new(Arc::clone(&is_trusted), places.clone());
        let site = Arc::clone(&site);
        let task = tokio::spawn(async move { serve_connection(stream, site, &visitor).await });
        strangers.add(task.abort_handle(), is_trusted);
    }
}

/// Sets the options of a connection. Without them it works too.
fn prepare(stream: &TcpStream) {
    // Small events must not wait for one another.
    let _ = stream.set_nodelay(true);
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(stream).set_tcp_user_timeout(Some(VANISHED));
}

/// The connections that have not shown the token, oldest first.
#[derive(Default)]
struct Strangers(VecDeque<(AbortHandle, Arc<AtomicBool>)>);

impl Strangers {
    /// Adds a connection that has just begun. Closes the oldest one if there are too many.
    fn add(&mut self, task: AbortHandle, is_trusted: Arc<AtomicBool>) {
        self.0
            .retain(|(task, is_trusted)| !task.is_finished() && !is_trusted.load(Ordering::Relaxed));
        if self.0.len() >= MAX_STRANGERS
            && let Some((oldest, _)) = self.0.pop_front()
        {
            oldest.abort();
        }
        self.0.push_back((task, is_trusted));
    }
}

/// Answers the one request of a connection.
pub async fn serve_connection<S>(stream: S, site: Arc<Site>, visitor: &Visitor)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let answer = service_fn(|request: Request<Incoming>| {
        let response = site.answer(&request, visitor);
        async move { Ok::<Response<ResponseBody>, Infallible>(response.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
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
    if let Some(alive) = visitor.take_events() {
        tokio::select! {
            // First: the end of a stream that has ended is still to be sent.
            biased;
            _ = connection => {}
            () = alive.closed() => {}
        }
    }
}
