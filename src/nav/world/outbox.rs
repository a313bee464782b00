//! What the leaves ask of the world in a tick, until it leaves at the end of the tick.

use crate::bt::HaltOrder;
use crate::goal::{Command, Ticket};
use crate::nav::link::{Link, Payload, TopicId};

/// A request or a message of a leaf.
enum Outgoing {
    Command(Command<Payload>),
    Message {
        topic: TopicId,
        payload: Payload,
        is_of_halt: bool,
    },
}

/// The outbox of a tick: first the cancels, then requests and messages in the order of the leaves (guarantee G2). Either
/// may move the robot, and a leaf may prepare the other with the one: it publishes a speed limit and sends a goal.
///
/// What a leaf publishes in its halt may be a stop. It leaves with the cancels, and after all leaves were halted from
/// outside of the tick thread, too.
///
/// The request of a Cancel node is a cancel, too. It selects all goals of its server, so it leaves before the goals of its
/// tick, and the GoalTracker holds those back until the server has answered it.
#[derive(Default)]
pub(super) struct Outbox {
    /// The cancels and what belongs to them; with the old order, only those of Cancel nodes.
    cancels: Vec<Outgoing>,
    others: Vec<Outgoing>,
    /// Confirmations that notices of cancels were read. They leave last: what this tick halts is not sent because of them.
    readings: Vec<Outgoing>,
    /// The number of nodes whose halt is running.
    halts: u32,
    /// Empty between two calls.
    commands: Vec<Command<Payload>>,
}

impl Outbox {
    /// A leaf is halted.
    pub(super) fn begin_halt(&mut self) {
        self.halts += 1;
    }

    /// A leaf was halted.
    pub(super) fn end_halt(&mut self) {
        self.halts -= 1;
    }

    /// Adds a request.
    pub(super) fn request(&mut self, request: Command<Payload>) {
        self.others.push(Outgoing::Command(request));
    }

    /// Adds the request of a Cancel node.
    pub(super) fn cancel(&mut self, request: Command<Payload>) {
        self.cancels.push(Outgoing::Command(request));
    }

    /// Adds the confirmation that the notice of a cancel was read.
    pub(super) fn read_cancel(&mut self, ticket: Ticket) {
        self.readings
            .push(Outgoing::Command(Command::ReadCancel { ticket }));
    }

    /// Adds a message.
    pub(super) fn publish(&mut self, topic: TopicId, payload: Payload, order: HaltOrder) {
        let is_of_halt = self.halts > 0;
        let message = Outgoing::Message {
            topic,
            payload,
            is_of_halt,
        };
        if is_of_halt && order == HaltOrder::BeforeStarts {
            // A stop must not overtake the speed that the leaf has published before in this tick.
            let earlier = self.others.extract_if(.., |outgoing| outgoing.is_on(topic));
            self.cancels.extend(earlier);
            self.cancels.push(message);
        } else {
            self.others.push(message);
        }
    }

    /// Adds the cancel of a halted leaf.
    pub(super) fn halt(&mut self, halt: Command<Payload>, order: HaltOrder) {
        match order {
            HaltOrder::BeforeStarts => self.cancels.push(Outgoing::Command(halt)),
            HaltOrder::AsTicked => self.request(halt),
        }
    }

    /// Whether this tick starts a request.
    pub(super) fn starts(&self, wanted: Ticket) -> bool {
        let mut all = self.cancels.iter().chain(&self.others);
        all.any(|outgoing| outgoing.starts(wanted))
    }

    /// Removes the start of a request. Returns false if it has left in an earlier tick.
    pub(super) fn remove_start(&mut self, ticket: Ticket) -> bool {
        let is_removed = self.starts(ticket);
        self.cancels.retain(|outgoing| !outgoing.starts(ticket));
        self.others.retain(|outgoing| !outgoing.starts(ticket));
        is_removed
    }

