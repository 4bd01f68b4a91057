"""The peers by name: where each is looked for, and how it is held to AVX2 if it is."""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness.backend import MissingError
from benchmarks.harness.process import Command
from benchmarks.peers import build


@dataclasses.dataclass(frozen=True)
class Place:
    """Environment of peers: the folder where they are installed, and how they run.

    Args:
        folder: holds a virtual environment for each peer that pip installs.
        threads: that a call may use.
        native: whether they may use all that the CPU has, not only AVX2.
    """

    folder: Path
    threads: int
    native: bool = False

    def held(self, *limits: tuple[str, str]) -> tuple[tuple[str, str], ...]:
        """Variables that hold a peer to AVX2: none where it is not held."""
        return () if self.native else limits

    def library(self, peer: str, name: str) -> Path:
        """A library that pip has put into the environment of a peer.

        Raises:
            MissingError: it is not there.
        """
        paths = sorted((self.folder / peer).glob(f"lib*/{name}"))
        if not paths:
            raise MissingError(f"no {name} in the environment '{peer}'")
        return paths[0]

    def python(self, peer: str) -> str:
        """The interpreter of a peer's environment.

        Raises:
            MissingError: there is no such environment.
        """
        path = self.folder / peer / "bin" / "python"
        if not path.exists():
            raise MissingError(f"no environment '{peer}' among the peers")
        return str(path)


def _openblas(place: Place) -> Command:
    limit = place.held(("OPENBLAS_CORETYPE", "Haswell"))
    return Command("benchmarks.peers.blas:OpenBlas", place.threads, (), limit)


def _mkl(place: Place) -> Command:
    library = place.library("mkl", "libmkl_rt.so.[23]")
    override = build.mkl_override(place.folder / "built")
    return Command(
        "benchmarks.peers.mkl:Mkl",
        place.threads,
        (("library", str(library)),),
        (
            *place.held(("MKL_ENABLE_INSTRUCTIONS", "AVX2")),
            ("LD_PRELOAD", str(override)),
            ("LD_LIBRARY_PATH", str(library.parent)),
        ),
    )


def _blis(place: Place) -> Command:
    folders = ("blis-openmp", "blis-pthread", "blis-serial", ".")
    root = Path("/usr/lib/x86_64-linux-gnu")
    candidates = [root / f / "libblis.so.4" for f in folders]
    paths = [str(path) for path in candidates if path.exists()]
    if not paths:
        raise MissingError("libblis.so.4 is not installed")
    # BLIS 0.9 reads a number here, and takes a name for 0.
    limit = (
        *place.held(("BLIS_ARCH_TYPE", "6")),
        ("BLIS_NUM_THREADS", str(place.threads)),
    )
    options = (("library", paths[0]),)
    return Command("benchmarks.peers.blas:Blis", place.threads, options, limit)


def _libxsmm(place: Place) -> Command:
    library = build.libxsmm(place.folder / "built")
    limit = place.held(("LIBXSMM_TARGET", "hsw"))
    options = (("library", str(library)),)
    return Command("benchmarks.peers.libxsmm:Libxsmm", place.threads, options, limit)


def _onednn(place: Place) -> Command:
    library = place.library("onednn", "libdnnl.so.3")
    limit = place.held(("ONEDNN_MAX_CPU_ISA", "AVX2"))
    options = (("library", str(library)),)
    return Command("benchmarks.peers.onednn:OneDnn", place.threads, options, limit)


def _torch(place: Place) -> Command:
    limit = place.held(
        ("ATEN_CPU_CAPABILITY", "avx2"),
        ("ONEDNN_MAX_CPU_ISA", "AVX2"),
        ("MKL_ENABLE_INSTRUCTIONS", "AVX2"),
    )
    backend = "benchmarks.peers.torch_peer:Torch"
    return Command(backend, place.threads, (), limit, place.python("torch"))


def _iree(place: Place) -> Command:
    if place.native:
        raise MissingError("it is compiled for haswell")
    backend = "benchmarks.peers.iree:Iree"
    return Command(backend, place.threads, (), (), place.python("iree"))


PEERS: dict[str, Callable[[Place], Command]] = {
    "openblas": _openblas,
    "mkl": _mkl,
    "blis": _blis,
    "libxsmm": _libxsmm,
    "onednn": _onednn,
    "torch": _torch,
    "iree": _iree,
}
"""Every peer, and what finds it; it raises `MissingError` where it is not."""


def default_folder() -> Path:
    """``MORELLO_PEERS``, or ``morello-peers`` in the user's cache."""
    folder = os.environ.get("MORELLO_PEERS")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(folder) if folder else cache / "morello-peers"
