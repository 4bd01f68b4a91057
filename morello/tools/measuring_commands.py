"""The options and notes of the commands that measure: ``tune`` and ``calibrate``."""

import dataclasses

from morello.tools.common_flags import OnTarget, Threaded
from morello.tools.flags import flag, positional, seconds, whole_number


@dataclasses.dataclass(frozen=True)
class TuneOptions(Threaded):
    """The command line of ``morello tune``."""

    specs: tuple[str, ...] = positional(
        "what to tune; {64,128} and {16..64..16} stand for each of their members",
        "SPEC",
        repeats=True,
    )
    seconds: float = flag(
        "how long a Spec takes after its search (default: 5)",
        default=5.0,
        metavar="S",
        parse=seconds,
    )
    candidates: int = flag(
        "how many programs to try, each of another class (default: 24)",
        default=24,
        metavar="K",
        parse=whole_number(1),
    )
    again: bool = flag(
        "measure Specs anew that were tuned on this machine before", default=False
    )
    priority: bool = flag(
        "time programs with one thread before all else that runs, where the system "
        "allows it: for machines that others use",
        default=False,
    )
    json: bool = flag("print one JSON object a Spec, each on one line", default=False)


@dataclasses.dataclass(frozen=True)
class CalibrateOptions(OnTarget):
    """The command line of ``morello calibrate``."""

    quick: bool = flag(
        "a few small Specs and programs: seconds, for a look", default=False
    )
    check: bool = flag(
        "write nothing: time a few programs of each kernel for at most a minute of one "
        "core, beside their prices; exit with 1 if one is stale, or off by more than 2",
        default=False,
    )
    list: bool = flag(
        "measure nothing: say of each known target, and of --target, what has changed "
        "since it was calibrated",
        default=False,
    )
    from_database: bool = flag(
        "measure nothing: fit the costs to the programs that 'morello tune' has timed "
        "on this processor, with one thread",
        default=False,
    )
    programs: int | None = flag(
        "programs of each Spec (default: 20; 4 with --quick)",
        metavar="N",
        parse=whole_number(1),
    )
    rounds: int | None = flag(
        "how often the search's choices join the programs, at most (default: 6; 1 "
        "with --quick)",
        metavar="N",
        parse=whole_number(0),
    )
    jobs: int = flag(
        "processes that search and compile; programs are timed one by one (default: 1)",
        default=1,
        metavar="N",
        parse=whole_number(1),
    )
    seconds: float = flag(
        "how long each program is timed (default: 0.05)",
        default=0.05,
        metavar="S",
        parse=seconds,
    )
    output: str | None = flag(
        "write a target file, which --target @FILE reads; - is the standard output",
        metavar="FILE",
        short="-o",
    )
    seed: int = flag(
        "of the programs that are drawn (default: 0)",
        default=0,
        metavar="N",
        parse=whole_number(0),
    )
    lock: str | None = flag(
        "lock this file while programs are timed, so that measurements take turns",
        metavar="FILE",
    )
    db: str | None = flag(
        "with --from-database: the database (default: as 'tune' has it)", metavar="PATH"
    )


TUNE = """\
Programs of different classes (kernels, and what is copied where in which form) are
compiled, checked against the definition of the Spec, and timed in turns; the slower
half goes in each round. The model's choice is always among them, and another program
takes its place only if it is clearly faster. The choice is kept in the database, with
the times, for this target, number of threads and processor. 'run', 'bench' and
morello.compile use it from then on; 'save' and 'emit' do with --tuned.

The best known program is marked with *. Let the machine rest meanwhile.

examples:
  morello tune matmul:64x256x1024:f32 --threads 1
  morello tune 'matmul:{32,64}x512x{512,2048}:f32' --seconds 2
  morello bench matmul:64x256x1024:f32 --threads 1 --untuned
      what the model chooses
"""

CALIBRATE = """\
Programs of Specs of every kind, with operands in every memory, are drawn from all over
the space and timed on one core. The costs are those that explain the times best: least
squares of the logarithms of predicted over measured time, none negative. What no
program pays for costs what single instructions take alone, or stays as it is, as does
the cost of threads: all of this is on one core. Let the machine rest meanwhile.

examples:
  morello calibrate -o here.target
      some minutes; then:
  morello bench matmul:512x512x512:f32 --target @here.target
  morello calibrate --quick
  morello calibrate --check
      kernel by kernel: what programs take over what was predicted; regret, what the
      search's choice takes over the fastest program that was timed
  morello calibrate --list
      which files are older than the kernels that they price
  morello calibrate --from-database -o here.target
      a second, after 'morello tune' of the Specs that matter
"""
