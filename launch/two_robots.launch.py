"""Start one process with two simulated robots, and one navtree process with a node for each.

Each robot has its namespace, with topics, actions and transforms of its own, as in Nav2's multi-robot bringup. One parameter
file serves all nodes.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    default_file = PathJoinSubstitution([FindPackageShare("navtree"), "config", "two_robots.yaml"])
    return LaunchDescription(
        [
            DeclareLaunchArgument("robots", default_value="r1,r2", description="namespaces of the robots"),
            DeclareLaunchArgument("params_file", default_value=default_file, description="parameter file of all nodes"),
            DeclareLaunchArgument("log_level", default_value="info", description="debug, info, warn, error or fatal"),
            OpaqueFunction(function=nodes),
        ]
    )


def nodes(context):
    """Return the simulated robots and their navigators: one process for each."""
    robots = LaunchConfiguration("robots").perform(context)
    file = ParameterFile(LaunchConfiguration("params_file"), allow_substs=True)

    def node(executable, name, parameters, arguments):
        return Node(
            package="navtree",
            executable=executable,
            name=name,
            output="screen",
            parameters=parameters,
            arguments=[*arguments, "--ros-args", "--log-level", LaunchConfiguration("log_level")],
            # Robots in namespaces have transforms of their own, as in Nav2's bringup.
            remappings=[("/tf", "tf"), ("/tf_static", "tf_static")],
            # Without one of them there is nothing left to show.
            on_exit=Shutdown(reason=f"{name} has ended"),
        )

    return [
        node("nav_sim", "nav_sim", [file, {"robots": robots.split(",")}], []),
        node("navtree", "bt_navigator", [file], ["run", "--robots", robots]),
    ]
