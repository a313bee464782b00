//! One connection, as the answer to its request sees it.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// The places of connections that have shown the token. Streams of events have places of their own, so that open pages keep
/// no act out. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Places {
    streams: Arc<Semaphore>,
    requests: Arc<Semaphore>,
}

impl Places {
    /// This many places for streams, and for other requests.
    pub(super) fn new(count: usize) -> Self {
        let [streams, requests] = [count; 2].map(|count| Arc::new(Semaphore::new(count)));
        Self { streams, requests }
    }
}

/// A connection. It is a stranger until it has shown the token.
#[derive(Debug)]
pub struct Visitor {
    is_trusted: Arc<AtomicBool>,
    places: Places,
    place: Mutex<Option<OwnedSemaphorePermit>>,
    events: Mutex<Option<mpsc::Sender<Infallible>>>,
}

impl Visitor {
    /// A stranger. `is_trusted` is set when it shows the token; it then needs one of `places`.
    pub(super) fn new(is_trusted: Arc<AtomicBool>, places: Places) -> Self {
        Self {
            is_trusted,
            places,
            place: Mutex::new(None),
            events: Mutex::new(None),
        }
    }

    /// A connection beside which there is no other one.
    pub fn alone() -> Self {
        Self::new(Arc::default(), Places::new(1))
    }

    /// The connection has shown the token. Returns whether there is a place for it, which it has until its end. `is_stream`: it
    /// asks for a stream of events.
    pub(super) fn trust(&self, is_stream: bool) -> bool {
        let places = if is_stream {
            &self.places.streams
        } else {
            &self.places.requests
        };
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        if place.is_none() {
            *place = Arc::clone(places).try_acquire_owned().ok();
            self.is_trusted.store(place.is_some(), Ordering::Relaxed);
        }
        place.is_some()
    }

    /// The answer is a stream of events. The drop of `alive` ends the connection.
    pub(super) fn begin_events(&self, alive: mpsc::Sender<Infallible>) {
        *self.events.lock().unwrap_or_else(PoisonError::into_inner) = Some(alive);
    }

    /// The end of the stream of events, if the answer is one.
    pub(super) fn take_events(&self) -> Option<mpsc::Sender<Infallible>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
