"""``python -m benchmarks.peers [SUITE | SPEC]… [--threads N] [--peers NAMES]``."""

import argparse
import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.harness.backend import MissingError
from benchmarks.harness.case import CaseError
from benchmarks.harness.ours import command
from benchmarks.harness.process import Command
from benchmarks.harness.provenance import ROOT, commit_of, origin
from benchmarks.harness.session import add_options, end_in_order, run, search
from benchmarks.harness.suites import SUITES, cases
from benchmarks.harness.worktree import worktree
from benchmarks.peers.registry import PEERS, Place, default_folder

MORELLO = "morello"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and write; 0, 1 if Morello is missing, 2 for a wrong command line."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = _parser().parse_args(words)
    name = options.name or _name(options.what, options.threads)
    try:
        wanted = cases(options.what)
        with _checkout(options.commit) as (root, commit):
            ours = command(options.threads, root, options.db, options.native)
            if options.search:
                return search({MORELLO: ours}, wanted)
            contenders = {MORELLO: ours, **_peers(options)}
            come_from = origin("benchmarks.peers", words, commit)
            return run(name, contenders, [MORELLO], wanted, options, come_from)
    except (CaseError, ValueError, OSError) as error:
        sys.stderr.write(f"peers: error: {error}\n")
        return 2


@contextlib.contextmanager
def _checkout(revision: str) -> Iterator[tuple[Path, str]]:
    """Check out the Morello that is measured: the folder to import from, and its
    commit."""
    if not revision:
        yield ROOT, commit_of(ROOT)
        return
    commit = commit_of(ROOT, revision)
    with worktree(ROOT, commit) as root:
        yield root, commit


def _peers(options: argparse.Namespace) -> dict[str, Command | MissingError]:
    """How each peer that is wanted is started, or why it cannot be."""
    place = Place(options.folder, options.threads, options.native)
    commands: dict[str, Command | MissingError] = {}
    for name in options.peers:
        try:
            commands[name] = PEERS[name](place)
        except MissingError as error:
            commands[name] = error
    return commands


def _name(what: list[str], threads: int) -> str:
    """Name the files for the suites and the number of threads."""
    suites = [word for word in what if word in SUITES]
    chosen = "-".join(suites) if suites else "all" if not what else "specs"
    return f"peers-{chosen}-{threads}-thread{'s' if threads > 1 else ''}"


def peer_names(text: str) -> list[str]:
    names = [] if text == "none" else text.split(",")
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no peer is called {unknown[0]}; there are {', '.join(PEERS)}"
        )
    return names


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description="Time Morello beside other libraries, in turns.",
        epilog=f"Suites: {', '.join(SUITES)}.",
    )
    parser.add_argument(
        "what", nargs="*", metavar="SUITE|SPEC", help="default: all suites"
    )
    parser.add_argument(
        "--peers",
        type=peer_names,
        default=list(PEERS),
        help=f"names with commas between, or none (default: {','.join(PEERS)})",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=default_folder(),
        help="of the peers' environments (default: MORELLO_PEERS, or %(default)s)",
    )
    parser.add_argument(
        "--commit", default="", help="of Morello (default: the files of the checkout)"
    )
    add_options(parser)
    return parser


if __name__ == "__main__":
    end_in_order()
    sys.exit(main())
