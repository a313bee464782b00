//! What a GoalTracker has seen happen, in numbers.

/// What has happened so far, for diagnostics. At rest `accepted + adopted` equals
/// `ended + abandoned + unreachable`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Counters {
    /// Goal requests sent.
    pub sent: u64,
    /// Goals that a server took.
    pub accepted: u64,
    /// Goals of an earlier run, or given up before, that were found on a server.
    pub adopted: u64,
    /// Goals known to be over, of those accepted or adopted.
    pub ended: u64,
    /// Accepted or adopted goals given up while they may have been executing.
    pub abandoned: u64,
    /// Accepted or adopted goals whose server vanished and did not come back.
    pub unreachable: u64,
    /// Goal requests never answered.
    pub unanswered: u64,
    /// Cancel requests sent.
    pub cancels: u64,
    /// Results that could not be had.
    pub results_lost: u64,
    /// Service requests sent.
    pub calls: u64,
    /// Service requests never answered: what a transport may have leaked.
    pub calls_abandoned: u64,
    /// Answers to goals and calls that nobody waited for any more.
    pub late: u64,
}
