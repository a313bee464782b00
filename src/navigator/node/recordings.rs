//! The flight recorder of the node.

use super::{StartError, TIMEOUT};
use crate::msg::service::{Trigger, TriggerResponse};
use crate::nav::Link;
use crate::navigator::NavigationRecorder;
use crate::navigator::parameters::{Parameters, RecorderSettings};
use crate::record::stream::Subscribe;
use crate::record::{Occasion, RecordedLink, RecorderThread, Stream, Totals};
use crate::ros::{Ros, RosError, serve_service};

/// The event stream of the node, and the thread that reads it.
pub(super) struct Recorder {
    settings: RecorderSettings,
    stream: Stream,
    thread: RecorderThread,
    subscribe: Subscribe,
}

impl Recorder {
    /// Starts the recorder, unless it is switched off and neither the web page nor Groot2 needs it.
    pub(super) fn start(parameters: &Parameters) -> Result<Option<Self>, StartError> {
        let settings = match &parameters.recorder {
            Some(settings) => settings.clone(),
            None if parameters.monitor.port.is_some() || !parameters.monitor.groot.is_empty() => {
                RecorderSettings::default()
            }
            None => return Ok(None),
        };
        let stream = Stream::default();
        let (thread, subscribe) = RecorderThread::start(
            &stream,
            settings.limits,
            settings.files.clone(),
            settings.occasion,
        )?;
        Ok(Some(Self {
            settings,
            stream,
            thread,
            subscribe,
        }))
    }

    /// The link of the world, and the recorder of the navigator.
    pub(super) fn attach(
        recorder: Option<&Self>,
        link: Box<dyn Link>,
    ) -> (Box<dyn Link>, Option<NavigationRecorder>) {
        let Some(recorder) = recorder else {
            return (link, None);
        };
        let files = Some(&recorder.settings.files).filter(|_| recorder.settings.occasion != Occasion::Never);
        let stream = recorder.stream.clone();
        let navigation = NavigationRecorder::new(stream.clone(), files.cloned(), recorder.thread.disk());
        (Box::new(RecordedLink::new(link, stream)), Some(navigation))
    }

    /// Makes readers of the event stream, and counts its records.
    pub(super) fn records(&self) -> (Subscribe, Totals) {
        (self.subscribe.clone(), self.thread.totals())
    }

    /// Serves `~/save_recording`, if navigations are recorded.
    pub(super) fn serve(&self, ros: &Ros) -> Result<(), StartError> {
        if self.settings.limits.duration.is_zero() {
            return Ok(());
        }
        let save = self.thread.save_handle();
        ros.handle()
            .with_node_blocking(TIMEOUT, move |node| -> Result<(), RosError> {
                serve_service::<Trigger>(node, "~/save_recording", move |call| {
                    save.save(move |saved| {
                        let (success, message) = match saved {
                            Ok(path) => (true, path.display().to_string()),
                            Err(reason) => (false, reason),
                        };
                        call.respond(&TriggerResponse { success, message });
                    });
                })
            })??;
        Ok(())
    }
}
