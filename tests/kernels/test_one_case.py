"""Every kernel once: exact on one of the Specs that it takes, all in one module."""

import pytest

from morello.kernels import KERNELS
from morello.machine.isa import Isa
from tests.kernels.accepted import drawn
from tests.kernels.harness import Case, check_random

ISAS = {kernel.isa.name: kernel.isa for kernel in KERNELS.values()}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("isa", ISAS.values(), ids=list(ISAS))
def test_every_kernel_is_exact_on_one_spec(isa: Isa) -> None:
    names = [name for name, kernel in KERNELS.items() if kernel.isa == isa]
    check_random(Case(name, drawn(name)[0]) for name in names)
