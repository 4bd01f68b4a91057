"""Threads, forks, signals and interpreters of the process that Morello runs in."""
