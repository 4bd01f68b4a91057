"""Parts that the benchmarks share: cases, contenders in processes, rounds, roofs,
records.

`case` says what is computed, `worker` is the process that a contender runs in and
`process` its other end, `rounds` takes the turns, `roofs` measures the machine.
"""
