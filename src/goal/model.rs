//! Model checking: all possible faults of a [`Setup`], applied to the real state machines.

use stateright::{Checker, HasDiscoveries, Model, Property};

use super::UpdatePolicy;
use super::world::{Action, Setup, World};

struct Proof {
    setup: Setup,
    expected: Vec<Property<Proof>>,
}

impl Model for Proof {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.setup)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        // A violation is permanent, so the search stops there.
        if world.wrong.is_none() {
            actions.extend(world.actions(&self.setup));
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        next.act(&self.setup, action);
        Some(next)
    }

    fn within_boundary(&self, world: &World) -> bool {
        world.messages_under_way() <= self.setup.messages
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always("nothing is wrong", |_, world: &World| world.wrong.is_none()),
            Property::sometimes("quiet", |_, world: &World| world.is_quiet()),
            Property::sometimes("a goal succeeds", |_, world: &World| world.seen.succeeded),
        ];
        properties.extend(self.expected.iter().cloned());
        properties
    }
}

/// Additional messages under way at once. Without any, this file takes a good minute in a debug build on two cores;
/// `NAVTREE_MODEL_MORE_MESSAGES=1` takes ten times as long.
fn more_messages() -> usize {
    std::env::var("NAVTREE_MODEL_MORE_MESSAGES")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

/// Explores every state of a setup, prints their number, and checks that the expected properties are reached.
fn prove(name: &str, mut setup: Setup, expected: Vec<Property<Proof>>) {
    setup.messages += more_messages();
    let names: Vec<&'static str> = expected.iter().map(|property| property.name).collect();
    let checker = Proof { setup, expected }
        .checker()
        .threads(2)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    println!(
        "{name}: {} states, {} distinct, depth {}",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth()
    );
    if let Some(path) = checker.discovery("nothing is wrong") {
        let wrong = path.last_state().wrong;
        let actions: Vec<String> = path
            .into_actions()
            .iter()
            .map(|action| format!("  {action:?}"))
            .collect();
        panic!("{name}: {wrong:?} after\n{}", actions.join("\n"));
    }
    for property in names.iter().chain(&["quiet", "a goal succeeds"]) {
        assert!(
            checker.discovery(property).is_some(),
            "{name}: never seen: {property}"
        );
    }
}

fn cancelled_late() -> Property<Proof> {
    Property::sometimes("cancelled on late acceptance", |_, world: &World| {
        world.seen.cancelled_late
    })
}

fn gave_up() -> Property<Proof> {
    Property::sometimes("given up and reported", |_, world: &World| world.seen.gave_up)
}

fn server_gone() -> Property<Proof> {
    Property::sometimes("the leaf learns that the server is gone", |_, world: &World| {
        world.seen.server_gone
    })
}

fn result_lost() -> Property<Proof> {
    Property::sometimes("the leaf learns that the result is lost", |_, world: &World| {
        world.seen.result_lost
    })
}

fn canceled_by_another() -> Property<Proof> {
    Property::sometimes(
        "the leaf learns that another client cancelled its goal",
        |_, world: &World| world.seen.canceled_by_another,
    )
}

fn adopted() -> Property<Proof> {
    Property::sometimes("a goal of an earlier run is adopted", |_, world: &World| {
        world.seen.adopted
    })
}

fn found_again() -> Property<Proof> {
    Property::sometimes("a goal that was given up is found again", |_, world: &World| {
        world.seen.found_again
    })
}

fn retried() -> Property<Proof> {
    Property::sometimes(
        "a goal that was given up is cancelled again",
        |_, world: &World| world.seen.retried,
    )
}

#[test]
fn g3_g4_g6_one_goal_on_a_lossy_network() {
    prove(
        "one goal, one loss, one repeat",
        Setup {
            losses: 1,
            repeats: 1,
            refuses: true,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up(), found_again()],
    );
}

#[test]
fn g3_g4_g6_one_goal_on_a_server_that_dies_and_forgets() {
    prove(
        "one goal, one crash, results forgotten",
        Setup {
            crashes: 1,
            forgettings: 1,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up(), server_gone(), result_lost()],
    );
}

#[test]
fn g3_g4_g6_one_goal_on_a_server_beside_another_of_its_name() {
    prove(
        "one goal, one more server of the name",
        Setup {
            namesakes: 1,
            messages: 2,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up(), server_gone()],
    );
}

#[test]
fn g3_g4_g6_one_goal_on_a_server_that_accepts_before_it_knows() {
    prove(
        "one goal, accepted before it is noted, one loss",
        Setup {
            early: 1,
            losses: 1,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up()],
    );
}

#[test]
fn g3_g4_g6_one_goal_on_a_server_that_seems_to_vanish() {
    prove(
        "one goal, one partition, one loss",
        Setup {
            partitions: 1,
            losses: 1,
            ..Setup::NONE
        },
        vec![
            cancelled_late(),
            gave_up(),
            server_gone(),
            found_again(),
            retried(),
        ],
    );
}

#[test]
fn g5_two_activations_on_one_server() {
    prove(
        "two activations",
        Setup {
            activations: 2,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up()],
    );
}

#[test]
fn g5_two_activations_on_a_server_that_seems_to_vanish() {
    prove(
        "two activations, one partition",
        Setup {
            activations: 2,
            messages: 2,
            partitions: 1,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up(), server_gone()],
    );
}

#[test]
fn g3_g4_g5_two_activations_of_an_owner_that_is_late() {
    prove(
        "two activations, one batch",
        Setup {
            activations: 2,
            messages: 2,
            batches: 1,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up()],
    );
}

#[test]
fn g3_g4_g6_a_server_that_seems_to_vanish_and_an_owner_that_is_late() {
    prove(
        "one goal, one partition, one batch",
        Setup {
            partitions: 1,
            batches: 1,
            messages: 2,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up(), server_gone(), retried()],
    );
}

#[test]
fn g3_g5_updates_of_an_owner_that_is_late() {
    prove(
        "one update, server preempts, one batch",
        Setup {
            updates: 1,
            messages: 2,
            batches: 1,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up()],
    );
}

#[test]
fn g3_g5_updates_that_the_server_preempts() {
    prove(
        "one update, server preempts, one loss",
        Setup {
            updates: 1,
            losses: 1,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up()],
    );
}

#[test]
fn g3_g5_updates_that_cancel_first() {
    prove(
        "one update, cancel first",
        Setup {
            updates: 1,
            update_policy: UpdatePolicy::CancelFirst,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up()],
    );
}

#[test]
fn g3_a_goal_that_another_client_cancels_and_an_update() {
    prove(
        "one cancel of another client, one update",
        Setup {
            updates: 1,
            foreign_cancels: 1,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up(), canceled_by_another()],
    );
}

#[test]
fn g3_a_goal_that_another_client_cancels_and_faults() {
    prove(
        "one cancel of another client, one partition, one loss, one batch",
        Setup {
            foreign_cancels: 1,
            messages: 2,
            partitions: 1,
            losses: 1,
            batches: 1,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up(), canceled_by_another()],
    );
}

#[test]
fn g3_goals_of_a_dead_predecessor_are_adopted_and_cancelled() {
    prove(
        "one death of the executor",
        Setup {
            deaths: 1,
            ..Setup::NONE
        },
        vec![adopted(), gave_up()],
    );
}

#[test]
fn g3_goals_of_a_dead_predecessor_are_found_behind_a_wire_that_was_cut() {
    prove(
        "one death of the executor, one partition, one loss",
        Setup {
            deaths: 1,
            partitions: 1,
            losses: 1,
            messages: 2,
            ..Setup::NONE
        },
        vec![adopted(), gave_up(), found_again(), retried()],
    );
}
