"""Loading the dialects into contexts."""

import gc

import pytest

from morello.dialect import load
from morello.dialect.build import spec_function, spec_of
from morello.machine import AVX2
from morello.mlir import ir
from morello.spec import parse_spec
from tests.child import python
from tests.threads import in_threads

pytestmark = pytest.mark.quick

SPEC = parse_spec("matmul:6x4x16:f32", AVX2.limits)


def round_trip(context: ir.Context) -> None:
    """Build a module, print it, read it back."""
    with context:
        text = str(spec_function(SPEC, "f"))
        module = ir.Module.parse(text)
        assert str(module) == text
        body = module.body.operations[0].regions[0].blocks[0]
        assert spec_of(body.operations[0]) == SPEC


def test_loading_again_changes_nothing() -> None:
    context = ir.Context()
    load(context)
    load(context)
    round_trip(context)


def test_the_context_need_not_be_current() -> None:
    outer, inner = ir.Context(), ir.Context()
    with outer:
        load(inner)
        assert ir.Context.current is outer
        assert not outer.is_dialect_loaded("morello")
    assert inner.is_dialect_loaded("morello")
    assert inner.is_dialect_loaded("morello_transform")


def test_older_contexts_stay_usable() -> None:
    contexts = [ir.Context() for _ in range(4)]
    for context in contexts:
        load(context)
    for context in contexts:
        round_trip(context)


def test_threads_may_load_at_the_same_time() -> None:
    def work(_: int) -> None:
        for _ in range(5):
            context = ir.Context()
            load(context)
            round_trip(context)

    in_threads(work, range(4))


def test_no_context_is_kept_alive() -> None:
    gc.collect()
    before = ir.Context._get_live_count()
    context = ir.Context()
    load(context)
    round_trip(context)
    del context
    gc.collect()
    assert ir.Context._get_live_count() == before


def test_importing_the_package_is_light() -> None:
    code = (
        "import sys, morello.dialect; "
        "assert not [m for m in sys.modules if 'torch_mlir' in m], 'imports MLIR'"
    )
    python("-c", code, check=True)
