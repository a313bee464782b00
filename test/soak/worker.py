"""The process of one lane."""

import os
import time
import traceback
from collections import Counter
from pathlib import Path


#: How often a lane may begin anew: a node that never gets anywhere must not look like one that was unlucky.
MOST_ANEW = 3


def work(number, kind, chosen, until, folder, outcomes):
    """A lane in a process of its own: rclpy keeps to one core. Where two processes of a lane cannot find each other any
    more, another lane on another ROS domain goes on with what is left."""
    left, tries = list(chosen), 0
    counts = Counter(), Counter(), 0
    while True:
        unmatched, booked = _lane(number, kind, left, until, folder, outcomes)
        counts = counts[0] + booked[0], counts[1] + booked[1], max(counts[2], booked[2])
        if not unmatched:
            break
        outcomes.put(("unmatched", number, unmatched))
        tries += 1
        if tries > MOST_ANEW or time.time() > until:
            outcomes.put(("failure", number, "the lane has begun anew too often"))
            break
    outcomes.put(("end", number, counts))


def _lane(number, kind, left, until, folder, outcomes):
    """Runs the trials that are left, and takes them from the list. Why it cannot go on, where another lane could; and the
    goals that were accepted, that ended, and the most alive at once."""
    from support.domains import free_domain

    lane, unmatched = None, None
    with free_domain() as domain:
        os.environ["ROS_DOMAIN_ID"] = str(domain)
        try:
            from .lane import Lane
            from .unmatched import Unmatched

            lane = Lane(domain, Path(folder), kind)
            try:
                for outcome in lane.run(list(left), until):
                    left.pop(0)
                    outcomes.put(("outcome", number, outcome))
            except Unmatched as reason:
                unmatched = str(reason)
                if not lane.settled():
                    lane.failures.append("goals are alive on a server that the node does not find")
        except BaseException:  # noqa: BLE001 - whatever it is, it has to reach the one who counts
            outcomes.put(("failure", number, traceback.format_exc()))
        if lane is None:
            return None, (Counter(), Counter(), 0)
        for failure in lane.failures:
            outcomes.put(("failure", number, failure))
        ledger = lane.ledger
        lane.close()
    return unmatched, (ledger.accepted, ledger.ended, ledger.most)
