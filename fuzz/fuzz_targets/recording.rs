//! Any file is refused, or becomes a recording that can be told, replayed and counted, in bounded time and memory.
//!
//! The bytes are read twice: as a file, and as the records of one, because a fuzzer seldom finds a checksum.
#![no_main]

use libfuzzer_sys::fuzz_target;
use navtree::nav::registry;
use navtree::record::Recording;
use navtree::record::coverage::Coverage;
use navtree::record::replay::Replay;
use navtree::record::stored::{StoredRecord, TimedRecord};
use navtree::record::story::tell;

const TREE: &str = r#"<root BTCPP_format="4"><BehaviorTree ID="Main">
  <Sequence><Script code="a := 1"/><Spin spin_dist="1.0"/><Wait wait_duration="1.0"/></Sequence>
</BehaviorTree></root>"#;

fuzz_target!(|data: &[u8]| {
    if let Ok(recording) = Recording::from_bytes(data) {
        run(&recording);
    }
    let Ok(records) = rmp_serde::from_slice::<Vec<TimedRecord>>(data) else {
        return;
    };
    let mut recording = Recording {
        records,
        files: vec![("main.xml".to_owned(), TREE.to_owned())],
        ..Recording::default()
    };
    for (_, record) in &recording.records {
        if let StoredRecord::Began(navigation) = record {
            recording.navigation = (**navigation).clone();
            recording.navigation.tree = "Main".to_owned();
            break;
        }
    }
    run(&recording);
});

fn run(recording: &Recording) {
    let _ = tell(&recording.navigation, &recording.records).to_string();
    let Ok(mut replay) = Replay::new(recording, registry()) else {
        return;
    };
    let coverage = Coverage::new(replay.definition());
    let _ = coverage.add(recording);
    while replay.step().is_some() {}
}
