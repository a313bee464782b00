"""`python -m soak --trials N [--seed S] [--lanes L]`; see `scripts/soak --help`."""

import argparse
import multiprocessing
import os
import queue
import secrets
import sys
import tempfile
import time
from collections import Counter

from .plan import FAULTS, MOMENTS, plans
from .worker import work

#: Seconds without an outcome from a lane after which it counts as stuck.
STUCK = 150.0


def table(done, accepted, ended):
    """Trials, accepted goals and orphans by fault (lines) and moment (columns)."""
    cells = {(fault, moment): [0, 0, 0] for fault in FAULTS for moment in MOMENTS}
    for outcome in done:
        cell = cells[outcome.plan.fault, outcome.plan.moment]
        number = outcome.plan.number
        cell[0] += 1
        cell[1] += accepted[number]
        cell[2] += accepted[number] - ended[number]
    width = max(map(len, FAULTS)) + 2
    columns = [max(len(moment), 16) + 2 for moment in MOMENTS]
    lines = ["trials / goals accepted / orphans, by fault of the server and moment of halting", ""]
    lines.append(" " * width + "".join(moment.rjust(w) for moment, w in zip(MOMENTS, columns)))
    for fault in FAULTS:
        texts = (" / ".join(map(str, cells[fault, moment])) for moment in MOMENTS)
        lines.append(fault.ljust(width) + "".join(text.rjust(w) for text, w in zip(texts, columns)))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="soak", description="Random faults and halts, counted at the servers.")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None, help="the same seed draws the same trials")
    parser.add_argument("--lanes", type=int, default=4 * (os.cpu_count() or 1), help="nodes that run side by side")
    arguments = parser.parse_args()
    seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    lanes = max(1, min(arguments.lanes, arguments.trials))
    # Killed processes leave their shared memory behind, and another's lock in it: sockets forget.
    os.environ["FASTDDS_BUILTIN_TRANSPORTS"] = "UDPv4"
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    chosen = plans(arguments.trials, seed)
    print(f"{arguments.trials} trials, seed {seed}, {lanes} lanes", flush=True)

    spawn = multiprocessing.get_context("spawn")
    outcomes = spawn.Queue()
    done, failures, accepted, ended, most = [], [], Counter(), Counter(), 0
    started = shown = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="navtree-soak-") as folder:
        workers = [
            spawn.Process(target=work, args=(i, chosen[i::lanes], folder, outcomes)) for i in range(lanes)
        ]
        for worker in workers:
            worker.start()
        at_work = set(range(lanes))
        heard = dict.fromkeys(at_work, started)
        while at_work:
            try:
                kind, lane, value = outcomes.get(timeout=1.0)
            except queue.Empty:
                for lane in [lane for lane in at_work if time.monotonic() - heard[lane] > STUCK]:
                    failures.append(f"lane {lane} is stuck")
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
    reached = sum(outcome.reached for outcome in done)
    times = sorted(outcome.seconds for outcome in done) or [0.0]
    print(table(done, accepted, ended))
    print()
    print(f"{len(done)} trials in {seconds:.0f} s, {reached} of them halted at the very moment they were meant to")
    print(f"a trial took {times[len(times) // 2]:.2f} s (median), {times[-1]:.2f} s (longest)")
    print(f"goals of one node alive at once: at most {most}")
    missing = arguments.trials - len(done)
    if failures or missing:
        print(f"other failures: {len(failures)}, trials that were not run: {missing}")
    total, orphans = sum(accepted.values()), sum(accepted.values()) - sum(ended.values())
    print(f"orphan goals: {orphans} of {total}", flush=True)
    return 0 if orphans == 0 and not failures and not missing and total else 1


if __name__ == "__main__":
    sys.exit(main())
