"""The process of one lane."""

import os
import traceback
from collections import Counter
from pathlib import Path


def work(number, kind, chosen, until, folder, outcomes):
    """A lane in a process of its own: rclpy keeps to one core. Ends with the goals that were accepted, that ended, and the
    most alive at once."""
    from support.domains import free_domain

    counts = Counter(), Counter(), 0
    with free_domain() as domain:
        os.environ["ROS_DOMAIN_ID"] = str(domain)
        lane = None
        try:
            from .lane import Lane

            lane = Lane(domain, Path(folder), kind)
            for outcome in lane.run(chosen, until):
                outcomes.put(("outcome", number, outcome))
        except BaseException:  # noqa: BLE001 - whatever it is, it has to reach the one who counts
            outcomes.put(("failure", number, traceback.format_exc()))
        if lane is not None:
            for failure in lane.failures:
                outcomes.put(("failure", number, failure))
            counts = lane.ledger.accepted, lane.ledger.ended, lane.ledger.most
            lane.close()
    outcomes.put(("end", number, counts))
