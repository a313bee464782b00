"""Builds minimal nodes in C (the `.c` files of this folder) with the ROS 2 of the environment."""

import os
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent


def build(folder, name, packages=()):
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
