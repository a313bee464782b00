//! The two sockets of an endpoint, and the bounds of their connections.

use std::io;
use std::net::{Ipv4Addr, TcpListener as StdListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, broadcast, mpsc};
use tokio::time::timeout;

use super::publisher::Publisher;
use super::request::error_reply;
use super::zmtp::{self, Message, ZmtpError};
use crate::bt::{Registry, Time, TreeDef};
use crate::monitor::pause::PauseControl;
use crate::record::stored::{StoredNavigation, StoredRecord};

/// Maximum number of connections of a socket. Further ones are closed at once.
const MAX_CONNECTIONS: usize = 16;
/// Maximum time for the handshake, and for the writing of a reply.
const IO_TIMEOUT: Duration = Duration::from_secs(5);
/// Time without a message after which a connection is closed, so that those that a client has forgotten keep no place.
/// ZeroMQ's clients connect again by themselves.
const IDLE_LIMIT: Duration = Duration::from_secs(60);
/// Number of messages that wait for a client. A slower client loses some.
const QUEUE: usize = 64;
/// Maximum number of prefixes that a client may subscribe, and their maximum size.
const MAX_TOPICS: (usize, usize) = (16, 64);
/// Pause after an error of the operating system.
const PAUSE: Duration = Duration::from_millis(200);

/// An endpoint: replies on a port, and publishes on the next one.
#[derive(Clone)]
pub struct Endpoint {
    publisher: Arc<Mutex<Publisher>>,
    messages: broadcast::Sender<Arc<Vec<Vec<u8>>>>,
    begin: Instant,
    idle_limit: Duration,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").finish_non_exhaustive()
    }
}

/// The listeners of an endpoint.
#[derive(Debug)]
pub struct Listeners {
    reply: StdListener,
    publish: StdListener,
}

impl Listeners {
    /// Opens a port of the loopback interface and the next one.
    ///
    /// # Errors
    /// A port is in use, or there is no next one.
    pub fn bind(port: u16) -> io::Result<Self> {
        let bind = |port: u16| {
            let listener = StdListener::bind((Ipv4Addr::LOCALHOST, port))?;
            listener.set_nonblocking(true)?;
            Ok::<_, io::Error>(listener)
        };
        let next = port.checked_add(1);
        let next = next.ok_or_else(|| io::Error::other("there is no next port for the breakpoints"))?;
        Ok(Self {
            reply: bind(port)?,
            publish: bind(next)?,
        })
    }
}

#[cfg(test)]
impl Listeners {
    /// Opens any two ports.
    pub(super) fn bind_any() -> io::Result<Self> {
        let free = StdListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        Self::bind(free)
    }

    /// The addresses of replies and of messages.
    pub(super) fn addresses(&self) -> io::Result<[std::net::SocketAddr; 2]> {
        Ok([self.reply.local_addr()?, self.publish.local_addr()?])
    }
}

impl Endpoint {
    /// An endpoint without a tree. `pause`: the pause of its breakpoints; `registry`: the nodes, for their models.
    pub fn new(pause: Box<dyn PauseControl>, registry: Registry) -> Self {
        Self {
            publisher: Arc::new(Mutex::new(Publisher::new(pause, registry))),
            messages: broadcast::Sender::new(QUEUE),
            begin: Instant::now(),
            idle_limit: IDLE_LIMIT,
        }
    }

    /// The same with another limit for idle connections.
    #[cfg(test)]
    pub(super) fn with_idle_limit(self, idle_limit: Duration) -> Self {
        Self { idle_limit, ..self }
    }

    fn publisher(&self) -> MutexGuard<'_, Publisher> {
        self.publisher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A navigation begins.
    pub fn begin(&self, def: &Arc<TreeDef>, navigation: &StoredNavigation) {
        self.publisher().begin(def, navigation);
    }

    /// Takes a record of the run.
    pub fn take(&self, time: Time, record: &StoredRecord) {
        self.publisher().take(time, record);
    }

    /// Records are lost.
    pub fn lose(&self) {
        self.publisher().lose();
    }

    /// Whether there is a client.
    pub fn is_watched(&self) -> bool {
        self.publisher().is_watched()
    }

    /// Sends what is to be published, and looks whether the client is still there.
    pub fn publish(&self) {
        self.publish_at(self.now());
    }

    /// The same at a time since the endpoint was made.
    pub(super) fn publish_at(&self, now: Time) {
        let mut publisher = self.publisher();
        publisher.check_heartbeat(now);
        for message in publisher.take_notifications() {
            // Without a subscriber, it is lost, as in ZeroMQ.
            let _ = self.messages.send(Arc::new(message));
        }
    }

    fn now(&self) -> Time {
        Time::ZERO + self.begin.elapsed()
    }

    /// Serves until it is dropped.
    ///
    /// # Errors
    /// A listener cannot be used.
    pub async fn serve(self, listeners: Listeners) -> io::Result<()> {
        let reply = accept(listeners.reply, |stream| {
            let endpoint = self.clone();
            async move { endpoint.reply(stream).await }
        });
        let publish = accept(listeners.publish, |stream| {
            let endpoint = self.clone();
            async move { endpoint.send_messages(stream).await }
        });
        tokio::try_join!(reply, publish).map(|((), ())| ())
    }

