//! The web page of the nodes of a process.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{IpAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot::error::TryRecvError;

use super::live::LiveRun;
use super::metrics::{Numbers, metrics};
use super::node_counters::NodeCounters;
use super::node_report::{NodeReport, StoppingGoal};
use super::page_owner::PageOwner;
use super::pause_watch::PauseWatch;
use super::robot::{Robot, Robots};
use super::run_head::stored_problems;
use super::site::{Act, Controls, Site};
use super::token::Token;
use super::{Feed, server};
use crate::bt::HaltReason;
use crate::monitor::pause::{Client, ClientPause, NOT_RUNNING, PauseControl, TIMEOUT, wait};
use crate::monitor::running::MonitorsEnd;
use crate::navigator::{
    MonitorSettings, NavigationId, NodeHandles, Pending, StartError, TickStatus, Unacknowledged,
    cancel_without_ticks,
};
use crate::record::Totals;
use crate::robot_name;

/// Time between two looks at the event stream while somebody watches: the page draws 20 times a second.
const PERIOD: Duration = Duration::from_millis(50);
/// The same while nobody watches. The stream keeps a second for a reader.
const IDLE_PERIOD: Duration = Duration::from_millis(400);
/// Maximum time that a request for the metrics waits for the tick thread.
const METRICS_TIMEOUT: Duration = Duration::from_millis(50);
/// What the client of a goal is told that was cancelled on the page.
const BY_OPERATOR: &str = "an operator cancelled the goal on the web page";
/// Number of looks between two requests for the state of the tick thread.
const STATUS_LOOKS: u32 = 5;

/// What the thread of a page gets of each node: what the server answers, and what keeps it up to date.
type Shown = (Robot, Watched);

/// The pages that a process serves, by port: its nodes that have the same port share a page. Clones share them.
#[derive(Clone, Default, Debug)]
pub struct Pages(Arc<Mutex<BTreeMap<u16, Page>>>);

/// A page that is served.
#[derive(Debug)]
struct Page {
    owner: PageOwner,
    /// Gives it a node.
    nodes: UnboundedSender<Shown>,
}

impl Pages {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u16, Page>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves the web page of a node until `end`. The first node on a port starts the thread of the page; its address and
    /// token count. The page lets one choose between the nodes of the process that have the port.
    ///
    /// # Errors
    /// The token is not usable, or there is no thread. A port that cannot be opened is logged: the robot drives without its
    /// page.
    pub(in crate::monitor) fn serve(
        &self,
        node_handles: &NodeHandles,
        pause: &ClientPause,
        settings: &MonitorSettings,
        end: MonitorsEnd,
    ) -> Result<(), StartError> {
        let Some(port) = settings.port else {
            return Ok(());
        };
        let Some(shown) = show(node_handles, pause, end) else {
            return Ok(());
        };
        let mut pages = self.lock();
        let shown = match pages.get(&port) {
            None => shown,
            Some(page) => match page.nodes.send(shown) {
                Ok(()) => {
                    if let Some(warning) = page.owner.warning(&settings.address, &settings.token) {
                        tracing::warn!("{warning}");
                    }
                    return Ok(());
                }
                Err(SendError(shown)) => shown,
            },
        };
        let owner = PageOwner {
            robot: node_handles.ros.full_name(),
            port,
            address: settings.address.clone(),
            token: settings.token.clone(),
        };
        if let Some(nodes) = self.start(shown, &owner)? {
            pages.insert(port, Page { owner, nodes });
        }
        Ok(())
    }

    /// Starts the thread of a page with its first node. `None`: the port cannot be opened.
    fn start(&self, first: Shown, owner: &PageOwner) -> Result<Option<UnboundedSender<Shown>>, StartError> {
        let PageOwner { port, address, .. } = owner;
        let token = match owner.token.as_str() {
            "" => Token::random(),
            text => Token::chosen(text),
        };
        let token = token.map_err(|error| StartError::Parameter(format!("monitor_token: {error}")))?;
        let listener = match server::bind(address, *port) {
            Ok(listener) => listener,
            Err(error) => {
                tracing::error!("no web page on {address}:{port}: {error}");
                return Ok(None);
            }
        };
        log_address(&listener, address, &token);
        let site = Site {
            robots: Robots::default(),
            token,
            name: Some(address.clone()),
        };
        let (nodes, arrivals) = unbounded_channel();
        let (pages, port) = (self.clone(), *port);
        std::thread::Builder::new()
            .name("monitor".to_owned())
            .spawn(move || {
                if let Err(error) = run(listener, site, arrivals, (&pages, port)) {
                    tracing::error!("the web page has ended: {error}");
                }
            })?;
        // The thread has the receiver.
        let _ = nodes.send(first);
        Ok(Some(nodes))
    }
}

