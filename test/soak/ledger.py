"""The books: every goal that a server accepted must end. Kept from what the servers report, not from what the node says."""

from collections import Counter


class Ledger:
    """Goals by trial."""

    def __init__(self):
        #: Goals that were accepted and have not ended, with their trial.
        self.live = {}
        #: Requests that the server has not decided on.
        self.pending = set()
        self.accepted = Counter()
        self.ended = Counter()
        #: Most goals that were alive at once.
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
            # The server's process is gone, and what it was doing with it.
            for of in self.live.values():
                self.ended[of] += 1
            self.live.clear()
            self.pending.clear()

    def quiet(self):
        return not self.live and not self.pending
