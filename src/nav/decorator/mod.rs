//! Decorators; one file per node.

mod distance_controller;
mod goal_updated_controller;
mod goal_updater;
mod path_longer_on_approach;
mod rate_controller;
mod single_trigger;
mod speed_controller;

use super::table::nodes;

nodes! {
    distance_controller: DistanceController,
    goal_updated_controller: GoalUpdatedController,
    goal_updater: GoalUpdater,
    path_longer_on_approach: PathLongerOnApproach,
    rate_controller: RateController,
    single_trigger: SingleTrigger,
    speed_controller: SpeedController,
}
