"""The share of a call's time that eager has, in the log, each op by name."""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from torch.fx import GraphModule, Interpreter, Node

from morello.torch.group import Group, log
from morello.torch.partition import is_free

_SECONDS = time.perf_counter


class _Timed(Interpreter):
    """Runs a graph op by op, and notes how long each takes."""

    def __init__(self, graph: GraphModule) -> None:
        super().__init__(graph)
        self.seconds: dict[str, float] = defaultdict(float)
        """Seconds of ops of eager, by their names."""
        self.all = 0.0

    def run_node(self, n: Node) -> Any:
        """The value of a node."""
        begin = _SECONDS()
        value = super().run_node(n)
        if n.op == "call_function":
            took = _SECONDS() - begin
            self.all += took
            name = _eager_name(n)
            if name:
                self.seconds[name] += took
        return value


def _eager_name(node: Node) -> str:
    """The op of eager that a node calls; empty where it calls a program, or moves
    nothing."""
    if isinstance(node.target, Group):
        return "" if node.target.is_compiled else f"the ops of {node.target.__name__}"
    return "" if is_free(node) else str(node.target)


def telling(graph: GraphModule, groups: Sequence[Group]) -> Callable[..., Any]:
    """The function of a graph, which tells of eager's share in one call: the second
    after its groups are settled, where the first has warmed the caches."""
    calls = 0

    def run(*arguments: Any) -> Any:
        nonlocal calls
        if calls < 2 and all(group.is_settled for group in groups):
            calls += 1
            if calls == 2:
                return _told(graph, arguments)
        return graph.forward(*arguments)

    return run


def _told(graph: GraphModule, arguments: Sequence[Any]) -> Any:
    timed = _Timed(graph)
    result = timed.run(*arguments)
    every = sorted(timed.seconds.items(), key=lambda item: -item[1])
    names = [f"{name} {seconds / timed.all:.1%}" for name, seconds in every]
    share = sum(timed.seconds.values()) / timed.all
    log.info("eager has %s of the time of a call: %s", f"{share:.1%}", ", ".join(names))
    return result
