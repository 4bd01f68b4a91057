"""``python -m benchmarks.commits OLD NEW [SUITE | SPEC]… [--threads N]``."""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.commits.specs import SUITES as SPECS
from benchmarks.commits.specs import compare
from benchmarks.harness.case import CaseError
from benchmarks.harness.ours import command
from benchmarks.harness.process import Command
from benchmarks.harness.provenance import ROOT, commit_of, origin
from benchmarks.harness.session import add_options, end_in_order, run, search
from benchmarks.harness.suites import SUITES, cases
from benchmarks.harness.worktree import worktree

FILES = "."
"""Stands for the files of the checkout as they are."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and write; 0, 1 if a commit cannot run, 2 for a wrong command line."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = _parser().parse_args(words)
    try:
        words_of_specs = [word for word in options.what if _is_any_spec(word)]
        words_of_cases = [word for word in options.what if not _is_any_spec(word)]
        wanted = cases(words_of_cases or ["f32-squares", "f32-skinny"])
        with contextlib.ExitStack() as stack:
            commands: dict[str, Command] = {}
            roots: dict[str, tuple[Path, str]] = {}
            for role, revision in (("old", options.old), ("new", options.new)):
                root, commit = ROOT, ""
                if revision != FILES:
                    commit = commit_of(ROOT, revision)
                    root = stack.enter_context(worktree(ROOT, commit))
                name = f"{role} {commit or commit_of(ROOT)}"
                # Each reads its own: formats, and costs of one version, may differ.
                db = options.db if options.db == "none" else f"{options.db}.{role}"
                commands[name] = command(options.threads, root, db, options.native)
                roots[name] = root, db
            if words_of_specs:
                specs = [s for word in words_of_specs for s in SPECS.get(word, (word,))]
                status = compare(roots, list(dict.fromkeys(specs)), options)
                if not words_of_cases:
                    return status
            if options.search:
                return search(commands, wanted)
            come_from = origin("benchmarks.commits", words, " and ".join(commands))
            name = options.name or "commits"
            # The new one is what is looked at; the old one takes the peers' place.
            return run(name, commands, [list(commands)[1]], wanted, options, come_from)
    except (CaseError, ValueError, OSError) as error:
        sys.stderr.write(f"commits: error: {error}\n")
        return 2


def _is_any_spec(word: str) -> bool:
    """Whether a word names Specs that are called from Python, not products."""
    return word in SPECS or (":" in word and not word.startswith("matmul:"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.commits",
        description="Time two commits of Morello in turns.",
        epilog=f"Suites: {', '.join((*SUITES, *SPECS))}. Products are called as "
        "machine code; graphs, models and Specs that are no products from Python.",
    )
    parser.add_argument("old", help="a commit, or . for the files of the checkout")
    parser.add_argument("new", help="the same")
    parser.add_argument(
        "what", nargs="*", metavar="SUITE|SPEC", help="default: the f32 suites"
    )
    add_options(parser)
    return parser


if __name__ == "__main__":
    end_in_order()
    sys.exit(main())
