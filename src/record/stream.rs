//! The event stream: bounded, lock-free, from the tick thread to everything that shows or keeps a run.
//!
//! Writers put records into one queue of a fixed size. A write copies the record and increments one number; it does not
//! allocate, lock or wait. If the queue is full, the record is counted as lost. One thread empties the queue and passes
//! the records on, in batches, to the readers: [`Distributor`]. A reader that is too slow loses batches and is told how
//! many records these were.
//!
//! Rejected: one queue per reader. The tick thread would pay for each reader.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crossbeam_queue::ArrayQueue;

use super::event::{Event, LogLevel, LogLine, Record};
use crate::bt::Time;

/// Number of records that the queue holds. A tick begins with at most half of them, so there is room for one in which five
/// hundred nodes change. Each takes 100 bytes, for each robot.
const CAPACITY: usize = 4096;

/// Maximum length of the text of a log line, in bytes.
const MAX_LOG_LINE: usize = 2000;

/// Number of batches that wait for a reader before it loses some.
const MAX_BATCHES: usize = 64;

struct Shared {
    queue: ArrayQueue<Record>,
    /// Somebody reads. Without a reader, a write is one load of this flag.
    is_read: AtomicBool,
    /// Makes the thread of the distributor empty the queue soon.
    waker: OnceLock<Box<dyn Fn() + Send + Sync>>,
    lost: AtomicU64,
    /// The time of the current or last tick, in ns.
    time: AtomicU64,
}

/// The writing end of the stream. Cheap to clone; all clones write to the same stream.
#[derive(Clone)]
pub struct Stream(Arc<Shared>);

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("is_read", &self.is_read())
            .field("waiting", &self.0.queue.len())
            .finish_non_exhaustive()
    }
}

impl Default for Stream {
    fn default() -> Self {
        Self::with_capacity(CAPACITY)
    }
}

impl Stream {
    /// A stream that holds this number of records.
    pub fn with_capacity(capacity: usize) -> Self {
        Self(Arc::new(Shared {
            queue: ArrayQueue::new(capacity.max(1)),
            is_read: AtomicBool::new(false),
            waker: OnceLock::new(),
            lost: AtomicU64::new(0),
            time: AtomicU64::new(0),
        }))
    }

    /// Whether somebody reads the stream.
    #[inline]
    pub fn is_read(&self) -> bool {
        self.0.is_read.load(Ordering::Relaxed)
    }

    /// Sets the time of the records that follow, at the begin of each tick. If the queue is half full, it is emptied
    /// soon.
    #[inline]
    pub fn set_time(&self, time: Time) {
        self.0.time.store(time.as_nanos(), Ordering::Relaxed);
        self.wake_if_half_full();
    }

    /// Makes the thread of the distributor empty the queue soon if it is half full. At the end of a tick, that thread has
    /// the time until the next one.
    #[inline]
    pub fn wake_if_half_full(&self) {
        if self.0.queue.len() > self.0.queue.capacity() / 2 {
            self.wake();
        }
    }

    /// Writes a record. Returns false if it is dropped, because there is no reader or the queue is full.
    #[inline]
    pub fn write(&self, event: Event) -> bool {
        if !self.is_read() {
            return false;
        }
        let time = Time::from_nanos(self.0.time.load(Ordering::Relaxed));
        let is_written = self.0.queue.push(Record { time, event }).is_ok();
        if !is_written {
            self.0.lost.fetch_add(1, Ordering::Relaxed);
        }
        is_written
    }

    /// Writes a line of the log. If the queue is half full, the line is left out: what the tree does comes first. This
    /// allocates, as each line of the log does.
    pub fn log(&self, level: LogLevel, text: &str) {
        if self.is_read() && self.0.queue.len() <= self.0.queue.capacity() / 2 {
            let text = text[..text.floor_char_boundary(MAX_LOG_LINE)].to_owned();
            self.write(Event::LogLine(Box::new(LogLine { level, text })));
        }
    }

    /// Makes the thread of the distributor empty the queue soon.
    #[cold]
    pub(crate) fn wake(&self) {
        if let Some(wake) = self.0.waker.get() {
            wake();
        }
    }

