"""The main function of a worker process."""

import os
import traceback
from collections import Counter
from pathlib import Path


def work(number, kind, chosen, until, folder, outcomes):
    """Runs trials in a separate process, because rclpy uses only one core. Finally sends the numbers of accepted and
    ended goals, and the maximum number of goals alive at once."""
    from support.domains import free_domain

    counts = Counter(), Counter(), 0
    with free_domain() as domain:
        os.environ["ROS_DOMAIN_ID"] = str(domain)
        runner = None
        try:
            from .trial_runner import TrialRunner

            runner = TrialRunner(domain, Path(folder), kind)
            for outcome in runner.run(chosen, until):
                outcomes.put(("outcome", number, outcome))
        except BaseException:  # noqa: BLE001 - every error has to reach the main process
            outcomes.put(("failure", number, traceback.format_exc()))
        if runner is not None:
            for failure in runner.failures:
                outcomes.put(("failure", number, failure))
            counts = runner.counter.accepted, runner.counter.ended, runner.counter.most
            runner.close()
    outcomes.put(("end", number, counts))
