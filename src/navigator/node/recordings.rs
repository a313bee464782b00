//! The flight recorder of the node.

use super::{StartError, TIMEOUT};
use crate::msg::service::{Trigger, TriggerResponse};
use crate::nav::Link;
use crate::navigator::NavigationRecorder;
use crate::navigator::parameters::{Parameters, RecorderSettings};
use crate::record::event::LogLevel;
use crate::record::stream::Subscribe;
use crate::record::{FlightRecorder, Occasion, RecordedLink, Stream, Totals};
use crate::ros::{Ros, RosError, RosHandle, serve_service};

/// Number of records that the stream of each of several robots holds. The stream of one robot takes 0.8 MiB.
const SHARED_CAPACITY: usize = 2048;

/// The event stream of the node, and the flight recorder that reads it. Dropping it writes what is to be written.
pub(super) struct Recorder {
    settings: RecorderSettings,
    stream: Stream,
    recorder: FlightRecorder,
    subscribe: Subscribe,
}

impl Recorder {
    /// Starts the recorder, unless it is switched off and neither the web page nor Groot2 needs it. `wake` makes the main
    /// thread look at the stream soon. `is_one_of_many`: the process has several robots.
    pub(super) fn start(
        parameters: &Parameters,
        is_one_of_many: bool,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Option<Self> {
        let settings = match &parameters.recorder {
            Some(settings) => settings.clone(),
            None if parameters.monitor.port.is_some() || !parameters.monitor.groot.is_empty() => {
                RecorderSettings::default()
            }
            None => return None,
        };
        let stream = if is_one_of_many {
            Stream::with_capacity(SHARED_CAPACITY)
        } else {
            Stream::default()
        };
        stream.set_waker(wake);
        let (recorder, subscribe) = FlightRecorder::new(
            &stream,
            settings.limits,
            settings.files.clone(),
            settings.occasion,
        );
        Some(Self {
            settings,
            stream,
            recorder,
            subscribe,
        })
    }

    /// Adds the lines of the node's log to the stream.
    pub(super) fn take_log_of(&self, ros: &RosHandle) {
        let stream = self.stream.clone();
        ros.on_log_line(move |level, text| {
            if let Some(level) = LogLevel::of(level) {
                stream.log(level, text);
            }
        });
    }

    /// What is to look at the stream.
    pub(super) fn flight_recorder(&self) -> FlightRecorder {
        self.recorder.clone()
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
        let navigation = NavigationRecorder::new(stream.clone(), files.cloned(), recorder.recorder.disk());
        (Box::new(RecordedLink::new(link, stream)), Some(navigation))
    }

    /// Makes readers of the event stream, and counts its records.
    pub(super) fn records(&self) -> (Subscribe, Totals) {
        (self.subscribe.clone(), self.recorder.totals())
    }

    /// Serves `~/save_recording`, if navigations are recorded.
    pub(super) fn serve(&self, ros: &Ros) -> Result<(), StartError> {
        if self.settings.limits.duration.is_zero() {
            return Ok(());
        }
        let save = self.recorder.save_handle();
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

impl Drop for Recorder {
    fn drop(&mut self) {
        self.recorder.finish();
    }
}