    /// Sets the function that wakes the thread of the distributor. It must not wait.
    pub fn set_waker(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.waker.set(Box::new(wake));
    }

    /// Number of records that the queue holds.
    pub(super) fn capacity(&self) -> usize {
        self.0.queue.capacity()
    }

    /// Number of records that found no place.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    /// Starts to read the stream. There is one distributor; a second one would take its records.
    pub fn distribute(&self) -> Distributor {
        self.0.is_read.store(true, Ordering::Relaxed);
        Distributor {
            stream: self.clone(),
            readers: Arc::default(),
            told_lost: 0,
        }
    }
}

/// Records that left the queue together.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The records, in the order in which they were written.
    pub records: Arc<[Record]>,
    /// Number of records that were lost before these.
    pub lost: u64,
}

type Readers = Arc<Mutex<Vec<Arc<Inbox>>>>;

#[derive(Default)]
struct Inbox {
    inner: Mutex<InboxState>,
    is_closed: AtomicBool,
}

#[derive(Default)]
struct InboxState {
    batches: VecDeque<Batch>,
    lost: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes the records of a stream on to its readers. Owned by one thread, which is not the tick thread: the last owner of
/// a message frees its memory.
pub struct Distributor {
    stream: Stream,
    readers: Readers,
    told_lost: u64,
}

impl Distributor {
    /// Makes new readers, from any thread.
    pub fn subscribe(&self) -> Subscribe {
        Subscribe {
            stream: self.stream.clone(),
            readers: Arc::clone(&self.readers),
        }
    }

    /// Whether there are readers.
    pub(super) fn has_readers(&self) -> bool {
        !lock(&self.readers).is_empty()
    }

    /// Number of records that the queue holds.
    pub(super) fn capacity(&self) -> usize {
        self.stream.capacity()
    }

