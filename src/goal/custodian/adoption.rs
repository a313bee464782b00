//! For how long goals of an earlier run are looked for on a server.

use std::time::Duration;

use crate::bt::Time;

/// Whether goals of an earlier run that a server shows are stopped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum Adoption {
    /// Nobody asked for it.
    #[default]
    Off,
    /// So long from the first status list on that comes while the server is there. Until then nothing can be seen,
    /// however long the wire is cut, but what was on its way.
    Awaiting(Duration),
    /// Until then.
    Open { until: Time, window: Duration },
}

impl Adoption {
    /// A status list has come. Whether what it shows of an earlier run is to be stopped.
    pub(super) fn look(&mut self, present: bool, now: Time) -> bool {
        match *self {
            Self::Off => false,
            Self::Awaiting(window) => {
                if present {
                    let until = now + window;
                    *self = Self::Open { until, window };
                }
                true
            }
            Self::Open { until, .. } => now <= until,
        }
    }

    /// The server is out of reach: what it shows when it is back is new again.
    pub(super) fn look_anew(&mut self) {
        if let Self::Open { window, .. } = *self {
            *self = Self::Awaiting(window);
        }
    }
}
