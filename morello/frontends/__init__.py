"""Programs that others wrote, as linalg on tensors or StableHLO: `from_mlir`.

    text or bytes -> reading.py    linalg on tensors, every op a `linalg.generic`
                  -> importing.py  a DAG of tensors (`tensors.py`): reductions and maps
                  -> pointwise.py  maps that are read once become one expression
                  -> channels_last.py, prepared.py  layouts; what is known beforehand
                  -> groups.py     nodes that become one graph
                  -> parts.py      each group as a Spec
                  -> emission.py   one function of all Specs, one workspace

`model.py` has what a user gets. What has no Spec is a `Refusal` (`refusals.py`); all of
a model are reported at once.
"""
