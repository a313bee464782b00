//! Measures what the event stream and the flight recorder cost the tick thread.
//!
//! `cargo bench --no-default-features --bench record` prints nanoseconds per record and per tick of a recorded tree: the
//! minimum of 200 samples. Between two samples the queue is emptied, which another thread does in the node. The trees are
//! those of the bench `cruise`. `recorded_replanning` sends a goal or takes a path in each tick; a robot does this once a
//! second.

use std::time::{Duration, Instant};

use navtree::bt::{SlotId, Value};
use navtree::record::Stream;
use navtree::record::event::Event;

#[path = "shared/measure.rs"]
#[allow(dead_code, reason = "the other benches use the rest")]
mod measure;
#[allow(dead_code, reason = "the bench `cruise` uses the rest")]
mod robot;

/// Records of one sample: half of the queue.
const RECORDS: u32 = 4096;

/// Ticks of one sample. Their records fit into the queue.
const TICKS: u32 = 128;

/// The least time of one of `count` units of work, in ns.
fn least(count: u32, mut work: impl FnMut(), mut between: impl FnMut()) -> f64 {
    let sample = |_| {
        let start = Instant::now();
        work();
        let took = start.elapsed();
        between();
        took
    };
    let least = (0..200).map(sample).min().unwrap_or(Duration::ZERO);
    least.as_secs_f64() * 1e9 / f64::from(count)
}

fn main() {
    if !measure::arguments().is_empty() {
        return;
    }
    let stream = Stream::default();
    let write = |event: &dyn Fn() -> Event| {
        for _ in 0..RECORDS {
            stream.write(std::hint::black_box(event()));
        }
    };
    let small = || Event::TickBegan;
    let unread = least(RECORDS, || write(&small), || ());
    measure::tell("stream_unread", unread, "ns");
    let mut distributor = stream.distribute();
    let record = least(RECORDS, || write(&small), || drop(distributor.distribute()));
    measure::tell("stream_record", record, "ns");
    let value = Value::text("a text that is too long to be stored in place");
    let wrote = || Event::Wrote {
        slot: SlotId::from_index(1),
        by: None,
        value: Some(value.clone()),
        info: None,
    };
    let with_value = least(RECORDS, || write(&wrote), || drop(distributor.distribute()));
    measure::tell("stream_value", with_value, "ns");
    assert_eq!(stream.lost(), 0, "the queue holds a sample");
    write(&small);
    write(&small);
    measure::tell("stream_lost", least(RECORDS, || write(&small), || ()), "ns");
    distributor.distribute();
    for (name, mut tree) in robot::recorded_cases(&stream) {
        let lost = stream.lost();
        let mut now = 0;
        let ticks = || (0..TICKS).for_each(|_| robot::tick(&mut tree, &mut now));
        let least = least(TICKS, ticks, || drop(distributor.distribute()));
        measure::tell(name, least, "ns/tick");
        assert_eq!(stream.lost(), lost, "the queue holds a sample");
    }
}
