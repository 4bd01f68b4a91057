"""Graphs of maps and reductions in one pass: `rows.py` says where, `writer.py` how."""
