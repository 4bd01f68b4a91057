"""Checks that can run for any time.

Each takes the seeds of a batch and gives how many things it checked; a failure is an
`AssertionError` that begins with the command that shows it again.
"""

import functools
from collections.abc import Callable, Sequence

from tests.quality.exponentials import check_exponentials
from tests.quality.graph_programs import (
    check_graph_programs,
    check_searched_graphs,
    check_wide_graphs,
)
from tests.quality.mutated_inputs import check_inputs
from tests.quality.mutated_programs import ALL_INPUTS
from tests.quality.random_programs import check_random_programs
from tests.quality.scaled_products import (
    check_scaled_products,
    check_wide_scaled_products,
)
from tests.quality.searched_programs import check_searched_programs
from tests.quality.stages import check_stages
from tests.soak.processes import check_cycles, check_forks

CHECKS: dict[str, Callable[[Sequence[int]], int]] = {
    "cycles": check_cycles,
    "forks": check_forks,
    "exponentials": check_exponentials,
    "graph_programs": check_graph_programs,
    "random_programs": check_random_programs,
    "scaled_products": check_scaled_products,
    "searched_graphs": check_searched_graphs,
    "searched_programs": check_searched_programs,
    "stages": check_stages,
    "wide_graphs": check_wide_graphs,
    "wide_scaled_products": check_wide_scaled_products,
    **{
        name: functools.partial(check_inputs, name, kind)
        for name, kind in ALL_INPUTS.items()
    },
}
