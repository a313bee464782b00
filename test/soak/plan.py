"""The plan of a trial: the fault of the server, and the moment at which the leaf is halted."""

import random
from dataclasses import dataclass

FAULTS = (
    "none",
    "accept late",
    "refuse",
    "never answer",
    "answer twice",
    "die before acceptance",
    "die executing",
    "die cancelling",
    "die after the result",
    "restart",
    "ignore cancel",
    "cancel slowly",
    "lose the result",
    "feedback flood",
    "wrong goal id",
    "out of order",
)

MOMENTS = ("before send", "before acceptance", "executing", "cancelling", "after the result")

#: The server: `FaultyServer`, or nav_sim with its own faults.
SERVERS = ("rclpy", "nav_sim")

#: The phase in which a server dies.
PHASES = {
    "die before acceptance": "request",
    "die executing": "executing",
    "die cancelling": "cancel",
    "die after the result": "end",
}

_NEVER_EXECUTES = dict.fromkeys(("executing", "cancelling", "after the result"), "the goal never executes")
_NO_CANCEL = {"after the result": "a goal that is over is not cancelled"}

#: Impossible combinations, and the reason.
IMPOSSIBLE = {
    "refuse": _NEVER_EXECUTES,
    "die before acceptance": _NEVER_EXECUTES,
    "die executing": dict.fromkeys(("cancelling", "after the result"), "the goal dies before that"),
    "die cancelling": _NO_CANCEL,
    "ignore cancel": _NO_CANCEL,
    "cancel slowly": _NO_CANCEL,
}

#: The phases in which a server can be restarted so that its goal still reaches the moment.
_RESTARTS = {
    "before send": ("request", "executing", "cancel", "end"),
    "before acceptance": ("request", "executing", "cancel", "end"),
    "executing": ("executing", "cancel", "end"),
    "cancelling": ("cancel", "end"),
    "after the result": ("end",),
}


@dataclass
class Plan:
    """One trial. `seed` determines everything that the fault leaves open."""

    number: int
    fault: str
    moment: str
    seed: int
    server: str = "rclpy"

    def rng(self, who):
        """Random numbers for one side: always the same for a plan, whatever the other side draws."""
        return random.Random(f"{self.seed} {who}")

    @property
    def phase(self):
        """The phase in which the server dies, or None."""
        if self.fault == "restart":
            return self.rng("phase").choice(_RESTARTS[self.moment])
        return PHASES.get(self.fault)

    def acceptance_delay(self, rng):
        """Seconds until a goal is accepted: less than 0.2 s, the leaf's timeout, if the goal has to execute."""
        if self.fault == "accept late":
            return rng.uniform(0.25, 0.5) if self.moment.startswith("before") else rng.uniform(0.08, 0.15)
        return rng.uniform(0.03, 0.08) if self.moment == "before acceptance" else 0.0

    def __str__(self):
        return f"trial {self.number} ({self.server}, fault '{self.fault}', halted '{self.moment}', seed {self.seed})"


def no_fault():
    """The plan between trials."""
    return Plan(-1, "none", "executing", 0)


def impossible(fault, moment):
    """Why a fault cannot occur if the leaf is halted at a moment; None if it can."""
    return IMPOSSIBLE.get(fault, {}).get(moment)


def plans(trials, seed):
    """Random trials: every pair of fault and moment equally often (plus or minus one), in random order. A quarter uses
    nav_sim."""
    rng = random.Random(seed)
    pairs = [(fault, moment) for fault in FAULTS for moment in MOMENTS if not impossible(fault, moment)]
    chosen = []
    for server, share in (("rclpy", trials - trials // 4), ("nav_sim", trials // 4)):
        drawn = []
        while len(drawn) < share:
            rng.shuffle(pairs)
            drawn += [(fault, moment, server) for fault, moment in pairs]
        chosen += drawn[:share]
    return [
        Plan(number, fault, moment, rng.getrandbits(32), server)
        for number, (fault, moment, server) in enumerate(chosen)
    ]
