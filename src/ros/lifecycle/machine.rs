//! States and transitions, with the numbers of `lifecycle_msgs`.

/// A state of the life cycle. The last six are transition states.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum LifecycleState {
    /// Never published by a node.
    Unknown = 0,
    /// Created, not configured.
    Unconfigured = 1,
    /// Configured, not active.
    Inactive = 2,
    /// Active.
    Active = 3,
    /// The final state.
    Finalized = 4,
    /// Between unconfigured and inactive.
    Configuring = 10,
    /// Between inactive and unconfigured.
    CleaningUp = 11,
    /// On the way from any state to finalized.
    ShuttingDown = 12,
    /// Between inactive and active.
    Activating = 13,
    /// Between active and inactive.
    Deactivating = 14,
    /// Handling an error.
    ErrorProcessing = 15,
}

impl LifecycleState {
    /// All states.
    pub const ALL: [Self; 11] = [
        Self::Unknown,
        Self::Unconfigured,
        Self::Inactive,
        Self::Active,
        Self::Finalized,
        Self::Configuring,
        Self::CleaningUp,
        Self::ShuttingDown,
        Self::Activating,
        Self::Deactivating,
        Self::ErrorProcessing,
    ];

    /// The label that tools print.
    pub fn label(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Unconfigured => "unconfigured",
            Self::Inactive => "inactive",
            Self::Active => "active",
            Self::Finalized => "finalized",
            Self::Configuring => "configuring",
            Self::CleaningUp => "cleaningup",
            Self::ShuttingDown => "shuttingdown",
            Self::Activating => "activating",
            Self::Deactivating => "deactivating",
            Self::ErrorProcessing => "errorprocessing",
        }
    }
}

/// A transition that a client can request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Transition {
    /// From unconfigured to inactive.
    Configure,
    /// From inactive to unconfigured.
    CleanUp,
    /// From inactive to active.
    Activate,
    /// From active to inactive.
    Deactivate,
    /// From any state to finalized.
    ShutDown,
}

impl Transition {
    /// The label that tools use.
    pub fn label(self) -> &'static str {
        match self {
            Self::Configure => "configure",
            Self::CleanUp => "cleanup",
            Self::Activate => "activate",
            Self::Deactivate => "deactivate",
            Self::ShutDown => "shutdown",
        }
    }
}

/// The result of a transition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TransitionResult {
    /// The transition succeeded.
    Success,
    /// The transition failed, and the node is unchanged.
    Failure,
    /// The transition was left incomplete, and the node must recover.
    Error,
}

/// One edge of the graph: a transition or its end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TransitionEdge {
    /// The transition's id.
    pub id: u8,
    /// The transition's label.
    pub label: &'static str,
    /// The start state.
    pub start: LifecycleState,
    /// The goal state.
    pub goal: LifecycleState,
}

const fn edge(id: u8, label: &'static str, start: LifecycleState, goal: LifecycleState) -> TransitionEdge {
    TransitionEdge {
        id,
        label,
        start,
        goal,
    }
}

const SUCCESS: &str = "transition_success";
const FAILURE: &str = "transition_failure";
const ERROR: &str = "transition_error";

