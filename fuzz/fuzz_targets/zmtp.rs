//! Whatever a client of Groot2's ports sends gets frames of ZeroMQ or nothing, in bounded time and memory. The first byte
//! chooses the socket (bit 0) and whether a valid greeting comes first (bit 1).
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use navtree::bt::Registry;
use navtree::monitor::groot2::Endpoint;
use navtree::monitor::pause::PauseControl;
use navtree::navigator::NavigationId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// On the clock of the test, which does not wait.
const PATIENCE: Duration = Duration::from_secs(300);

/// A tree that is never paused: there is none.
struct NoTree;

impl PauseControl for NoTree {
    fn pause(&self, _goal: NavigationId) -> Result<(), String> {
        panic!("no breakpoint can be reached without a tree")
    }

    /// Called when the endpoint ends, too: a pause ends with its client.
    fn release(&self) -> Result<(), String> {
        Ok(())
    }

    fn is_held(&self) -> bool {
        false
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else {
        return;
    };
    let is_subscriber = choice & 1 != 0;
    let mut bytes = Vec::new();
    if choice & 2 != 0 {
        let mut greeting = [0; 64];
        (greeting[0], greeting[9], greeting[10]) = (0xff, 0x7f, 3);
        greeting[12..16].copy_from_slice(b"NULL");
        bytes.extend_from_slice(&greeting);
        bytes.extend_from_slice(b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03");
        bytes.extend_from_slice(if is_subscriber { b"SUB" } else { b"REQ" });
    }
    bytes.extend_from_slice(data);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("there are no threads to start");
    let answer = runtime.block_on(talk(&bytes, is_subscriber));
    assert!(answer.is_empty() || answer[0] == 0xff, "the server greets first");
});

/// Sends the bytes, and returns what comes back until the server ends the connection: an idle one, too.
async fn talk(bytes: &[u8], is_subscriber: bool) -> Vec<u8> {
    let endpoint = Endpoint::new(Box::new(NoTree), Registry::builtin());
    let (mut client, stream) = tokio::io::duplex(1 << 20);
    let served = endpoint.serve_connection(stream, is_subscriber);
    let client = async move {
        // The server may close the connection before all is sent.
        let _ = client.write_all(bytes).await;
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer).await;
        answer
    };
    let both = async { tokio::join!(client, served).0 };
    let ended = tokio::time::timeout(PATIENCE, both).await;
    ended.expect("the server ends an idle connection")
}
