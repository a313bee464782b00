//! Model checking: all possible faults of a [`Setup`], applied to the real state machines.

use stateright::{Checker, HasDiscoveries, Model, Property};

use super::UpdatePolicy;
use super::world::{Action, Setup, World};

struct GoalModel {
    setup: Setup,
    expected: Vec<Property<GoalModel>>,
}

impl Model for GoalModel {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.setup)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        // A violation is permanent, so the search stops there.
        if world.violation.is_none() {
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
            Property::always("no violation", |_, world: &World| world.violation.is_none()),
            Property::sometimes("quiet", |_, world: &World| world.is_quiet()),
            Property::sometimes("a goal succeeds", |_, world: &World| world.seen.succeeded),
        ];
        properties.extend(self.expected.iter().cloned());
        properties
    }
}

/// Additional messages under way at once. Without any, the models take three minutes of one processor;
/// `NAVTREE_MODEL_MORE_MESSAGES=1` takes ten times as long.
fn more_messages() -> usize {
    std::env::var("NAVTREE_MODEL_MORE_MESSAGES")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

/// Explores every state of a setup, prints their number, and checks that the expected properties are reached.
fn check_model(name: &str, mut setup: Setup, expected: Vec<Property<GoalModel>>) {
    setup.messages += more_messages();
    let names: Vec<&'static str> = expected.iter().map(|property| property.name).collect();
    let checker = GoalModel { setup, expected }
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
    if let Some(path) = checker.discovery("no violation") {
        let violation = path.last_state().violation;
        let actions: Vec<String> = path
            .into_actions()
            .iter()
            .map(|action| format!("  {action:?}"))
            .collect();
        panic!("{name}: {violation:?} after\n{}", actions.join("\n"));
    }
    for property in names.iter().chain(&["quiet", "a goal succeeds"]) {
        assert!(
            checker.discovery(property).is_some(),
            "{name}: never seen: {property}"
        );
    }
}

fn cancelled_late() -> Property<GoalModel> {
    Property::sometimes("cancelled on late acceptance", |_, world: &World| {
        world.seen.cancelled_late
    })
}

fn gave_up() -> Property<GoalModel> {
    Property::sometimes("given up and reported", |_, world: &World| world.seen.gave_up)
}

fn server_gone() -> Property<GoalModel> {
    Property::sometimes("the leaf learns that the server is gone", |_, world: &World| {
        world.seen.server_gone
    })
}

fn result_lost() -> Property<GoalModel> {
    Property::sometimes("the leaf learns that the result is lost", |_, world: &World| {
        world.seen.result_lost
    })
}

fn canceled_by_another() -> Property<GoalModel> {
    Property::sometimes(
        "the leaf learns that another client cancelled its goal",
        |_, world: &World| world.seen.canceled_by_another,
    )
}

fn told_after_halt() -> Property<GoalModel> {
    Property::sometimes(
        "the navigation learns after a halt that another client had cancelled the goal",
        |_, world: &World| world.seen.told_after_halt,
    )
}

fn adopted() -> Property<GoalModel> {
    Property::sometimes("a goal of an earlier run is adopted", |_, world: &World| {
        world.seen.adopted
    })
}

fn found_again() -> Property<GoalModel> {
    Property::sometimes("a goal that was given up is found again", |_, world: &World| {
        world.seen.found_again
    })
}

fn retried() -> Property<GoalModel> {
    Property::sometimes(
        "a goal that was given up is cancelled again",
        |_, world: &World| world.seen.retried,
    )
}

#[test]
fn g3_g4_g6_one_goal_on_a_lossy_network() {
    check_model(
        "one goal, one loss, one repeat",
        Setup {
            losses: 1,
            duplicates: 1,
            may_refuse_cancels: true,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up(), found_again()],
    );
}

#[test]
fn g3_g4_g6_one_goal_on_a_server_that_crashes_or_drops_results() {
    check_model(
        "one goal, one crash, results dropped",
        Setup {
            server_crashes: 1,
            dropped_results: 1,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up(), server_gone(), result_lost()],
    );
}

#[test]
fn g3_g4_g6_one_goal_and_two_servers_with_one_name() {
    check_model(
        "one goal, one more server with the name",
        Setup {
            second_servers: 1,
            messages: 2,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up(), server_gone()],
    );
}

#[test]
fn g3_g4_g6_one_goal_that_is_accepted_before_it_is_in_the_table() {
    check_model(
        "one goal, accepted before it is in the table, one loss",
        Setup {
            early_acceptances: 1,
            losses: 1,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up()],
    );
}

#[test]
fn g3_g4_g6_one_goal_on_a_server_that_seems_absent() {
    check_model(
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
    check_model(
        "two activations",
        Setup {
            activations: 2,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up()],
    );
}

#[test]
fn g5_two_activations_on_a_server_that_seems_absent() {
    check_model(
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
fn g3_g4_g5_two_activations_with_delayed_effects() {
    check_model(
        "two activations, effects delayed once",
        Setup {
            activations: 2,
            messages: 2,
            delayed_effects: 1,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up()],
    );
}

#[test]
fn g3_g4_g6_a_server_that_seems_absent_and_delayed_effects() {
    check_model(
        "one goal, one partition, effects delayed once",
        Setup {
            partitions: 1,
            delayed_effects: 1,
            messages: 2,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up(), server_gone(), retried()],
    );
}

#[test]
fn g3_g5_updates_with_delayed_effects() {
    check_model(
        "one update, server preempts, effects delayed once",
        Setup {
            updates: 1,
            messages: 2,
            delayed_effects: 1,
            ..Setup::NONE
        },
        vec![cancelled_late(), gave_up()],
    );
}

#[test]
fn g3_g5_updates_that_the_server_preempts() {
    check_model(
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
    check_model(
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
    check_model(
        "one cancel of another client, one update",
        Setup {
            updates: 1,
            foreign_cancels: 1,
            ..Setup::NONE
        },
        vec![
            cancelled_late(),
            gave_up(),
            canceled_by_another(),
            told_after_halt(),
        ],
    );
}

#[test]
fn g3_a_goal_that_another_client_cancels_and_faults() {
    check_model(
        "one cancel of another client, one partition, one loss, effects delayed once",
        Setup {
            foreign_cancels: 1,
            messages: 2,
            partitions: 1,
            losses: 1,
            delayed_effects: 1,
            ..Setup::NONE
        },
        vec![
            cancelled_late(),
            gave_up(),
            canceled_by_another(),
            told_after_halt(),
        ],
    );
}

#[test]
fn g3_goals_of_an_earlier_run_are_adopted_and_cancelled() {
    check_model(
        "one crash of the process",
        Setup {
            process_crashes: 1,
            ..Setup::NONE
        },
        vec![adopted(), gave_up()],
    );
}

#[test]
fn g3_goals_of_an_earlier_run_are_found_after_a_partition() {
    check_model(
        "one crash of the process, one partition, one loss",
        Setup {
            process_crashes: 1,
            partitions: 1,
            losses: 1,
            messages: 2,
            ..Setup::NONE
        },
        vec![adopted(), gave_up(), found_again(), retried()],
    );
}
