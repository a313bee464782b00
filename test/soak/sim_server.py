"""Starts nav_sim, sets its faults by parameters, and reads its events from its log."""

import re
import time

from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from support.executable import Executable

from .plan import no_fault

_EVENT = re.compile(
    r"follow_path(?:: goal (\d+)| (vanishes|is back)) ?"
    r"(arrived|accepted|refused|ignored|: cancel request accepted|: cancel request rejected|Succeeded|Aborted|Canceled)?"
)
_KINDS = {
    "arrived": "requested",
    ": cancel request accepted": "cancel",
    ": cancel request rejected": "cancel",
    "Succeeded": "ended",
    "Aborted": "ended",
    "Canceled": "ended",
}
#: A time in s that is never reached.
_NEVER = 1e6
_NO_FAULTS = {
    "hang_goals": "all",
    "refuse_goals": "",
    "accept_delay": 0.0,
    "abort_goals": "",
    "abort_after": 0.0,
    "refuse_cancel_goals": "",
    "ignore_cancel_goals": "",
    "cancel_delay": 0.0,
    "vanish_after": _NEVER,
    "return_after": 0.3,
    "ignore_goals": "",
    "mute_goals": "",
    "twice_goals": "",
    "late_answer_goals": "",
    "lose_result_goals": "",
    "flood_goals": "",
    "wrong_id_goals": "",
}


