"""Start navtree where Nav2 starts its bt_navigator.

The arguments have the names that they have in Nav2's bringup. One that is left empty leaves the matter to the parameter
file.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue
from launch_ros.substitutions import FindPackageShare

# The arguments that are parameters of the node, the names they have there, and their types.
PARAMETERS = {
    "use_sim_time": ("use_sim_time", bool),
    "autostart": ("autostart_node", bool),
    "default_nav_to_pose_bt_xml": ("default_nav_to_pose_bt_xml", str),
    "default_nav_through_poses_bt_xml": ("default_nav_through_poses_bt_xml", str),
}


def generate_launch_description():
    default_file = PathJoinSubstitution([FindPackageShare("navtree"), "config", "navtree.yaml"])
    return LaunchDescription(
        [
            DeclareLaunchArgument("namespace", default_value="", description="namespace of the node"),
            DeclareLaunchArgument("params_file", default_value=default_file, description="parameter file"),
            DeclareLaunchArgument("use_sim_time", default_value="", description="go by /clock: true or false"),
            DeclareLaunchArgument(
                "autostart", default_value="", description="become active without a lifecycle manager: true or false"
            ),
            DeclareLaunchArgument(
                "default_nav_to_pose_bt_xml", default_value="", description="tree file of navigate_to_pose"
            ),
            DeclareLaunchArgument(
                "default_nav_through_poses_bt_xml",
                default_value="",
                description="tree file of navigate_through_poses",
            ),
            DeclareLaunchArgument("log_level", default_value="info", description="debug, info, warn, error or fatal"),
            DeclareLaunchArgument("use_respawn", default_value="false", description="start again after a crash"),
            DeclareLaunchArgument(
                "use_composition", default_value="false", description="accepted; navtree is always a process of its own"
            ),
            LogInfo(
                msg="use_composition has no effect on navtree: it is a process of its own",
                condition=IfCondition(LaunchConfiguration("use_composition")),
            ),
            OpaqueFunction(function=navigator),
        ]
    )


def navigator(context):
    """Return the node, with a parameter for each argument that was given."""
    given = {
        name: ParameterValue(LaunchConfiguration(argument), value_type=kind)
        for argument, (name, kind) in PARAMETERS.items()
        if LaunchConfiguration(argument).perform(context)
    }
    # As Nav2's bringup takes it: with $(find-pkg-share ...) in paths.
    file = ParameterFile(LaunchConfiguration("params_file"), allow_substs=True)
    return [
        Node(
            package="navtree",
            executable="navtree",
            name="bt_navigator",
            namespace=LaunchConfiguration("namespace"),
            output="screen",
            respawn=LaunchConfiguration("use_respawn"),
            respawn_delay=2.0,
            parameters=[file] + ([given] if given else []),
            arguments=["--ros-args", "--log-level", LaunchConfiguration("log_level")],
            # Robots in namespaces have transforms of their own, as in Nav2's bringup.
            remappings=[("/tf", "tf"), ("/tf_static", "tf_static")],
        )
    ]
