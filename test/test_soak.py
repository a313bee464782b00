"""G1 to G6 with random faults of a server and random moments of halting: no goal may stay alive (`scripts/soak`).

1,000 trials: three quarters with rclpy servers, one quarter with nav_sim. NAVTREE_SOAK_TRIALS sets another number.
`scripts/soak --trials 20000` is the long run.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.executable import find

TRIALS = int(os.environ.get("NAVTREE_SOAK_TRIALS", "1000"))


@pytest.mark.alone
@pytest.mark.timeout(120 + 2 * TRIALS)
def test_g3_random_faults_and_halts_leave_no_orphan_goal():
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
