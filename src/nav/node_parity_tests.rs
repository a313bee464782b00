//! The nodes that Nav2's trees use: every node of Jazzy and of main exists, with its ports and defaults.

use crate::bt::Direction;

/// One line per node: its ID, then its ports; `name=default`, `>name` for an output, `name` for an input without
/// default.
/// Both names if main has another name than Jazzy.
const NODES: &str = "
    ComputePathToPose goal start use_start planner_id= viapoints >path >error_code_id >error_msg server_name server_timeout
    ComputePathThroughPoses goals start planner_id= >path >error_code_id >error_msg >last_reached_index server_name server_timeout
    ComputeRoute start_id goal_id start goal use_start=false use_poses=false >route >planning_time >path >error_code_id >error_msg server_name server_timeout
    ComputeAndTrackRoute start_id goal_id start goal use_start=false use_poses=false >execution_duration >error_code_id >error_msg >last_node_id >next_node_id >current_edge_id >route >path >rerouted server_name server_timeout
    FollowPath path controller_id goal_checker_id progress_checker_id path_handler_id >tracking_feedback >error_code_id >error_msg server_name server_timeout
    SmoothPath unsmoothed_path max_smoothing_duration=3.0 check_for_collisions=false smoother_id >smoothed_path >smoothing_duration >was_completed >error_code_id >error_msg server_name server_timeout
    Spin spin_dist=1.57 time_allowance=10.0 is_recovery=true disable_collision_checks=false >error_code_id >error_msg server_name server_timeout
    BackUp backup_dist=0.15 backup_speed=0.025 time_allowance=10.0 disable_collision_checks=false >error_code_id >error_msg server_name server_timeout
    DriveOnHeading dist_to_travel=0.15 speed=0.025 time_allowance=10.0 disable_collision_checks=false >error_code_id >error_msg server_name server_timeout
    Wait wait_duration=1.0 >error_code_id >error_msg server_name server_timeout
    AssistedTeleop time_allowance=10.0 is_recovery=false >error_code_id >error_msg server_name server_timeout
    NavigateToPose goal behavior_tree >error_code_id >error_msg server_name server_timeout
    NavigateThroughPoses goals behavior_tree >error_code_id >error_msg server_name server_timeout
    DockRobot use_dock_id=true dock_id dock_pose dock_type max_staging_time=1000.0 navigate_to_staging_pose=true >success >error_code_id >error_msg >num_retries server_name server_timeout
    UndockRobot dock_type max_undocking_time=30.0 >success >error_code_id >error_msg server_name server_timeout
    FollowObject pose_topic=dynamic_pose tracked_frame max_duration=0.0 >total_elapsed_time >error_code_id >error_msg server_name server_timeout
    CancelControl server_name server_timeout
    CancelSpin server_name server_timeout
    CancelBackUp server_name server_timeout
    CancelWait server_name server_timeout
    CancelAssistedTeleop server_name server_timeout
    CancelDriveOnHeading server_name server_timeout
    CancelComputeAndTrackRoute server_name server_timeout
    CancelFollowObject server_name server_timeout
    ClearEntireCostmap plugins service_name server_timeout
    ClearCostmapExceptRegion reset_distance=1.0 plugins service_name server_timeout
    ClearCostmapAroundRobot reset_distance=1.0 plugins service_name server_timeout
    ClearCostmapAroundPose pose reset_distance=1.0 plugins service_name server_timeout
    ReinitializeGlobalLocalization service_name server_timeout
    ValidatePath path max_cost=254 consider_unknown_as_obstacle=false layer_name= footprint= stop_at_first_collision=true max_lookahead_distance=-1.0 >collision_poses service_name server_timeout
    CheckPoseOccupancy pose cost_threshold=254.0 use_footprint=true consider_unknown_as_obstacle=false service_name server_timeout
    RemoveInCollisionGoals input_goals cost_threshold=254.0 use_footprint=true consider_unknown_as_obstacle=false input_waypoint_statuses >output_goals >output_waypoint_statuses service_name server_timeout
    ToggleCollisionMonitor enable=true service_name server_timeout
    ControllerSelector default_controller topic_name=controller_selector >selected_controller
    PlannerSelector default_planner topic_name=planner_selector >selected_planner
    SmootherSelector default_smoother topic_name=smoother_selector >selected_smoother
    GoalCheckerSelector default_goal_checker topic_name=goal_checker_selector >selected_goal_checker
    ProgressCheckerSelector default_progress_checker topic_name=progress_checker_selector >selected_progress_checker
    PathHandlerSelector default_path_handler topic_name=path_handler_selector >selected_path_handler
    GetPoseFromPath path index=0 >pose
    GetCurrentPose global_frame robot_base_frame >current_pose
    ConcatenatePaths input_path1 input_path2 >output_path
    RemovePassedGoals input_goals radius=0.5 global_frame robot_base_frame input_waypoint_statuses >output_goals >output_waypoint_statuses
    TruncatePath input_path distance=1.0 >output_path
    TruncatePathLocal input_path distance_forward=8.0 distance_backward=4.0 robot_frame robot_base_frame transform_tolerance=0.2 pose angular_distance_weight=0.0 max_robot_pose_search_dist=inf >output_path
    CheckStopStatus velocity_threshold=0.01 duration_stopped=1000
    IsStopped velocity_threshold=0.01 duration_stopped=1000
    AppendGoalPoseToGoals goal_pose input_goals >output_goals
    ExtractRouteNodesAsGoals route >goals
    GetNextFewGoals input_goals num_goals >output_goals
    GoalUpdated goals goal
    GlobalUpdatedGoal goals goal
    GoalReached goal global_frame robot_base_frame
    ArePosesNear ref_pose target_pose global_frame tolerance=0.5
    IsStuck
    TransformAvailable child parent
    DistanceTraveled distance=1.0 global_frame robot_base_frame
    TimeExpired seconds=1.0
    PathExpiringTimer seconds=1.0 path
    InitialPoseReceived initial_pose_received
    IsBatteryLow min_battery battery_topic=/battery_status is_voltage=false
    IsBatteryCharging battery_topic=/battery_status
    IsPathValid path server_timeout
    AreErrorCodesPresent error_code error_codes_to_check
    WouldAControllerRecoveryHelp error_code error_codes_to_check
    WouldAPlannerRecoveryHelp error_code error_codes_to_check
    WouldASmootherRecoveryHelp error_code error_codes_to_check
    WouldARouteRecoveryHelp error_code error_codes_to_check
    IsGoalNearby path proximity_threshold=1.0 max_robot_pose_search_dist=-1.0 global_frame robot_base_frame
    IsWithinPathTrackingBounds max_error_left=0.5 max_error_right=0.5 max_error_heading=3.14 tracking_feedback
    PipelineSequence
    RecoveryNode number_of_retries=1
    RoundRobin wrap_around
    NonblockingSequence
    PersistentSequence current_child_idx
    PauseResumeController pause_service_name resume_service_name
    RateController hz=10.0
    DistanceController distance=1.0 global_frame robot_base_frame
    SpeedController min_rate=0.1 max_rate=1.0 min_speed=0.0 max_speed=0.5 goals goal
    SingleTrigger
    GoalUpdater input_goal input_goals >output_goal >output_goals
    PathLongerOnApproach path prox_len=3.0 length_factor=2.0
    GoalUpdatedController goals goal
