//! A harness for tests of servers: one server in a world, stepped manually.

use crate::msg::Action;

use super::faults::ActionFaults;
use super::server::{Event, Execution, GoalNumber, Server, TerminalStatus};
use super::settings::Base;
use super::world::World;

pub(super) struct Bench<E: Execution> {
    pub(super) world: World,
    pub(super) server: Server<E>,
    pub(super) events: Vec<Event<E::Action>>,
}

impl<E: Execution> Bench<E> {
    pub(super) fn new(settings: Base) -> Self {
        Self {
            world: World::new(settings).unwrap(),
            server: Server::default(),
            events: Vec::new(),
        }
    }

    pub(super) fn with_faults(settings: Base, faults: &ActionFaults) -> Self {
        let mut bench = Self::new(settings);
        bench.server.configure(faults.plan().unwrap());
        bench
    }

    pub(super) fn send(&mut self, goal: <E::Action as Action>::Goal) -> GoalNumber {
        self.server.receive(goal, self.world.now())
    }

    pub(super) fn step(&mut self) {
        self.server.step(&mut self.world, &mut self.events);
        self.world.step();
    }

    pub(super) fn run(&mut self, seconds: f64) {
        for _ in 0..(seconds * self.world.settings.control_rate).round() as usize {
            self.step();
        }
    }

    /// Steps until another goal ends, for at most this number of simulated seconds.
    pub(super) fn until_end(&mut self, seconds: f64) -> (TerminalStatus, <E::Action as Action>::Result) {
        for _ in 0..(seconds * self.world.settings.control_rate).round() as usize {
            let before = self.events.len();
            self.step();
            for event in &self.events[before..] {
                if let Event::Ended(_, status, result) = event {
                    return (*status, result.clone());
                }
            }
        }
        panic!(
            "no goal of {} ended within {seconds} s; robot {:?}",
            E::SERVER,
            self.world.robot
        );
    }

    pub(super) fn feedback<T>(&self, part: impl Fn(&<E::Action as Action>::Feedback) -> T) -> Vec<T> {
        let feedback = self.events.iter().filter_map(|event| match event {
            Event::Feedback(_, feedback) => Some(part(feedback)),
            _ => None,
        });
        feedback.collect()
    }
}
