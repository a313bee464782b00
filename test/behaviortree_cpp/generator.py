"""Generates random trees of all node types that BehaviorTree.CPP 4 registers, except those that wait for a clock.

It avoids the differences in docs/differences.md, and these between BehaviorTree.CPP 4.8, the version in `behaviortreepy`,
and 4.10:

- `TryCatch`, which 4.8 does not have.
- A child of SkipUnlessUpdated and WaitValueUpdate that keeps running: 4.8 does not halt it.
- Numbers as literals of subtrees: they are texts in 4.8.
- Operators without parentheses: 4.8 evaluates `8 - 2 - 3` from the right.
- Cases of a Switch other than whole numbers and words: 4.8 reads `1a` as 1.
"""

import random

from .case import Case, Node

#: Numbers of any type, because no port has a type for them.
NUMBERS = ("n0", "n1", "n2")
#: Keys of typed ports.
INTEGER, BOOL, DOUBLE, TEXT = "i0", "b0", "d0", "t0"
#: A key that is set and unset.
UNSURE = "u0"
#: A key of the main tree, which all trees reach by its `@`.
GLOBAL = "@g0"
#: A leaf appends its name when it completes: the order of completion.
LOG = "@log"

KEYS = {"n0": 0, "n1": 1, "n2": 0.5, "i0": 2, "b0": True, "d0": 1.5, "t0": "a", "g0": 3, "log": ""}

#: The controls, and their weights.
CONTROLS = (
    ("Sequence", 6),
    ("Fallback", 6),
    ("ReactiveSequence", 5),
    ("ReactiveFallback", 5),
    ("AsyncSequence", 3),
    ("AsyncFallback", 3),
    ("SequenceWithMemory", 4),
    ("Parallel", 5),
    ("ParallelAll", 3),
    ("IfThenElse", 4),
    ("WhileDoElse", 4),
    ("Switch", 5),
)
DECORATORS = (
    "Inverter",
    "ForceSuccess",
    "ForceFailure",
    "Repeat",
    "RetryUntilSuccessful",
    "KeepRunningUntilFailure",
    "RunOnce",
    "Precondition",
    "LoopInt",
    "LoopBool",
    "LoopDouble",
    "LoopString",
    "SkipUnlessUpdated",
    "WaitValueUpdate",
    "Timeout",
)
#: Nodes for places where a child must neither keep running nor remember its completion.
SIMPLE = ("Check", "AlwaysSuccess", "AlwaysFailure", "ScriptCondition", "WasEntryUpdated")
LEAVES = (
    *("Act",) * 12,
    *("Check",) * 4,
    *("Script",) * 3,
    *("ScriptCondition",) * 2,
    *("SetBlackboard",) * 2,
    "UnsetBlackboard",
    "WasEntryUpdated",
    "Sleep",
    "AlwaysSuccess",
    "AlwaysFailure",
)


#: The node types of a random tree.
TAGS = {
    *(tag for tag, _ in CONTROLS if tag != "Switch"),
    *(f"Switch{cases}" for cases in range(2, 7)),
    *DECORATORS,
    *LEAVES,
    "SubTree",
}