/// The graph of `rcl_lifecycle`.
static GRAPH: [TransitionEdge; 25] = {
    use LifecycleState::{
        Activating, Active, CleaningUp, Configuring, Deactivating, ErrorProcessing, Finalized, Inactive,
        ShuttingDown, Unconfigured,
    };
    [
        edge(1, "configure", Unconfigured, Configuring),
        edge(10, SUCCESS, Configuring, Inactive),
        edge(11, FAILURE, Configuring, Unconfigured),
        edge(12, ERROR, Configuring, ErrorProcessing),
        edge(2, "cleanup", Inactive, CleaningUp),
        edge(20, SUCCESS, CleaningUp, Unconfigured),
        edge(21, FAILURE, CleaningUp, Inactive),
        edge(22, ERROR, CleaningUp, ErrorProcessing),
        edge(3, "activate", Inactive, Activating),
        edge(30, SUCCESS, Activating, Active),
        edge(31, FAILURE, Activating, Inactive),
        edge(32, ERROR, Activating, ErrorProcessing),
        edge(4, "deactivate", Active, Deactivating),
        edge(40, SUCCESS, Deactivating, Inactive),
        edge(41, FAILURE, Deactivating, Active),
        edge(42, ERROR, Deactivating, ErrorProcessing),
        edge(5, "shutdown", Unconfigured, ShuttingDown),
        edge(6, "shutdown", Inactive, ShuttingDown),
        edge(7, "shutdown", Active, ShuttingDown),
        edge(50, SUCCESS, ShuttingDown, Finalized),
        edge(51, FAILURE, ShuttingDown, Finalized),
        edge(52, ERROR, ShuttingDown, ErrorProcessing),
        edge(60, SUCCESS, ErrorProcessing, Unconfigured),
        edge(61, FAILURE, ErrorProcessing, Finalized),
        edge(62, ERROR, ErrorProcessing, Finalized),
    ]
};

/// The reason why a transition cannot begin.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StepError {
    /// Not possible in this state.
    #[error("transition `{}` is not possible in state `{}`, {}", .0.label(), .1.label(), possible(*.1))]
    NotAllowed(Transition, LifecycleState),
    /// Not a transition that can be requested.
    #[error("unknown transition {}; in state `{}`, {}", .0, .1.label(), possible(*.1))]
    Unknown(String, LifecycleState),
}

/// The transitions that can be requested in a state, as text.
fn possible(state: LifecycleState) -> String {
    let arrows = GRAPH.iter().filter(|arrow| arrow.start == state);
    let labels: Vec<_> = arrows
        .filter(|arrow| arrow.id < 10)
        .map(|arrow| format!("`{}`", arrow.label))
        .collect();
    match labels.as_slice() {
        [] if state == LifecycleState::Finalized => "none is possible: the node has ended".to_owned(),
        [] => "none is possible until the current transition has ended".to_owned(),
        labels => format!("possible: {}", labels.join(", ")),
    }
}

/// The life cycle of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    state: LifecycleState,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            state: LifecycleState::Unconfigured,
        }
    }
}

impl Machine {
    /// The current state.
    pub fn state(&self) -> LifecycleState {
        self.state
    }