class SimServer:
    """A sequence of nav_sim processes."""

    PREPARE = '<ComputePathToPose goal="{goal}" path="{path}"/>'
    NEEDS_TRANSFORMS = False

    def __init__(self, domain, graph):
        self.domain, self.graph = domain, graph
        self.client = graph.node.create_client(
            SetParameters, "/nav_sim/set_parameters", callback_group=graph.group
        )
        self.process = None
        self.failures = []
        self.generation = 0
        self.plan = no_fault()
        self.read = 0
        self.set = {}
        #: Faults to set later: time, and the faults.
        self._pending_faults = []
        self.gone = True

    def alive(self):
        return not self.gone

    def log(self):
        """The last part of the log."""
        return self.process.output[-4000:] if self.process else ""

    def start(self):
        self.generation += 1
        self.read, self.gone = 0, False
        faults = {f"faults.follow_path.{key}": _quoted(value) for key, value in _NO_FAULTS.items()}
        parameters = {"battery_rate": 0.0, "faults.follow_path.vanish_goals": "all"} | faults
        self.process = Executable(
            "nav_sim", self.domain, parameters, environment={"RUST_LOG": "nav_sim=info,navtree=info,navtree::sim=debug"}
        )
        self.set = dict(_NO_FAULTS)
        self._pending_faults.clear()
        self.plan = no_fault()

    def set_plan(self, plan):
        """Sets the faults of a plan."""
        self.plan = plan
        self._pending_faults.clear()
        if not self.gone:
            self._set(_NO_FAULTS | self._faults(plan))

    def _faults(self, plan):
        rng = plan.rng("nav_sim")
        faults = {"accept_delay": plan.acceptance_delay(rng)}
        if plan.moment == "cancelling":
            faults["cancel_delay"] = 0.06
        elif plan.moment == "before send":
            faults["cancel_delay"] = 0.12
        elif plan.moment == "after the result":
            faults |= {"abort_goals": "all", "abort_after": rng.uniform(0.0, 0.04)}
        match plan.fault:
            case "refuse":
                faults["refuse_goals"] = "all"
            case "never answer":
                unheard = plan.moment in ("before send", "before acceptance") and rng.random() < 0.5
                faults["ignore_goals" if unheard else "mute_goals"] = "all"
            case "answer twice":
                faults["twice_goals"] = "all"
            case "ignore cancel":
                faults[rng.choice(["refuse_cancel_goals", "ignore_cancel_goals"])] = "all"
            case "cancel slowly":
                faults["cancel_delay"] = rng.uniform(0.1, 0.6)
            case "lose the result":
                faults["lose_result_goals"] = "all"
            case "feedback flood":
                faults["flood_goals"] = "all"
            case "wrong goal id":
                faults["wrong_id_goals"] = "all"
            case "out of order":
                faults |= {"late_answer_goals": "all", "answer_delay": rng.uniform(0.02, 0.3)}
        if plan.phase == "executing":
            faults["vanish_after"] = rng.uniform(0.0, 0.01)
        return faults

    def _set(self, faults):
        changed = {key: value for key, value in faults.items() if self.set.get(key) != value}
        if not changed:
            return
        request = SetParameters.Request()
        for key, value in changed.items():
            kind = ParameterType.PARAMETER_STRING if isinstance(value, str) else ParameterType.PARAMETER_DOUBLE
            field = "string_value" if isinstance(value, str) else "double_value"
            request.parameters.append(
                Parameter(name=f"faults.follow_path.{key}", value=ParameterValue(type=kind, **{field: value}))
            )
        # The client may know a part of one that was killed, and then sees no service until that lease of 20 s ends.
        assert self.client.wait_for_service(60.0), "nav_sim does not serve its parameters"
        answer = self.graph.ask(lambda: self.client.call_async(request), "answer of nav_sim to its faults")
        assert all(result.successful for result in answer.results), answer.results
        self.set |= changed

    def events(self, timeout):
        """The new events: kind, goal, trial."""
        deadline = time.monotonic() + timeout
        while True:
            events = []
            lines = self.process.lines if self.process else []
            while self.read < len(lines):
                found = _EVENT.search(lines[self.read])
                self.read += 1
                if found:
                    events += self._event(found)
            if not self.gone and not self.process.running():
                self.gone = True
                self.failures.append(f"nav_sim ended:\n{self.process.output[-4000:]}")
                events.append(("died", b"", -1))
            self._set_due_faults()
            if events or time.monotonic() >= deadline:
                return events
            time.sleep(0.002)

    def _event(self, found):
        number, presence, what = found.groups()
        if presence:
            return [("died", b"", -1)] if presence == "vanishes" else []
        kind = _KINDS.get(what, what)
        if kind is None:
            return []
        goal = f"{self.generation} {number}".encode()
        events = [(kind, goal, self.plan.number)]
        fault, rng = self.plan.fault, self.plan.rng("deed")
        acts = {
            "accept late": "accepted",
            "refuse": "refused",
            "ignore cancel": "cancel",
            "cancel slowly": "cancel",
            "lose the result": "ended",
        }.get(fault, "accepted")
        if kind == acts or (kind == "ignored" and fault == "never answer"):
            events.append(("acted", goal, self.plan.number))
        if fault == "ignore cancel" and kind == "cancel" and not self._pending_faults:
            # The goal continues for a while. Then the cancel is accepted, or the goal ends by itself.
            self._pending_faults.append(
                (
                    time.monotonic() + rng.uniform(0.05, 0.4),
                    {"refuse_cancel_goals": "", "ignore_cancel_goals": "", "abort_goals": "all"}
                    if self.set["ignore_cancel_goals"]
                    else {"refuse_cancel_goals": ""},
                )
            )
        dies_at = {"request": "requested", "cancel": "cancel", "end": "ended"}.get(self.plan.phase)
        if kind == dies_at and not self.gone:
            # Mark the server as gone at once: a request for new faults to a dead server would wait forever.
            self.process.process.kill()
            self.process.close()
            # Lines written while it died belong to no goal that is left.
            self.read = len(self.process.lines)
            self.gone = True
            events.append(("died", b"", -1))
        return events

    def _set_due_faults(self):
        due = [entry for entry in self._pending_faults if entry[0] <= time.monotonic()]
        self._pending_faults = [entry for entry in self._pending_faults if entry not in due]
        for _, faults in due:
            if not self.gone:
                self._set(faults)

    def close(self):
        if self.process is not None:
            self.process.close()


def _quoted(value):
    # The command line is YAML, in which text without quotes may be a number or null.
    return f"'{value}'" if isinstance(value, str) else value


