"""Two hosts on this machine, joined by a link that a test can cut, delay and make lossy.

A host is a network namespace. The link is a thread that copies Ethernet frames between the TAP devices of the hosts. It is
built from system calls: `ip` and the network emulation of the kernel (`sch_netem`, which many kernels lack) are not
needed, and the kernel removes everything when the process of a test ends.
"""

import contextlib
import ctypes
import errno
import fcntl
import heapq
import os
import random
import select
import socket
import struct
import threading
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
SIOCSIFADDR, SIOCSIFNETMASK, SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8916, 0x891C, 0x8913, 0x8914
IFF_UP = 0x1

#: Settings of ROS processes on the hosts: discovery across the link, and no shared memory.
ENVIRONMENT = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}

_libc = ctypes.CDLL(None, use_errno=True)


def _call(function, *arguments):
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _up(name, address=None):
    """Brings up an interface of the current namespace, with a /24 address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        if address:
            for request, value in ((SIOCSIFADDR, address), (SIOCSIFNETMASK, "255.255.255.0")):
                where = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(value))
                fcntl.ioctl(control, request, struct.pack("16s16s", name.encode(), where))
        flags = fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16sH14x", name.encode(), 0))
        flags = struct.unpack("16sH14x", flags)[1] | IFF_UP
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", name.encode(), flags))


def _set_environment(environment):
    os.environ.update(environment)


class Host:
    """A network namespace with an address."""

    def __init__(self, address):
        self.address = address
        with open("/proc/thread-self/ns/net") as home:
            _call(_libc.unshare, CLONE_NEWNET)
            try:
                self._namespace = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
                self.wire = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
                fcntl.ioctl(self.wire, TUNSETIFF, struct.pack("16sH14x", b"wire", IFF_TAP | IFF_NO_PI))
                _up("lo")
                _up("wire", address)
            finally:
                _call(_libc.setns, home.fileno(), CLONE_NEWNET)

    @contextlib.contextmanager
    def inside(self):
        """Moves the calling thread to this host. Threads and processes that it starts meanwhile stay on the host."""
        with open("/proc/thread-self/ns/net") as home:
            _call(_libc.setns, self._namespace, CLONE_NEWNET)
            try:
                yield
            finally:
                _call(_libc.setns, home.fileno(), CLONE_NEWNET)

    def start(self, manager, environment):
        """Starts a multiprocessing manager in a process on this host. Its class must be importable."""
        with self.inside():
            manager.start(_set_environment, (environment,))
        return manager

    def close(self):
        os.close(self.wire)
        os.close(self._namespace)


class Network:
    """Hosts `left` and `right`. `delay` in seconds each way, `loss` as a share of frames each way."""

    def __init__(self, seed=0):
        self.left, self.right = Host("10.77.0.1"), Host("10.77.0.2")
        self.delay, self.loss, self._cut = 0.0, 0.0, False
        self._rng = random.Random(seed)
        self._stop, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def cut(self):
        """Drops all frames from now on, without notice, like a robot out of range."""
        self._cut = True

    def heal(self):
        self._cut = False

    def _carry(self):
        ends = {self.left.wire: self.right.wire, self.right.wire: self.left.wire}
        in_flight, count = [], 0
        while True:
            wait = max(0.0, in_flight[0][0] - time.monotonic()) if in_flight else None
            ready, _, _ = select.select([*ends, self._stop], [], [], wait)
            if self._stop in ready:
                return
            for end in ready:
                with contextlib.suppress(BlockingIOError):
                    frame = os.read(end, 65536)
                    if not self._cut and self._rng.random() >= self.loss:
                        count += 1
                        heapq.heappush(in_flight, (time.monotonic() + self.delay, count, ends[end], frame))
            while in_flight and in_flight[0][0] <= time.monotonic():
                _, _, end, frame = heapq.heappop(in_flight)
                try:
                    os.write(end, frame)
                except OSError as error:
                    # A full queue drops frames, like a switch.
                    if error.errno not in (errno.EAGAIN, errno.ENOBUFS):
                        raise

    def close(self):
        os.close(self._wake)
        self._thread.join(timeout=5.0)
        os.close(self._stop)
        self.left.close()
        self.right.close()


def unsupported_reason():
    """Why this machine cannot have such a network, or None."""
    try:
        Network().close()
    except OSError as error:
        return f"no network namespace with a TAP device can be made here: {error}"
    return None