    /// All edges of the graph.
    pub fn graph() -> &'static [TransitionEdge] {
        &GRAPH
    }

    /// The edges that start at the current state.
    pub fn available(&self) -> impl Iterator<Item = &'static TransitionEdge> {
        let state = self.state;
        GRAPH.iter().filter(move |arrow| arrow.start == state)
    }

    /// The transition of a request in the current state: by label if there is one, otherwise by number, as in rclcpp. A
    /// shutdown has three numbers and one name; any of them is accepted in any state that has one.
    ///
    /// # Errors
    /// [`StepError`].
    pub fn find(&self, id: u8, label: &str) -> Result<Transition, StepError> {
        let wanted = match (label, id) {
            ("configure", _) | ("", 1) => Transition::Configure,
            ("cleanup", _) | ("", 2) => Transition::CleanUp,
            ("activate", _) | ("", 3) => Transition::Activate,
            ("deactivate", _) | ("", 4) => Transition::Deactivate,
            ("shutdown", _) | ("", 5..=7) => Transition::ShutDown,
            ("", id) => return Err(StepError::Unknown(id.to_string(), self.state)),
            (label, _) => return Err(StepError::Unknown(format!("`{label}`"), self.state)),
        };
        self.edge(wanted).map(|_| wanted)
    }

    /// Begins a transition. Returns its edge, for the event topic.
    ///
    /// # Errors
    /// [`StepError::NotAllowed`]; the state is unchanged.
    pub fn begin(&mut self, transition: Transition) -> Result<TransitionEdge, StepError> {
        let arrow = self.edge(transition)?;
        self.state = arrow.goal;
        Ok(arrow)
    }

    /// Ends the current transition. Returns the edge; `None` without a current transition. After an error the node is
    /// in [`LifecycleState::ErrorProcessing`], which ends in the same way with the result of the recovery.
    pub fn end(&mut self, verdict: TransitionResult) -> Option<TransitionEdge> {
        let label = match verdict {
            TransitionResult::Success => SUCCESS,
            TransitionResult::Failure => FAILURE,
            TransitionResult::Error => ERROR,
        };
        let arrow = *self.available().find(|arrow| arrow.label == label)?;
        self.state = arrow.goal;
        Some(arrow)
    }

    fn edge(&self, transition: Transition) -> Result<TransitionEdge, StepError> {
        let found = self.available().find(|arrow| arrow.label == transition.label());
        found
            .copied()
            .ok_or(StepError::NotAllowed(transition, self.state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_life() {
        let mut machine = Machine::default();
        let mut states = vec![machine.state().label()];
        for transition in [
            Transition::Configure,
            Transition::Activate,
            Transition::Deactivate,
            Transition::CleanUp,
            Transition::ShutDown,
        ] {
            machine.begin(transition).unwrap();
            machine.end(TransitionResult::Success).unwrap();
            states.push(machine.state().label());
        }
        assert_eq!(
            states,
            [
                "unconfigured",
                "inactive",
                "active",
                "inactive",
                "unconfigured",
                "finalized"
            ]
        );
        assert_eq!(machine.available().count(), 0);
    }

    #[test]
    fn a_failure_restores_the_state_and_an_error_starts_error_processing() {
        let mut machine = Machine::default();
        machine.begin(Transition::Configure).unwrap();
        assert_eq!(machine.end(TransitionResult::Failure).unwrap().id, 11);
        assert_eq!(machine.state(), LifecycleState::Unconfigured);
        machine.begin(Transition::Configure).unwrap();
        machine.end(TransitionResult::Error).unwrap();
        assert_eq!(machine.state(), LifecycleState::ErrorProcessing);
        machine.end(TransitionResult::Success).unwrap();
        assert_eq!(machine.state(), LifecycleState::Unconfigured);
        assert_eq!(machine.end(TransitionResult::Success), None);
    }

    #[test]
    fn transitions_are_requested_by_id_or_label() {
        let mut machine = Machine::default();
        assert_eq!(machine.find(1, ""), Ok(Transition::Configure));
        assert_eq!(machine.find(0, "configure"), Ok(Transition::Configure));
        let not_allowed = StepError::NotAllowed(Transition::Activate, LifecycleState::Unconfigured);
        assert_eq!(machine.find(3, ""), Err(not_allowed.clone()));
        assert_eq!(machine.begin(Transition::Activate), Err(not_allowed));
        assert_eq!(
            machine
                .find(7, "")
                .map(|wanted| machine.begin(wanted).unwrap().id),
            Ok(5)
        );
    }

    #[test]
    fn a_rejected_transition_names_the_available_ones() {
        let told = |state, id, label: &str| Machine { state }.find(id, label).unwrap_err().to_string();
        assert_eq!(
            told(LifecycleState::Inactive, 4, ""),
            "transition `deactivate` is not possible in state `inactive`, possible: `cleanup`, `activate`, `shutdown`"
        );
        assert_eq!(
            told(LifecycleState::Deactivating, 0, "activate"),
            "transition `activate` is not possible in state `deactivating`, none is possible until the current \
             transition has ended"
        );
        assert_eq!(
            told(LifecycleState::Active, 99, ""),
            "unknown transition 99; in state `active`, possible: `deactivate`, `shutdown`"
        );
        assert_eq!(
            told(LifecycleState::Finalized, 1, "nonsense"),
            "unknown transition `nonsense`; in state `finalized`, none is possible: the node has ended"
        );
    }

    #[test]
    fn every_state_under_way_has_three_ends() {
        for state in LifecycleState::ALL {
            let ends = Machine { state }.available().count();
            let expected = match state {
                LifecycleState::Unknown | LifecycleState::Finalized => 0,
                LifecycleState::Unconfigured | LifecycleState::Active => 2,
                _ => 3,
            };
            assert_eq!(ends, expected, "{}", state.label());
        }
    }
}
