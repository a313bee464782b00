"""Start navtree together with nav_sim, a simulated robot that has every server a tree calls.

The arguments of navtree.launch.py are arguments here too.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    share = FindPackageShare("navtree")
    return LaunchDescription(
        [
            DeclareLaunchArgument("namespace", default_value="", description="namespace of both nodes"),
            DeclareLaunchArgument(
                "params_file",
                default_value=PathJoinSubstitution([share, "config", "demo.yaml"]),
                description="parameter file of both nodes",
            ),
            DeclareLaunchArgument(
                "use_sim_time", default_value="", description="go by /clock, which nav_sim then publishes: true or false"
            ),
            DeclareLaunchArgument("log_level", default_value="info", description="debug, info, warn, error or fatal"),
            OpaqueFunction(function=robot),
            # Arguments are shared with an included file; those it declares itself stay settable from here.
            IncludeLaunchDescription(PathJoinSubstitution([share, "launch", "navtree.launch.py"])),
        ]
    )


def robot(context):
    """Return the simulated robot, which publishes the time where navtree goes by it."""
    simulated = LaunchConfiguration("use_sim_time").perform(context).lower() in ("true", "1")
    file = ParameterFile(LaunchConfiguration("params_file"), allow_substs=True)
    return [
        Node(
            package="navtree",
            executable="nav_sim",
            name="nav_sim",
            namespace=LaunchConfiguration("namespace"),
            output="screen",
            parameters=[file] + ([{"publish_clock": True}] if simulated else []),
            arguments=["--ros-args", "--log-level", LaunchConfiguration("log_level")],
            remappings=[("/tf", "tf"), ("/tf_static", "tf_static")],
            # Without a robot there is nothing left to show.
            on_exit=Shutdown(reason="nav_sim has ended"),
        )
    ]