class Generator:
    """Generates one case."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.outcomes = {}
        self.names = 0
        self.budget = self.random.randint(2, 22)
        self.drains = self.random.random() < 0.25

    def case(self):
        """The case of the seed."""
        trees = {"Main": self._root()}
        # Each tree may call later trees.
        subtrees = [f"T{number}" for number in range(self.random.choice((0, 0, 1, 2, 3)))]
        for number, name in enumerate(subtrees):
            self.budget = self.random.randint(2, 8)
            trees[name] = self._node(1)
            self._call(trees, name, list(trees)[: number + 1])
        return Case(trees, self.outcomes, KEYS, self.random.randint(4, 14), self.drains)

    def _root(self):
        root = self._node(0)
        if self.random.random() < 0.5:
            return root
        # A condition preempts the tree from time to time, which halts the running nodes.
        other = self._leaf("Check")
        tag = self.random.choice(("ReactiveSequence", "ReactiveFallback"))
        return self._named(Node(tag, {}, [other, root]))

    def _call(self, trees, name, callers):
        """Replaces leaves of earlier trees by one or two calls of a tree."""
        for _ in range(self.random.choice((1, 1, 1, 2))):
            root = trees[self.random.choice(callers)]
            places = [node for node in root.all() if node.tag in ("Act", "Script") and node is not root]
            if not places:
                continue
            node = self.random.choice(places)
            self.outcomes.pop(node.attributes["name"], None)
            attributes = {key: node.attributes[key] for key in node.attributes if key.startswith(("name", "_"))}
            node.tag, node.attributes = "SubTree", {"ID": name, **attributes, **self._remaps()}

    def _remaps(self):
        remaps = {}
        if self.random.random() < 0.3:
            remaps["_autoremap"] = self.random.choice(("true", "true", "1", "false"))
        if remaps.get("_autoremap") not in ("true", "1") or self.random.random() < 0.3:
            for key in NUMBERS:
                if self.random.random() < 0.9:
                    remaps[key] = self.random.choice((f"{{{self.random.choice(NUMBERS)}}}", f"{{{key}}}", "{=}"))
            for key in (INTEGER, BOOL, DOUBLE):
                if self.random.random() < 0.9:
                    remaps[key] = f"{{{key}}}"
            remaps[TEXT] = self.random.choice((f"{{{TEXT}}}", f"{{{TEXT}}}", "b", "word"))
        return remaps

    def _named(self, node):
        self.names += 1
        # The name is the first attribute, as usual.
        node.attributes = {"name": f"n{self.names}", **node.attributes}
        return node

    def _node(self, depth):
        self.budget -= 1
        if self.budget <= 0 or depth > 6 or self.random.random() < (0.02 if depth == 0 else 0.15 + 0.08 * depth):
            return self._leaf(self.random.choice(LEAVES))
        node = self._control(depth) if self.random.random() < 0.62 else self._decorator(depth)
        self._named(node)
        self._conditions(node)
        return node

    def _children(self, depth, count):
        return [self._node(depth + 1) for _ in range(count)]

    def _control(self, depth):
        tags, weights = zip(*CONTROLS, strict=True)
        tag = self.random.choices(tags, weights)[0]
        count = self.random.randint(1, 4)
        if tag == "ReactiveSequence":
            children = self._children(depth, count)
            for child in [child for child in children if child.tag == "AsyncSequence"][1:]:
                # BehaviorTree.CPP rejects two of them.
                child.tag = "Sequence"
            return Node(tag, {}, children)
        if tag == "Parallel":
            thresholds = {
                "success_count": self.random.randint(-count, count),
                "failure_count": self.random.randint(-count, count),
            }
            given = {name: str(value) for name, value in thresholds.items() if self.random.random() < 0.7}
            return Node(tag, given, self._children(depth, count))
        if tag == "ParallelAll":
            most = self.random.randint(-count, count)
            given = {"max_failures": str(most)} if self.random.random() < 0.7 else {}
            return Node(tag, given, self._children(depth, count))
        if tag in ("IfThenElse", "WhileDoElse"):
            # A completed stateful action that is ticked again without a reset returns its last result in BehaviorTree.CPP's own
            # class for such actions; mocks run again.
            first = self._leaf(self.random.choice(SIMPLE))
            if self.random.random() < 0.4:
                first = self._named(Node("Inverter", {}, [self._node(depth + 2)]))
            return Node(tag, {}, [first, *self._children(depth, self.random.choice((1, 2)))])
        if tag == "Switch":
            cases = self.random.randint(2, 6)
            words = ("a", "b", "ab", "aba") if self.random.random() < 0.7 else ("0", "1", "2", "3")
            variable = f"{{{TEXT}}}" if words[0] == "a" else "{v0}"
            ports = {f"case_{index + 1}": self.random.choice(words) for index in range(cases)}
            return Node(f"Switch{cases}", {"variable": variable, **ports}, self._children(depth, cases + 1))
        return Node(tag, {}, self._children(depth, count))

    def _decorator(self, depth):
        tag = self.random.choice(DECORATORS)
        ports = {}
        if tag in ("Repeat", "RetryUntilSuccessful"):
            # Endless only if wake-ups are not followed: BehaviorTree.CPP would follow them forever.
            numbers = ["0", "1", "2", "3", f"{{{INTEGER}}}"] + ([] if self.drains else ["-1"])
            ports["num_cycles" if tag == "Repeat" else "num_attempts"] = self.random.choice(numbers)
        elif tag == "RunOnce":
            ports = self.random.choice(({}, {"then_skip": "false"}, {"then_skip": f"{{{BOOL}}}"}))
        elif tag == "Precondition":
            ports["if"] = self._test()
            ports["else"] = self.random.choice(("FAILURE", "SUCCESS", "RUNNING", "SKIPPED"))
        elif tag.startswith("Loop"):
            queue, key = {
                "LoopInt": ("1;0;2", INTEGER),
                "LoopBool": ("true;0;1", BOOL),
                "LoopDouble": ("0.5;2.25", DOUBLE),
                "LoopString": ("a;b;ab", TEXT),
            }[tag]
            ports = {"queue": queue, "value": f"{{{key}}}"}
            if self.random.random() < 0.4:
                ports["if_empty"] = self.random.choice(("FAILURE", "SUCCESS", "SKIPPED"))
        elif tag in ("SkipUnlessUpdated", "WaitValueUpdate"):
            ports["entry"] = f"{{{self.random.choice((*NUMBERS, UNSURE, GLOBAL))}}}"
            return Node(tag, ports, [self._leaf(self.random.choice(SIMPLE))])
        elif tag == "Timeout":
            # No time limit.
            ports["msec"] = "0"
        return Node(tag, ports, self._children(depth, 1))

    def _leaf(self, tag):
        node = self._named(Node(tag))
        name, ports = node.attributes["name"], node.attributes
        if tag in ("Act", "Check"):
            choices = ["SUCCESS"] * 6 + ["FAILURE"] * 6 + ["SKIPPED"] + ["RUNNING"] * (6 if tag == "Act" else 0)
            self.outcomes[name] = self.random.choices(choices, k=self.random.randint(1, 5))
        elif tag == "Script":
            ports["code"] = "; ".join(self._effect() for _ in range(self.random.randint(1, 3)))
        elif tag == "ScriptCondition":
            ports["code"] = self._test()
        elif tag == "SetBlackboard":
            # No text into an entry that got a text before the first tick: it has no type then, which differs in
            # BehaviorTree.CPP (docs/differences.md).
            typed = (("3", INTEGER), ("true", BOOL), ("0.25", DOUBLE), ("7", GLOBAL))
            ports["value"], ports["output_key"] = self.random.choice(
                (*typed, ("ab", "s0"), ("=", "s0"), ("{n0}", "m0")),
            )
        elif tag == "UnsetBlackboard":
            ports["key"] = UNSURE
        elif tag == "WasEntryUpdated":
            ports["entry"] = f"{{{self.random.choice((*NUMBERS, UNSURE, GLOBAL))}}}"
        elif tag == "Sleep":
            ports["msec"] = "0"
        self._conditions(node)
        if "_post" not in ports and self.random.random() < 0.8:
            ports["_post"] = f"{LOG} = {LOG} .. '{name} '"
        return node

    def _conditions(self, node):
        for name in ("_failureIf", "_successIf", "_skipIf", "_while"):
            if self.random.random() < 0.035:
                node.attributes[name] = self._test()
        for name in ("_onSuccess", "_onFailure", "_post"):
            if self.random.random() < 0.04:
                node.attributes[name] = self._effect()
        # The script must not fail: BehaviorTree.CPP runs it again at the end of the tree, without error reports.
        if self.random.random() < 0.06:
            node.attributes["_onHalted"] = f"{self.random.choice(NUMBERS)} := {self.random.randint(0, 2)}"

    def _test(self):
        number = self.random.choice((*NUMBERS, *NUMBERS, GLOBAL, INTEGER, DOUBLE))
        limit = self.random.choice(("0", "1", "2", "0.5", self.random.choice(NUMBERS)))
        compared = f"{number} {self.random.choice(('==', '!=', '<', '>', '<=', '>='))} {limit}"
        kind = self.random.randrange(12)
        if kind == 0:
            return self.random.choice((BOOL, f"!{BOOL}"))
        if kind == 1:
            return f"{TEXT} {self.random.choice(('==', '!=', '<'))} '{self.random.choice(('a', 'b', 'ab'))}'"
        if kind == 2:
            return f"({compared}) {self.random.choice(('&&', '||'))} {self.random.choice((BOOL, f'({number} > 1)'))}"
        if kind == 3:
            return f"({number} + {limit}) > ({number} * 2)"
        if kind == 4:
            return f"(({compared}) ? {limit} : 1) > 0"
        return compared

    def _effect(self):
        number, other = self.random.choice(NUMBERS), self.random.choice(NUMBERS)
        return self.random.choice(
            (
                f"{number} := {self.random.choice(('0', '1', '2', '1', '0'))}",
                f"{number} = {self.random.choice(('0', '1', '3'))}",
                f"{number} += 1",
                f"{number} := ({other} > 1) ? 0 : ({other} + 1)",
                f"{number} -= {other}",
                f"n2 := {self.random.choice(('0.25', '1.5', '-2', 'n0'))}",
                f"n2 /= {self.random.choice(('2', '4'))}",
                f"{INTEGER} := {self.random.choice(('0', '1', '2', '3', '(1 + 1)', '0.5'))}",
                f"{BOOL} := {self.random.choice(('true', 'false', '0', '1', '!b0', '4'))}",
                # An integer as the first value of a double differs in BehaviorTree.CPP.
                f"{DOUBLE} := {self.random.choice(('0.5', '1.5', '-2.25'))}",
                f"{TEXT} := '{self.random.choice(('a', 'b', 'ab'))}'",
                f"{TEXT} = {TEXT} .. '{self.random.choice(('a', 'b'))}'",
                f"{UNSURE} := {self.random.choice(('1', '2'))}",
                f"v0 := {self.random.choice(('0', '1', '2', '3'))}",
                f"{GLOBAL} := {self.random.choice(('0', '1', 'n0'))}",
                f"{GLOBAL} += 1",
            )
        )
