"""Ops that are no Spec, by upstream's plain lowering: loops over elements.

work.py       whether an op's work is linear in its elements: taken unasked
fallback.py   the tensors of an importer that plain code computes
outlining.py  an op as a function of its own
lowering.py   that function as loops on memrefs
evaluating.py the same run by itself, as the definition
"""
