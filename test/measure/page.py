"""The table of figures, and its section in docs/performance.md."""

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from support.executable import ROOT

PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- node:begin -->", "<!-- node:end -->"
#: Where the figures of Nav2 come from, as a heading.
NAV2 = "Nav2's bt_navigator 1.3.13, measured on another day on a machine of the same kind"


@dataclass
class Row:
    """One figure. ``holds``: whether the figures are within the limit; None without a limit."""

    figure: str
    measured: str
    #: What `--only` measures it.
    command: str
    limit: str = "–"
    holds: bool | None = None
    nav2: str = "–"

    def cells(self):
        holds = {True: "yes", False: "**no**", None: "–"}[self.holds]
        return [self.figure, self.measured, self.limit, holds, self.nav2, f"`scripts/measure --only {self.command}`"]


def _machine(load):
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    name = model.group(1) if model else platform.machine()
    return f"{os.cpu_count()} cores ({name}), load {load:.1f} at the start"


def _latency(figure, latencies, command, median=None, p99=None, nav2="–"):
    """A row of latencies with limits in ms of the median and of the 99th percentile."""
    found = [latencies.quantile(share) for share in (0.5, 0.99, 1.0)]
    times = " / ".join(f"{value:.1f}" if value >= 10 else f"{value:.2f}" for value in found)
    limits = [(name, limit) for name, limit in (("median", median), ("p99", p99)) if limit]
    text = ", ".join(f"{name} ≤ {limit:g} ms" for name, limit in limits) or "–"
    holds = all(value <= limit for value, limit in zip(found, (median, p99)) if limit) if limits else None
    return Row(figure, f"{times} ms (n = {len(latencies.values)})", command, text, holds, nav2)


def _ticks(figure, ticks, command, p99=None, nav2="–"):
    count, missed, median, most, longest = ticks
    measured = f"{median:.3f} / {most:.3f} / {longest:.3f} ms (n = {count}, {missed} missed)"
    return Row(figure, measured, command, f"p99 ≤ {p99:g} ms" if p99 else "–", most <= p99 if p99 else None, nav2)


def _memory(memory):
    return f"{memory.resident:.1f} / {memory.proportional:.1f} / {memory.private:.1f} MiB"


def _setting(on_event):
    return f"`tick_on_event: {str(on_event).lower()}`"


def rows(found):
    """The rows of the table."""
    if "usage" in found:
        yield from _usage(found["usage"])
    if "starts" in found:
        figure = "process start to active: median / p99 / longest"
        yield _latency(figure, found["starts"], "starts", median=100, nav2="520 to 700 ms")
    if "ticks" in found:
        figure = "tick with servers that never answer: median / p99 / longest"
        nav2 = "longest 12 to 1,021 ms, by fault and timeout"
        yield _ticks(figure, found["ticks"], "ticks", p99=0.1, nav2=nav2)
    for on_event, navigation in found.get("navigations", {}).items():
        yield from _navigation(on_event, navigation)
    for (leaves, on_event), latencies in found.get("conditions", {}).items():
        nav2 = "5.4 / 11.3 ms" if leaves == 1 else "–"
        text = f"condition's message → cancel, {leaves} leaves running, {_setting(on_event)}"
        yield _latency(text, latencies, "conditions", nav2=nav2, **_reaction(leaves, on_event))
    for (leaves, on_event), latencies in found.get("results", {}).items():
        text = f"a leaf's result → the next leaf's goal, {leaves} leaves in turn, {_setting(on_event)}"
        yield _latency(text, latencies, "results", **_reaction(leaves, on_event))
    if "baseline" in found:
        text = "an empty node in C on the same rcl and middleware: resident / proportional / private"
        yield Row(text, _memory(found["baseline"]), "baseline")
        for rate, used in found["tick loops"].items():
            text = f"a loop in C at {rate} Hz that takes and ignores the same messages: processor (% of a core)"
            yield Row(text, f"{used:.2f}", "baseline")
        relay = found["relay"]
        yield _latency("a relay in C, without a tree: client's goal → planner's goal", relay.goal, "baseline")
        yield _latency("a relay in C, without a tree: client's cancel → cancel at the controller", relay.cancel, "baseline")
    if "further empty robot" in found:
        text = "each further node in C with as many entities as a robot of navtree: resident"
        yield Row(text, f"{found['further empty robot']:.2f} MiB", "baseline")
    if "further C robot" in found:
        text = "each further robot of a loop in C at 10 Hz that drives 200 robots: processor (% of a core)"
        yield Row(text, f"{found['further C robot']:.3f}", "baseline")
    if "robots" in found:
        yield from _robots(found["robots"])


