//! Tests of what is on the screen, with a recording and with a real server on the loopback interface.

use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

use super::panes::draw;
use super::robot::{Robot, Update};
use super::screen::{Pane, Screen};
use super::source::{NumberedUpdate, Source, open};
use super::terminal::take;
use super::{Address, once};
use crate::bt::{HaltReason, NodeStatus, Time};
use crate::monitor::web::{self, Change, ChangeKind, Feed, Site, Token, server, view_recording};
use crate::record::Recording;

const TIMEOUT: Duration = Duration::from_secs(20);
const TOKEN: &str = "0123456789abcdef";

fn recording() -> Source {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("test/recordings/recoveries.mcap");
    let feed = view_recording(&Recording::read(&file).unwrap(), &crate::nav::registry()).unwrap();
    Source::Feed("recoveries.mcap".to_owned(), feed)
}

/// A screen with all that its sources tell.
fn screen(sources: Vec<Source>) -> Screen {
    let (mut screen, updates) = open(sources).unwrap();
    wait(&mut screen, &updates, |screen| {
        screen.robots.iter().all(|robot| robot.is_up_to_date)
    });
    screen.follow();
    screen
}

fn wait(screen: &mut Screen, updates: &Receiver<NumberedUpdate>, is_there: impl Fn(&Screen) -> bool) {
    while !is_there(screen) {
        let (number, update) = updates.recv_timeout(TIMEOUT).expect("an update in time");
        take(screen, number, update);
    }
}

/// What is on a terminal of this size.
fn drawn(screen: &Screen, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, screen)).unwrap();
    terminal.backend().to_string()
}

fn press(screen: &mut Screen, keys: &[KeyCode]) {
    for key in keys {
        assert!(screen.press(KeyEvent::new(*key, KeyModifiers::NONE)), "{key:?}");
    }
}

/// Goes to a time of a recording.
fn at(seconds: f64) -> String {
    once(vec![recording()], Some(Duration::from_secs_f64(seconds)), TIMEOUT).unwrap()
}

