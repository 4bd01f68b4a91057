"""``native``: the known target that is nearest to a machine."""

import dataclasses
import warnings

import pytest

import morello.machine.native as module
from morello.machine import AVX2, TARGETS, find_target
from morello.machine.host import Host
from morello.machine.native import native_target
from morello.machine.target import Target
from morello.machine.targets.avx2_golden_cove import AVX2_GOLDEN_COVE
from morello.machine.targets.avx2_vnni import AVX2_VNNI
from morello.machine.targets.avx2_zen3 import AVX2_ZEN3
from morello.machine.targets.avx2_zen5 import AVX2_ZEN5
from morello.machine.targets.avx512 import AVX512
from morello.machine.targets.avx512_amx import AVX512_AMX
from morello.machine.targets.avx512_vnni_bf16 import AVX512_VNNI_BF16
from morello.machine.targets.avx512_zen4 import AVX512_ZEN4
from morello.machine.targets.avx512_zen5 import AVX512_ZEN5
from morello.machine.text import TargetWarning
from tests.child import python

pytestmark = pytest.mark.quick


AVX512_FEATURES = (*AVX2.features, *AVX512_VNNI_BF16.features)


def native(cpu: str, *features: str) -> Target:
    have = frozenset(features)
    return native_target(Host(cpu, have, have, cores=1, caches=()))


def test_a_cpu_has_the_target_that_was_measured_on_its_cores() -> None:
    for cpu in ("emeraldrapids", "sapphirerapids"):
        assert native(cpu, *AVX512_FEATURES) is AVX512_VNNI_BF16
        assert native(cpu, *AVX2.features, "avxvnni") is AVX2_GOLDEN_COVE
    assert native("znver3", *AVX2.features) is AVX2_ZEN3
    assert native("znver4", *AVX512_FEATURES) is AVX512_ZEN4
    assert native("znver4", *AVX2.features) is AVX2
    assert native("znver5", *AVX512_FEATURES, "avxvnni") is AVX512_ZEN5
    assert native("znver5", *AVX2.features, "avxvnni") is AVX2_ZEN5


def test_others_have_the_target_with_the_most_of_their_instructions() -> None:
    assert native("a cpu of 2040", *AVX512_FEATURES, "avxvnni") is AVX512_VNNI_BF16
    assert native("skylake-avx512", *AVX2.features, *AVX512.features) is AVX512
    assert native("cascadelake", *AVX512.features, "avx512vnni") is AVX512
    assert native("alderlake", *AVX2.features, "avxvnni") is AVX2_VNNI
    for cpu in ("haswell", "a cpu of 2040"):
        assert native(cpu, "avx2", "fma", "avx512f") is AVX2


def test_a_server_is_known_by_its_tiles_whatever_model_it_says_it_is() -> None:
    have = (*AVX512_FEATURES, "amx-tile")
    assert native("rocketlake", *have) is AVX512_VNNI_BF16
    assert native("rocketlake", *AVX512_AMX.features, *AVX2.features) is AVX512_AMX
    assert native("rocketlake", *AVX2.features, "amx-tile") is AVX2_GOLDEN_COVE
    assert native("rocketlake", *AVX2.features) is AVX2


def test_tiles_that_the_system_withholds_are_not_used() -> None:
    have = frozenset((*AVX512_AMX.features, *AVX2.features))
    for cpu in ("graniterapids", "rocketlake"):
        machine = Host(cpu, have, have, 1, ())
        assert native_target(machine) is AVX512_AMX
        withheld = frozenset(f for f in have if f.startswith("amx-"))
        machine = dataclasses.replace(machine, withheld=withheld)
        assert native_target(machine) is AVX512_VNNI_BF16


def test_a_cpu_without_costs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def this(cpu: str) -> Host:
        have = frozenset(AVX2.features)
        return Host(cpu, have, have, 1, ())

    monkeypatch.setattr(module, "host", lambda: this("alderlake"))
    with pytest.warns(TargetWarning, match=r"\(alderlake\) are not known, .*'avx2'"):
        assert find_target("native{threads=2}").threads == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        find_target("avx2")
        for cpu in ("znver4", "znver3", "sapphirerapids"):
            monkeypatch.setattr(module, "host", lambda cpu=cpu: this(cpu))
            find_target("native")


def test_native_is_one_of_the_known_targets() -> None:
    target = find_target("native")
    assert target is TARGETS[target.name]
    assert find_target("native{threads=3}").threads == 3
    assert find_target("native{threads=3}").name == target.name


def test_naming_a_target_does_not_load_llvm() -> None:
    code = (
        "import sys; from morello.machine import find_target; find_target('avx2'); "
        "sys.exit('llvmlite' in sys.modules)"
    )
    assert python("-c", code).returncode == 0
