//! Tests with a real endpoint on the loopback interface. The expected bytes come from BehaviorTree.CPP's
//! `Groot2Publisher` for the same tree (behaviortreepy 0.1.4).

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Endpoint, Listeners};
use crate::bt::builder::{forest, inverter, leaf, sequence, subtree, tree};
use crate::bt::{HaltReason, Random, Registry, Time, Tree, compile};
use crate::goal::GoalId;
use crate::monitor::pause::PauseControl;
use crate::monitor::web::shown;
use crate::navigator::{NavigationId, NavigatorKind};
use crate::record::event::{Event, Navigation};
use crate::record::stored::StoredRecord;
use crate::record::{Stream, Tracer};

const TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Pause,
    Release,
}

/// Remembers what was asked of it, whether the pause is held, and the goal whose tree runs.
#[derive(Clone)]
struct Acts(Arc<Mutex<(Vec<Act>, bool, NavigationId)>>);

/// The ID of a goal.
fn goal(number: u8) -> NavigationId {
    NavigationId {
        kind: NavigatorKind::ToPose,
        goal: GoalId([number; 16]),
    }
}

impl PauseControl for Acts {
    fn pause(&self, goal: NavigationId) -> Result<(), String> {
        let mut acts = self.0.lock().unwrap();
        if goal != acts.2 {
            return Err("this goal runs no longer".to_owned());
        }
        acts.0.push(Act::Pause);
        acts.1 = true;
        Ok(())
    }

    fn release(&self) -> Result<(), String> {
        let mut acts = self.0.lock().unwrap();
        acts.0.push(Act::Release);
        acts.1 = false;
        Ok(())
    }

    fn is_held(&self) -> bool {
        self.0.lock().unwrap().1
    }
}

/// An endpoint on a thread of its own, which ends with the test process, and a tree that runs.
struct Rig {
    endpoint: Endpoint,
    reply: SocketAddr,
    publish: SocketAddr,
    acts: Acts,
    tree: Tree,
    stream: Stream,
    time: u64,
}

fn registry() -> Registry {
    Registry::builtin()
}

/// The tree whose bytes BehaviorTree.CPP gave.
fn example() -> Tree {
    let main = sequence([
        leaf("Script").port(
            "code",
            "x := 5; s := 'text'; d := 1.5; big := 70000; f := 0.1; neg := -3",
        ),
        subtree("Sub").name("inner").port("a", "{x}"),
        leaf("Sleep").name("go").port("msec", "100000"),
    ]);
    let trees = forest([
        tree("Main", main.name("Way")),
        tree("Sub", inverter(leaf("AlwaysFailure"))),
    ]);
    Tree::new(compile(&trees, "Main", &registry()).unwrap().def)
}

impl Rig {
    fn new() -> Self {
        Self::with_idle_limit(TIMEOUT)
    }

    fn with_idle_limit(idle_limit: Duration) -> Self {
        let acts = Acts(Arc::new(Mutex::new((Vec::new(), false, goal(1)))));
        let endpoint = Endpoint::new(Box::new(acts.clone()), registry()).with_idle_limit(idle_limit);
        // Another test may take the next port in between.
        let listeners = (0..100).find_map(|_| Listeners::bind_any().ok()).unwrap();
        let [reply, publish] = listeners.addresses().unwrap();
        let served = endpoint.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(served.serve(listeners))
        });
        Self {
            endpoint,
            reply,
            publish,
            acts,
            tree: example(),
            stream: Stream::default(),
            time: 0,
        }
    }

    /// Begins a navigation with the tree.
    fn begin(&mut self) {
        self.begin_goal(1);
    }

    fn begin_goal(&mut self, number: u8) {
        let mut navigation = Navigation::of_tree(&mut self.tree);
        navigation.goal = goal(number).goal;
        let def = Arc::clone(&navigation.tree);
        let StoredRecord::Began(stored) = StoredRecord::of(&Event::Began(Box::new(navigation))) else {
            panic!("not the beginning");
        };
        self.endpoint.begin(&def, &stored);
        self.tree
            .set_observer(Some(Box::new(Tracer::new(self.stream.clone(), &def))));
    }

    /// Ticks the tree and passes its records on.
    fn tick(&mut self) {
        let mut distributor = self.stream.distribute();
        let reader = distributor.subscribe().reader();
        self.time += 10;
        let now = Time::from_millis(self.time);
        self.stream.set_time(now);
        self.tree.tick(now).unwrap();
        distributor.distribute();
        while let Some(batch) = reader.read() {
            for record in batch.records.iter() {
                if let Some(stored) = shown(&record.event) {
                    self.endpoint.take(record.time, &stored);
                }
            }
        }
        self.endpoint.publish();
    }

    fn client(&self) -> Client {
        Client::connect(self.reply, "REQ")
    }

    fn acts(&self) -> Vec<Act> {
        std::mem::take(&mut self.acts.0.lock().unwrap().0)
    }
}

