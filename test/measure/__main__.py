"""`python -m measure [--quick] [--only NAME]`; see `scripts/measure --help`."""

import argparse
import os
import sys
import time

from support.domains import free_domain

from . import figures, fleet, latencies
from .page import write

NAMES = ("usage", "starts", "ticks", "navigations", "conditions", "results", "baseline", "robots")
LEAVES = (1, 10, 50)
#: The values of parameter `tick_on_event`: the node's default first.
SETTINGS = (False, True)


def main():
    parser = argparse.ArgumentParser(prog="measure", description="Measures the resources and the latencies of the node.")
    parser.add_argument("--quick", action="store_true", help="a short, rough run; the page is not written")
    parser.add_argument("--only", choices=NAMES, action="append", help="only this figure; the page is not written")
    arguments = parser.parse_args()
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    # Another thread of this process may run between a time stamp and the measured call: for 5 ms by default, which was the
    # longest of all latencies.
    sys.setswitchinterval(5e-5)
    effort = figures.QUICK if arguments.quick else figures.Effort()
    wanted = arguments.only or NAMES
    started = time.monotonic()

    def say(text):
        print(f"{time.monotonic() - started:5.0f} s  {text}", file=sys.stderr, flush=True)

    load = os.getloadavg()[0]
    if load > 0.5:
        say(f"other processes use this machine (load {load:.1f}): processor times are valid, latencies are not")
    found = {}
    if "usage" in wanted:
        found["usage"] = figures.usage(effort, say)
        threads = ", ".join(f"{name} {used:.2f}" for name, used in found["usage"].by_thread.items())
        say(f"percent of a core by thread: {threads}")
    if "starts" in wanted:
        found["starts"] = figures.start_to_active(effort, say)
    if "ticks" in wanted:
        found["ticks"] = figures.silent_ticks(effort, say)
    if "navigations" in wanted:
        found["navigations"] = {on: latencies.navigation(on, effort, say) for on in SETTINGS}
    cases = [(n, on) for n in LEAVES for on in SETTINGS]
    if "conditions" in wanted:
        found["conditions"] = {case: latencies.condition_to_cancel(*case, effort, say) for case in cases}
    if "results" in wanted:
        found["results"] = {case: latencies.result_to_goal(*case, effort, say) for case in cases}
    if "baseline" in wanted:
        with free_domain() as domain:
            found["baseline"] = figures.empty_node(domain)
            if fleet.is_supported():
                found["further empty robot"] = figures.further_empty_robot(domain, say)
                found["further C robot"] = fleet.further_c_robot(effort, say)
            found["relay"] = latencies.relay(effort, say)
            found["tick loops"] = figures.tick_loops(domain, effort, say)
    if "robots" in wanted:
        if fleet.is_supported():
            found["robots"] = {n: fleet.fleet_if_it_starts(n, effort, say) for n in fleet.COUNTS}
        else:
            say("robots: skipped, because `navtree run` has no option --robots")
    say("done")
    whole = not arguments.quick and not arguments.only
    print(write(found, load, whole))
    return 0


if __name__ == "__main__":
    sys.exit(main())