";

fn same_default(wanted: &str, have: &str) -> bool {
    match (wanted.parse::<f64>(), have.parse::<f64>()) {
        (Ok(wanted), Ok(have)) => wanted == have,
        _ => wanted == have,
    }
}

#[test]
fn every_node_of_nav2_exists_with_its_ports_and_defaults() {
    let registry = super::registry();
    let manifests: Vec<_> = registry.manifests().collect();
    let mut missing = Vec::new();
    for line in NODES.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        let id = words.next().unwrap();
        let Some(manifest) = manifests.iter().find(|manifest| manifest.id == id) else {
            missing.push(id.to_owned());
            continue;
        };
        for word in words {
            let (word, is_output) = match word.strip_prefix('>') {
                Some(word) => (word, true),
                None => (word, false),
            };
            let (name, default) = match word.split_once('=') {
                Some((name, default)) => (name, Some(default)),
                None => (word, None),
            };
            let Some(port) = manifest.port(name) else {
                missing.push(format!("{id} {name}"));
                continue;
            };
            let fits = match port.direction {
                Direction::Input => !is_output,
                Direction::Output => is_output,
                Direction::InOut => true,
            };
            let have = port.default.as_deref();
            let same = match (default, have) {
                // For these, an empty text means an absent port without default.
                (Some(""), None) => true,
                (Some(wanted), Some(have)) => same_default(wanted, have),
                (Some(_), None) => false,
                (None, _) => true,
            };
            if !fits {
                missing.push(format!("{id} {name}: direction"));
            }
            if !same {
                missing.push(format!("{id} {name}: default {have:?}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn ports_without_field_in_jazzy_are_reported_at_load() {
    let registry = super::registry();
    for (node, port) in [
        (
            "<ComputePathToPose goal=\"{goal}\" viapoints=\"{v}\"/>",
            "viapoints",
        ),
        (
            "<ComputePathThroughPoses goals=\"{goals}\" last_reached_index=\"{i}\"/>",
            "last_reached_index",
        ),
        (
            "<FollowPath path=\"{path}\" path_handler_id=\"a\"/>",
            "path_handler_id",
        ),
        (
            "<Spin disable_collision_checks=\"true\"/>",
            "disable_collision_checks",
        ),
        (
            "<BackUp disable_collision_checks=\"true\"/>",
            "disable_collision_checks",
        ),
        (
            "<DriveOnHeading disable_collision_checks=\"true\"/>",
            "disable_collision_checks",
        ),
        (
            "<ClearEntireCostmap service_name=\"s\" plugins=\"a\"/>",
            "plugins",
        ),
        (
            "<ClearCostmapExceptRegion service_name=\"s\" plugins=\"a\"/>",
            "plugins",
        ),
        (
            "<ClearCostmapAroundRobot service_name=\"s\" plugins=\"a\"/>",
            "plugins",
        ),
        (
            "<ClearCostmapAroundPose service_name=\"s\" pose=\"{goal}\" plugins=\"a\"/>",
            "plugins",
        ),
        ("<ValidatePath path=\"{path}\" max_cost=\"100\"/>", "max_cost"),
        (
            "<ValidatePath path=\"{path}\" consider_unknown_as_obstacle=\"true\"/>",
            "consider_unknown_as_obstacle",
        ),
        ("<ValidatePath path=\"{path}\" layer_name=\"a\"/>", "layer_name"),
        ("<ValidatePath path=\"{path}\" footprint=\"a\"/>", "footprint"),
        (
            "<ValidatePath path=\"{path}\" stop_at_first_collision=\"false\"/>",
            "stop_at_first_collision",
        ),
        (
            "<ValidatePath path=\"{path}\" max_lookahead_distance=\"3\"/>",
            "max_lookahead_distance",
        ),
    ] {
        let text =
            format!("<root BTCPP_format=\"4\">\n<BehaviorTree ID=\"T\">\n{node}</BehaviorTree></root>");
        let loaded = crate::xml::Loader::new(&registry)
            .load_text("t.xml", &text, std::path::Path::new("."), None)
            .unwrap();
        let reports = loaded
            .warnings
            .iter()
            .map(|warning| warning.one_line(&loaded.sources));
        let reports: Vec<String> = reports.filter(|line| line.contains("NT0407")).collect();
        assert_eq!(reports.len(), 1, "{node}: {reports:?}");
        assert!(
            reports[0].starts_with("t.xml:3:") && reports[0].contains(port),
            "{}",
            reports[0]
        );
    }
}
