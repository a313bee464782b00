"""Start navtree where Nav2 starts its bt_navigator.

An argument that is left empty leaves the matter to the parameter file.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

# The arguments that are parameters of the node, and their types.
PARAMETERS = {
    "use_sim_time": bool,
    "default_nav_to_pose_bt_xml": str,
    "default_nav_through_poses_bt_xml": str,
}


def generate_launch_description():
    default_file = PathJoinSubstitution([FindPackageShare("navtree"), "config", "navtree.yaml"])
    return LaunchDescription(
        [
            DeclareLaunchArgument("namespace", default_value="", description="namespace of the node"),
            DeclareLaunchArgument("params_file", default_value=default_file, description="parameter file"),
            DeclareLaunchArgument("use_sim_time", default_value="", description="go by /clock: true or false"),
            DeclareLaunchArgument(
                "default_nav_to_pose_bt_xml", default_value="", description="tree file of navigate_to_pose"
            ),
            DeclareLaunchArgument(
                "default_nav_through_poses_bt_xml",
                default_value="",
                description="tree file of navigate_through_poses",
            ),
            DeclareLaunchArgument("log_level", default_value="info", description="debug, info, warn, error or fatal"),
            DeclareLaunchArgument("respawn", default_value="false", description="start again after a crash"),
            OpaqueFunction(function=navigator),
        ]
    )


def navigator(context):
    """Return the node, with a parameter for each argument that was given."""
    given = {
        name: ParameterValue(LaunchConfiguration(name), value_type=kind)
        for name, kind in PARAMETERS.items()
        if LaunchConfiguration(name).perform(context)
    }
    return [
        Node(
            package="navtree",
            executable="navtree",
            name="bt_navigator",
            namespace=LaunchConfiguration("namespace"),
            output="screen",
            respawn=LaunchConfiguration("respawn"),
            respawn_delay=2.0,
            parameters=[LaunchConfiguration("params_file")] + ([given] if given else []),
            arguments=["--ros-args", "--log-level", LaunchConfiguration("log_level")],
            # Robots in namespaces have transforms of their own, as in Nav2's bringup.
            remappings=[("/tf", "tf"), ("/tf_static", "tf_static")],
        )
    ]
