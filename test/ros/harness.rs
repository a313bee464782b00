//! Runs each test in its own process and ROS domain, with a peer process.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The maximum duration of each wait, sufficient on a slow machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

const CHILD: &str = "NAVTREE_ROS_TEST";

/// Runs the body of a test in its own process: a process has one ROS context, which reads its domain once and is never
/// shut down.
pub(crate) fn alone(name: &str, body: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some() {
        return body();
    }
    let (domain, _lock) = free_domain();
    // The output is captured, because on standard output it would look like a second test run.
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .env("ROS_DOMAIN_ID", domain.to_string())
        .env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {}", output.status);
}

/// Reserves a domain that no other test on this machine uses, with the lock files of `test/conftest.py`.
fn free_domain() -> (u32, File) {
    use std::os::unix::fs::MetadataExt;
    let user = std::fs::metadata("/proc/self").unwrap().uid();
    let folder = std::env::temp_dir().join(format!("navtree-domains-{user}"));
    std::fs::create_dir_all(&folder).unwrap();
    let until = Instant::now() + Duration::from_secs(300);
    while Instant::now() < until {
        for step in 0..101 {
            let domain = 1 + (std::process::id() * 13 + step) % 101;
            let lock = File::create(folder.join(domain.to_string())).unwrap();
            if lock.try_lock().is_ok() {
                return (domain, lock);
            }
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    panic!("all ROS domains are taken");
}

/// A Python script that uses ROS and exchanges lines of text with the test.
pub(crate) struct Peer {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Peer {
    pub(crate) fn start(script: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("test/ros/peers")
            .join(script);
        let python = std::env::var("NAVTREE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut child = Command::new(python)
            .arg("-u")
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let input = child.stdin.take().unwrap();
        Self { child, input, lines }
    }

    pub(crate) fn send(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// Waits for the next line with the prefix and returns the rest of it.
    pub(crate) fn receive(&self, prefix: &str) -> String {
        let until = Instant::now() + TIMEOUT;
        let mut others = Vec::new();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => match line.strip_prefix(prefix) {
                    Some(rest) => return rest.trim().to_owned(),
                    None => others.push(line),
                },
                Err(error) => panic!("the peer did not send '{prefix}' ({error}), but: {others:#?}"),
            }
        }
    }

    /// Waits until the peer exits without an error.
    pub(crate) fn end(mut self) {
        let until = Instant::now() + TIMEOUT;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert!(status.success(), "the peer: {status}");
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the peer did not end");
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until the condition returns a value.
pub(crate) fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + TIMEOUT;
    while Instant::now() < until {
        if let Some(value) = condition() {
            return value;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("timeout: {what}");
}
