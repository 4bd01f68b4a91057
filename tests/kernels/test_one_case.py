"""Every kernel once: exact on one of the Specs that it takes, all in one module."""

import pytest

from morello.kernels import KERNELS
from tests.kernels.accepted import drawn
from tests.kernels.harness import Case, check_random

pytestmark = pytest.mark.quick


def test_every_kernel_is_exact_on_one_spec() -> None:
    check_random(Case(name, drawn(name)[0]) for name in KERNELS)
