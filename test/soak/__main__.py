"""`python -m soak --trials N [--seed S] [--workers W]`; see `scripts/soak --help`."""

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

#: A worker counts as stuck after this many seconds without an outcome.
STUCK = 150.0


#: Minimum number of trials of a kind: from then on at least one must have occurred as planned.
ENOUGH = 8


def table(done, accepted, ended, server):
    """A table of faults (lines) and moments (columns). A cell has the number of trials in which the fault occurred and
    the leaf was halted at the moment, the number of trials, of accepted goals, and of orphans."""
    cells = {(fault, moment): [0, 0, 0, 0] for fault in FAULTS for moment in MOMENTS}
    for outcome in done:
        if outcome.plan.server != server:
            continue
        cell = cells[outcome.plan.fault, outcome.plan.moment]
        number = outcome.plan.number
        cell[0] += as_planned(outcome)
        cell[1] += 1
        cell[2] += accepted[number]
        cell[3] += accepted[number] - ended[number]
    width = max(map(len, FAULTS)) + 2
    columns = [max(len(moment), 16) + 2 for moment in MOMENTS]
    lines = [f"server {server}: occurred of trials / goals accepted / orphans, by fault and moment of halting", ""]
    lines.append(" " * width + "".join(moment.rjust(w) for moment, w in zip(MOMENTS, columns)))
    for fault in FAULTS:
        texts = [
            "impossible" if impossible(fault, moment) else "{} of {} / {} / {}".format(*cells[fault, moment])
            for moment in MOMENTS
        ]
        lines.append(fault.ljust(width) + "".join(text.rjust(w) for text, w in zip(texts, columns)))
    return "\n".join(lines) + "\n"


def as_planned(outcome):
    """Whether a trial occurred as planned. Before a goal is sent, no fault can affect it."""
    return outcome.reached and (outcome.fault_occurred or outcome.plan.moment == "before send")


def never_occurred(done):
    """Kinds of trial that never occurred as planned, although they were tried often enough."""
    tried, came = Counter(), Counter()
    for outcome in done:
        kind = f"fault '{outcome.plan.fault}', halted '{outcome.plan.moment}'"
        tried[kind] += 1
        came[kind] += as_planned(outcome)
    return [kind for kind, trials in tried.items() if trials >= ENOUGH and not came[kind]]


def slowest(done):
    """The median duration of a trial by fault, for each server."""
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
    """Why some cells of the table are impossible."""
    lines = []
    for fault, moments in IMPOSSIBLE.items():
        for reason in dict.fromkeys(moments.values()):
            of = ", ".join(moment for moment in moments if moments[moment] == reason)
            lines.append(f"impossible: {fault}, {of}: {reason}")
    return "\n".join(lines)


def share(chosen, count):
    """The kind of server and the trials of each worker. A third of the workers has nav_sim, which is slower."""
    for server, part in (("rclpy", count - count // 3), ("nav_sim", count // 3)):
        trials = [plan for plan in chosen if plan.server == server]
        part = min(max(1, part), len(trials))
        for worker in range(part):
            yield server, trials[worker::part]


def main():
    parser = argparse.ArgumentParser(prog="soak", description="Random faults and halts, counted at the servers.")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None, help="the same seed draws the same trials")
    parser.add_argument("--minutes", type=float, default=None, help="start no trial after this time")
    parser.add_argument("--workers", type=int, default=4 * (os.cpu_count() or 1), help="nodes that run in parallel")
    arguments = parser.parse_args()
    seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    shares = list(share(plans(arguments.trials, seed), arguments.workers))
    count = len(shares)
    print(f"{arguments.trials} trials, seed {seed}, {count} workers", flush=True)

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
        active = set(range(count))
        last_outcome = dict.fromkeys(active, started)
        while active:
            try:
                kind, worker, value = outcomes.get(timeout=1.0)
            except queue.Empty:
                for worker in [
                    worker
                    for worker in active
                    if time.monotonic() - last_outcome[worker] > STUCK or not workers[worker].is_alive()
                ]:
                    failures.append(f"worker {worker} is stuck or ended without a report")
                    active.discard(worker)
                continue
            last_outcome[worker] = time.monotonic()
            if kind == "outcome":
                done.append(value)
            elif kind == "failure":
                failures.append(value)
                print(value, file=sys.stderr, flush=True)
            else:
                active.discard(worker)
                # Goals of a node's start belong to no trial. They have the same number in all workers and count in the sum.
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
    came = sum(map(as_planned, done))
    times = sorted(outcome.seconds for outcome in done) or [0.0]
    for server in SERVERS:
        print(table(done, accepted, ended, server))
    print(reasons())
    print()
    print(slowest(done))
    print(f"{len(done)} trials in {seconds:.0f} s, {came} of them occurred as planned")
    print(f"a trial took {times[len(times) // 2]:.2f} s (median), {times[-1]:.2f} s (longest)")
    print(f"goals of one node alive at once: at most {most}")
    missing = arguments.trials - len(done)
    if missing and time.time() > until:
        print(f"after {arguments.minutes:g} minutes no more trials were started; {missing} were left")
        missing = 0
    missing_kinds = never_occurred(done)
    for kind in missing_kinds:
        print(f"never occurred: {kind}")
    if failures or missing:
        print(f"other failures: {len(failures)}, trials that were not run: {missing}")
    total, orphans = sum(accepted.values()), sum(accepted.values()) - sum(ended.values())
    print(f"orphan goals: {orphans} of {total}", flush=True)
    return 0 if orphans == 0 and total and not (failures or missing or missing_kinds) else 1


if __name__ == "__main__":
    sys.exit(main())
