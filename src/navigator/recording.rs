//! The navigator's part of the flight recorder: what is not seen by the observer of a tree or by its link.

use std::path::PathBuf;
use std::time::Duration;

use super::goal::NavigationResult;
use super::session::Session;
use super::{NavigatorKind, Options};
use crate::bt::{Time, Tree};
use crate::goal::GoalId;
use crate::nav::World;
use crate::record::event::{End, Event, Navigation, NavigatorKeys, Replacement};
use crate::record::{DiskState, RecordingFiles, Stream};

/// Writes the navigations to the event stream, and names their recordings in their results.
#[derive(Debug)]
pub struct NavigationRecorder {
    stream: Stream,
    /// Where failed navigations are written to; `None`: nowhere.
    files: Option<RecordingFiles>,
    disk: DiskState,
    /// The current navigation: its first goal, and its recording. `None` if its beginning is not in the stream.
    current: Option<(GoalId, Option<PathBuf>)>,
}

impl NavigationRecorder {
    /// Writes to a stream. `files`: where the recordings of failed navigations are; `disk`:
    /// whether they can be written.
    pub fn new(stream: Stream, files: Option<RecordingFiles>, disk: DiskState) -> Self {
        Self {
            stream,
            files,
            disk,
            current: None,
        }
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// A navigation begins. Called before the first write for it.
    pub(crate) fn begin(&mut self, session: &Session, tree: &mut Tree, options: &Options, now: Time) {
        if !self.stream.is_read() {
            return;
        }
        self.stream.set_time(now);
        let checkpoint = tree.checkpoint();
        let definition = tree.definition().clone();
        let Some(world) = tree.resource::<World>() else {
            return;
        };
        let stamp = world.stamp();
        let navigation = Navigation {
            action: session.kind().action(),
            goal: session.id().goal,
            tree: definition,
            poses: session.poses().0.clone(),
            accepted: session.accepted(),
            run_accepted: session.run_accepted(),
            stamp,
            settings: world.settings.clone(),
            keys: keys(options),
            checkpoint,
            world: world.checkpoint(),
        };
        let files = self.files.as_ref();
        let path = files.map(|files| files.path(session.kind().action(), session.id().goal, stamp));
        let is_written = self.stream.write(Event::Began(Box::new(navigation)));
        self.current = is_written.then_some((session.id().goal, path));
    }

    /// Another goal takes the place of the goal of a running tree. Called before the first write for it.
    pub(crate) fn replace(&self, session: &Session, now: Time) {
        self.stream.set_time(now);
        self.stream.write(Event::Replaced(Box::new(Replacement {
            goal: session.id().goal,
            poses: session.poses().0.clone(),
            accepted: session.accepted(),
        })));
    }

    /// The tree of the navigation has ended.
    pub(crate) fn stopping(&self) {
        self.stream.write(Event::Stopping);
    }

    /// The result of a navigation that is about to be sent, with the name of the recording if it will be written.
    pub(crate) fn end(&mut self, session: &Session, result: NavigationResult, now: Time) -> NavigationResult {
        let (first_goal, recording) = self.current.take().unwrap_or((session.id().goal, None));
        let may_be_written = recording.is_some();
        let recording = recording.filter(|_| result.is_failure() && !self.disk.has_failed());
        let mut named = result.clone();
        if let Some(recording) = &recording {
            if !named.error_message.is_empty() {
                named.error_message += "; ";
            }
            named.error_message += &format!("recording: {}", recording.display());
        }
        self.stream.set_time(now);
        let is_written = self.stream.write(Event::Ended(Box::new(End {
            goal: session.id().goal,
            first_goal,
            status: named.status,
            has_failed: named.is_failure(),
            error_code: named.error_code,
            error_message: named.error_message.clone(),
        })));
        // Without this record, the recorder does not know that the navigation has failed.
        if !is_written {
            return result;
        }
        if may_be_written {
            // The writer has few places, so it does not get the recordings of many navigations at once.
            self.stream.wake();
        }
        named
    }

    /// The work of a tick.
    pub(crate) fn ticked(&self, took: Duration, missed: u64) {
        self.stream.write(Event::Ticked { took, missed });
        self.stream.wake_if_half_full();
    }
}

fn keys(options: &Options) -> NavigatorKeys {
    NavigatorKeys {
        goal: options.seeded_key(NavigatorKind::ToPose).to_owned(),
        goals: options.seeded_key(NavigatorKind::ThroughPoses).to_owned(),
        path: options.path_key.clone(),
        error_codes: options.error_code_keys.clone(),
    }
}
