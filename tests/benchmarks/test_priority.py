"""Requests that are answered before all else that runs."""

import io
import json
import os
from typing import Any

import pytest

from benchmarks.harness.priority import before_all_else
from benchmarks.harness.worker import serve

pytestmark = pytest.mark.quick


class Policy:
    """Answers with the way in which its thread is scheduled."""

    def do(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"policy": os.sched_getscheduler(0)}


def _may_have_priority() -> bool:
    with before_all_else(True):
        return os.sched_getscheduler(0) == os.SCHED_FIFO


def test_only_requests_with_priority_have_it() -> None:
    before = os.sched_getscheduler(0)
    lines = [{"do": "x"}, {"do": "x", "priority": True}, {"priority": False}]
    requests = io.StringIO("".join(json.dumps(line) + "\n" for line in lines))
    answers = io.StringIO()
    serve(Policy(), requests, answers)
    policies = [json.loads(line)["policy"] for line in answers.getvalue().splitlines()]
    first = os.SCHED_FIFO if _may_have_priority() else before
    assert policies == [before, first, before]
    assert os.sched_getscheduler(0) == before


def test_where_it_is_not_allowed_things_run_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*args: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with before_all_else(True):
        pass
