"""What a trial does: which fault the server has, and at which moment the leaf is halted."""

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

#: Where a server dies.
PHASES = {
    "die before acceptance": "request",
    "die executing": "executing",
    "die cancelling": "cancel",
    "die after the result": "end",
}


@dataclass
class Plan:
    """One trial. `seed` decides everything that the fault leaves open."""

    number: int
    fault: str
    moment: str
    seed: int

    def dice(self, who):
        """Random numbers for one side: the same for the same plan, whatever the other side draws."""
        return random.Random(f"{self.seed} {who}")

    @property
    def phase(self):
        """The phase in which the server dies, if it does."""
        if self.fault == "restart":
            return self.dice("phase").choice(list(PHASES.values()))
        return PHASES.get(self.fault)

    def __str__(self):
        return f"trial {self.number} (fault '{self.fault}', halted '{self.moment}')"


def plans(trials, seed):
    """Random trials: every pair of fault and moment equally often, give or take one, in random order."""
    dice = random.Random(seed)
    pairs = [(fault, moment) for fault in FAULTS for moment in MOMENTS]
    chosen = []
    while len(chosen) < trials:
        dice.shuffle(pairs)
        chosen += pairs
    return [Plan(i, fault, moment, dice.getrandbits(32)) for i, (fault, moment) in enumerate(chosen[:trials])]
