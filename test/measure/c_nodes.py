"""Builds and runs minimal nodes in C (the `.c` files of this folder) with the ROS 2 of the environment."""

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent

#: Programs, with the packages of their messages.
TICK_LOOP = ("tick_loop", ("tf2_msgs", "nav_msgs", "nav2_msgs"))
DRIVING_ROBOTS = ("driving_robots", ("tf2_msgs", "nav_msgs", "nav2_msgs", "action_msgs"))
RELAY = ("relay", ("nav2_msgs", "action_msgs"))


@contextlib.contextmanager
def c_node(domain, name, packages=(), arguments=()):
    """A running node in C: its process number."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(_build(folder, name, packages)), *map(str, arguments)]
        environment = os.environ | {"ROS_DOMAIN_ID": str(domain)}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            # The middleware logs to the same stream.
            assert "up\n" in process.stdout, f"the node of {name}.c did not start"
            yield process.pid
        finally:
            process.kill()
            process.wait()


def _build(folder, name, packages=()):
    """Compiles a source file of this folder with the messages of some packages. Returns the executable."""
    prefixes = [Path(prefix) for prefix in os.environ["AMENT_PREFIX_PATH"].split(":") if prefix]
    command = ["cc", "-O2", str(FOLDER / f"{name}.c"), "-o", str(Path(folder) / name)]
    for prefix in prefixes:
        for include in sorted((prefix / "include").glob("*")):
            command.append(f"-I{include}")
        command.append(f"-L{prefix / 'lib'}")
    for library in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if library:
            command.append(f"-Wl,-rpath-link,{library}")
    for package in packages:
        command += [f"-l{package}__rosidl_typesupport_c", f"-l{package}__rosidl_generator_c"]
    # Symbols that a library of a wheel expects from its process are not used here.
    command += ["-Wl,--unresolved-symbols=ignore-in-shared-libs", "-lrcl", "-lrcutils"]
    subprocess.run(command, check=True)
    return Path(folder) / name
