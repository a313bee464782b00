"""Start two simulated robots, and one navtree process with a node for each.

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
    """Return a simulated robot for each name, and the navigators of all."""
    robots = LaunchConfiguration("robots").perform(context)
    log_level = ["--ros-args", "--log-level", LaunchConfiguration("log_level")]

    def node(**options):
        return Node(
            package="navtree",
            output="screen",
            parameters=[ParameterFile(LaunchConfiguration("params_file"), allow_substs=True)],
            # Robots in namespaces have transforms of their own, as in Nav2's bringup.
            remappings=[("/tf", "tf"), ("/tf_static", "tf_static")],
            # Without one of them there is nothing left to show.
            on_exit=Shutdown(reason="a process has ended"),
            **options,
        )

    simulated = [
        node(executable="nav_sim", name="nav_sim", namespace=robot, arguments=log_level) for robot in robots.split(",")
    ]
    arguments = ["run", "--robots", robots, *log_level]
    return [*simulated, node(executable="navtree", name="bt_navigator", arguments=arguments)]
