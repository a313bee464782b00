"""G1 to G6 under attack: a server with every fault, halted at every moment; no goal may stay alive (`scripts/soak`).

A thousand trials, three in four with rclpy servers and one in four with nav_sim; NAVTREE_SOAK_TRIALS asks for another
number. `scripts/soak --trials 20000` is the long run.
"""

import contextlib
import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest
from soak.unmatched import dead_ports
from support.executable import find

TRIALS = int(os.environ.get("NAVTREE_SOAK_TRIALS", "1000"))


@pytest.mark.alone
@pytest.mark.timeout(120 + 2 * TRIALS)
def test_g3_no_orphan_goal_whatever_the_server_does_and_whenever_the_leaf_is_halted():
    find("navtree")
    answer = subprocess.run(
        [sys.executable, "-m", "soak", "--trials", str(TRIALS), "--seed", "1"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=100 + 2 * TRIALS,
    )
    print(answer.stdout)
    last = answer.stdout.strip().splitlines()[-1:]
    assert answer.returncode == 0, f"{last}\n{answer.stderr[-20000:]}"
    assert last[0].startswith("orphan goals: 0 of ")


def test_a_port_is_dead_where_only_the_one_before_it_is_mapped():
    # Above all that DDSI-RTPS hands out.
    number = 70000
    port, lock = (Path(f"/dev/shm/fastrtps_port{number}{suffix}") for suffix in ("", "_el"))
    ourselves = os.getpid()

    def made(path):
        file = kept.enter_context(open(path, "w+b"))
        kept.callback(path.unlink, missing_ok=True)
        file.truncate(4096)
        return kept.enter_context(mmap.mmap(file.fileno(), 4096))

    with contextlib.ExitStack() as kept:
        made(port)
        assert dead_ports(ourselves, ourselves) == [], "nobody has it"
        made(lock)
        assert dead_ports(ourselves, ourselves) == []
        port.unlink()
        assert dead_ports(ourselves, ourselves) == [number]
        made(port)
        assert dead_ports(ourselves, ourselves) == []