def _usage(usage):
    windows = " / ".join(f"{used:.2f}" for used in usage.navigating)
    navigating, idle = max(usage.navigating) <= 0.8, usage.idle <= 0.3
    yield Row("processor while navigating, ticks at 100 Hz (% of a core)", windows, "usage", "≤ 0.8", navigating, "6.7 to 9.7")
    yield Row("processor while idle (% of a core)", f"{usage.idle:.2f}", "usage", "≤ 0.3", idle, "1.3 to 1.6")
    held = usage.memory
    figure = "memory while navigating: resident / proportional / private"
    holds = held.resident <= 25 and held.proportional <= 14
    yield Row(figure, _memory(held), "usage", "≤ 25 / 14 / – MiB", holds, "76 / 53 / – MiB")
    yield Row("threads while navigating", str(held.threads), "usage", "≤ 12", held.threads <= 12, "16")
    yield _ticks("tick while navigating: median / p99 / longest", usage.ticks, "usage", nav2="0.66 / 1.84 / 6.31 ms")


def _reaction(leaves, on_event):
    """The limits of a reaction to an event: of one leaf at once, else in the next tick."""
    return {"median": 0.5, "p99": 2} if on_event and leaves == 1 else {"p99": 12}


def _navigation(on_event, found):
    setting = _setting(on_event)

    def row(figure, latencies, **more):
        return _latency(f"{figure}, {setting}", latencies, "navigations", **more)

    yield row("client's goal → planner's goal", found.goal, median=0.5, p99=2, nav2="1.6 / 5.4 ms")
    figure = "planner's result → controller's goal"
    yield row(figure, found.plan, nav2="15.5 / 20.7 ms", **_reaction(1, on_event))
    figure = "client's cancel → cancel at the controller"
    yield row(figure, found.cancel, median=0.5, p99=1.5, nav2="6.0 / 10.5 ms")
    limits = {"median": 1, "p99": 4} if on_event else {}
    yield row("controller's result → client has the result", found.succeeded, nav2="27.5 / 33.7 ms", **limits)
    figure = "client's cancel → client has CANCELED, after the robot has stopped"
    nav2 = "11.8 / 34.6 ms (does not wait for the stop)"
    yield row(figure, found.canceled, median=6, p99=20, nav2=nav2)


def _robots(fleets):
    first = fleets[min(fleets)]
    for count, fleet in fleets.items():
        robots = f"{count} robot{'s' if count > 1 else ''} at 10 Hz"
        if not fleet:
            yield Row(f"{robots}: ticks missed", "the robots did not all drive", "robots", "< 0.1 %", False)
            continue
        missed = f"{fleet.missed_share:.3f} % of {fleet.ticks + fleet.missed}"
        yield Row(f"{robots}: ticks missed", missed, "robots", "< 0.1 %", fleet.missed_share < 0.1)
        measured = f"{fleet.processor:.2f} (nav_sim: {fleet.simulation:.2f})"
        yield Row(f"{robots}: processor (% of a core)", measured, "robots")
        yield Row(f"{robots}: resident / proportional / private", _memory(fleet.memory), "robots")
        further = count - first.robots if first else 0
        if further:
            used = (fleet.processor - first.processor) / further
            size = (fleet.memory.resident - first.memory.resident) / further
            text = f"{robots}: each further robot, processor (% of a core)"
            yield Row(text, f"{used:.3f}", "robots", "≤ 0.15", used <= 0.15)
            yield Row(f"{robots}: each further robot, resident", f"{size:.2f} MiB", "robots", "≤ 1 MiB", size <= 1)


def write(found, load, whole):
    """Returns the table, and writes it into the page if it is complete."""
    lines = [f"| figure | measured | limit | holds | {NAV2} | command |", "|---|---|---|---|---|---|"]
    lines += [f"| {' | '.join(row.cells())} |" for row in rows(found)]
    table = "\n".join(lines)
    if whole:
        text = PAGE.read_text()
        begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
        part = f"\nMeasured on {_machine(load)}.\n\n{table}\n"
        PAGE.write_text(text[:begin] + part + text[end:])
    return table
