"""Builds the node that has nothing (`floor.c`), against the ROS 2 of the environment."""

import os
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("floor.c")


def build(folder):
    """The executable."""
    prefixes = [Path(prefix) for prefix in os.environ["AMENT_PREFIX_PATH"].split(":") if prefix]
    command = ["cc", "-O2", str(SOURCE), "-o", str(Path(folder) / "floor")]
    for prefix in prefixes:
        for include in sorted((prefix / "include").glob("*")):
            command.append(f"-I{include}")
        command.append(f"-L{prefix / 'lib'}")
    for library in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if library:
            command.append(f"-Wl,-rpath-link,{library}")
    # Whatever a library of a wheel leaves to the process that loads it is not used here.
    command += ["-Wl,--unresolved-symbols=ignore-in-shared-libs", "-lrcl", "-lrcutils"]
    subprocess.run(command, check=True)
    return Path(folder) / "floor"
