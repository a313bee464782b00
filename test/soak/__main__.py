"""`python -m soak --trials N [--seed S] [--lanes L]`; see `scripts/soak --help`."""

import argparse
import multiprocessing
import os
import queue
import secrets
import statistics
import sys
import tempfile
import time
from collections import Counter

from .plan import FAULTS, IMPOSSIBLE, MOMENTS, SERVERS, impossible, plans
from .worker import work

#: Seconds without an outcome from a lane after which it counts as stuck.
STUCK = 150.0


#: From how many trials of one kind on each of them must have come about.
ENOUGH = 8


def table(done, accepted, ended, server):
    """By fault (lines) and moment (columns): trials in which the fault acted and the leaf was halted at the moment, of
    how many; goals accepted; orphans. And the kinds of trial that never came about."""
    cells = {(fault, moment): [0, 0, 0, 0] for fault in FAULTS for moment in MOMENTS}
    for outcome in done:
        if outcome.plan.server != server:
            continue
        cell = cells[outcome.plan.fault, outcome.plan.moment]
        number = outcome.plan.number
        cell[0] += happened(outcome)
        cell[1] += 1
        cell[2] += accepted[number]
        cell[3] += accepted[number] - ended[number]
    width = max(map(len, FAULTS)) + 2
    columns = [max(len(moment), 16) + 2 for moment in MOMENTS]
    lines = [f"server {server}: came about of trials / goals accepted / orphans, by fault and moment of halting", ""]
    lines.append(" " * width + "".join(moment.rjust(w) for moment, w in zip(MOMENTS, columns)))
    for fault in FAULTS:
        texts = [
            "cannot be" if impossible(fault, moment) else "{} of {} / {} / {}".format(*cells[fault, moment])
            for moment in MOMENTS
        ]
        lines.append(fault.ljust(width) + "".join(text.rjust(w) for text, w in zip(texts, columns)))
    return "\n".join(lines) + "\n"


def happened(outcome):
    """Whether a trial was what it was meant to be. Before a goal is sent no fault has acted on it."""
    return outcome.reached and (outcome.acted or outcome.plan.moment == "before send")


def never(done):
    """Kinds of trial that were tried often enough and never came about."""
    tried, came = Counter(), Counter()
    for outcome in done:
        kind = f"fault '{outcome.plan.fault}', halted '{outcome.plan.moment}'"
        tried[kind] += 1
        came[kind] += happened(outcome)
    return [kind for kind, trials in tried.items() if trials >= ENOUGH and not came[kind]]


def slowest(done):
    """The median time of a trial by fault, for each server."""
    lines = []
    for server in SERVERS:
        of_server = [outcome for outcome in done if outcome.plan.server == server]
        times = {fault: [o.seconds for o in of_server if o.plan.fault == fault] for fault in FAULTS}
        medians = [(statistics.median(times[fault]), fault) for fault in FAULTS if times[fault]]
        medians.sort(reverse=True)
        texts = ", ".join(f"{fault} {seconds:.2f}" for seconds, fault in medians)
        lines.append(f"median seconds with {server}: {texts}")
    return "\n".join(lines)


def reasons():
    """Why some cells of the table cannot be."""
    lines = []
    for fault, moments in IMPOSSIBLE.items():
        for reason in dict.fromkeys(moments.values()):
            of = ", ".join(moment for moment in moments if moments[moment] == reason)
            lines.append(f"cannot be: {fault}, {of}: {reason}")
    return "\n".join(lines)


def share(chosen, lanes):
    """The trials of each lane, with the server it has. A trial with nav_sim takes longer, so they get a third."""
    for server, part in (("rclpy", lanes - lanes // 3), ("nav_sim", lanes // 3)):
        trials = [plan for plan in chosen if plan.server == server]
        part = min(max(1, part), len(trials))
        for lane in range(part):
            yield server, trials[lane::part]


def main():
    parser = argparse.ArgumentParser(prog="soak", description="Random faults and halts, counted at the servers.")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None, help="the same seed draws the same trials")
    parser.add_argument("--minutes", type=float, default=None, help="begin no trial later than that")
    parser.add_argument("--lanes", type=int, default=4 * (os.cpu_count() or 1), help="nodes that run side by side")
    arguments = parser.parse_args()
    seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    shares = list(share(plans(arguments.trials, seed), arguments.lanes))
    lanes = len(shares)
    print(f"{arguments.trials} trials, seed {seed}, {lanes} lanes", flush=True)

    until = time.time() + 60.0 * arguments.minutes if arguments.minutes else float("inf")
    spawn = multiprocessing.get_context("spawn")
    outcomes = spawn.Queue()
    done, failures, accepted, ended, most = [], [], Counter(), Counter(), 0
    started = shown = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="navtree-soak-") as folder:
        workers = [
            spawn.Process(target=work, args=(i, kind, chosen, until, folder, outcomes))
            for i, (kind, chosen) in enumerate(shares)
        ]
        for worker in workers:
            worker.start()
        at_work = set(range(lanes))
        heard = dict.fromkeys(at_work, started)
        while at_work:
            try:
                kind, lane, value = outcomes.get(timeout=1.0)
            except queue.Empty:
                for lane in [
                    lane
                    for lane in at_work
                    if time.monotonic() - heard[lane] > STUCK or not workers[lane].is_alive()
                ]:
                    failures.append(f"lane {lane} is stuck, or has ended without a word")
                    at_work.discard(lane)
                continue
            heard[lane] = time.monotonic()
            if kind == "outcome":
                done.append(value)
            elif kind == "failure":
                failures.append(value)
                print(value, file=sys.stderr, flush=True)
            else:
                at_work.discard(lane)
                # Goals that belong to no trial, of a node's start, count in the sum; they have one number for all lanes.
                accepted.update(value[0])
                ended.update(value[1])
                most = max(most, value[2])
            if time.monotonic() - shown > 15.0:
                shown = time.monotonic()
                print(f"{len(done)} of {arguments.trials} after {shown - started:.0f} s", flush=True)
        for worker in workers:
            worker.join(10.0)
            if worker.is_alive():
                worker.kill()

    seconds = time.monotonic() - started
    came = sum(map(happened, done))
    times = sorted(outcome.seconds for outcome in done) or [0.0]
    for server in SERVERS:
        print(table(done, accepted, ended, server))
    print(reasons())
    print()
    print(slowest(done))
    print(f"{len(done)} trials in {seconds:.0f} s, {came} of them came about as they were meant to")
    print(f"a trial took {times[len(times) // 2]:.2f} s (median), {times[-1]:.2f} s (longest)")
    print(f"goals of one node alive at once: at most {most}")
    missing = arguments.trials - len(done)
    if missing and time.time() > until:
        print(f"after {arguments.minutes:g} minutes no more trials were begun; {missing} were left")
        missing = 0
    untried = never(done)
    for kind in untried:
        print(f"never came about: {kind}")
    if failures or missing:
        print(f"other failures: {len(failures)}, trials that were not run: {missing}")
    total, orphans = sum(accepted.values()), sum(accepted.values()) - sum(ended.values())
    print(f"orphan goals: {orphans} of {total}", flush=True)
    return 0 if orphans == 0 and total and not (failures or missing or untried) else 1


if __name__ == "__main__":
    sys.exit(main())
