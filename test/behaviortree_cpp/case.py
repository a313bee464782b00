"""A random tree, the outcomes of its leaves and the way it is ticked; and smaller variants of it."""

from dataclasses import dataclass, field, replace
from xml.sax.saxutils import quoteattr

#: Controls that stay valid without one of their children.
LISTS = {
    "Sequence",
    "AsyncSequence",
    "SequenceWithMemory",
    "ReactiveSequence",
    "Fallback",
    "AsyncFallback",
    "ReactiveFallback",
}


@dataclass
class Node:
    """An element of a tree file."""

    tag: str
    attributes: dict = field(default_factory=dict)
    children: list = field(default_factory=list)

    def text(self, indent=""):
        """The XML of the element."""
        attributes = "".join(f" {name}={quoteattr(value)}" for name, value in self.attributes.items())
        if not self.children:
            return f"{indent}<{self.tag}{attributes}/>\n"
        inside = "".join(child.text(indent + " ") for child in self.children)
        return f"{indent}<{self.tag}{attributes}>\n{inside}{indent}</{self.tag}>\n"

    def all(self):
        """The element and its descendants."""
        yield self
        for child in self.children:
            yield from child.all()

    def smaller(self):
        """Smaller variants of the element."""
        yield from self.children
        if self.tag != "AlwaysSuccess":
            # A new name, because outcomes belong to names.
            yield Node("AlwaysSuccess", {"name": self.attributes["name"] + "x"})
        for name in self.attributes:
            if name.startswith("_"):
                yield replace(self, attributes={key: self.attributes[key] for key in self.attributes if key != name})
        for index, child in enumerate(self.children):
            before, after = self.children[:index], self.children[index + 1 :]
            if self.tag in LISTS and before + after:
                yield replace(self, children=before + after)
            for other in child.smaller():
                yield replace(self, children=[*before, other, *after])


@dataclass
class Case:
    """One comparison."""

    #: The root of each tree by ID. The first is the main tree.
    trees: dict
    #: The results of each leaf by name: one per tick, repeated.
    outcomes: dict
    #: The blackboard before the first tick.
    keys: dict
    ticks: int
    #: Whether a request for another tick is fulfilled at once (`tickOnce`).
    drains: bool

    def xml(self):
        """The tree file."""
        main = next(iter(self.trees))
        trees = "".join(
            f'<BehaviorTree ID="{name}">\n{root.text(" ")}</BehaviorTree>\n' for name, root in self.trees.items()
        )
        return f'<root BTCPP_format="4" main_tree_to_execute="{main}">\n{trees}</root>\n'

    def unique_names(self):
        """The names of nodes that exist once; a subtree may exist several times."""
        names = [node.attributes["name"] for root in self._used_trees() for node in root.all()]
        return {name for name in names if names.count(name) == 1}

    def _used_trees(self):
        waiting = [next(iter(self.trees.values()))]
        for root in waiting:
            waiting.extend(self.trees[node.attributes["ID"]] for node in root.all() if node.tag == "SubTree")
        return waiting

    def smaller(self):
        """Smaller variants of the case."""
        if self.ticks > 1:
            yield replace(self, ticks=self.ticks - 1)
        if self.drains:
            yield replace(self, drains=False)
        for name, root in self.trees.items():
            for other in root.smaller():
                yield replace(self, trees=self.trees | {name: other})
        for name, outcomes in self.outcomes.items():
            for index in range(len(outcomes) if len(outcomes) > 1 else 0):
                fewer = outcomes[:index] + outcomes[index + 1 :]
                yield replace(self, outcomes=self.outcomes | {name: fewer})
