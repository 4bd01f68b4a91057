"""Jobs as values: what they answer, and which are refused."""

import dataclasses
import pickle
from pathlib import Path

import pytest

from morello.cluster.fingerprint import source_fingerprint
from morello.cluster.job import Job, perform
from morello.machine import AVX2
from morello.search import best_program
from morello.search.storage.cache_key import family
from morello.search.storage.connection import DatabaseError
from morello.search.storage.database import Database
from morello.search.storage.overlay import Overlay
from morello.search.storage.transfer import merge_bytes, opened
from morello.spec import parse_spec

pytestmark = pytest.mark.quick

TEXT = "fill:9x5:f32"


def test_an_answer_has_all_that_was_found(tmp_path: Path) -> None:
    job = pickle.loads(pickle.dumps(Job.of(TEXT, AVX2, 1)))
    answer = pickle.loads(pickle.dumps(perform(job)))
    assert answer.job == job
    assert not answer.solved.error
    assert answer.solved.specs > 0
    spec = parse_spec(TEXT, AVX2.limits)
    assert answer.solved.cost == best_program(spec, AVX2).impl.cost
    with opened(tmp_path / "x.sqlite", is_writable=True) as database:
        assert merge_bytes(answer.database, database) == len(list(database.rows())) > 0
        assert merge_bytes(answer.database, database) == 0
        solution = best_program(spec, AVX2, Overlay(database))
    assert solution.statistics.specs == 0


def test_a_job_starts_from_what_is_known() -> None:
    job = Job.of(TEXT, AVX2, 1)
    again = perform(job, perform(job).database)
    assert again.solved.specs == 0
    assert again.solved.cost == perform(job).solved.cost


def test_a_spec_without_a_program_is_an_error() -> None:
    answer = perform(Job.of("matmul_accum:2x2x2:bf16,bf16,f32:l2=0:l1=0", AVX2, 1))
    assert "no program exists" in answer.solved.error
    assert not answer.refusal


def test_a_job_of_another_checkout_is_refused() -> None:
    answer = perform(dataclasses.replace(Job.of(TEXT, AVX2, 1), source="0.1 abc"))
    assert f"has Morello {source_fingerprint()}, and the client has 0.1 abc" in (
        answer.refusal
    )
    assert not answer.database


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"family": "search-1.1 avx2 0"}, "makes of the client's target 'search-"),
        ({"target": "vax"}, "cannot read the client's target: unknown target 'vax'"),
    ],
)
def test_a_job_for_another_target_is_refused(
    changes: dict[str, str], message: str
) -> None:
    answer = perform(dataclasses.replace(Job.of(TEXT, AVX2, 1), **changes))
    assert message in answer.refusal
    assert not answer.database


def test_a_target_goes_with_every_number() -> None:
    machine = dataclasses.replace(AVX2, threads=2)
    job = Job.of(TEXT, machine, 2)
    assert "line_mem_demand=" in job.target
    assert job.family == family(machine) != family(AVX2)
    assert not perform(job).refusal


def test_the_fingerprint_is_of_every_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "morello"
    (package / "cluster").mkdir(parents=True)
    (package / "b.py").write_text("1")
    (package / "a.target").write_text("2")
    place = package / "cluster" / "fingerprint.py"
    monkeypatch.setattr("morello.cluster.fingerprint.__file__", str(place))
    take = source_fingerprint.__wrapped__
    before = take()
    (package / "notes.txt").write_text("")
    assert take() == before
    seen = {before}
    for change in (
        lambda: (package / "b.py").write_text("3"),
        lambda: (package / "a.target").write_text("4"),
        lambda: (package / "b.py").rename(package / "c.py"),
        lambda: (package / "cluster" / "new.py").touch(),
    ):
        change()
        seen.add(take())
    assert len(seen) == 5


def test_bytes_that_are_no_database_are_refused(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "x.sqlite", is_writable=True) as database,
        pytest.raises(DatabaseError),
    ):
        merge_bytes(b"no database", database)
    with pytest.raises(DatabaseError):
        Database(tmp_path / "x" / "y.sqlite").to_bytes()
