"""Counts the accepted and the ended goals of the servers. Every accepted goal must end. Ignores what the node reports."""

from collections import Counter


class GoalCounter:
    """Counts goals by trial."""

    def __init__(self):
        #: The trial of each goal that was accepted and has not ended.
        self.live = {}
        #: Goal requests that the server neither accepted nor rejected.
        self.pending = set()
        self.accepted = Counter()
        self.ended = Counter()
        #: The maximum number of goals that were alive at the same time.
        self.most = 0

    def note(self, kind, goal, trial):
        if kind == "requested":
            self.pending.add(goal)
        elif kind in ("refused", "ignored"):
            self.pending.discard(goal)
        elif kind == "accepted":
            self.pending.discard(goal)
            self.live[goal] = trial
            self.accepted[trial] += 1
            self.most = max(self.most, len(self.live))
        elif kind == "ended" and goal in self.live:
            self.ended[self.live.pop(goal)] += 1
        elif kind == "died":
            # The process of the server is gone, and its goals with it.
            for of in self.live.values():
                self.ended[of] += 1
            self.live.clear()
            self.pending.clear()

    def quiet(self):
        return not self.live and not self.pending
