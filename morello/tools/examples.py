"""Notes and examples that end the help of each subcommand."""

RUN = """\
Random inputs are small integers, whose products and sums are exact, so the output must
equal the definition's bit for bit. With an --input of your own, the output of a
float matmul may differ from the definition in f64 by at most g*|A||B|, elementwise,
g = K*u/(1-K*u), u = 2^-24; every other output must still be exact. A kind that adds to
its output starts from a random one, or from --input out=FILE.npy.

examples:
  morello run matmul:100x37x53:f32
      find a kernel, run it on random inputs and check it
  morello run matmul:64x64x64:f32 --input lhs=a.npy --input rhs=b.npy --output c.npy
      run it on arrays of your own
  morello run move:7x9:f32:dst=[1,0] --seed 3
      a transpose
  morello run matmul:8x8x8:f32 --schedule my.mlir
      run a schedule written by hand; the search fills its holes
  morello run model.mlir --input arg0=x.npy
      a program of linalg or StableHLO: its parts, compiled as one function, compared
      with what the Specs of the parts define
"""


BENCH = """\
Calls are timed from Python with their arguments checked and the data warm, in samples
of at least 1 ms; a kernel that uses one thread is pinned to one core. Between samples a
generated loop of multiply-adds measures the peak of the core, so that both see the same
clock. peak_gflops is that peak times the cores that --threads may use; threads_used is
the number that the kernel uses. fraction_of_peak is the fraction of the best sample. A
kernel is timed only if its output on random inputs equals the definition's bit for bit
(sums of more than 2^20 terms in f32: within the bound that 'run' names). gbytes_per_s
counts each operand once for each time that it is read or written. cost is the predicted
cost of a call in 1/1000 cycles. Fields that do not apply are null.

examples:
  morello bench matmul:512x512x512:f32
      one core, as a table
  morello bench matmul:512x512x512:f32 --threads 1 --json
      one JSON object, for scripts
  morello bench move:1024x1024:f32:dst=[1,0] --seconds 0.5
      a transpose: bandwidth, no FLOPs
"""


EMIT = """\
stages:
  spec      a module with a function that holds the Spec
  schedule  this module with its schedule, found by search
  mlir      the loops and vectors that the schedule makes
  llvm      LLVM IR, optimised
  asm       assembly

examples:
  morello emit matmul:8x8x8:f32 --stage schedule -o mm.mlir
  morello-opt -p 'builtin.module(morello-apply-schedule)' mm.mlir
      show the loops that a schedule makes
  morello emit matmul:8x8x8:f32 --stage spec |
    morello-opt -p 'builtin.module(morello-synthesize,morello-apply-schedule)'
      the search as a pass
  morello emit matmul:8x8x8:f32 --stage asm --schedule mm.mlir
      the code of a schedule that was edited by hand
  morello emit matmul:8x8x8:f32 --stage schedule --schedule begun.mlir
      go on with a schedule that was begun by hand
"""


SAVE = """\
The object is position independent and needs no library; with --threads, an OpenMP
runtime of LLVM or Intel. The header describes each argument, the CPU features and the
calls. The functions:

  NAME            checks the CPU and the pointers, runs, and returns 0 or a reason
  NAME_supported  whether this CPU has the features
  NAME_unchecked  runs without checks
  NAME_malloc     NAME, with the workspace that it needs, if any, from malloc

examples:
  morello save matmul:1x2048x16384:f32 -o vecmat.o -o vecmat.h --name vecmat
      then: cc main.c vecmat.o
  morello save max:64x100:f32 -o rowmax.s
"""


EXPLAIN = """\
Each line of the tree is one decision of the program: the hole that it fills, how often
it runs, its Spec and its action. Costs are predicted cycles; --ghz sets the clock that
turns them into time.

An alternative is another first action at a node, with the cheapest program that begins
with it; the difference in cost is the saving of the chosen action. Equal costs are a
tie. Decisions of --schedule have no alternatives; one to a pin may cost less.

examples:
  morello explain matmul:512x512x512:f32
      the program, and the alternatives to its first action
  morello explain matmul:512x512x512:f32 --at 7 --at 20 --top 20
      more alternatives, at two more nodes
  morello explain matmul:512x512x512:f32 --count
      how many programs there are, of which this is the best
  morello explain matmul:512x512x512:f32 --html mm.html
      a page with pictures of every memory, and alternatives at every node
"""


DB = """\
actions:
  info             where the database is, how many tables, Specs and boxes it has, and
                   which choices were measured
  verify           check the file, the checksum of every row, and its boxes
  export FILE      copy every whole row to a new database, from a damaged one too
  import FILE...   add the rows of other databases
  merge FILE...    add the rows of other databases, and print a count for each
  gc               take out rows of other versions and damaged ones, and shrink the file
  clear-code       delete the machine code of kernels that were compiled before, which
                   lies beside the user's own database (MORELLO_CODE)
  pin SPEC FILE    fix the schedule of a Spec: FILE is a module with it, as 'emit
                   --stage schedule' prints; its holes are searched; - is the
                   standard input
  unpin SPEC       leave the Spec to the search again

A row is read only by the version and for the target that it was made with. Deleting the
file loses the pins and what was measured: everything else can be solved again.

A choice that 'morello tune' has measured is used on processors of the same name alone.

Every search with this database uses the schedule of a pinned Spec wherever the Spec
occurs, whatever it costs. A Spec includes levels, layouts, contiguity and limits.
'info' lists the pins; they are exported and merged with the rest.

examples:
  morello db info
  morello db verify --db tables.sqlite
  morello db merge other.sqlite
      into the database that 'run' and 'bench' use
  morello emit SPEC --stage schedule -o mine.mlir
  morello db pin SPEC mine.mlir
      after mine.mlir was edited by hand
"""


PRECOMPUTE = """\
Every Spec is searched, the largest first, and every table is stored as soon as it is
solved. Stored tables are not solved again: after Ctrl-C or a crash, the same command
continues where it stopped. A Spec without a program is reported, the others are still
solved, and the exit code is 1. The number of threads is part of a goal: give the number
that 'run' and 'bench' will use.

examples:
  morello precompute 'matmul:{64,128,256}x{64,128}x64:f32'
      six Specs, into the database that 'run' and 'bench' use
  morello precompute 'max:{1..64}x1000:f32' move:512x512:f32:dst=[1,0] --jobs 2
  morello precompute 'matmul:{256..1024..256}x512x512:f32' --db shipped.sqlite
  morello precompute 'matmul:{1..512..ladder}x512x512:f32' --programs --db small.sqlite
      sizes 2^x and 3·2^x; only what answers these Specs is stored, packed
  morello precompute 'max:{1..64}x1000' --target avx2 --shard 2/8 --db 2.sqlite
      the second of eight machines; then morello db merge *.sqlite
"""