/// What the page has of a node. `None`: nothing of it is recorded.
fn show(node_handles: &NodeHandles, pause: &ClientPause, end: MonitorsEnd) -> Option<Shown> {
    let (records, totals) = node_handles.records.as_ref()?;
    let registry = node_handles.library.registry().clone();
    let find_problems = move |def: &crate::bt::TreeDef| {
        let files = def.files().into_iter();
        let files: Vec<_> = files
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .collect();
        stored_problems(&files, &registry)
    };
    let live = LiveRun::new(records.reader(), find_problems);
    let robot = Robot {
        name: node_handles.ros.full_name(),
        feed: live.feed().clone(),
        controls: Some(Arc::new(NodeControls {
            log_name: robot_name::current(),
            node_handles: node_handles.clone(),
            totals: totals.clone(),
            pause: pause.clone(),
        })),
    };
    let watched = Watched {
        log_name: robot_name::current(),
        end,
        node_handles: node_handles.clone(),
        live,
        pause: pause.of(Client::Page),
        pause_watch: PauseWatch::default(),
        totals: totals.clone(),
        question: None,
        status: None,
    };
    Some((robot, watched))
}

fn log_address(listener: &TcpListener, name: &str, token: &Token) {
    let Ok(address) = listener.local_addr() else {
        return;
    };
    let shown = match name.parse::<IpAddr>() {
        Ok(_) => address.to_string(),
        Err(_) => format!("{name}:{}", address.port()),
    };
    // Not as a log line: those are published on /rosout, which anybody can read.
    let _ = writeln!(std::io::stderr(), "web page: http://{shown}/#{}", token.as_str());
    if !address.ip().is_loopback() {
        tracing::warn!(
            "the web page is served on {} without encryption: use it only in a network that you trust",
            address.ip()
        );
    }
}

/// Serves the page until its last node has ended.
fn run(
    listener: TcpListener,
    site: Site,
    arrivals: UnboundedReceiver<Shown>,
    own: (&Pages, u16),
) -> std::io::Result<()> {
    let robots = site.robots.clone();
    server::runtime()?.block_on(async {
        let serve = server::serve(listener, Arc::new(site));
        tokio::select! {
            ended = serve => ended.map(|never| match never {}),
            () = watch(robots, arrivals, own) => Ok(()),
        }
    })
}

/// Keeps the nodes of a page up to date. Returns when there are none any more.
async fn watch(robots: Robots, mut arrivals: UnboundedReceiver<Shown>, (pages, port): (&Pages, u16)) {
    let mut watched: Vec<Watched> = Vec::new();
    for look in 0_u32.. {
        // First: a node that starts again has the name of the one that has ended.
        watched.retain_mut(|node| {
            let is_running = node.end.try_recv() == Err(TryRecvError::Empty);
            if !is_running {
                robots.remove(node.live.feed());
            }
            is_running
        });
        while let Ok((robot, node)) = arrivals.try_recv() {
            robots.add(robot);
            watched.push(node);
        }
        if watched.is_empty() {
            let mut pages = pages.lock();
            if arrivals.is_empty() {
                pages.remove(&port);
                return;
            }
            continue;
        }
        let with_status = look.is_multiple_of(STATUS_LOOKS);
        let has_page = robots.has_page();
        let looks = watched.iter_mut().map(|node| {
            let log_name = node.log_name.clone();
            robot_name::with(log_name.as_ref(), || node.look(with_status, has_page))
        });
        // All of them.
        let is_watched = looks.fold(false, |any, one| any | one);
        tokio::time::sleep(if is_watched { PERIOD } else { IDLE_PERIOD }).await;
    }
}

/// What the page shows of the node.
struct Watched {
    /// The robot that log lines name.
    log_name: Option<Arc<str>>,
    /// The end of the node.
    end: MonitorsEnd,
    node_handles: NodeHandles,
    live: LiveRun,
    /// The pause of the page.
    pause: ClientPause,
    pause_watch: PauseWatch,
    totals: Totals,
    /// The open request to the tick thread.
    question: Option<Pending<TickStatus>>,
    status: Option<TickStatus>,
}

impl Drop for Watched {
    /// The page has ended, perhaps by a panic, and no client can resume the robot there.
    fn drop(&mut self) {
        for client in [Client::Page, Client::Program] {
            let _ = self.pause.of(client).release();
        }
    }
}

impl Watched {
    /// Passes on what is new. Returns whether somebody watches; if not, the tick thread is not asked. `has_page`: a page is
    /// open, perhaps of another robot.
    fn look(&mut self, with_status: bool, has_page: bool) -> bool {
        self.live.poll();
        let feed: &Feed = self.live.feed();
        let is_watched = feed.is_watched();
        let is_over = self
            .pause_watch
            .is_over(self.pause.is_held(), has_page, Instant::now());
        if is_over {
            tracing::warn!("web page: the last page was closed, so its pause ends");
            end_pause(self.pause.clone());
        }
        if !is_watched {
            // A client that connects later gets no old numbers.
            (self.status, self.question) = (None, None);
            feed.set_node(&NodeReport {
                acts: true,
                ..NodeReport::default()
            });
            return false;
        }
        if let Some(answer) = self.question.as_ref().map(Pending::try_wait) {
            match answer {
                Ok(status) => {
                    self.status = Some(status);
                    self.question = None;
                }
                Err(Unacknowledged::NotYet) => {}
                Err(Unacknowledged::Never) => self.question = None,
            }
        }
        if with_status && self.question.is_none() {
            self.question = Some(self.node_handles.ticks.tick_status());
        }
        if with_status {
            feed.set_node(&self.report());
        }
        true
    }

