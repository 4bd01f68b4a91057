"""Hashes that are kept: equal values have equal ones, here and in another process."""

import copy
import dataclasses
import gc
import os
import pickle
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given

from morello.spec import Limits, Spec, SpecKey, TensorSpec, parse_spec
from morello.spec.hashing import Interned, _Guard
from tests.spec.strategies import specs

pytestmark = pytest.mark.quick

LOAD = """
import pickle, sys
from morello.spec import Limits, parse_spec
key = pickle.loads(sys.stdin.buffer.read())
limits = Limits.of(vrf=16, l1=512, l2=16384)
same = parse_spec("matmul:4x5x6:f32:rhs=[0,2,1,2p16]", limits).key
sys.exit(0 if {key: 1}.get(same) == 1 else "another hash")
"""


@given(specs())
def test_equal_keys_have_equal_hashes(spec: Spec) -> None:
    key = spec.key
    hash(spec)
    for other in (pickle.loads(pickle.dumps(spec)), copy.deepcopy(spec)):
        assert "_hash" not in vars(other)
        assert other == spec
        assert hash(other) == hash(spec)
    changed = key.with_tensor(0, key.tensors[0].tiled(1))
    same = [str(t) for t in changed.tensors] == [str(t) for t in key.tensors]
    assert (changed is key) == (changed == key) == same


def test_a_kept_hash_does_not_reach_another_process() -> None:
    text = "matmul:4x5x6:f32:rhs=[0,2,1,2p16]"
    key = parse_spec(text, Limits.of(vrf=16, l1=512, l2=16384)).key
    hash(key)
    done = subprocess.run(
        [sys.executable, "-c", LOAD],
        input=pickle.dumps(key),
        env={"PYTHONHASHSEED": "12345"},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@given(specs())
def test_equal_keys_are_one(spec: Spec) -> None:
    key = spec.key
    for other in (
        pickle.loads(pickle.dumps(key)),
        copy.deepcopy(key),
        SpecKey(tensors=key.tensors, kind=key.kind, serial=key.serial),
        dataclasses.replace(key, tensors=tuple(map(parsed, key.tensors))),
    ):
        assert other is key


def parsed(tensor: TensorSpec) -> TensorSpec:
    return TensorSpec.parse(str(tensor))


@dataclasses.dataclass(frozen=True)
class Pair(Interned):
    first: int
    second: int = 2


def test_values_in_use_are_one() -> None:
    assert (
        Pair(1)
        is Pair(1, 2)
        is Pair(first=1)
        is dataclasses.replace(Pair(1, 3), second=2)
    )
    assert Pair(1) != Pair(2)
    assert str(Pair(1)).endswith("Pair(first=1, second=2)")


def test_values_out_of_use_are_gone() -> None:
    pair = Pair(5, 6)
    assert (5, 6) in Pair._listed
    del pair
    gc.collect()
    Pair(7, 8)
    assert (5, 6) not in Pair._listed


@pytest.mark.parametrize(
    ("args", "named"),
    [((), {}), ((1, 2, 3), {}), ((1,), {"third": 3}), ((1,), {"first": 1})],
)
def test_wrong_fields_are_refused(args: tuple[int, ...], named: dict[str, int]) -> None:
    pair = Pair(1)
    with pytest.raises(TypeError):
        Pair(*args, **named)
    assert Pair(1) is pair


def test_threads_make_one_value() -> None:
    with ThreadPoolExecutor(8) as pool:
        for number in range(200):
            pairs = [*pool.map(Pair, [number] * 8)]
            assert all(pair is pairs[0] for pair in pairs)


def test_threads_that_forget_values_make_one_value(switches: None) -> None:
    """Values go out of use while other threads make equal ones."""

    def count(seed: int) -> int:
        wrong, draw = 0, random.Random(seed)
        for _ in range(20_000):
            pair = Pair(draw.randrange(3), 9)
            wrong += Pair(pair.first, 9) is not pair
            del pair
        return wrong

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(count, range(4))) == 0


def test_a_forked_process_waits_for_no_thread_of_its_parent() -> None:
    with _Guard.lock:
        child = os.fork()
        if child == 0:
            thread = threading.Thread(target=lambda: os._exit(Pair(7, 8).first))
            thread.start()
            thread.join(20)
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


@pytest.fixture
def switches() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)
