"""Programs that others wrote, as linalg on tensors or StableHLO: `from_mlir`.

    text or bytes -> linalg/reading.py    every op is a `linalg.generic`
                  -> linalg/importing.py  a DAG of tensors (`nodes/tensors.py`)
                  -> nodes/pointwise.py   maps that are read once are one expression
                  -> nodes/channels_last.py, nodes/prepared.py  layouts; constants
                  -> grouping/groups.py   nodes that become one graph
                  -> grouping/parts.py    each group as a Spec
                  -> grouping/emission.py one function of all Specs, one workspace

`model.py` has what a user gets. What has no Spec is a `Refusal` (`refusals.py`); all of
a model are reported at once.
"""
