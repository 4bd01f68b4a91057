"""`morello-plan-memory`: buffers that share memory, refusals, and running code."""

import ctypes
import itertools
import random

import numpy as np
import pytest

from morello.mlir import ir
from morello.passes.base import PassFailure
from morello.passes.parts.placement import ALIGNMENT, Lifetime, place
from morello.passes.plan_memory import PlanMemory
from morello.runtime.engine import compile_llvm
from morello.runtime.translate import lower_to_llvm_text

pytestmark = pytest.mark.quick

ATTRIBUTE = "morello.workspace_bytes"


def planned(text: str) -> str:
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(text)
        PlanMemory().run(module.operation)
        assert module.operation.verify()
        return str(module)


def refused(text: str) -> str:
    with pytest.raises(PassFailure) as caught:
        planned(text)
    return str(caught.value)


def check_plan(lifetimes: list[Lifetime]) -> int:
    offsets, size = place(lifetimes)
    spans = list(zip(lifetimes, offsets, strict=True))
    assert all(at % ALIGNMENT == 0 and at + t.size <= size for t, at in spans)
    for (a, at), (b, bt) in itertools.combinations(spans, 2):
        if a.meets(b):
            assert at + a.size <= bt or bt + b.size <= at
    return size


def test_buffers_of_different_times_share_memory() -> None:
    assert check_plan([Lifetime(100, 0, 3), Lifetime(64, 4, 6)]) == 128
    assert check_plan([Lifetime(100, 0, 4), Lifetime(64, 4, 6)]) == 192


def test_a_gap_between_live_buffers_is_used() -> None:
    lifetimes = [
        Lifetime(256, 0, 3),
        Lifetime(128, 0, 9),
        Lifetime(64, 4, 9),
        Lifetime(192, 4, 9),
    ]
    assert check_plan(lifetimes) == 384


def test_no_buffers_need_nothing() -> None:
    assert place([]) == ([], 0)