    /// The number of updates of a goal in this tick.
    pub(super) fn updates(&self, goal: Ticket) -> u64 {
        let updates = self.others.iter().filter(|outgoing| outgoing.updates(goal));
        updates.count() as u64
    }

    /// Removes the updates of a goal.
    pub(super) fn remove_updates(&mut self, goal: Ticket) {
        self.others.retain(|outgoing| !outgoing.updates(goal));
    }

    /// Sends the cancels before the end of the tick; with the old order, what was asked for before them too. Returns
    /// whether anything was sent.
    pub(super) fn release_halts(&mut self, order: HaltOrder, link: &mut dyn Link) -> bool {
        let are_others_sent = order == HaltOrder::AsTicked;
        let is_empty = self.cancels.is_empty() && (self.others.is_empty() || !are_others_sent);
        self.send_cancels(link);
        if are_others_sent {
            send(&mut self.others, &mut self.commands, link);
        }
        !is_empty
    }

    /// Sends everything, at the end of the tick.
    pub(super) fn end_tick(&mut self, link: &mut dyn Link) {
        self.send_cancels(link);
        send(&mut self.others, &mut self.commands, link);
        send(&mut self.readings, &mut self.commands, link);
        // A halt that panicked has no end.
        self.halts = 0;
    }

    /// Sends the cancels. A goal that the request of a Cancel node stops leaves together with the first such request: the
    /// server may answer the request before what leaves later, and the answer would not stop the goal then.
    fn send_cancels(&mut self, link: &mut dyn Link) {
        let mut next = 0;
        while let Some(cancel) = self.cancels.get(next) {
            next += 1;
            let stopped = cancel.stopped_starts();
            let is_stopped = |outgoing: &mut Outgoing| stopped.iter().any(|goal| outgoing.starts(*goal));
            let starts: Vec<Outgoing> = self.others.extract_if(.., is_stopped).collect();
            self.cancels.splice(next..next, starts);
        }
        send(&mut self.cancels, &mut self.commands, link);
    }
}

fn send(all: &mut Vec<Outgoing>, commands: &mut Vec<Command<Payload>>, link: &mut dyn Link) {
    for outgoing in all.drain(..) {
        match outgoing {
            Outgoing::Command(command) => commands.push(command),
            Outgoing::Message {
                topic,
                payload,
                is_of_halt,
            } => {
                submit(commands, link);
                if is_of_halt {
                    link.publish_always(topic, payload);
                } else {
                    link.publish(topic, payload);
                }
            }
        }
    }
    submit(commands, link);
}

fn submit(commands: &mut Vec<Command<Payload>>, link: &mut dyn Link) {
    if !commands.is_empty() {
        link.submit(commands);
    }
}

impl Outgoing {
    fn is_on(&self, wanted: TopicId) -> bool {
        matches!(self, Self::Message { topic, .. } if *topic == wanted)
    }

    fn updates(&self, goal: Ticket) -> bool {
        matches!(self, Self::Command(Command::Update { ticket, .. }) if *ticket == goal)
    }

    /// The goals of this tick that the request of a Cancel node stops.
    fn stopped_starts(&self) -> &[Ticket] {
        match self {
            Self::Command(Command::CancelServer { earlier, .. }) => earlier,
            _ => &[],
        }
    }

    fn starts(&self, wanted: Ticket) -> bool {
        let Self::Command(command) = self else {
            return false;
        };
        match command {
            Command::Start { ticket, .. }
            | Command::Call { ticket, .. }
            | Command::CancelServer { ticket, .. } => *ticket == wanted,
            Command::Update { .. }
            | Command::Halt { .. }
            | Command::Detach { .. }
            | Command::HaltAll { .. }
            | Command::BeginSession
            | Command::ReadCancel { .. }
            | Command::Adopt { .. }
            | Command::AllowAdoption { .. }
            | Command::ShutDown { .. } => false,
        }
    }
}
