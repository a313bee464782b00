//! Tests of the server with real connections on the loopback interface.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Act, Controls, Feed, Robot, Robots, Site, Token, server};
use crate::bt::{Random, Time};
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

/// Waits for the test in each call, as for a tick thread that a leaf blocks.
struct Slow {
    called: Sender<()>,
    gate: Mutex<Receiver<()>>,
}

impl Slow {
    fn wait(&self) {
        self.called.send(()).unwrap();
        let _ = self.gate.lock().unwrap().recv();
    }
}

impl Controls for Slow {
    fn act(&self, _: Act, _: &str, _: Client) -> Result<(), String> {
        self.wait();
        Ok(())
    }

    fn metrics(&self) -> String {
        self.wait();
        String::new()
    }
}

/// A server on a thread of its own, which ends with the test process.
struct Rig {
    address: SocketAddr,
    robots: Robots,
    /// The feed and the acts of the last robot.
    feed: Feed,
    acts: Asked,
}

fn robot(name: &str, feed: &Feed, controls: impl Controls + 'static) -> Robot {
    Robot {
        name: name.to_owned(),
        feed: feed.clone(),
        controls: Some(Arc::new(controls)),
    }
}

fn rig() -> Rig {
    rig_of(&["/r1/bt_navigator"])
}

/// A site of these robots.
fn rig_of(names: &[&str]) -> Rig {
    let listener = server::bind("127.0.0.1", 0).unwrap();
    let address = listener.local_addr().unwrap();
    let robots = Robots::default();
    let (mut feed, mut acts) = (Feed::new(1 << 16), Asked::default());
    for name in names {
        (feed, acts) = (Feed::new(1 << 16), Asked::default());
        robots.add(robot(name, &feed, Acts(Arc::clone(&acts))));
    }
    let site = Site {
        robots: robots.clone(),
        token: Token::chosen(TOKEN).unwrap(),
        name: None,
    };
    std::thread::spawn(move || server::run(listener, site));
    Rig {
        address,
        robots,
        feed,
        acts,
    }
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
        self.begin(&format!("GET {path}"))
    }

    /// Sends a request with the token. Its answer can be read.
    fn begin(&self, line: &str) -> TcpStream {
        let mut stream = self.connect();
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n",
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
    let mut random = Random::new(7);
    let valid = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", rig.address);
    for round in 0..200 {
        let mut bytes = valid.clone().into_bytes();
        for _ in 0..=round % 5 {
            let place = random.next() as usize % bytes.len();
            bytes[place] = random.next() as u8;
        }
        // A changed request may be incomplete, and the server waits for its end.
        bytes.extend_from_slice(b"\r\n\r\n");
        rig.raw(&bytes);
    }
    assert_eq!(rig.ask("GET /", &[]).0, 200);
}

