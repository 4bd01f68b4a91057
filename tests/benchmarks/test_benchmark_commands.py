"""``python -m benchmarks.peers`` and ``python -m benchmarks.commits`` on tiny Specs."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks.commits.__main__ import main as commits
from benchmarks.commits.specs import differ
from benchmarks.harness import machine_roofs
from benchmarks.harness.backend import MissingError
from benchmarks.harness.provenance import ROOT, commit_of
from benchmarks.harness.worktree import worktree
from benchmarks.peers.__main__ import main as peers
from benchmarks.peers.registry import PEERS, Place

Capture = pytest.CaptureFixture[str]

TINY = "matmul:2x3x4:f32"
QUICK = ["--seconds", "1e-3", "--rounds", "2", "--sample", "1e-4"]


@pytest.fixture
def small_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    """The roofs of the machine take no time: DRAM alone is 256 MiB."""
    sizes = {"read L1": 1 << 14}
    monkeypatch.setattr(machine_roofs, "memories", lambda threads: sizes)


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    for text in ("one", "two"):
        (folder / "file").write_text(text)
        git(folder, "add", "file")
        git(folder, "commit", "-q", "-m", text)
    return folder


def test_a_worktree_has_the_files_of_its_commit_and_goes(repository: Path) -> None:
    commit = commit_of(repository, "HEAD~1")
    with worktree(repository, commit) as folder:
        assert (folder / "file").read_text() == "one"
        assert (repository / "file").read_text() == "two"
    assert not folder.exists()
    listed = subprocess.run(
        ["git", "worktree", "list"], cwd=repository, capture_output=True, text=True
    )
    assert len(listed.stdout.splitlines()) == 1


def test_a_worktree_goes_when_something_fails(repository: Path) -> None:
    with pytest.raises(RuntimeError), worktree(repository, "HEAD") as folder:
        raise RuntimeError
    assert not folder.exists()


def test_commits_by_name(repository: Path) -> None:
    clean = commit_of(repository)
    assert commit_of(repository, "HEAD").startswith(clean[:7])
    (repository / "file").write_text("three")
    assert commit_of(repository) == clean + "+"
    with pytest.raises(ValueError, match="no commit 'nowhere'"):
        commit_of(repository, "nowhere")


@pytest.mark.sampled(5)
@pytest.mark.usefixtures("small_memories")
def test_a_run_beside_peers(tmp_path: Path, capsys: Capture) -> None:
    words = [TINY, "matmul:2x2x2:f32,f32,s32", "--peers", "openblas,mkl", *QUICK]
    place = ["--folder", str(tmp_path / "none"), "-o", str(tmp_path), "--name", "run"]
    assert peers([*words, *place]) == 0
    page = capsys.readouterr().out
    assert page == (tmp_path / "run.md").read_text()
    data = json.loads((tmp_path / "run.json").read_text())
    missing = {c["name"]: c["missing"] for c in data["contenders"]}
    assert missing["morello"] == missing["openblas"] == ""
    assert "libmkl_rt" in missing["mkl"]
    first, second = data["rows"]
    assert [e["status"] for e in first["entries"]] == ["ok", "ok"]
    assert [e["status"] for e in second["entries"]] == ["unsupported"] * 2
    assert first["origin"]["command"].startswith(
        "python -m benchmarks.peers matmul:2x3"
    )
    assert first["roof"]["arithmetic"] > 0
    assert (tmp_path / "run.svg").read_text().startswith("<svg")


@pytest.mark.sampled(5)
@pytest.mark.usefixtures("small_memories")
def test_search_first_and_two_commits(tmp_path: Path, capsys: Capture) -> None:
    db = ["--db", str(tmp_path / "db")]
    assert peers([TINY, "--search", *db]) == 0
    assert f"{TINY}: morello: ok" in capsys.readouterr().err
    words = ["HEAD", ".", TINY, *QUICK, *db, "-o", str(tmp_path), "--name", "two"]
    assert commits(words) == 0
    data = json.loads((tmp_path / "two.json").read_text())
    old, new = (c["name"] for c in data["contenders"])
    assert old == f"old {commit_of(ROOT, 'HEAD')}"
    assert new == f"new {commit_of(ROOT)}"
    assert data["ours"] == [new]
    assert (tmp_path / "db.old").exists()
    assert (tmp_path / "db.new").exists()
    assert [e["status"] for e in data["rows"][0]["entries"]] == ["ok", "ok"]
    assert f"## {new} against the best peer" in capsys.readouterr().out


@pytest.mark.sampled(5)
def test_any_spec_by_two_versions_of_the_files(capsys: Capture) -> None:
    specs = ["softmax:2x8:f32", "softmax:2x8:f31"]
    assert commits([".", ".", *specs, *QUICK]) == 1
    lines = capsys.readouterr().out.splitlines()
    cells = [cell.strip() for cell in lines[2].split("|")[1:-1]]
    assert cells[0] == "`softmax:2x8:f32`"
    assert all(float(cell) > 0 for cell in cells[1:5])
    assert "unsupported: Spec column 13: unknown dtype 'f31'" in lines[3]
    assert lines[-1].startswith("old over new: best ")


def test_results_that_differ_are_a_fault() -> None:
    ones = np.ones((2, 3))
    assert not differ(ones, np.full(6, 1.0005))
    assert differ(ones, np.full(6, 1.01))
    assert differ(ones, np.ones(5))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["max:3x4:f32"], "is no matmul"),
        (["f32-circles"], "no suite is called 'f32-circles'"),
        ([TINY, "--commit", "nowhere"], "no commit 'nowhere'"),
        ([TINY, "--peers", "none", "--add"], "--add needs the folder of the record"),
    ],
)
def test_refusals(words: list[str], said: str, capsys: Capture) -> None:
    assert peers(words) == 2
    assert said in capsys.readouterr().err


def test_unknown_peers_are_refused(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        peers([TINY, "--peers", "mkl,eigen"])
    assert "no peer is called eigen" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(set(PEERS) - {"openblas", "blis", "libxsmm"}))
def test_peers_that_are_not_installed_are_missing(name: str, tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=name):
        PEERS[name](Place(tmp_path, 1))


def test_every_peer_is_told_its_limit(tmp_path: Path) -> None:
    libraries = {"mkl": "libmkl_rt.so.2", "onednn": "libdnnl.so.3"}
    for peer, library in libraries.items():
        (tmp_path / peer / "lib").mkdir(parents=True)
        (tmp_path / peer / "lib" / library).touch()
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "mkl_override.so").touch()
    wanted = {
        "openblas": ("OPENBLAS_CORETYPE", "Haswell"),
        "mkl": ("MKL_ENABLE_INSTRUCTIONS", "AVX2"),
        "onednn": ("ONEDNN_MAX_CPU_ISA", "AVX2"),
    }
    for peer, limit in wanted.items():
        command = PEERS[peer](Place(tmp_path, 2))
        assert limit in command.environment
        native = PEERS[peer](Place(tmp_path, 2, native=True))
        assert limit not in native.environment
        variables = command.variables({"OMP_NUM_THREADS": "9", "HOME": "here"})
        assert variables["OMP_NUM_THREADS"] == "2"
        assert variables["HOME"] == "here"