    fn report(&self) -> NodeReport {
        let status = self.status.as_ref();
        let view = self.node_handles.goal_tracker.view();
        let goals = view
            .live
            .iter()
            .zip(&view.servers)
            .filter(|(goal, _)| !goal.phase.has_leaf())
            .map(|(goal, server)| {
                let halted = goal.halted.map(|reason| format!(" ({reason})"));
                StoppingGoal {
                    leaf: leaf_name(&goal.leaf).to_owned(),
                    server: server.to_string(),
                    state: format!("{:?}{}", goal.phase, halted.unwrap_or_default()).to_lowercase(),
                }
            })
            .collect();
        // Also while a leaf blocks the tick thread, which then does not answer.
        let heartbeat = &self.node_handles.heartbeat;
        NodeReport {
            acts: true,
            paused: status.is_some_and(|status| status.is_paused),
            running: heartbeat.active_goal().is_some(),
            // Also while it stops: a cancel then keeps the next goal from its start.
            goal: heartbeat.current_goal().map(|current| current.goal.to_string()),
            goals,
            counters: NodeCounters::new(status, &self.totals, view.counters.abandoned),
        }
    }
}

/// Ends the pause of the page, on a thread of its own: the tick thread may not answer at once.
fn end_pause(pause: ClientPause) {
    let log_name = robot_name::current();
    tokio::task::spawn_blocking(move || {
        robot_name::with(log_name.as_ref(), || {
            if let Err(reason) = pause.release() {
                tracing::warn!("web page: ticks are not resumed yet: {reason}");
            }
        });
    });
}

/// The last part of a path, without the number that makes it unique.
fn leaf_name(path: &str) -> &str {
    let last = path.rsplit('/').next().unwrap_or(path);
    last.split_once("::").map_or(last, |(name, _)| name)
}

/// Passes the acts of the page and of programs on to the tick thread. Each is logged, with its outcome.
struct NodeControls {
    /// The robot that log lines name.
    log_name: Option<Arc<str>>,
    node_handles: NodeHandles,
    totals: Totals,
    pause: ClientPause,
}

impl NodeControls {
    /// A leaf blocks the tick thread, and the robot must still stop. The watchdog would do it later, if there is one.
    fn cancel_without_ticks(&self, goal: NavigationId) {
        let NodeHandles {
            heartbeat,
            jobs,
            goal_tracker,
            ..
        } = &self.node_handles;
        cancel_without_ticks(goal, heartbeat, jobs, || {
            goal_tracker.halt_all(HaltReason::GoalCanceled);
        });
    }

    fn try_act(&self, act: Act, goal: &str, client: Client) -> Result<(), String> {
        let ticks = &self.node_handles.ticks;
        match act {
            Act::Pause => {
                let active = self.node_handles.heartbeat.active_goal();
                self.pause.of(client).pause_now(active.ok_or("no goal runs")?)
            }
            Act::Resume => self.pause.of(client).resume(),
            Act::Step if wait(&ticks.step())? => {
                tracing::warn!("{client}: one tick of the paused tree");
                Ok(())
            }
            Act::Step => Err("no tree is paused".to_owned()),
            Act::Cancel => {
                let current = self.node_handles.heartbeat.current_goal();
                let current = current.filter(|current| current.goal.to_string() == goal);
                let current = current.ok_or(NOT_RUNNING)?;
                let ended = ticks.end_goal(current, BY_OPERATOR).ok_or(NOT_RUNNING)?;
                match ended.wait(TIMEOUT) {
                    Ok(true) => {}
                    Ok(false) => return Err(NOT_RUNNING.to_owned()),
                    Err(Unacknowledged::Never) => return Err("the tick thread has ended".to_owned()),
                    Err(Unacknowledged::NotYet) => self.cancel_without_ticks(current),
                }
                tracing::warn!("{client}: the navigation goal is cancelled");
                Ok(())
            }
        }
    }
}

impl Controls for NodeControls {
    fn act(&self, act: Act, goal: &str, client: Client) -> Result<(), String> {
        robot_name::with(self.log_name.as_ref(), || {
            let done = self.try_act(act, goal, client);
            if let Err(reason) = &done {
                tracing::warn!("{client}: request {:?} is refused: {reason}", act.name());
            }
            done
        })
    }

    fn metrics(&self) -> String {
        // A thread that is between two ticks answers within microseconds.
        let status = self.node_handles.ticks.tick_status().wait(METRICS_TIMEOUT).ok();
        let view = self.node_handles.goal_tracker.view();
        metrics(&Numbers {
            ticks: status.as_ref(),
            goals: view.counters,
            live_and_abandoned: (view.live.len(), view.abandoned.len()),
            totals: &self.totals,
        })
    }
}