/// A client with its own ZMTP.
struct Client(TcpStream);

fn greeting() -> [u8; 64] {
    let mut greeting = [0; 64];
    (greeting[0], greeting[8], greeting[9], greeting[10]) = (0xff, 1, 0x7f, 3);
    // The minor version of libzmq.
    greeting[11] = 1;
    greeting[12..16].copy_from_slice(b"NULL");
    greeting
}

impl Client {
    fn raw(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(TIMEOUT)).unwrap();
        Self(stream)
    }

    fn connect(address: SocketAddr, kind: &str) -> Self {
        let mut client = Self::raw(address);
        client.0.write_all(&greeting()).unwrap();
        let mut ready = b"\x05READY\x0bSocket-Type\0\0\0".to_vec();
        ready.push(kind.len() as u8);
        ready.extend_from_slice(kind.as_bytes());
        ready.extend_from_slice(b"\x08Identity\0\0\0\0");
        client.frame(4, &ready);
        let mut theirs = [0; 64];
        client.0.read_exact(&mut theirs).unwrap();
        assert_eq!((theirs[0], theirs[9], theirs[10]), (0xff, 0x7f, 3));
        assert!(client.read_frame().unwrap().1.starts_with(b"\x05READY"));
        client
    }

    fn frame(&mut self, flags: u8, body: &[u8]) {
        let mut bytes = vec![flags, body.len() as u8];
        if body.len() > 255 {
            bytes = vec![flags | 2];
            bytes.extend_from_slice(&(body.len() as u64).to_be_bytes());
        }
        bytes.extend_from_slice(body);
        self.0.write_all(&bytes).unwrap();
    }

    fn read_frame(&mut self) -> std::io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 2];
        self.0.read_exact(&mut head)?;
        let mut length = usize::from(head[1]);
        if head[0] & 2 != 0 {
            let mut rest = [0; 7];
            self.0.read_exact(&mut rest)?;
            length = rest
                .iter()
                .fold(length, |sum, byte| sum << 8 | usize::from(*byte));
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok((head[0], body))
    }

    fn read_message(&mut self) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        loop {
            let (flags, body) = self.read_frame().unwrap();
            frames.push(body);
            if flags & 1 == 0 {
                return frames;
            }
        }
    }

    /// The frames of the reply, without the envelope.
    fn ask(&mut self, letter: u8, content: Option<&[u8]>) -> Vec<Vec<u8>> {
        self.frame(1, b"");
        self.frame(u8::from(content.is_some()), &[2, letter, 1, 2, 3, 4]);
        if let Some(content) = content {
            self.frame(0, content);
        }
        let mut frames = self.read_message();
        assert_eq!(frames.remove(0), b"");
        frames
    }

    /// The second frame of a reply that is no error.
    fn content(&mut self, letter: u8, content: Option<&[u8]>) -> Vec<u8> {
        let frames = self.ask(letter, content);
        assert_eq!(
            frames[0][..6],
            [2, letter, 1, 2, 3, 4],
            "{}",
            String::from_utf8_lossy(&frames[0])
        );
        assert_eq!(frames[0].len(), 22);
        frames.get(1).cloned().unwrap_or_default()
    }

    fn error(&mut self, letter: u8, content: Option<&[u8]>) -> String {
        let frames = self.ask(letter, content);
        assert_eq!(frames[0], b"error");
        String::from_utf8(frames[1].clone()).unwrap()
    }
}

fn hook(uid: u16, position: u8, once: bool) -> Vec<u8> {
    format!(
        r#"{{"enabled":true,"uid":{uid},"mode":0,"once":{once},"desired_status":"SKIPPED","position":{position}}}"#
    )
    .into_bytes()
}