#[test]
fn streams_are_bounded_in_number_make_room_when_they_go_and_keep_no_act_out() {
    let rig = rig();
    let connected = |_| {
        let mut stream = rig.events();
        read_until(&mut stream, "event: run");
        stream
    };
    let mut streams: Vec<TcpStream> = (0..24).map(connected).collect();
    assert_eq!(rig.ask("GET /events", &[WITH_TOKEN]).0, 503);
    assert_eq!(rig.ask("GET /", &[]).0, 200, "the page itself needs no place");
    assert_eq!(rig.ask("POST /act/cancel/0123-45", &[WITH_TOKEN]).0, 200);
    assert_eq!(rig.ask("GET /metrics", &[WITH_TOKEN]).0, 200);
    assert!(rig.feed.is_watched());
    streams.clear();
    // The server sees the end of a connection at once.
    let deadline = Instant::now() + TIMEOUT;
    while rig.feed.is_watched() {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
    read_until(&mut rig.events(), "event: run");
}

#[test]
fn a_reader_that_cannot_act_is_no_page() {
    let rig = rig_of(&["/r1/bt_navigator", "/r2/bt_navigator"]);
    // `navtree top`.
    let mut reader = rig.events_of("/events?robot=/r2/bt_navigator");
    read_until(&mut reader, "event: run");
    assert!(rig.feed.is_watched() && !rig.robots.has_page());
    // A page of one robot keeps the pause of another: its operator looks at one after the other.
    let mut page = rig.events_of("/events?page&robot=/r1/bt_navigator");
    read_until(&mut page, "event: run");
    assert!(rig.robots.has_page());
    drop(page);
    let deadline = Instant::now() + TIMEOUT;
    while rig.robots.has_page() {
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
    let names = ["/r1/bt_navigator", "/r2/bt_navigator"];
    let rig = rig_of(&names);
    assert_eq!(rig.ask("GET /robots", &[]).0, 401);
    let (status, list) = rig.ask("GET /robots", &[WITH_TOKEN]);
    assert_eq!(
        (status, list.as_str()),
        (200, r#"["/r1/bt_navigator","/r2/bt_navigator"]"#)
    );
    for (number, name) in (1..).zip(names) {
        let chosen = rig.robots.chosen(Some(&format!("robot={name}"))).unwrap();
        chosen
            .feed
            .begin(&json!({"tree": format!("Tree{number}")}), Time::ZERO);
    }
    for (query, tree) in [
        ("", "Tree1"),
        ("?robot=/r1/bt_navigator", "Tree1"),
        ("?robot=%2Fr2%2Fbt_navigator", "Tree2"),
    ] {
        let mut stream = rig.events_of(&format!("/events{query}"));
        let text = read_until(&mut stream, "up to date");
        assert!(text.contains(tree), "{query}: {text}");
    }
    assert_eq!(
        rig.ask("POST /act/pause?robot=/r2/bt_navigator", &[WITH_TOKEN]).0,
        200
    );
    assert_eq!(rig.acts.lock().unwrap().len(), 1);
    for path in ["GET /events", "GET /metrics", "POST /act/pause"] {
        assert_eq!(
            rig.ask(&format!("{path}?robot=/r3"), &[WITH_TOKEN]).0,
            404,
            "{path}"
        );
    }
    assert_eq!(rig.acts.lock().unwrap().len(), 1);
    // The page itself is the same for all.
    assert_eq!(rig.ask("GET /?robot=/r2/bt_navigator", &[]).0, 200);
}

#[test]
fn an_act_names_its_robot_once_a_site_has_had_several() {
    let rig = rig_of(&["/r1/bt_navigator", "/r2/bt_navigator"]);
    let act = |query| rig.ask(&format!("POST /act/cancel/0123-45{query}"), &[WITH_TOKEN]);
    let (status, reason) = act("");
    assert_eq!((status, reason.contains("?robot=")), (400, true), "{reason}");
    assert_eq!(rig.ask("POST /act/pause?page=", &[WITH_TOKEN]).0, 400);
    // The first one has failed: its operator does not mean the other one.
    let first = rig.robots.chosen(None).unwrap();
    rig.robots.remove(&first.feed);
    assert_eq!(act("").0, 400);
    assert!(rig.acts.lock().unwrap().is_empty());
    assert_eq!(act("?robot=/r2/bt_navigator").0, 200);
    assert_eq!(rig.acts.lock().unwrap().len(), 1);
}

#[test]
fn the_stream_of_a_robot_that_has_ended_or_starts_again_ends() {
    let rig = rig_of(&["/r1/bt_navigator", "/r2/bt_navigator"]);
    let mut other = rig.events_of("/events?robot=/r1/bt_navigator");
    read_until(&mut other, "up to date");
    let open = || {
        let mut stream = rig.events_of("/events?robot=/r2/bt_navigator");
        read_until(&mut stream, "up to date");
        stream
    };
    let ended = |mut stream: TcpStream| {
        let (mut rest, mut buffer) = (Vec::new(), [0; 4096]);
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let count = stream.read(&mut buffer).unwrap();
            if count == 0 {
                return String::from_utf8(rest).unwrap();
            }
            rest.extend_from_slice(&buffer[..count]);
            assert!(Instant::now() < deadline, "the stream does not end");
        }
    };
    let stream = open();
    rig.feed.begin(&json!({"tree": "The last"}), Time::ZERO);
    let next = Feed::new(1 << 16);
    let again = robot("/r2/bt_navigator", &next, Acts::default());
    rig.robots.add(again);
    let rest = ended(stream);
    assert!(rest.contains("The last"), "all that has happened: {rest}");

    let stream = open();
    // The end of the earlier run comes late.
    rig.robots.remove(&rig.feed);
    next.begin(&json!({"tree": "The next"}), Time::ZERO);
    rig.robots.remove(&next);
    assert!(ended(stream).contains("The next"));
    let gone = rig.ask("GET /events?robot=/r2/bt_navigator", &[WITH_TOKEN]);
    assert_eq!(gone.0, 404);
    let first = rig.robots.chosen(None).unwrap();
    first.feed.begin(&json!({"tree": "The other"}), Time::ZERO);
    read_until(&mut other, "The other");
}

#[test]
fn a_request_that_waits_for_a_tick_thread_delays_no_other_robot() {
    let rig = rig_of(&["/r1/bt_navigator", "/r2/bt_navigator"]);
    let ((called, calls), (open, gate)) = (channel(), channel());
    let gate = Mutex::new(gate);
    rig.robots.add(robot(
        "/r1/bt_navigator",
        &Feed::new(1 << 10),
        Slow { called, gate },
    ));
    let mut stream = rig.events_of("/events?robot=/r2/bt_navigator");
    read_until(&mut stream, "up to date");
    let waiting =
        ["POST /act/pause", "GET /metrics"].map(|line| rig.begin(&format!("{line}?robot=/r1/bt_navigator")));
    for _ in &waiting {
        calls.recv_timeout(TIMEOUT).unwrap();
    }
    rig.feed.begin(&json!({"tree": "Main"}), Time::ZERO);
    read_until(&mut stream, r#"{"tree":"Main"}"#);
    assert_eq!(
        rig.ask("POST /act/cancel/0123-45?robot=/r2/bt_navigator", &[WITH_TOKEN])
            .0,
        200
    );
    drop(open);
    for mut stream in waiting {
        read_until(&mut stream, "200 OK");
    }
}

#[test]
fn a_panic_of_an_act_is_its_answer() {
    struct Panics;
    impl Controls for Panics {
        fn act(&self, _: Act, _: &str, _: Client) -> Result<(), String> {
            panic!("an act");
        }

        fn metrics(&self) -> String {
            panic!("the metrics");
        }
    }
    let rig = rig();
    rig.robots
        .add(robot("/r1/bt_navigator", &Feed::new(1 << 10), Panics));
    for line in ["POST /act/pause", "GET /metrics"] {
        assert_eq!(rig.ask(line, &[WITH_TOKEN]).0, 500, "{line}");
    }
}
