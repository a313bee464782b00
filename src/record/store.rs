//! The messages of a recording in memory. All but the last ones are compressed: a robot that drives makes 42 KB of them in a
//! second, which are 5 KB then.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use super::file::Message;
use super::recorder::Limits;

/// Bytes of the messages of a block, before they are compressed.
const BLOCK_BYTES: usize = 64 * 1024;

/// The fastest level: the next one takes twice the time and saves a tenth.
const LEVEL: i32 = 1;

/// The messages may have this many times the limit of memory before they are compressed: a reader and the disk need room for
/// them.
pub(super) const MAX_RATIO: usize = 4;

/// Maximum size of the messages of a file, uncompressed: what a reader accepts, and room for the rest.
pub(super) const MAX_FILE_CONTENT: usize = 900 << 20;

/// Messages in the order in which they were added. The clones of a store share its blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageStore {
    /// Older messages.
    blocks: VecDeque<Arc<Block>>,
    /// The messages behind them.
    last: VecDeque<Message>,
    /// Bytes of the last messages.
    last_bytes: usize,
    /// Bytes of the blocks.
    block_bytes: usize,
    /// Bytes of all messages, not compressed.
    content_bytes: usize,
    /// Number of messages in the blocks.
    in_blocks: u64,
    /// Number of messages that were dropped because of the limits.
    dropped: u64,
}

impl MessageStore {
    /// Adds a message, and drops the oldest ones beyond the limits.
    pub(super) fn push(&mut self, message: Message, limits: Limits) {
        let newest = message.log_time;
        self.last_bytes += message.size();
        self.content_bytes += message.size();
        self.last.push_back(message);
        if self.last_bytes >= BLOCK_BYTES {
            let block = Block::of(&self.last, self.last_bytes);
            self.in_blocks += self.last.len() as u64;
            self.block_bytes += block.data.len();
            self.blocks.push_back(Arc::new(block));
            self.last.clear();
            self.last_bytes = 0;
        }
        self.trim(newest, limits);
    }

    fn trim(&mut self, newest: u64, limits: Limits) {
        let kept = u64::try_from(limits.duration.as_nanos()).unwrap_or(u64::MAX);
        let is_old = |time: u64| newest.saturating_sub(time) > kept;
        // Half of a file: one that begins again with these messages is not full at once.
        let max_content = limits.bytes.saturating_mul(MAX_RATIO).min(MAX_FILE_CONTENT / 2);
        while let Some(oldest) = self.blocks.front()
            && (self.bytes() > limits.bytes || self.content_bytes > max_content || is_old(oldest.newest))
        {
            self.in_blocks -= oldest.messages;
            self.dropped += oldest.messages;
            self.block_bytes -= oldest.data.len();
            self.content_bytes -= oldest.content_bytes;
            self.blocks.pop_front();
        }
        while self.blocks.is_empty()
            && let Some(oldest) = self.last.front()
            && (self.bytes() > limits.bytes || is_old(oldest.log_time))
        {
            self.last_bytes -= oldest.size();
            self.content_bytes -= oldest.size();
            self.dropped += 1;
            self.last.pop_front();
        }
    }

    /// The memory of the messages, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.block_bytes + self.last_bytes
    }

    /// Bytes of the messages, not compressed.
    pub(super) fn content_bytes(&self) -> usize {
        self.content_bytes
    }

    /// Number of messages that were dropped because of the limits.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The number of messages so far, those that were dropped included.
    pub(super) fn position(&self) -> u64 {
        self.dropped + self.in_blocks + self.last.len() as u64
    }

    /// The messages.
    pub(super) fn iter(&self) -> impl Iterator<Item = Cow<'_, Message>> {
        self.since(0)
    }

    /// Whether no message behind this position was dropped.
    pub(super) fn reaches(&self, position: u64) -> bool {
        position >= self.dropped
    }

    /// The messages behind this position, or behind those that were dropped.
    pub(super) fn since(&self, position: u64) -> impl Iterator<Item = Cow<'_, Message>> {
        let mut skipped = position.saturating_sub(self.dropped);
        let mut blocks = self.blocks.iter().peekable();
        while let Some(block) = blocks.next_if(|block| block.messages <= skipped) {
            skipped -= block.messages;
        }
        let rest = blocks.flat_map(|block| block.messages()).map(Cow::Owned);
        rest.chain(self.last.iter().map(Cow::Borrowed))
            .skip(usize::try_from(skipped).unwrap_or(usize::MAX))
    }
}

/// Compressed messages.
#[derive(Debug)]
struct Block {
    /// Number of messages.
    messages: u64,
    /// Time of the last one.
    newest: u64,
    /// [`Message::size`] of all of them.
    content_bytes: usize,
    /// Length of `data` before it was compressed; `None`: it is not compressed.
    length: Option<usize>,
    data: Box<[u8]>,
}

