"""Resources of a process, from /proc."""

import os
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Memory:
    """Memory in MiB. A page of a shared library counts in full as ``resident``, by its share as ``proportional``, and not as
    ``private``."""

    resident: float
    proportional: float
    private: float
    threads: int


def memory(pid):
    fields = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        key, value = line.split(":")
        fields[key] = int(value.split()[0]) / 1024
    private = fields["Private_Clean"] + fields["Private_Dirty"]
    threads = len(os.listdir(f"/proc/{pid}/task"))
    return Memory(fields["Rss"], fields["Pss"], private, threads)


def _nanoseconds(pid):
    """Processor time of each thread by name, in ns."""
    spent = Counter()
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            spent[(task / "comm").read_text().strip()] += int((task / "schedstat").read_text().split()[0])
        except OSError:
            pass
    return spent


def _ticks(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def processors(pids, seconds):
    """Measures processes for some seconds. Returns for each the percentage of one core, of the process and of its threads."""
    started, before = time.monotonic(), [(_ticks(pid), _nanoseconds(pid)) for pid in pids]
    time.sleep(seconds)
    took = time.monotonic() - started
    found = []
    for pid, (ticks, threads) in zip(pids, before):
        used, spent = _ticks(pid) - ticks, _nanoseconds(pid)
        by_thread = {name: (spent[name] - threads[name]) / took / 1e7 for name in spent}
        found.append((100 * used / took, dict(sorted(by_thread.items(), key=lambda item: -item[1]))))
    return found


def processor(pid, seconds):
    """The same for one process."""
    return processors([pid], seconds)[0]
