"""``python -m benchmarks.models [--models NAMES] [--tune [SECONDS]] [-o FOLDER]``."""

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.harness.backend import MissingError
from benchmarks.harness.provenance import ROOT, commit_of, machine_text, origin
from benchmarks.harness.session import add_priority, end_in_order
from benchmarks.models.layers import MODELS, shapes
from benchmarks.models.measuring import graphs, products
from benchmarks.models.plot import plot
from benchmarks.models.record import OURS, Record, Shape
from benchmarks.models.report import markdown
from benchmarks.peers.__main__ import peer_names
from benchmarks.peers.registry import PEERS, default_folder
from morello.compiler.goal import TUNING_SECONDS
from morello.tools.flags import seconds, whole_number
from morello.whole_files import write_whole


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 0, 1 if Morello is missing, 2 for a wrong command line."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = _parser().parse_args(words)
    threads = options.threads
    name = options.name or f"models-{threads}-thread{'s' if threads > 1 else ''}"
    try:
        record = _begun(name, options)
        come_from = origin("benchmarks.models", words, commit_of(ROOT))
        with _database(options.db) as db:
            _measure(record, options, db, come_from)
    except MissingError as error:
        sys.stderr.write(f"models: error: {error}\n")
        return 1
    except (ValueError, OSError) as error:
        sys.stderr.write(f"models: error: {error}\n")
        return 2
    sys.stdout.write(markdown(record))
    return 0


def _begun(name: str, options: argparse.Namespace) -> Record:
    """An empty record; with ``--add``, the shapes that were measured before.

    Raises:
        ValueError: there is no folder with a record.
    """
    record = Record(name, machine_text(), options.threads, {})
    if not options.add:
        return record
    if not options.output:
        raise ValueError("--add needs the folder of the record: -o FOLDER")
    path: Path = options.output / f"{name}.json"
    return Record.load(path) if path.exists() else record


def _measure(
    record: Record, options: argparse.Namespace, db: str, come_from: dict[str, str]
) -> None:
    """Add every shape that the record does not have."""
    wanted = [s for s in shapes(options.models).values() if s.spec not in record.shapes]
    parts = (
        products([s for s in wanted if s.is_product], options, db, come_from),
        graphs([s for s in wanted if not s.is_product], options, db, come_from),
    )
    for part in parts:
        for shape in part:
            record.shapes[shape.spec] = shape
            sys.stderr.write(f"models: {shape.spec}: {_said(shape)}\n")
            if options.output:
                _write(record, options.output)


def _said(shape: Shape) -> str:
    """One shape in a line."""
    ratios = [(name, shape.ratio(name)) for name in OURS]
    texts = [f"{name} {ratio:.3f}" for name, ratio in ratios if ratio is not None]
    return f"{', '.join(texts)} of {shape.peer}" if texts else "not compared"


def _write(record: Record, folder: Path) -> None:
    """The record as JSON, Markdown and SVG."""
    record.save(folder)
    write_whole(folder / f"{record.name}.md", markdown(record).encode())
    write_whole(folder / f"{record.name}.svg", plot(record).encode())


@contextlib.contextmanager
def _database(wanted: str | None) -> Iterator[str]:
    """A database for all contenders; for this run alone if none is named."""
    if wanted is not None:
        yield wanted
        return
    with tempfile.TemporaryDirectory(prefix="morello-models-") as folder:
        yield str(Path(folder) / "searched.sqlite")


def _models(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no model is called {unknown[0]}; there are {', '.join(MODELS)}"
        )
    return names


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.models",
        description="Time the layers of models, Morello beside other libraries.",
    )
    parser.add_argument(
        "--models",
        type=_models,
        default=list(MODELS),
        help=f"names with commas between (default: {','.join(MODELS)})",
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
    parser.add_argument("--threads", type=whole_number(1), default=1)
    parser.add_argument(
        "--tune",
        type=seconds,
        nargs="?",
        const=TUNING_SECONDS,
        help="time the tuned kernel, too, for which programs are timed for so many "
        "seconds (default: %(const)s)",
    )
    parser.add_argument(
        "--seconds", type=seconds, default=2.0, help="of rounds for each shape"
    )
    parser.add_argument(
        "--sample", type=seconds, default=4e-3, help="seconds of calls in a sample"
    )
    parser.add_argument("--rounds", type=whole_number(1), default=6, help="at least")
    parser.add_argument(
        "--loads",
        type=whole_number(1),
        default=2,
        help="how often contenders of products are loaded anew (default: 2)",
    )
    add_priority(parser)
    parser.add_argument(
        "--db", help="database of searches and tunings (default: one for this run)"
    )
    parser.add_argument(
        "--add",
        action="store_true",
        help="keep the shapes that the record in --output has, and do the others",
    )
    parser.add_argument("--name", help="of the files (default: from the threads)")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="write the record there, after every shape (default: print it only)",
    )
    return parser


if __name__ == "__main__":
    end_in_order()
    sys.exit(main())