@pytest.mark.parametrize("seed", range(50))
def test_random_plans_are_sound_and_not_wasteful(seed: int) -> None:
    rng = random.Random(seed)
    lifetimes = [
        Lifetime(rng.randint(1, 5000), first, first + rng.randint(0, 8))
        for first in (rng.randint(0, 30) for _ in range(20))
    ]
    size = check_plan(lifetimes)
    rounded = [-(-t.size // ALIGNMENT) * ALIGNMENT for t in lifetimes]
    busiest = max(
        sum(
            s
            for t, s in zip(lifetimes, rounded, strict=True)
            if t.first <= now <= t.last
        )
        for now in range(40)
    )
    assert busiest <= size <= sum(rounded)


NESTED = """
func.func @f(%in: memref<8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %outer = memref.alloc() : memref<8xf32>
  memref.copy %in, %outer : memref<8xf32> to memref<8xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %first = memref.alloc() : memref<4xf32>
    %register = memref.alloca() : memref<1xvector<8xf32>>
    %v = memref.load %outer[%i] : memref<8xf32>
    %part = memref.subview %first[1] [2] [1] : memref<4xf32> to
        memref<2xf32, strided<[1], offset: 1>>
    memref.store %v, %part[%c0] : memref<2xf32, strided<[1], offset: 1>>
    %w = memref.load %first[%c1] : memref<4xf32>
    %second = memref.alloc() : memref<4xf32>
    memref.store %w, %second[%c0] : memref<4xf32>
    %x = memref.load %second[%c0] : memref<4xf32>
    %y = arith.addf %x, %x : f32
    %all = vector.broadcast %y : f32 to vector<8xf32>
    memref.store %all, %register[%c0] : memref<1xvector<8xf32>>
    %back = memref.load %register[%c0] : memref<1xvector<8xf32>>
    %z = vector.extract %back[3] : f32 from vector<8xf32>
    memref.store %z, %out[%i] : memref<8xf32>
  }
  return
}
"""


def test_a_buffer_used_in_a_loop_lives_through_it() -> None:
    """The outer buffer keeps its place; the two inner ones share theirs."""
    text = planned(NESTED)
    assert "%arg2: memref<128xi8>" in text
    assert f"{ATTRIBUTE} = 128 : i64" in text
    assert text.count("memref.view") == 3
    assert "memref.alloc()" not in text


def test_registers_move_to_the_entry() -> None:
    text = planned(NESTED)
    assert text.index("memref.alloca") < text.index("scf.for")


THREADS = """
func.func @f(%in: memref<8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %shared = memref.alloc() : memref<8xf32>
  memref.copy %in, %shared : memref<8xf32> to memref<8xf32>
  scf.parallel (%t) = (%c0) to (%c4) step (%c1) {
    %own = memref.alloc() : memref<8xf32>
    %v = memref.load %shared[%t] : memref<8xf32>
    memref.store %v, %own[%t] : memref<8xf32>
    %last = arith.cmpi eq, %t, %c1 : index
    scf.if %last {
      %more = memref.alloc() : memref<8xf32>
      memref.store %v, %more[%c0] : memref<8xf32>
    }
    %w = memref.load %own[%t] : memref<8xf32>
    memref.store %w, %out[%t] : memref<8xf32>
  }
  return
}
"""


def test_shared_and_private_buffers_have_places_of_their_own() -> None:
    """64 bytes shared, and twice 64 for each of four iterations."""
    text = planned(THREADS)
    assert f"{ATTRIBUTE} = {64 + 4 * 2 * 64} : i64" in text
    assert text.count("memref.view") == 3
    assert "memref.alloc()" not in text


def test_the_planned_code_runs() -> None:
    """Through bare pointers, with canaries round the workspace, and without malloc."""
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(NESTED)
        PlanMemory().run(module.operation)
        llvm = lower_to_llvm_text(module)
    assert "malloc" not in llvm
    engine = compile_llvm(llvm, cpu="haswell")
    x = np.arange(8, dtype=np.float32)
    out = np.zeros(8, np.float32)
    workspace = np.full(64 + 128 + 64, 0xA5, np.uint8)
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(engine.address("f"))
    call(x.ctypes.data, out.ctypes.data, workspace.ctypes.data + 64)
    assert np.array_equal(out, 2 * x)
    assert np.all(workspace[:64] == 0xA5)
    assert np.all(workspace[-64:] == 0xA5)


def test_a_function_without_buffers_keeps_its_signature() -> None:
    text = planned("func.func @f(%a: memref<4xf32>) { return }")
    assert "@f(%arg0: memref<4xf32>) attributes" in text
    assert f"{ATTRIBUTE} = 0 : i64" in text


def test_attributes_of_arguments_are_kept() -> None:
    text = planned(
        """func.func @f(%a: memref<4xf32> {test.mark}) {
          %b = memref.alloc() : memref<4xf32>
          memref.copy %a, %b : memref<4xf32> to memref<4xf32>
          return
        }"""
    )
    assert "%arg0: memref<4xf32> {test.mark}, %arg1: memref<64xi8>" in text


def test_planning_again_changes_nothing() -> None:
    once = planned(NESTED)
    assert planned(once) == once


def test_nothing_changes_where_something_is_refused() -> None:
    text = NESTED + "func.func @g() { %a = memref.alloc() : memref<4xindex> return }"
    with ir.Context():
        module = ir.Module.parse(text)
        before = str(module)
        with pytest.raises(PassFailure):
            PlanMemory().run(module.operation)
        assert str(module) == before


CALLED = "func.func @g() { %a = memref.alloc() : memref<4xf32> return }"


def test_a_call_gives_a_part_of_the_workspace() -> None:
    around = "func.func @f() { func.call @g() : () -> () return }"
    module = planned(f"{CALLED} {around}")
    assert module.count("morello.workspace_bytes = 64") == 2
    assert "call @g(%" in module
    assert "memref.alloc" not in module


BETWEEN = "func.func @h() { func.call @g() : () -> () return }"


def test_a_workspace_is_handed_on() -> None:
    """A function without buffers takes what those that it calls need."""
    around = "func.func @f() { func.call @h() : () -> () return }"
    module = planned(f"{around} {CALLED} {BETWEEN}")
    assert module.count("morello.workspace_bytes = 64") == 3
    assert "call @h(%" in module
    assert "call @g(%" in module


def test_a_function_that_hands_a_workspace_on_grows_too() -> None:
    around = "func.func @f() attributes {morello.workspace_bytes = 0 : i64}"
    text = f"{CALLED} {BETWEEN} {around} {{ func.call @h() : () -> () return }}"
    assert "the call of @h has no workspace to give it" in refused(text)


def test_calls_of_functions_that_do_not_grow_stay() -> None:
    called = "func.func @g() { return }"
    around = "func.func @f() attributes {morello.workspace_bytes = 0 : i64}"
    text = f"{called} {BETWEEN} {around} {{ func.call @h() : () -> () return }}"
    assert planned(text).count("morello.workspace_bytes = 0") == 3


def test_an_allocation_after_planning_is_refused() -> None:
    text = planned(NESTED).replace(
        "return", "%late = memref.alloc() : memref<4xf32>\n return"
    )
    assert "whose workspace has been planned" in refused(text)
