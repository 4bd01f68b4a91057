"""Options of the backend that do not exist, or have other values, are refused."""

from typing import Any

import pytest
import torch

from morello.torch.options import Options

pytestmark = pytest.mark.quick


def doubled(x: Any) -> Any:
    return x * 2


def test_an_option_that_does_not_exist_is_refused() -> None:
    fast = torch.compile(doubled, backend="morello", options={"time_limt": 3})
    words = "no option 'time_limt'; it has threads, .*; did you mean 'time_limit'?"
    with pytest.raises(Exception, match=words):
        fast(torch.randn(3, 16))


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("threads", "2", "'threads' is '2'; give an integer of at least 1"),
        ("target", "avx3", "unknown target 'avx3'"),
        ("time_limit", "1", "a time limit of '1'; give a number of seconds"),
        ("tune", "often", "'tune' is 'often'"),
        ("jobs", 0, "'jobs' is 0; give an integer of at least 1"),
        ("shapes", True, "'shapes' is True; give an integer of at least 0"),
        ("batch", -1, "'batch' is -1; give an integer of at least 0"),
        ("freeze", "no", "'freeze' is 'no'; give True or False"),
        ("flushing", 1, "'flushing' is 1; give True or False"),
        ("pack", 2, "'pack' is 2; give True or False"),
        ("partition", "costs", "'partition' is 'costs'"),
    ],
)
def test_an_option_of_another_value_is_refused(
    option: str, value: Any, words: str
) -> None:
    fast = torch.compile(doubled, backend="morello", options={option: value})
    with pytest.raises(Exception, match=words):
        fast(torch.randn(3, 16))


def test_products_flush_by_default_where_those_of_eager_do() -> None:
    small = torch.full((32, 64), 2.0**-64, dtype=torch.bfloat16)
    with torch.no_grad():
        is_zero = not torch.nn.functional.linear(small, small).any()
    assert Options().flushes == is_zero
    assert Options(flushing=False).flushes is False
    assert Options(flushing=True).flushes is True
