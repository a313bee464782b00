//! The terminal: draws, reads keys, and is restored at the end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use tokio::signal::unix::{SignalKind, signal};

use super::panes::draw;
use super::robot::{Robot, Update};
use super::screen::Screen;
use super::source::{NumberedUpdate, Source, open};

/// Time between two looks at keys and updates.
const PERIOD: Duration = Duration::from_millis(50);
/// Maximum time for updates before a drawing and the keys have their turn.
const BUDGET: Duration = Duration::from_millis(100);

/// Shows the sources until the user ends it. The terminal is restored in each case: a panic and a signal, too.
///
/// # Errors
/// The terminal cannot be used.
pub fn show(sources: Vec<Source>) -> io::Result<()> {
    let (mut screen, updates) = open(sources)?;
    let is_ended = watch_signals()?;
    // It also restores the terminal when this thread panics.
    let mut terminal = ratatui::try_init()?;
    let shown = run(&mut terminal, &mut screen, &updates, &is_ended);
    ratatui::try_restore()?;
    shown
}

fn run(
    terminal: &mut DefaultTerminal,
    screen: &mut Screen,
    updates: &Receiver<NumberedUpdate>,
    is_ended: &AtomicBool,
) -> io::Result<()> {
    let mut is_changed = true;
    loop {
        is_changed |= take_updates(screen, updates);
        if is_changed {
            screen.follow();
            terminal.draw(|frame| draw(frame, screen))?;
            is_changed = false;
        }
        if is_ended.load(Ordering::Relaxed) {
            return Ok(());
        }
        if !event::poll(PERIOD)? {
            continue;
        }
        is_changed = true;
        if let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
            && !screen.press(key)
        {
            return Ok(());
        }
    }
}

/// Takes the waiting updates. Returns whether there were any.
fn take_updates(screen: &mut Screen, updates: &Receiver<NumberedUpdate>) -> bool {
    let begin = Instant::now();
    let mut has_any = false;
    while begin.elapsed() < BUDGET {
        match updates.try_recv() {
            Ok((number, update)) => {
                has_any = true;
                take(screen, number, update);
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
        }
    }
    has_any
}

/// Takes an update. A new run of the shown robot changes what is selected.
pub(super) fn take(screen: &mut Screen, number: usize, update: Update) {
    let Some(robot) = screen.robots.get_mut(number) else {
        return;
    };
    let tree = |robot: &Robot| {
        let run = robot.run.as_ref();
        run.map(|run| (run.head.tree.clone(), run.head.nodes.len()))
    };
    let is_run = matches!(update, Update::Event(super::event_parser::FeedEvent::Run(_)));
    let before = tree(robot);
    robot.take(update);
    let is_same = tree(robot) == before;
    if is_run && number == screen.shown {
        screen.begin_run(is_same);
    }
}

/// A flag that is set when the process is asked to end.
fn watch_signals() -> io::Result<Arc<AtomicBool>> {
    let is_ended = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_ended);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let (mut interrupt, mut terminate, mut hangup) = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        )
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
            });
            flag.store(true, Ordering::Relaxed);
        })?;
    Ok(is_ended)
}
