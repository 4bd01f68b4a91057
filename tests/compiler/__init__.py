"""`morello.compile` and what stands behind it: schedules, threads, packing, pins."""
