"""Shipped costs are data: a file a machine, which says where it is from."""

import pytest

from benchmarks.cost_model.__main__ import SPECS
from morello.calibration.fit import nearest
from morello.calibration.specs import ALL
from morello.errors import TargetError
from morello.kernels import KERNELS
from morello.learned.ledger import cost_of
from morello.machine import TARGETS, Target, find_target
from morello.machine.costs import ORDERS, Coefficients, OpCosts, names
from morello.machine.digests import COST_MODEL, FILE
from morello.machine.digests import digests as known_digests
from morello.machine.file import TargetFile, read_target_file
from morello.machine.shipped import FOLDER, shipped
from tests.calibration import digests
from tests.tables import check_table

pytestmark = pytest.mark.quick

each = pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))


@each
def test_a_target_has_the_costs_of_its_file(target: Target) -> None:
    path = FOLDER / f"{target.name}.target"
    assert find_target(f"@{path}") == target
    head = [line for line in path.read_text().splitlines() if line.startswith("# ")]
    assert head[0].startswith(("# written by: morello calibrate ", "# derived: "))
    assert any(line.startswith("# machine: ") for line in head)


@each
def test_no_costs_turn_round_an_order_of_hardware(target: Target) -> None:
    turned = [(a, b) for a, b in ORDERS if cost_of(target, a) > cost_of(target, b)]
    assert turned == []
    assert nearest(target) == target


def test_every_file_is_of_a_target() -> None:
    assert {path.stem for path in FOLDER.glob("*.target")} == set(TARGETS)


def test_at_most_twenty_coefficients() -> None:
    assert len(names(Coefficients)) <= 20
    assert not set(names(Coefficients)) & set(names(OpCosts))


def test_a_file_that_lacks_a_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "morello.machine.shipped.read_target_file",
        lambda name: TargetFile("avx2{fork=1}"),
    )
    with pytest.raises(TargetError, match="lack or have too much"):
        shipped("avx2")


def test_specs_that_are_fitted_to_are_not_those_that_test_the_fit() -> None:
    assert not set(ALL) & set(SPECS)


def test_digests_are_those_of_the_tables() -> None:
    check_table(FILE, digests.table(), digests.__name__)
    assert set(known_digests()) == {COST_MODEL, *KERNELS}


@each
def test_what_a_file_does_not_record_is_stale(target: Target) -> None:
    record = read_target_file(str(FOLDER / f"{target.name}.target")).digests
    assert record is not None
    now = known_digests()
    assert target.stale == tuple(name for name in now if record.get(name) != now[name])