#[test]
fn a_recording_is_told_at_its_end_and_at_any_time() {
    let text = once(vec![recording()], None, TIMEOUT).unwrap();
    for part in [
        "DriveToPose  succeeded",
        "navigate_to_pose to (6.00, 0.00)",
        "the navigation succeeded",
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    let text = at(5.0);
    for part in [
        "DriveToPose  running",
        "▶ FollowPath",
        "follow_path_error_code   105 ",
        "FollowPath fails after 4.20 s: FAILED_TO_MAKE_PROGRESS (105): scripted",
        "recovery 1",
        "accepted",
        "failed: FAILED_TO_MAKE_PROGRESS (105)",
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}

#[test]
fn all_panes_are_on_a_wide_terminal_and_two_on_a_narrow_one() {
    let mut screen = screen(vec![recording()]);
    screen.time = Some(Time::from_millis(5000));
    screen.follow();
    let wide = drawn(&screen, 140, 40);
    for pane in Pane::ALL {
        assert!(wide.contains(pane.title()), "no {} in\n{wide}", pane.title());
    }
    for part in [
        "▶ FollowPath",
        "display paused",
        "ticks, 0 missed",
        "activations: 2",
    ] {
        assert!(wide.contains(part), "no {part} in\n{wide}");
    }
    screen.focus = Pane::Goals;
    let narrow = drawn(&screen, 60, 16);
    assert!(
        narrow.contains("Tree") && narrow.contains("Goals") && !narrow.contains("Blackboard"),
        "{narrow}"
    );
    for (width, height) in [(1, 1), (3, 2), (20, 5), (100, 24), (500, 200)] {
        drawn(&screen, width, height);
    }
}

#[test]
fn keys_select_fold_filter_search_and_go_through_time() {
    let mut screen = screen(vec![recording()]);
    let name = |screen: &Screen| screen.run().unwrap().head.nodes[screen.selected].name.clone();
    press(&mut screen, &[KeyCode::Home]);
    assert_eq!((name(&screen).as_str(), screen.is_following), ("Navigate", false));
    press(&mut screen, &[KeyCode::Down]);
    assert_eq!(name(&screen), "PlanAndFollow");
    let unfolded = drawn(&screen, 140, 60);
    press(&mut screen, &[KeyCode::Left]);
    let folded = drawn(&screen, 140, 60);
    assert!(unfolded.contains("▾ PlanAndFollow") && folded.contains("▸ PlanAndFollow"));
    assert!(!folded.contains("· FollowPath") && !folded.contains("✔ FollowPath"));

    // The search unfolds what hides a match.
    press(
        &mut screen,
        &[
            KeyCode::Char('/'),
            KeyCode::Char('S'),
            KeyCode::Char('p'),
            KeyCode::Char('i'),
        ],
    );
    press(&mut screen, &[KeyCode::Enter]);
    assert_eq!(name(&screen), "Spin");
    press(&mut screen, &[KeyCode::Char('/')]);
    press(
        &mut screen,
        &"followpath".chars().map(KeyCode::Char).collect::<Vec<_>>(),
    );
    press(&mut screen, &[KeyCode::Enter]);
    assert_eq!((name(&screen).as_str(), screen.folded.len()), ("FollowPath", 0));

    // The end: nothing is active. One tick back: something is.
    press(&mut screen, &[KeyCode::Char('a')]);
    let count = |screen: &Screen| {
        let run = screen.run().unwrap();
        screen.visible(run, &run.at(screen.time)).len()
    };
    assert_eq!(count(&screen), 0);
    screen.time = Some(Time::from_millis(5000));
    assert!((2..22).contains(&count(&screen)), "{}", count(&screen));
    press(&mut screen, &[KeyCode::Char('[')]);
    assert_eq!(screen.time, Some(Time::from_millis(4990)));
    press(&mut screen, &[KeyCode::Char(']')]);
    assert!(screen.time > Some(Time::from_millis(4990)));
    press(&mut screen, &[KeyCode::Char('p')]);
    assert_eq!(screen.time, None);
    assert!(!screen.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
}

fn change(milliseconds: u64, kind: ChangeKind) -> Change {
    Change {
        time: Time::from_millis(milliseconds),
        kind,
    }
}

fn head() -> serde_json::Value {
    let node = |name: &str, parent: Option<u32>| {
        json!({"name": name, "id": "Wait", "kind": "Action", "path": name, "parent": parent,
               "file": null, "line": null, "ports": [["wait_duration", "1.0"]]})
    };
    json!({"mode": "live", "tree": "Main", "nodes": [node("Root", None), node("Left", Some(0)), node("Right", Some(0))],
           "files": [], "keys": ["goal"], "problems": [], "navigation": null})
}

fn site(robots: &[(&str, &Feed)]) -> Site {
    let robot = |(name, feed): &(&str, &Feed)| web::Robot {
        name: (*name).to_owned(),
        feed: (*feed).clone(),
        controls: None,
    };
    Site {
        robots: robots.iter().map(robot).collect(),
        token: Token::chosen(TOKEN).unwrap(),
        name: None,
    }
}

fn serve(feed: &Feed) -> Address {
    serve_all(&[("/bt_navigator", feed)])
}

fn serve_all(robots: &[(&str, &Feed)]) -> Address {
    let listener = server::bind("127.0.0.1", 0).unwrap();
    let port = listener.local_addr().unwrap().port();
    let site = site(robots);
    std::thread::spawn(move || server::run(listener, site));
    Address::local(port, TOKEN)
}

#[test]
fn a_node_is_shown_as_it_runs() {
    let feed = Feed::new(1 << 20);
    let address = serve(&feed);
    let (mut screen, updates) = open(vec![Source::Node(address.clone())]).unwrap();
    assert!(drawn(&screen, 80, 20).contains("connecting to 127.0.0.1"));
    wait(&mut screen, &updates, |screen| screen.robots[0].is_up_to_date);
    assert!(drawn(&screen, 80, 20).contains("no navigation yet"));
    assert_eq!(
        once(vec![Source::Node(address.clone())], None, TIMEOUT).unwrap(),
        "no navigation yet\n"
    );

    feed.begin(&head(), Time::ZERO);
    feed.push(vec![
        change(10, ChangeKind::TickBegan),
        change(10, ChangeKind::Status(0, NodeStatus::Running)),
        change(10, ChangeKind::Status(1, NodeStatus::Running)),
        change(10, ChangeKind::Sent(1, "goal".into(), Some(1), "/wait".into())),
        change(
            10,
            ChangeKind::Wrote(0, None, Some("\u{1b}[2J".into()), "string".into()),
        ),
        change(10, ChangeKind::Ticked(1_500_000, 2)),
    ]);
    feed.set_node(&json!({"paused": true, "goals": [{"leaf": "Spin", "server": "/spin", "state": "canceling (preempted)"}],
               "counters": {"ticks": {"missed": 7, "skipped": 0, "lateness": [1000, 2000, 3000]}, "records_lost": 5,
                            "counts": [["goals", [["succeeded", 4]]], ["leaf_halts", [["preempted", 2]]]]}}));
    feed.push(vec![
        change(60, ChangeKind::Halted(1, HaltReason::Preempted)),
        change(60, ChangeKind::Status(1, NodeStatus::Idle)),
        change(60, ChangeKind::Status(2, NodeStatus::Running)),
    ]);
    wait(&mut screen, &updates, |screen| {
        let run = screen.run();
        run.is_some_and(|run| run.now.time == Time::from_millis(60)) && screen.robots[0].report.paused
    });
    screen.follow();
    let shown = drawn(&screen, 120, 30);
    for part in [
        "Main  paused",
        "■ Left (Wait)  0.00 s ago: preempted",
        "▶ Right (Wait)",
        "1 ticks, 2 missed",
        "last 1.500 ms",
        "late by 1.0µs, 99 % at most 2.0µs, longest 3.0µs",
        "since the start: 7 missed, 0 skipped, 5 records lost",
        "goals: succeeded 4",
        "goal  \u{fffd}[2J",
        "the navigator",
        "canceling (preempted)",
        "Left is halted: preempted",
    ] {
        assert!(shown.contains(part), "no {part} in\n{shown}");
    }
    let text = once(
        vec![Source::Node(address.clone()), Source::Node(address)],
        None,
        TIMEOUT,
    )
    .unwrap();
    assert_eq!(text.matches("▶ Right (Wait)").count(), 2);
    assert_eq!(text.matches("leaf halts: preempted 2").count(), 2);
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn the_text_waits_for_the_counters_of_a_node() {
    let feed = Feed::new(1 << 20);
    let address = serve(&feed);
    feed.begin(&head(), Time::ZERO);
    feed.set_node(&json!({"acts": true}));
    let node = std::thread::spawn(move || {
        let deadline = std::time::Instant::now() + TIMEOUT;
        while !feed.is_watched() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        feed.set_node(&json!({"acts": true, "counters": {"ticks": {"missed": 7}}}));
    });
    let text = once(vec![Source::Node(address)], None, TIMEOUT).unwrap();
    assert!(text.contains("since the start: 7 missed"), "{text}");
    node.join().unwrap();
}

#[test]
fn a_lost_connection_is_told_and_tried_again() {
    let probe = server::bind("127.0.0.1", 0).unwrap();
    let port = probe.local_addr().unwrap().port();
    drop(probe);
    let (mut screen, updates) = open(vec![Source::Node(Address::local(port, TOKEN))]).unwrap();
    wait(&mut screen, &updates, |screen| screen.robots[0].trouble.is_some());
    assert!(drawn(&screen, 80, 20).contains("no connection, trying again"));
    let listener = server::bind("127.0.0.1", port).unwrap();
    let site = site(&[("/bt_navigator", &Feed::new(1 << 10))]);
    std::thread::spawn(move || server::run(listener, site));
    wait(&mut screen, &updates, |screen| screen.robots[0].is_up_to_date);
    assert_eq!(screen.robots[0].trouble, None);
}

#[test]
fn all_robots_of_a_process_are_shown() {
    let feeds = [Feed::new(1 << 20), Feed::new(1 << 20)];
    feeds[1].begin(&head(), Time::ZERO);
    let address = serve_all(&[("/r1/bt_navigator", &feeds[0]), ("/r2/bt_navigator", &feeds[1])]);
    let sources = address.each_robot().into_iter().map(Source::Node);
    let (mut screen, updates) = open(sources.collect()).unwrap();
    wait(&mut screen, &updates, |screen| {
        screen.robots.iter().all(|robot| robot.is_up_to_date)
    });
    assert!(screen.robots[0].run.is_none());
    assert!(screen.robots[1].run.is_some());
    let text = drawn(&screen, 80, 20);
    assert!(
        text.contains("/r1/bt_navigator") && text.contains("/r2/bt_navigator"),
        "{text}"
    );
    // One robot needs no name.
    let one = serve(&feeds[0]).each_robot();
    assert_eq!(one[0].robot, "");
}

#[test]
fn a_wrong_token_and_another_server_are_told() {
    let mut address = serve(&Feed::new(1 << 10));
    address.token = "another-token-of-a-stranger".to_owned();
    let error = once(vec![Source::Node(address)], None, TIMEOUT).unwrap_err();
    assert!(error.contains("the token is missing or wrong"), "{error}");
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let error = once(
        vec![Source::Node(Address::local(port, TOKEN))],
        None,
        Duration::from_millis(10),
    )
    .unwrap_err();
    assert!(error.contains("no complete answer"), "{error}");
}

#[test]
fn a_run_without_a_tree_or_with_wrong_numbers_is_drawn() {
    let mut screen = Screen::new(vec![Robot::new("robot".to_owned())]);
    let mut empty = head();
    empty["nodes"] = json!([]);
    for head in [empty, head()] {
        let run = serde_json::from_value(head).unwrap();
        take(
            &mut screen,
            0,
            Update::Event(super::event_parser::FeedEvent::Run(Some(run))),
        );
        let changes = vec![
            change(1, ChangeKind::Status(99, NodeStatus::Running)),
            change(
                2,
                ChangeKind::Wrote(99, Some(99), Some("1".into()), String::new()),
            ),
            change(2, ChangeKind::Key(u32::MAX, "far".into())),
            change(3, ChangeKind::Sent(1, "goal".into(), Some(99), String::new())),
        ];
        take(
            &mut screen,
            0,
            Update::Event(super::event_parser::FeedEvent::Changes(changes)),
        );
        for key in ["a", "n", "f", "[", "]", "p", "?"] {
            press(&mut screen, &key.chars().map(KeyCode::Char).collect::<Vec<_>>());
            press(
                &mut screen,
                &[
                    KeyCode::Up,
                    KeyCode::Down,
                    KeyCode::Left,
                    KeyCode::Right,
                    KeyCode::End,
                ],
            );
            drawn(&screen, 120, 40);
        }
    }
}