impl Block {
    fn of(messages: &VecDeque<Message>, content_bytes: usize) -> Self {
        let mut data = Vec::with_capacity(content_bytes);
        for message in messages {
            data.extend(message.log_time.to_le_bytes());
            data.extend((message.channel as u64).to_le_bytes());
            data.extend((message.data.len() as u64).to_le_bytes());
            data.extend(&message.data);
        }
        let compressed = zstd::bulk::compress(&data, LEVEL).ok();
        let compressed = compressed.filter(|compressed| compressed.len() < data.len());
        Self {
            messages: messages.len() as u64,
            newest: messages.back().map_or(0, |message| message.log_time),
            content_bytes,
            length: compressed.as_ref().map(|_| data.len()),
            data: compressed.unwrap_or(data).into(),
        }
    }

    fn messages(&self) -> Vec<Message> {
        let data = match self.length {
            // It cannot fail: this process has compressed it.
            Some(length) => zstd::bulk::decompress(&self.data, length)
                .unwrap_or_default()
                .into(),
            None => Cow::Borrowed(&*self.data),
        };
        let mut rest = &*data;
        std::iter::from_fn(|| next_message(&mut rest)).collect()
    }
}

fn next_message(rest: &mut &[u8]) -> Option<Message> {
    let mut number = || {
        let (number, behind) = rest.split_first_chunk()?;
        *rest = behind;
        Some(u64::from_le_bytes(*number))
    };
    let (log_time, channel, length) = (number()?, number()?, number()?);
    let (data, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = behind;
    Some(Message {
        log_time,
        channel: usize::try_from(channel).ok()?,
        data: data.into(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bt::Random;

    const LIMITS: Limits = Limits {
        duration: Duration::from_nanos(1_000_000),
        bytes: 1 << 20,
    };

    /// A message at this time, with so many bytes that depend on the time.
    fn message(time: u64, length: usize) -> Message {
        Message {
            log_time: time,
            channel: usize::try_from(time % 3).unwrap(),
            data: time.to_le_bytes().into_iter().cycle().take(length).collect(),
        }
    }

    fn store(times: std::ops::Range<u64>, length: usize, limits: Limits) -> MessageStore {
        let mut store = MessageStore::default();
        times.for_each(|time| store.push(message(time, length), limits));
        store
    }

    /// The times of messages whose content is as it was.
    fn times<'a>(messages: impl IntoIterator<Item = Cow<'a, Message>>) -> Vec<u64> {
        let same = |found: Cow<'_, Message>| {
            let added = message(found.log_time, found.data.len());
            assert_eq!((found.channel, &found.data), (added.channel, &added.data));
            found.log_time
        };
        messages.into_iter().map(same).collect()
    }

    #[test]
    fn messages_come_back_as_they_were_and_take_less_memory() {
        let store = store(0..1000, 1000, LIMITS);
        assert_eq!(times(store.iter()), (0..1000).collect::<Vec<_>>());
        assert!(store.blocks.len() >= 10);
        assert!(store.content_bytes() > 1_000_000 && store.bytes() < 200_000);
        for position in [0, 1, 64, 500, 998, 1000] {
            assert_eq!(times(store.since(position)), (position..1000).collect::<Vec<_>>());
        }
        assert_eq!(store.position(), 1000);
    }

    #[test]
    fn messages_beyond_the_limits_are_dropped() {
        let limits = Limits {
            duration: Duration::from_nanos(300),
            ..LIMITS
        };
        let kept = store(0..1000, 1000, limits);
        // A block goes when its last message is old.
        let first = kept.dropped();
        assert!((600..=700).contains(&first), "{first}");
        assert_eq!(times(kept.iter()), (first..1000).collect::<Vec<_>>());
        assert_eq!(kept.position(), 1000);
        assert!(kept.reaches(first) && !kept.reaches(first - 1));
        assert_eq!(
            times(kept.since(first + 5)),
            (first + 5..1000).collect::<Vec<_>>()
        );
        let few = store(0..1000, 10, limits);
        assert_eq!(few.dropped(), 699, "to the message, as long as there is no block");
        let small = Limits {
            bytes: 10_000,
            ..LIMITS
        };
        let small = store(0..1000, 1000, small);
        assert!(small.bytes() <= 10_000 && small.dropped() > 0);
        assert_eq!(times(small.iter()), (small.dropped()..1000).collect::<Vec<_>>());
    }

    #[test]
    fn messages_that_compress_well_are_limited_too() {
        let limits = Limits {
            bytes: 1 << 18,
            ..LIMITS
        };
        let store = store(0..20_000, 1000, limits);
        let max = MAX_RATIO << 18;
        assert!(store.content_bytes() <= max && store.content_bytes() > max - 2 * BLOCK_BYTES);
        assert!(store.bytes() < limits.bytes);
    }

    #[test]
    fn what_cannot_be_compressed_is_kept_as_it_is() {
        let mut random = Random::new(1);
        let noise = Message {
            data: (0..2 * BLOCK_BYTES).map(|_| random.next() as u8).collect(),
            ..message(7, 0)
        };
        let mut store = MessageStore::default();
        store.push(noise.clone(), LIMITS);
        assert_eq!(store.blocks.front().unwrap().length, None);
        assert_eq!(store.iter().next().unwrap().data, noise.data);
    }
}