    /// Takes what was written since the last call, passes it on, and returns it. `None` if there is nothing.
    pub fn distribute(&mut self) -> Option<Batch> {
        let queue = &self.stream.0.queue;
        let count = queue.len();
        let records: Vec<Record> = std::iter::from_fn(|| queue.pop()).take(count).collect();
        let lost = self.stream.lost() - self.told_lost;
        if records.is_empty() && lost == 0 {
            return None;
        }
        self.told_lost += lost;
        let batch = Batch {
            records: records.into(),
            lost,
        };
        let mut readers = lock(&self.readers);
        readers.retain(|reader| !reader.is_closed.load(Ordering::Acquire));
        for reader in readers.iter() {
            reader.put(batch.clone());
        }
        Some(batch)
    }
}

impl Drop for Distributor {
    fn drop(&mut self) {
        self.stream.0.is_read.store(false, Ordering::Relaxed);
        while self.stream.0.queue.pop().is_some() {}
    }
}

impl Inbox {
    fn put(&self, mut batch: Batch) {
        let mut inner = lock(&self.inner);
        if inner.batches.len() >= MAX_BATCHES {
            inner.lost += batch.lost + batch.records.len() as u64;
            return;
        }
        batch.lost += std::mem::take(&mut inner.lost);
        inner.batches.push_back(batch);
    }
}

/// Makes readers of a stream.
#[derive(Clone)]
pub struct Subscribe {
    stream: Stream,
    readers: Readers,
}

impl Subscribe {
    /// A reader of all records from now on.
    pub fn reader(&self) -> Reader {
        let inbox = Arc::new(Inbox::default());
        lock(&self.readers).push(Arc::clone(&inbox));
        // Without readers, the stream is emptied less often.
        self.stream.wake();
        Reader(inbox)
    }
}

/// A reader of a stream. Dropping it ends its subscription.
pub struct Reader(Arc<Inbox>);

impl Reader {
    /// The next batch, if there is one. Its number of lost records includes those that this reader was too slow for.
    pub fn read(&self) -> Option<Batch> {
        lock(&self.0.inner).batches.pop_front()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.is_closed.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(stream: &Stream, count: u64) {
        for number in 0..count {
            stream.set_time(Time::from_nanos(number));
            stream.write(Event::TickBegan);
        }
    }

    fn times(batch: &Batch) -> Vec<u64> {
        batch
            .records
            .iter()
            .map(|record| record.time.as_nanos())
            .collect()
    }

    #[test]
    fn every_reader_gets_every_record_in_order() {
        let stream = Stream::default();
        let mut distributor = stream.distribute();
        let readers = [distributor.subscribe().reader(), distributor.subscribe().reader()];
        write(&stream, 3);
        distributor.distribute();
        for reader in &readers {
            assert_eq!(times(&reader.read().unwrap()), [0, 1, 2]);
            assert!(reader.read().is_none());
        }
    }

    #[test]
    fn without_a_reader_nothing_is_kept() {
        let stream = Stream::default();
        write(&stream, 3);
        let mut distributor = stream.distribute();
        assert!(distributor.distribute().is_none());
        write(&stream, 1);
        drop(distributor);
        assert!(!stream.is_read());
        assert!(stream.distribute().distribute().is_none());
    }

    #[test]
    fn g1_a_full_stream_loses_records_and_tells_how_many() {
        let stream = Stream::with_capacity(4);
        let mut distributor = stream.distribute();
        write(&stream, 7);
        let batch = distributor.distribute().unwrap();
        assert_eq!((times(&batch), batch.lost), (vec![0, 1, 2, 3], 3));
        write(&stream, 1);
        assert_eq!(distributor.distribute().unwrap().lost, 0);
    }

    #[test]
    fn log_lines_are_bounded_and_displace_no_record() {
        let stream = Stream::with_capacity(4);
        let mut distributor = stream.distribute();
        for _ in 0..9 {
            stream.log(LogLevel::Warn, &"é".repeat(MAX_LOG_LINE));
        }
        write(&stream, 1);
        let batch = distributor.distribute().unwrap();
        let lines = batch.records.iter().filter_map(|record| match &record.event {
            Event::LogLine(line) => Some(line.text.len()),
            _ => None,
        });
        assert_eq!(lines.collect::<Vec<_>>(), [MAX_LOG_LINE; 3]);
        assert_eq!((batch.records.len(), batch.lost), (4, 0));
    }

    #[test]
    fn a_stream_that_is_half_full_wakes_its_thread_in_the_next_tick() {
        let stream = Stream::with_capacity(4);
        let mut distributor = stream.distribute();
        let woken = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&woken);
        stream.set_waker(move || {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        write(&stream, 3);
        assert_eq!(woken.load(Ordering::Relaxed), 0);
        write(&stream, 1);
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        distributor.distribute();
        write(&stream, 1);
        assert_eq!(woken.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_stream_that_is_half_full_at_the_end_of_a_tick_loses_nothing_in_the_next_one() {
        let stream = Stream::with_capacity(2048);
        let mut distributor = stream.distribute();
        let is_woken = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_woken);
        stream.set_waker(move || flag.store(true, Ordering::Relaxed));
        for _ in 0..10 {
            write(&stream, 1500);
            stream.wake_if_half_full();
            // The main thread has the rest of the period.
            if is_woken.swap(false, Ordering::Relaxed) {
                assert_eq!(distributor.distribute().unwrap().lost, 0);
            }
        }
    }

    #[test]
    fn a_slow_reader_is_told_what_it_missed_and_delays_no_other() {
        let stream = Stream::default();
        let mut distributor = stream.distribute();
        let slow = distributor.subscribe().reader();
        for _ in 0..MAX_BATCHES + 5 {
            let quick = distributor.subscribe().reader();
            write(&stream, 2);
            distributor.distribute();
            assert_eq!(times(&quick.read().unwrap()), [0, 1]);
        }
        for _ in 0..MAX_BATCHES {
            assert_eq!(slow.read().unwrap().lost, 0);
        }
        assert!(slow.read().is_none());
        write(&stream, 1);
        distributor.distribute();
        assert_eq!(slow.read().unwrap().lost, 10);
    }

    #[test]
    fn a_closed_reader_costs_nothing() {
        let stream = Stream::default();
        let mut distributor = stream.distribute();
        drop(distributor.subscribe().reader());
        write(&stream, 1);
        distributor.distribute();
        assert!(lock(&distributor.readers).is_empty());
    }
}
