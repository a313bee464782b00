//! The endpoints of a node.

use std::time::Duration;

use super::server::{Endpoint, Listeners};
use crate::monitor::pause::{Client, ClientPause};
use crate::monitor::running::MonitorsEnd;
use crate::monitor::web::shown;
use crate::navigator::{GrootSettings, NodeHandles, StartError};
use crate::record::event::{Event, Record};
use crate::record::stored::StoredRecord;
use crate::record::stream::Reader;
use crate::robot_name;

/// Time between two looks at the event stream while there is a client.
const PERIOD: Duration = Duration::from_millis(10);
/// The same without a client. The stream keeps a second for a reader.
const IDLE_PERIOD: Duration = Duration::from_millis(200);

/// Serves Groot2 on a thread of its own, until `end`: one endpoint per port. Navigators with the same port share an endpoint, which shows
/// the tree that runs.
///
/// # Errors
/// There is no thread. A port that cannot be opened is logged: the robot drives without Groot2.
pub fn serve_groot(
    node_handles: &NodeHandles,
    settings: &[GrootSettings],
    pause: &ClientPause,
    end: MonitorsEnd,
) -> Result<(), StartError> {
    let Some((records, _)) = node_handles.records.as_ref().filter(|_| !settings.is_empty()) else {
        return Ok(());
    };
    let mut served: Vec<Served> = Vec::new();
    for GrootSettings { action, port } in settings {
        if let Some(known) = served.iter_mut().find(|known| known.port == *port) {
            known.actions.push(action);
            continue;
        }
        let listeners = match Listeners::bind(*port) {
            Ok(listeners) => listeners,
            Err(error) => {
                tracing::error!(
                    "no Groot2 on the ports {port} and {}: {error}",
                    u32::from(*port) + 1
                );
                continue;
            }
        };
        let registry = node_handles.library.registry().clone();
        let pause = Box::new(pause.of(Client::Groot2(*port)));
        served.push(Served {
            port: *port,
            actions: vec![action],
            endpoint: Endpoint::new(pause, registry),
            listeners: Some(listeners),
            is_current: false,
        });
    }
    if served.is_empty() {
        return Ok(());
    }
    let reader = records.reader();
    std::thread::Builder::new()
        .name("groot2".to_owned())
        .spawn(robot_name::inherit(move || {
            if let Err(error) = run(&reader, served, end) {
                tracing::error!("Groot2 has ended: {error}");
            }
        }))?;
    Ok(())
}

/// An endpoint, and the actions whose trees it shows.
struct Served {
    port: u16,
    actions: Vec<&'static str>,
    endpoint: Endpoint,
    listeners: Option<Listeners>,
    /// The navigation that runs is one of these actions.
    is_current: bool,
}

fn run(reader: &Reader, mut served: Vec<Served>, mut end: MonitorsEnd) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    runtime.block_on(async move {
        for one in &mut served {
            if let Some(listeners) = one.listeners.take() {
                tokio::spawn(one.endpoint.clone().serve(listeners));
            }
        }
        loop {
            while let Some(batch) = reader.read() {
                if batch.lost > 0 {
                    served.iter().for_each(|one| one.endpoint.lose());
                }
                for record in batch.records.iter() {
                    served.iter_mut().for_each(|one| one.take(record));
                }
            }
            served.iter().for_each(|one| one.endpoint.publish());
            let is_watched = served.iter().any(|one| one.endpoint.is_watched());
            tokio::select! {
                () = tokio::time::sleep(if is_watched { PERIOD } else { IDLE_PERIOD }) => {}
                // The sender is gone.
                _ = &mut end => return Ok(()),
            }
        }
    })
}

impl Served {
    fn take(&mut self, record: &Record) {
        if let Event::Began(navigation) = &record.event {
            self.is_current = self.actions.contains(&navigation.action);
            if self.is_current
                && let StoredRecord::Began(stored) = StoredRecord::of(&record.event)
            {
                self.endpoint.begin(&navigation.tree, &stored);
            }
        } else if self.is_current
            && let Some(stored) = shown(&record.event)
        {
            self.endpoint.take(record.time, &stored);
        }
    }
}
