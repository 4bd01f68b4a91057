"""Hashes that are kept: equal values have equal ones, here and in another process."""

import copy
import pickle
import subprocess
import sys

import pytest
from hypothesis import given

from morello.spec import Limits, Spec, parse_spec
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
    hash(key)
    for other in (pickle.loads(pickle.dumps(key)), copy.deepcopy(key)):
        assert "_hash" not in vars(other)
        assert other == key
        assert hash(other) == hash(key)
        assert [hash(t) for t in other.tensors] == [hash(t) for t in key.tensors]
    changed = key.with_tensor(0, key.tensors[0].tiled(1))
    assert (hash(changed) == hash(key)) == (changed == key)


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
