//! What a tree read and did: the event stream, the flight recorder, and the replay of its recordings.
//!
//! | part | content |
//! |---|---|
//! | [`event`] | the records |
//! | [`stream`] | the way of the records from the tick thread to their readers |
//! | [`Tracer`], [`RecordedLink`] | what writes the records: the observer of a tree, and its link |
//! | [`recorder`] | the flight recorder: keeps the last minutes, and writes them to a file |
//! | [`stored`], [`codec`] | the records in a file |
//! | [`Totals`] | the records, counted |
//! | [`Recording`] | a file that was read |
//! | [`coverage`] | counts which nodes ran in several recordings |
//! | [`replay`] | runs the inputs of a recording through a tree again |
#![forbid(unsafe_code)]

mod cdr;
pub mod codec;
pub mod coverage;
pub mod event;
mod file;
mod files;
mod flight_recorder;
mod link;
mod motion;
mod names;
pub(crate) mod part;
mod reader;
pub mod recorder;
pub mod replay;
mod series;
mod store;
pub mod stored;
pub mod story;
pub mod stream;
mod totals;
mod tracer;
mod writer;

pub use files::{DiskState, RecordingFiles};
pub use flight_recorder::{FlightRecorder, Occasion, SaveRecording};
pub use link::RecordedLink;
pub use motion::MotionTimes;
pub use names::Names;
pub use reader::{ReadError, Recording};
pub use stream::Stream;
pub use totals::{CounterName, Totals};
pub use tracer::Tracer;