#[test]
fn replies_have_the_bytes_of_behaviortree_cpp() {
    let mut rig = Rig::new();
    let mut client = rig.client();
    assert_eq!(client.error(b'T', None), "no tree has run yet");
    assert_eq!(client.content(b'S', None), b"");
    rig.begin();
    rig.tick();
    assert_eq!(
        client.content(b'S', None),
        b"\x01\0\x01\x02\0\x02\x03\0\x02\x06\0\x01\x04\0\x0c\x05\0\x0d"
    );
    assert_eq!(
        client.content(b'B', Some(b"Main;inner;nope")),
        b"\x82\xa4Main\x86\xa3big\xce\x00\x01\x11p\xa1d\xca?\xc0\x00\x00\xa1f\xcb?\xb9\x99\x99\x99\x99\x99\x9a\
          \xa3neg\xca\xc0@\x00\x00\xa1s\xa4text\xa1x\x05\xa5inner\xc0"
    );
    assert_eq!(client.content(b'B', Some(b"")), b"\xc0");
    for letter in [b'B', b'r', b'I', b'R', b'U'] {
        assert_eq!(client.error(letter, None), "must be 2 parts message");
    }
    assert_eq!(client.error(b'Z', None), "Request not recognized");
    let xml = String::from_utf8(client.content(b'T', None)).unwrap();
    for part in [
        "<BehaviorTree ID=\"Main\" _fullpath=\"\">",
        "<Sequence name=\"Way\" _uid=\"1\">",
        "<SubTree ID=\"Sub\" _fullpath=\"inner\" _uid=\"3\" a=\"{x}\"/>",
        "<Sleep name=\"go\" _uid=\"6\" msec=\"100000\"/>",
        "<BehaviorTree ID=\"Sub\" _fullpath=\"inner\">",
        "<AlwaysFailure name=\"AlwaysFailure\" _uid=\"5\"/>",
        "<TreeNodesModel>",
    ] {
        assert!(xml.contains(part), "no {part} in {xml}");
    }
}

