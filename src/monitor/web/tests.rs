//! Tests of the server with real connections on the loopback interface.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Act, Controls, Feed, Robot, Site, Token, server};
use crate::bt::Time;
use crate::monitor::pause::Client;

const TOKEN: &str = "0123456789abcdef";
const TIMEOUT: Duration = Duration::from_secs(20);

/// What was asked, for which goal and by which client.
type Asked = Arc<Mutex<Vec<(Act, String, Client)>>>;

/// Remembers what was asked of it.
#[derive(Default)]
struct Acts(Asked);

impl Controls for Acts {
    fn act(&self, act: Act, goal: &str, client: Client) -> Result<(), String> {
        self.0.lock().unwrap().push((act, goal.to_owned(), client));
        match act {
            Act::Step => Err("the tree is not paused".to_owned()),
            _ => Ok(()),
        }
    }

    fn metrics(&self) -> String {
        "navtree_ticks_total 7\n".to_owned()
    }
}

/// A server on a thread of its own, which ends with the test process.
struct Rig {
    address: SocketAddr,
    feed: Feed,
    acts: Asked,
}

fn robot(name: &str, feed: Feed, acts: Acts) -> Robot {
    Robot {
        name: name.to_owned(),
        feed,
        controls: Some(Box::new(acts)),
    }
}

fn rig() -> Rig {
    let listener = server::bind("127.0.0.1", 0).unwrap();
    let address = listener.local_addr().unwrap();
    let feed = Feed::new(1 << 16);
    let acts = Acts::default();
    let rig = Rig {
        address,
        feed: feed.clone(),
        acts: Arc::clone(&acts.0),
    };
    let site = Site {
        robots: [robot("/r1/bt_navigator", feed, acts)].into_iter().collect(),
        token: Token::chosen(TOKEN).unwrap(),
        name: None,
    };
    std::thread::spawn(move || server::run(listener, site));
    rig
}

impl Rig {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// Sends a request as it is. Returns all that comes back.
    fn raw(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        // A refusal may come before all is written.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
            _ => String::from_utf8_lossy(&answer).into_owned(),
        }
    }

    /// The status and the body of an answer. `Host` is correct unless it is given.
    fn ask(&self, line: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let mut request = format!("{line} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        let answer = self.raw(format!("{request}\r\n").as_bytes());
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status.unwrap_or(0), body.to_owned())
    }

    /// Opens the stream of events.
    fn events(&self) -> TcpStream {
        self.events_of("/events")
    }

    fn events_of(&self, path: &str) -> TcpStream {
        let mut stream = self.connect();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n",
            self.address
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }
}

/// Reads until a text has come.
fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&read);
        if text.contains(wanted) {
            return text.into_owned();
        }
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "no {wanted} in {text}");
        read.extend_from_slice(&buffer[..count]);
    }
}

const WITH_TOKEN: (&str, &str) = ("Authorization", "Bearer 0123456789abcdef");

