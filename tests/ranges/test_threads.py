"""Kernels of any size whose calls have several threads."""

import re

import numpy as np
import pytest

import morello
from morello import Kernel
from morello.compiler.stages import spec_module
from morello.dialect import in_context
from morello.errors import ScheduleError
from morello.machine import AVX2
from morello.search.queries.best_program import parallel_goal
from morello.spec import parse_spec


def check_every_size(kernel: Kernel) -> None:
    rng = np.random.default_rng(1)
    (one,) = kernel.spec.ranges
    for size in one.sizes(kernel.spec.greatest[0]):
        spec = kernel.spec.at(size)
        arrays = spec.random(rng)
        wanted = spec.evaluate(*arrays)
        for _ in range(3):  # threads are not in the same order each time
            np.testing.assert_allclose(kernel(*arrays), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("text", "dim"),
    [("softmax:32..128/32x2048:f32", "d0"), ("matmul:1..3x512x512:f32", "n")],
)
def test_the_search_shares_out_rows_of_any_number_and_columns(
    text: str, dim: str
) -> None:
    kernel = morello.compile(text, target="avx2", threads=2)
    assert kernel.threads == 2
    assert re.search(rf'tile_parallel"\(%\w+\) {{dim = "{dim}"', kernel.schedule)
    check_every_size(kernel)
    again = morello.compile(text, schedule=kernel.schedule)
    assert again.object == kernel.object
    assert kernel.impl is not None
    assert again.cost() == kernel.cost() == kernel.impl.cost


def schedule(text: str, threads: int, action: str) -> str:
    """A schedule of a product, with one decision on the whole of it."""
    spec = parse_spec(text, AVX2.limits)
    with in_context():
        module = str(spec_module(*parallel_goal(spec, AVX2, threads)))
    return (
        module[: module.rindex("}")].replace("{", "{transform.with_named_sequence, ", 1)
        + f"""
  transform.named_sequence @__transform_main(
    %m: !transform.any_op {{transform.readonly}}
  ) {{
    %product = transform.structured.match ops{{["morello.matmul"]}} in %m
      : (!transform.any_op) -> !transform.any_op
    {action}
    transform.yield
  }}
}}
"""
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("threads", [2, 3, 5])
def test_fewer_tiles_than_threads_and_a_part_of_one(threads: int) -> None:
    text = "matmul:1..11x8x16:f32"
    action = """
    %tiles:2 = "morello_transform.tile_parallel"(%product) {dim = "m", size = 3 : i64}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    """
    kernel = morello.compile(text, schedule=schedule(text, threads, action))
    assert kernel.threads == threads
    check_every_size(kernel)


def test_a_grid_of_settled_dimensions() -> None:
    text = "matmul:4x1..5x8x32:f32"
    roles = ", ".join(["!transform.any_op"] * 4)
    action = f"""
    %tiles:4 = "morello_transform.grid_parallel"(%product)
      {{rows = "b", row_size = 2 : i64, columns = "n", column_size = 16 : i64}}
      : (!transform.any_op) -> ({roles})
    """
    check_every_size(morello.compile(text, schedule=schedule(text, 4, action)))
    of_rows = action.replace('"b"', '"m"')
    with pytest.raises(ScheduleError, match="takes settled sizes"):
        morello.compile(text, schedule=schedule(text, 4, of_rows))


def test_a_part_of_a_range_that_is_smaller_than_a_tile() -> None:
    text = "matmul:1..5x8x16:f32"
    action = """
    %tiles:2 = "morello_transform.tile"(%product) {dim = "m", size = 6 : i64}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    """
    check_every_size(morello.compile(text, schedule=schedule(text, 1, action)))
