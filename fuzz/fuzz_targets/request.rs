//! Whatever a client of the web page sends gets an answer of HTTP or none, in bounded time. Without the token it learns
//! nothing and does nothing.
#![no_main]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use navtree::monitor::pause::Client;
use navtree::monitor::web::{Act, Controls, Feed, Robot, Robots, Site, Token, Visitor, server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const TOKEN: &str = "0123456789abcdef";
const SECRET: &str = "what only those with the token may know";
/// On the clock of the test, which does not wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// Notes whether something was done.
struct Acts(Arc<AtomicBool>);

impl Controls for Acts {
    fn act(&self, _: Act, _: &str, _: Client) -> Result<(), String> {
        self.0.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn metrics(&self) -> String {
        SECRET.to_owned()
    }
}

fuzz_target!(|data: &[u8]| {
    let has_acted = Arc::new(AtomicBool::new(false));
    let feed = Feed::new(1 << 16);
    feed.set_node(&SECRET);
    let site = Site {
        robots: Robots::from_iter([Robot {
            name: "/bt_navigator".to_owned(),
            feed,
            controls: Some(Arc::new(Acts(Arc::clone(&has_acted)))),
        }]),
        token: Token::chosen(TOKEN).expect("it is long enough"),
        name: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("there are no threads to start");
    let answer = runtime.block_on(talk(data, Arc::new(site)));
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."));
    let contains = |text: &[u8], part: &str| text.windows(part.len()).any(|found| found == part.as_bytes());
    if !contains(data, TOKEN) {
        assert!(!has_acted.load(Ordering::Relaxed));
        assert!(!contains(&answer, SECRET));
    }
});

/// Sends the bytes, and returns what comes back until the connection ends, or until nothing more is to be expected.
async fn talk(data: &[u8], site: Arc<Site>) -> Vec<u8> {
    let (mut client, stream) = tokio::io::duplex(1 << 20);
    let visitor = Visitor::alone();
    let served = server::serve_connection(stream, site, &visitor);
    let client = async move {
        let mut answer = Vec::new();
        // The server may close the connection before all is sent.
        let _ = client.write_all(data).await;
        let _ = tokio::time::timeout(PATIENCE, client.read_to_end(&mut answer)).await;
        answer
    };
    let (answer, ended) = tokio::join!(client, tokio::time::timeout(3 * PATIENCE, served));
    ended.expect("a connection ends with its client");
    answer
}
