"""`python -m benchmarks.weights`: products with stored weights, checked and timed."""

import pytest

from benchmarks.weights import case
from benchmarks.weights.__main__ import main


@pytest.mark.sampled(2)
def test_each_form_is_timed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(case, "beyond_caches", lambda: 1)
    words = ["int4-32", "int8", "f16", "--rows", "1", "--shape", "64x64", "--native"]
    main([*words, "--turns", "1", "--time-limit", "1", "--peers", "torch,theirs"])
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["product", "exact", "bytes", "torch", "theirs", "read"]
    assert [line.split()[0] for line in lines] == ["int4-32", "int8", "f16"]
    assert all("exact " in line and "of reading" in line for line in lines)
    assert ["bytes " in line for line in lines] == [True, True, False]