    /// Serves a connection until its client ends it or does what the protocol does not allow: requests, or the
    /// subscription of messages.
    pub async fn serve_connection<S>(&self, stream: S, is_subscriber: bool)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let _ = match is_subscriber {
            true => self.send_messages(stream).await,
            false => self.reply(stream).await,
        };
    }

    /// Answers the requests of a connection.
    async fn reply<S: AsyncRead + AsyncWrite + Unpin>(&self, mut stream: S) -> Result<(), ZmtpError> {
        in_time(zmtp::shake_hands(&mut stream, "REP", &["REQ", "DEALER"])).await?;
        loop {
            let message = timeout(self.idle_limit, zmtp::read(&mut stream)).await;
            let frames = match message.map_err(|_| IDLE)?? {
                Message::Frames(frames) => frames,
                Message::Command(name, data) => {
                    if let Some(pong) = zmtp::pong(&name, &data) {
                        in_time(zmtp::write_command(&mut stream, &pong)).await?;
                    }
                    continue;
                }
            };
            // The envelope ends with an empty frame.
            let end = frames.iter().position(Vec::is_empty);
            let end = end.ok_or(ZmtpError::Protocol("a request without envelope"))? + 1;
            let (envelope, request) = frames.split_at(end);
            let mut answer = envelope.to_vec();
            answer.extend(if request.is_empty() {
                error_reply("empty request")
            } else {
                self.publisher().answer(request, self.now())
            });
            in_time(zmtp::write(&mut stream, &answer)).await?;
        }
    }

    /// Publishes to one subscriber.
    async fn send_messages<S: AsyncRead + AsyncWrite + Unpin>(&self, mut stream: S) -> Result<(), ZmtpError> {
        let mut messages = self.messages.subscribe();
        in_time(zmtp::shake_hands(&mut stream, "PUB", &["SUB", "XSUB"])).await?;
        let (mut reader, mut writer) = tokio::io::split(stream);
        let topics = Mutex::new(Vec::new());
        let (pongs, mut answers) = mpsc::channel(1);
        let read = async {
            loop {
                let message = zmtp::read(&mut reader).await?;
                if let Message::Command(name, data) = &message
                    && let Some(pong) = zmtp::pong(name, data)
                {
                    // The writer ends together with this task.
                    let _ = pongs.send(pong).await;
                }
                let mut topics = topics.lock().unwrap_or_else(PoisonError::into_inner);
                subscribe(&mut topics, &message)?;
            }
        };
        let write = async {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(self.idle_limit) => {
                        // A subscriber says nothing. The requests of the same client show that it is still there.
                        if !self.is_watched() {
                            return Err(IDLE);
                        }
                    }
                    Some(pong) = answers.recv() => in_time(zmtp::write_command(&mut writer, &pong)).await?,
                    message = messages.recv() => match message {
                        Ok(message) => {
                            let is_wanted = is_subscribed(&topics.lock().unwrap_or_else(PoisonError::into_inner), &message);
                            if is_wanted {
                                in_time(zmtp::write(&mut writer, &message)).await?;
                            }
                        }
                        Err(broadcast::error::RecvError::Lagged(_)) => {}
                        Err(broadcast::error::RecvError::Closed) => return Ok(()),
                    },
                }
            }
        };
        tokio::select! {
            ended = read => ended,
            ended = write => ended,
        }
    }
}

/// The end of an idle connection.
const IDLE: ZmtpError = ZmtpError::Protocol("no message for too long");

/// An operation with a time limit.
async fn in_time<T>(operation: impl Future<Output = Result<T, ZmtpError>>) -> Result<T, ZmtpError> {
    match timeout(IO_TIMEOUT, operation).await {
        Ok(done) => done,
        Err(_) => Err(ZmtpError::Protocol("the client is too slow")),
    }
}

/// Accepts connections. Each has a task of its own.
async fn accept<F>(listener: StdListener, serve: impl Fn(TcpStream) -> F) -> io::Result<()>
where
    F: Future<Output = Result<(), ZmtpError>> + Send + 'static,
{
    let listener = TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            continue;
        };
        let _ = stream.set_nodelay(true);
        let connection = serve(stream);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!("Groot2: the connection of {peer} ends: {error}");
            }
            drop(place);
        });
    }
}

/// Adds or removes a subscription: a message in ZMTP 3.0, a command in 3.1.
fn subscribe(topics: &mut Vec<Vec<u8>>, message: &Message) -> Result<(), ZmtpError> {
    let (is_added, topic) = match message {
        Message::Frames(frames) => match frames.first().and_then(|frame| frame.split_first()) {
            Some((1, topic)) => (true, topic),
            Some((0, topic)) => (false, topic),
            _ => return Ok(()),
        },
        Message::Command(name, topic) if name == b"SUBSCRIBE" => (true, topic.as_slice()),
        Message::Command(name, topic) if name == b"CANCEL" => (false, topic.as_slice()),
        Message::Command(..) => return Ok(()),
    };
    if is_added {
        if topics.len() == MAX_TOPICS.0 || topic.len() > MAX_TOPICS.1 {
            return Err(ZmtpError::Protocol("too many subscriptions"));
        }
        topics.push(topic.to_vec());
    } else if let Some(place) = topics.iter().position(|known| known == topic) {
        topics.remove(place);
    }
    Ok(())
}

fn is_subscribed(topics: &[Vec<u8>], message: &[Vec<u8>]) -> bool {
    let first = message.first().map_or(&[][..], Vec::as_slice);
    topics.iter().any(|topic| first.starts_with(topic))
}
