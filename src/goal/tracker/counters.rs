//! The counters of a GoalTracker.

/// Counters for diagnostics. At rest, `accepted + adopted` equals `ended + abandoned + unreachable`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Counters {
    /// Goal requests sent.
    pub sent: u64,
    /// Goals that a server accepted.
    pub accepted: u64,
    /// Goals found on a server that an earlier run had left or that were given up before.
    pub adopted: u64,
    /// Accepted or adopted goals that are known to have ended.
    pub ended: u64,
    /// Accepted or adopted goals that were given up and may have been executing.
    pub abandoned: u64,
    /// Accepted or adopted goals whose server vanished and did not come back.
    pub unreachable: u64,
    /// Goal requests that were never answered and were given up. A request that the returned server denies is not counted.
    pub unanswered: u64,
    /// Cancel requests sent.
    pub cancels: u64,
    /// Results that were not available.
    pub results_lost: u64,
    /// Service requests sent.
    pub calls: u64,
    /// Service requests never answered. The transport may have leaked their data.
    pub calls_abandoned: u64,
    /// Answers to goals and calls for which no leaf waited any more.
    pub late: u64,
}
