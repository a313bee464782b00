"""Random trees behave as in BehaviorTree.CPP at each tick: statuses, halts, the blackboard, and errors.

`NAVTREE_TREES` sets the number of trees, `NAVTREE_SEED` the first seed.
"""

import importlib.util
import os
import platform
import sys
from collections import Counter

import pytest
from behaviortree_cpp.compare import Comparison, Navtree, Peer
from behaviortree_cpp.generator import TAGS, Generator
from support.executable import find

FIRST = int(os.environ.get("NAVTREE_SEED", "1"))
TREES = int(os.environ.get("NAVTREE_TREES", "500"))


@pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.version_info >= (3, 14),
    reason="behaviortreepy has wheels for x86_64 and Python up to 3.13 only",
)
def test_random_trees_have_the_same_trace_as_in_behaviortree_cpp(tmp_path):
    assert importlib.util.find_spec("behaviortreepy"), "behaviortreepy is missing: run scripts/setup"
    ends, tags = Counter(), Counter()
    with Peer() as peer:
        comparison = Comparison(Navtree(find("navtree"), tmp_path), peer)
        for seed in range(FIRST, FIRST + TREES):
            case = Generator(seed).case()
            ours, _, found = comparison.run(case)
            if found:
                whole, least = comparison.report(case), comparison.report(comparison.shrunk(case))
                pytest.fail(f"seed {seed}: {whole}\n\nthe smallest case: {least}", pytrace=False)
            ends[ours["ticks"][-1]["status"] if "ticks" in ours else "refused"] += 1
            tags.update(node.tag for root in case.trees.values() for node in root.all())
    # The comparison must cover trees that run, and all node types.
    assert TREES < 500 or (ends["refused"] + ends["ERROR"] < TREES / 5 and set(tags) == TAGS), (ends, tags)
