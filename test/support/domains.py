"""ROS domains that no other test on this machine uses."""

import contextlib
import fcntl
import os
import pathlib
import tempfile
import time

# Above 101 the ports of a domain are in the range that Linux uses for outgoing connections.
DOMAINS = range(1, 102)


@contextlib.contextmanager
def free_domain():
    """Reserve a domain id that no other test on this machine uses."""
    folder = pathlib.Path(tempfile.gettempdir()) / f"navtree-domains-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    deadline = time.monotonic() + 300
    # A different start for each process keeps parallel workers from trying the same locks in the same order.
    order = [DOMAINS[(os.getpid() * 17 + i) % len(DOMAINS)] for i in range(len(DOMAINS))]
    while time.monotonic() < deadline:
        for domain in order:
            lock = open(folder / str(domain), "w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                continue
            try:
                yield domain
            finally:
                lock.close()
            return
        time.sleep(0.2)
    raise TimeoutError("all ROS domains are taken")
