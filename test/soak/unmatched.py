"""What a lane cannot go on after.

Fast DDS gives each process ports, queues in shared memory into which all others on the machine write what is for it. A
process that is killed in the microseconds between two messages leaves queues that look alive, and whoever has written
there goes on doing so when its successor has made new ones under the same name: what is sent to the successor never
arrives (Fast DDS 2.14.5; its issues 4728 and 5053). With a discovery range of LOCALHOST there is no other way to it.
"""

import os
import re

_PORT = re.compile(r"/dev/shm/fastrtps_port(\d+)")

#: Those below are for discovery.
_FIRST = 7400


class Unmatched(Exception):
    """Two processes that are there do not reach each other."""


def dead_ports(sender, receiver):
    """The ports of a process that another one, by their ids, has mapped as its predecessor had made them, and not as they
    are: proof that nothing arrives."""
    try:
        with open(f"/proc/{sender}/maps") as maps:
            mapped = [line.rstrip("\n").partition(" /dev/shm/")[2] for line in maps]
        locks = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{receiver}/fd")]
    except OSError:
        return []
    owned = {int(found[1]) for lock in locks if lock.endswith("_el") and (found := _PORT.match(lock))}
    return [
        port
        for port in sorted(owned)
        if port >= _FIRST and f"fastrtps_port{port} (deleted)" in mapped and f"fastrtps_port{port}" not in mapped
    ]