#[test]
fn hooks_are_kept_as_in_behaviortree_cpp() {
    let mut rig = Rig::new();
    rig.begin();
    let mut client = rig.client();
    assert_eq!(client.content(b'D', None), b"[]");
    client.content(b'I', Some(&hook(99, 0, false)));
    assert_eq!(client.content(b'D', None), b"[]", "the node does not exist");
    client.content(b'I', Some(&hook(3, 0, false)));
    let dumped =
        br#"[{"desired_status":"SKIPPED","enabled":true,"mode":0,"once":false,"position":0,"uid":3}]"#;
    assert_eq!(client.content(b'D', None), dumped);
    for wrong in [&br#"{"uid":5,"position":0}"#[..], br#"{"uid":99,"position":0}"#] {
        assert_eq!(client.error(b'R', Some(wrong)), "Node ID not found");
    }
    client.content(b'X', None);
    assert!(
        String::from_utf8(client.content(b'D', None))
            .unwrap()
            .contains(r#""enabled":false"#)
    );
    client.content(b'R', Some(br#"{"uid":3,"position":0}"#));
    assert_eq!(client.content(b'D', None), b"[]");
    client.content(
        b'I',
        Some(&[b"[", hook(1, 0, true).as_slice(), b",", &hook(2, 1, false), b"]"].concat()),
    );
    assert_eq!(
        client
            .content(b'D', None)
            .iter()
            .filter(|byte| **byte == b'{')
            .count(),
        2
    );
    client.content(b'A', None);
    assert_eq!(client.content(b'D', None), b"[]");
    // These end the process of BehaviorTree.CPP.
    for wrong in [
        &b"{}"[..],
        b"not json",
        b"[1]",
        b"\xff",
        br#"{"uid":-1,"position":0}"#,
    ] {
        assert!(!client.error(b'I', Some(wrong)).is_empty());
        client.error(b'R', Some(wrong));
        client.error(b'U', Some(wrong));
    }
    let replace = String::from_utf8(hook(3, 0, false))
        .unwrap()
        .replace("\"mode\":0", "\"mode\":1");
    assert!(
        client
            .error(b'I', Some(replace.as_bytes()))
            .contains("does not replace")
    );
    assert!(rig.acts().is_empty());
}

#[test]
fn a_breakpoint_pauses_the_tree_until_it_is_unlocked() {
    let mut rig = Rig::new();
    rig.begin();
    let mut client = rig.client();
    let mut subscriber = Client::connect(rig.publish, "SUB");
    subscriber.frame(0, b"\x01");
    // The PONG comes after the subscription was read.
    subscriber.frame(4, b"\x04PING\0\0at");
    assert_eq!(subscriber.read_message(), [b"\x04PONGat"]);
    client.content(b'I', Some(&hook(6, 0, true)));
    rig.tick();
    assert_eq!(rig.acts(), [Act::Pause]);
    let message = subscriber.read_message();
    assert_eq!(
        (&message[0][..2], message[0].len(), message[1].as_slice()),
        (&b"\x02N"[..], 6, &b"6"[..])
    );
    let unlock = |uid: u16, status: &str| {
        format!(r#"{{"uid":{uid},"position":0,"desired_status":"{status}","remove_when_done":false}}"#)
    };
    assert_eq!(
        client.error(b'U', Some(unlock(5, "SKIPPED").as_bytes())),
        "Node ID not found"
    );
    assert!(
        client
            .error(b'U', Some(unlock(6, "SUCCESS").as_bytes()))
            .contains("does not replace")
    );
    assert!(rig.acts().is_empty());
    client.content(b'U', Some(unlock(6, "SKIPPED").as_bytes()));
    assert_eq!(rig.acts(), [Act::Release]);
    assert_eq!(client.content(b'D', None), b"[]", "it was for once");
    // A client that goes leaves no paused tree behind.
    client.content(b'I', Some(&hook(1, 0, false)));
    rig.tree.halt(HaltReason::Preempted, Time::from_millis(rig.time));
    rig.tick();
    assert_eq!(rig.acts(), [Act::Pause]);
    rig.endpoint.publish_at(Time::ZERO + TIMEOUT + TIMEOUT);
    assert_eq!(rig.acts(), [Act::Release]);
}

#[test]
fn a_breakpoint_pauses_again_after_another_client_has_resumed() {
    let mut rig = Rig::new();
    rig.begin();
    let mut client = rig.client();
    client.content(b'I', Some(&hook(1, 0, false)));
    for round in 0..2 {
        rig.tick();
        assert_eq!(rig.acts(), [Act::Pause], "round {round}");
        rig.acts.0.lock().unwrap().1 = false;
        rig.tree.halt(HaltReason::Preempted, Time::from_millis(rig.time));
    }
}

#[test]
fn a_breakpoint_pauses_its_own_goal_only() {
    let mut rig = Rig::new();
    rig.begin();
    let mut client = rig.client();
    client.content(b'I', Some(&hook(1, 0, true)));
    // The records are late: goal 2 runs already.
    rig.acts.0.lock().unwrap().2 = goal(2);
    rig.tick();
    assert!(rig.acts().is_empty());
    assert!(client.content(b'D', None).len() > 2, "it was not reached");
    rig.tree.halt(HaltReason::Preempted, Time::from_millis(rig.time));
    rig.begin_goal(2);
    rig.tick();
    assert_eq!(rig.acts(), [Act::Pause]);
    client.content(b'A', None);
    assert_eq!(rig.acts(), [Act::Release]);
    // A goal that goes on with the tree.
    client.content(b'I', Some(&hook(1, 0, true)));
    rig.acts.0.lock().unwrap().2 = goal(3);
    let replaced = StoredRecord::Replaced {
        goal: goal(3).goal,
        poses: Vec::new(),
        accepted: Time::ZERO,
    };
    rig.endpoint.take(Time::from_millis(rig.time), &replaced);
    rig.tree.halt(HaltReason::Preempted, Time::from_millis(rig.time));
    rig.tick();
    assert_eq!(rig.acts(), [Act::Pause]);
}

#[test]
fn a_breakpoint_pauses_no_tree_whose_beginning_may_be_lost() {
    let mut rig = Rig::new();
    rig.begin();
    let mut client = rig.client();
    client.content(b'I', Some(&hook(1, 0, false)));
    let statuses = client.content(b'S', None);
    rig.endpoint.lose();
    rig.tick();
    assert!(rig.acts().is_empty());
    assert_eq!(client.content(b'S', None), statuses);
    rig.tree.halt(HaltReason::Preempted, Time::from_millis(rig.time));
    rig.begin();
    rig.tick();
    assert_eq!(rig.acts(), [Act::Pause]);
}

#[test]
fn idle_connections_are_closed() {
    let rig = Rig::with_idle_limit(Duration::from_millis(50));
    let mut closed = [rig.client(), Client::connect(rig.publish, "SUB")];
    for client in &mut closed {
        assert_eq!(client.0.read(&mut [0]).unwrap(), 0);
    }
}

#[test]
fn transitions_are_recorded_between_start_and_stop() {
    let mut rig = Rig::new();
    rig.begin();
    let mut client = rig.client();
    let start = String::from_utf8(client.content(b'r', Some(b"start"))).unwrap();
    assert!(start.parse::<u64>().unwrap() > 1_700_000_000_000_000);
    rig.tick();
    let transitions = client.content(b't', None);
    assert_eq!(transitions.len() % 9, 0);
    let first: Vec<(u16, u8)> = transitions
        .chunks(9)
        .map(|change| (u16::from_le_bytes([change[6], change[7]]), change[8]))
        .collect();
    assert!(first.contains(&(2, 2)) && first.contains(&(6, 1)), "{first:?}");
    assert_eq!(client.content(b't', None), b"");
    assert_eq!(client.content(b'r', Some(b"stop")), b"");
    assert_eq!(client.content(b'r', Some(b"x")), b"");
}

#[test]
fn malformed_frames_end_their_connection_only() {
    let mut rig = Rig::new();
    rig.begin();
    let mut good = rig.client();
    let ends = |mut client: Client, bytes: &[u8]| {
        // The server may close the connection before all is written.
        let _ = client.0.write_all(bytes);
        let _ = client.0.shutdown(std::net::Shutdown::Write);
        match client.0.read_to_end(&mut Vec::new()) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
            _ => {}
        }
    };
    let huge = [&[2][..], &u64::MAX.to_be_bytes(), b"x"].concat();
    let endless = [1, 0].repeat(20);
    for port in [rig.reply, rig.publish] {
        ends(Client::raw(port), b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        ends(Client::raw(port), &[&greeting()[..], &huge].concat());
        ends(
            Client::raw(port),
            &[&greeting()[..], b"\x04\x0e\x05READY\x0bSocket"].concat(),
        );
        ends(Client::raw(port), &[&greeting()[..], b"\x04\x00"].concat());
    }
    for bytes in [
        &huge[..],
        &endless,
        b"\x00\x03abc",
        b"\x04\x01\x09",
        b"\x04\x06\x04PING\0",
    ] {
        ends(rig.client(), bytes);
        ends(Client::connect(rig.publish, "SUB"), bytes);
    }
    let mut random = Random::new(7);
    for _ in 0..300 {
        let mut bytes = b"\x01\0\x01\x06\x02I\x01\x02\x03\x04\0\x02{}".to_vec();
        let place = random.next() as usize % bytes.len();
        bytes[place] = random.next() as u8;
        ends(rig.client(), &bytes);
    }
    assert_eq!(good.content(b'D', None), b"[]");
}

/// Sends bytes over a connection in memory. Returns what comes back.
fn talk(endpoint: &Endpoint, is_subscriber: bool, bytes: &[u8]) -> Vec<u8> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let served = endpoint.serve_connection(server, is_subscriber);
        let client = async move {
            let _ = client.write_all(bytes).await;
            let _ = client.shutdown().await;
            let mut answer = Vec::new();
            let _ = client.read_to_end(&mut answer).await;
            answer
        };
        tokio::join!(client, served).0
    })
}

#[test]
fn any_frames_end_their_connection_only() {
    use proptest::collection::vec;
    use proptest::prelude::{ProptestConfig, any};

    let mut rig = Rig::new();
    rig.begin();
    let frames = vec((0_u8..8, vec(any::<u8>(), 0..300)), 0..12);
    proptest::proptest!(ProptestConfig::with_cases(64), |(
        is_subscriber: bool,
        greets: bool,
        frames in frames,
        cut in 0_usize..200,
    )| {
        let mut bytes = Vec::new();
        if greets {
            bytes.extend_from_slice(&greeting());
            let kind: &[u8] = if is_subscriber { b"SUB" } else { b"REQ" };
            let ready = [&b"\x05READY\x0bSocket-Type\0\0\0\x03"[..], kind].concat();
            bytes.extend_from_slice(&[4, ready.len() as u8]);
            bytes.extend_from_slice(&ready);
        }
        for (flags, body) in frames {
            match flags & 2 {
                0 => bytes.extend_from_slice(&[flags, body.len() as u8]),
                _ => bytes.extend_from_slice(&[&[flags][..], &(body.len() as u64).to_be_bytes()].concat()),
            }
            bytes.extend_from_slice(&body);
        }
        bytes.truncate(bytes.len().saturating_sub(cut));
        let answer = talk(&rig.endpoint, is_subscriber, &bytes);
        assert!(answer.len() >= 64 && answer[0] == 0xff);
    });
    assert!(rig.client().content(b'D', None).starts_with(b"["));
}

#[test]
fn clients_are_bounded_in_number() {
    let rig = Rig::new();
    let _clients: Vec<Client> = (0..16).map(|_| rig.client()).collect();
    let mut one_more = Client::raw(rig.reply);
    let mut byte = [0];
    assert!(!matches!(one_more.0.read(&mut byte), Ok(1)), "the 17th is closed");
}