#[test]
fn the_page_needs_no_token_and_has_no_content_without_it() {
    let rig = rig();
    for path in [
        "/",
        "/page.css",
        "/run.js",
        "/tree.js",
        "/details.js",
        "/timeline.js",
        "/page.js",
        "/icon.svg",
    ] {
        let (status, body) = rig.ask(&format!("GET {path}"), &[]);
        assert_eq!((status, body.is_empty()), (200, false), "{path}");
        let others = ["http://", "https://"].map(|scheme| body.matches(scheme).count());
        let own = body.matches("http://www.w3.org/2000/svg").count();
        assert_eq!(others, [own, 0], "{path} loads nothing from other hosts");
    }
    let answer = rig.raw(format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", rig.address).as_bytes());
    for header in [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "nosniff",
        "no-store",
        "no-referrer",
    ] {
        assert!(answer.contains(header), "{header}");
    }
    for line in [
        "GET /events",
        "GET /metrics",
        "POST /act/pause",
        "GET /act/pause",
        "GET /../Cargo.toml",
        "GET /x",
    ] {
        assert_eq!(rig.ask(line, &[]).0, 401, "{line}");
    }
    assert!(rig.acts.lock().unwrap().is_empty());
}

#[test]
fn acts_need_the_token_the_method_and_the_own_site() {
    let rig = rig();
    let origin = format!("http://{}", rig.address);
    assert_eq!(
        rig.ask("POST /act/pause", &[WITH_TOKEN, ("Origin", &origin)]),
        (200, "done\n".into())
    );
    let (status, reason) = rig.ask("POST /act/step", &[WITH_TOKEN]);
    assert_eq!((status, reason.as_str()), (409, "the tree is not paused\n"));
    let of_page = [WITH_TOKEN, ("Sec-Fetch-Site", "same-origin")];
    assert_eq!(rig.ask("POST /act/cancel/0123-45", &of_page).0, 200);
    let acts = [
        (Act::Pause, String::new(), Client::Page),
        (Act::Step, String::new(), Client::Program),
        (Act::Cancel, "0123-45".to_owned(), Client::Page),
    ];
    assert_eq!(*rig.acts.lock().unwrap(), acts);
    for (line, headers, expected) in [
        (
            "POST /act/cancel",
            &[("Authorization", "Bearer 0123456789abcdeX")][..],
            401,
        ),
        ("POST /act/cancel", &[("Authorization", "0123456789abcdef")], 401),
        ("POST /act/cancel", &[WITH_TOKEN, WITH_TOKEN], 400),
        (
            "POST /act/cancel",
            &[WITH_TOKEN, ("Origin", "http://evil.example")],
            403,
        ),
        (
            "POST /act/cancel",
            &[WITH_TOKEN, ("Sec-Fetch-Site", "cross-site")],
            403,
        ),
        ("POST /act/cancel", &[WITH_TOKEN, ("Host", "evil.example")], 403),
        ("POST /act/cancel", &[WITH_TOKEN, ("Content-Length", "5")], 413),
        ("POST /act/cancel?token=0123456789abcdef", &[], 401),
        ("GET /act/cancel", &[WITH_TOKEN], 405),
        ("POST /act/cancel", &[WITH_TOKEN], 400),
        ("POST /act/cancel/", &[WITH_TOKEN], 400),
        ("POST /act/pause/0123-45", &[WITH_TOKEN], 400),
        ("POST /act/reboot", &[WITH_TOKEN], 404),
        ("POST /", &[WITH_TOKEN], 404),
    ] {
        assert_eq!(rig.ask(line, headers).0, expected, "{line} {headers:?}");
    }
    assert_eq!(*rig.acts.lock().unwrap(), acts);
    assert_eq!(
        rig.ask("GET /metrics", &[WITH_TOKEN]).1,
        "navtree_ticks_total 7\n"
    );
}

#[test]
fn requests_are_bounded_in_size() {
    let rig = rig();
    let long = "x".repeat(20_000);
    let many: Vec<String> = (0..60).map(|number| format!("x{number}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "1")).collect();
    for (line, headers) in [
        (format!("GET /{long}"), &[][..]),
        ("GET /".to_owned(), &[("X", long.as_str())]),
        ("GET /".to_owned(), &many),
    ] {
        let (status, _) = rig.ask(&line, headers);
        assert!([0, 400, 414, 431].contains(&status), "{status}");
    }
    assert_eq!(rig.ask("GET /", &[]).0, 200);
}

#[test]
fn what_is_not_http_ends_its_connection_only() {
    let rig = rig();
    let mut state = 7_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    };
    let valid = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", rig.address);
    for round in 0..200 {
        let mut bytes = valid.clone().into_bytes();
        for _ in 0..=round % 5 {
            let place = usize::from(random()) % bytes.len();
            bytes[place] = random();
        }
        // A changed request may be incomplete, and the server waits for its end.
        bytes.extend_from_slice(b"\r\n\r\n");
        rig.raw(&bytes);
    }
    assert_eq!(rig.ask("GET /", &[]).0, 200);
}

#[test]
fn clients_are_bounded_in_number_and_make_room_when_they_go() {
    let rig = rig();
    let connected = |_| {
        let mut stream = rig.events();
        read_until(&mut stream, "event: run");
        stream
    };
    let mut streams: Vec<TcpStream> = (0..24).map(connected).collect();
    assert_eq!(rig.ask("GET /metrics", &[WITH_TOKEN]).0, 503);
    assert_eq!(rig.ask("GET /", &[]).0, 200, "the page itself needs no place");
    assert!(rig.feed.is_watched());
    streams.clear();
    // The server sees the end of a connection at once.
    let deadline = Instant::now() + TIMEOUT;
    while rig.feed.is_watched() || rig.ask("GET /metrics", &[WITH_TOKEN]).0 != 200 {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
}

#[test]
fn a_reader_that_cannot_act_is_no_page() {
    let rig = rig();
    // `navtree top`.
    let mut reader = rig.events();
    read_until(&mut reader, "event: run");
    assert!(rig.feed.is_watched() && !rig.feed.has_page());
    let mut page = rig.events_of("/events?page");
    read_until(&mut page, "event: run");
    assert!(rig.feed.has_page());
    drop(page);
    let deadline = Instant::now() + TIMEOUT;
    while rig.feed.has_page() {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
    assert!(rig.feed.is_watched());
}

#[test]
fn strangers_that_keep_their_connections_keep_nobody_out() {
    let rig = rig();
    let mut page = rig.events();
    read_until(&mut page, "event: run");
    let mut strangers: Vec<TcpStream> = (0..60).map(|_| rig.connect()).collect();
    assert_eq!(rig.ask("GET /", &[]).0, 200);
    assert_eq!(rig.ask("GET /metrics", &[WITH_TOKEN]).0, 200);
    rig.feed.begin(&json!({"tree": "Main"}), Time::ZERO);
    read_until(&mut page, r#"{"tree":"Main"}"#);
    // Those that say nothing are closed long before the limit of a whole request.
    let began = Instant::now();
    for stranger in &mut strangers {
        let mut rest = Vec::new();
        let _ = stranger.read_to_end(&mut rest);
    }
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn events_come_as_they_happen_and_a_client_that_does_not_read_delays_nobody() {
    let rig = rig();
    let idle = rig.events();
    let mut stream = rig.events();
    read_until(&mut stream, "event: run\ndata: null\n\n");
    rig.feed.begin(&json!({"tree": "Main"}), Time::ZERO);
    read_until(&mut stream, r#"{"tree":"Main"}"#);
    // Much more than the buffers of a connection hold.
    for number in 0..2000 {
        rig.feed
            .set_node(&json!({"number": number, "padding": "x".repeat(4096)}));
    }
    read_until(&mut stream, "\"number\":1999");
    drop(idle);
}

#[test]
fn a_site_of_two_robots_shows_and_acts_on_the_chosen_one() {
    let listener = server::bind("127.0.0.1", 0).unwrap();
    let address = listener.local_addr().unwrap();
    let feeds = [Feed::new(1 << 16), Feed::new(1 << 16)];
    let acts = [Acts::default(), Acts::default()];
    let rig = Rig {
        address,
        feed: feeds[1].clone(),
        acts: Arc::clone(&acts[1].0),
    };
    let first = Arc::clone(&acts[0].0);
    let names = ["/r1/bt_navigator", "/r2/bt_navigator"];
    let robots = names.into_iter().zip(feeds.clone()).zip(acts);
    let site = Site {
        robots: robots
            .map(|((name, feed), acts)| robot(name, feed, acts))
            .collect(),
        token: Token::chosen(TOKEN).unwrap(),
        name: None,
    };
    std::thread::spawn(move || server::run(listener, site));

    assert_eq!(rig.ask("GET /robots", &[]).0, 401);
    let (status, list) = rig.ask("GET /robots", &[WITH_TOKEN]);
    assert_eq!(
        (status, list.as_str()),
        (200, r#"["/r1/bt_navigator","/r2/bt_navigator"]"#)
    );
    for (number, feed) in (1..).zip(&feeds) {
        feed.begin(&json!({"tree": format!("Tree{number}")}), Time::ZERO);
    }
    for (query, tree) in [
        ("", "Tree1"),
        ("?robot=/r1/bt_navigator", "Tree1"),
        ("?robot=%2Fr2%2Fbt_navigator", "Tree2"),
    ] {
        let mut stream = rig.connect();
        let request = format!(
            "GET /events{query} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let text = read_until(&mut stream, "up to date");
        assert!(text.contains(tree), "{query}: {text}");
    }
    assert_eq!(
        rig.ask("POST /act/pause?robot=/r2/bt_navigator", &[WITH_TOKEN]).0,
        200
    );
    assert_eq!(rig.acts.lock().unwrap().len(), 1);
    assert!(first.lock().unwrap().is_empty());
    for path in ["GET /events", "GET /metrics", "POST /act/pause"] {
        assert_eq!(
            rig.ask(&format!("{path}?robot=/r3"), &[WITH_TOKEN]).0,
            404,
            "{path}"
        );
    }
    assert!(first.lock().unwrap().is_empty());
    // The page itself is the same for all.
    assert_eq!(rig.ask("GET /?robot=/r2/bt_navigator", &[]).0, 200);
}
