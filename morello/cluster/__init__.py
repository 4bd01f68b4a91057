"""Searches on many machines: jobs are values, and so is what they answer.

- `job.py`: a search, and doing it: read this first. A job answers with its database as
  bytes, so that no file system is shared.
- `solve_all.py`: hands jobs to a `concurrent.futures.Executor` and merges what comes.
- `tune_all.py`: the same, and programs are timed where they were searched.
- `waves.py`: in which order, so that related Specs share tables.
- `dask.py`: the executor of a Dask scheduler.
- `fingerprint.py`: whether two machines have the same Morello.
"""
