"""The table of figures, and its section in docs/performance.md."""

import os
import platform
import re
from pathlib import Path

from support.executable import ROOT

PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- node:begin -->", "<!-- node:end -->"
COMMAND = "`scripts/measure`"


def _machine(load):
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    name = model.group(1) if model else platform.machine()
    return f"{os.cpu_count()} cores ({name}), load {load:.1f} at the start"


def _milliseconds(latencies):
    median, most, longest = (latencies.quantile(share) for share in (0.5, 0.99, 1.0))
    return f"{median:.1f} / {most:.1f} / {longest:.1f} ms (n = {len(latencies.values)})"


def _memory(memory):
    return f"{memory.resident:.1f} / {memory.proportional:.1f} / {memory.private:.1f} MiB"


def rows(found):
    """The rows: figure, measured value, target, value of Nav2."""
    if "usage" in found:
        usage = found["usage"]
        count, missed, median, most, longest = usage.ticks
        windows = " / ".join(f"{used:.2f}" for used in usage.navigating)
        yield "processor while navigating, ticks at 100 Hz (% of a core)", windows, "≤ 2", "6.7 to 9.7"
        yield "processor while idle (% of a core)", f"{usage.idle:.2f}", "–", "1.3 to 1.6"
        yield (
            "memory while navigating: resident / proportional / private",
            _memory(usage.memory),
            "≤ 30 MiB resident",
            "76 / 53 / – MiB",
        )
        yield "threads while navigating", str(usage.memory.threads), "–", "16"
        ticks = f"{median:.3f} / {most:.3f} / {longest:.3f} ms (n = {count}, {missed} missed)"
        yield "tick while navigating: median / p99 / longest", ticks, "–", "0.66 / 1.84 / 6.31 ms"
    if "ticks" in found:
        count, missed, median, most, longest = found["ticks"]
        ticks = f"{median:.3f} / {most:.3f} / {longest:.3f} ms (n = {count}, {missed} missed)"
        yield (
            "tick with servers that never answer: median / p99 / longest",
            ticks,
            "p99 ≤ 0.1 ms",
            "longest 12 to 1,021 ms, by fault and timeout",
        )
    for leaves, latencies in found.get("conditions", {}).items():
        text = f"condition's message published to cancel written, {leaves} leaves running: median / p99 / longest"
        nav2 = "5.4 / 11.3 / 11.5 ms (to the cancel's arrival)" if leaves == 1 else "–"
        yield text, _milliseconds(latencies), "p99 ≤ 12 ms", nav2
    for leaves, latencies in found.get("results", {}).items():
        text = f"result written to next goal written, {leaves} leaves in turn: median / p99 / longest"
        nav2 = "11.3 / 20.8 / 21.1 ms (to the goal's arrival)" if leaves == 1 else "–"
        yield text, _milliseconds(latencies), "p99 ≤ 12 ms", nav2
    if "cancels" in found:
        text = "client's cancel sent to cancel for the leaf's server written: median / p99 / longest"
        yield text, _milliseconds(found["cancels"]), "p99 ≤ 4 ms", "6.4 / 11.6 / 12.0 ms (to the cancel's arrival)"
    if "baseline" in found:
        text = "an empty node in C on the same rcl and middleware: resident / proportional / private"
        yield text, _memory(found["baseline"]), "–", "–"
        text = "a loop in C at 100 Hz that ignores the same topics: processor (% of a core)"
        yield text, f"{found['tick loop']:.2f}", "–", "–"


def write(found, load, whole):
    """Returns the table, and writes it into the page if it is complete."""
    lines = ["| figure | measured | target | Nav2 | command |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} | {COMMAND} |" for row in rows(found)]
    table = "\n".join(lines)
    if whole:
        text = PAGE.read_text()
        begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
        part = f"\nMeasured on {_machine(load)}.\n\n{table}\n"
        PAGE.write_text(text[:begin] + part + text[end:])
    return table
