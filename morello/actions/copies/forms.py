"""Forms that kernels ask for operands in (`Kernel.forms`): what moves are tried for."""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache

from morello.actions.base import near_form
from morello.kernels import KERNELS, Kernel, kernels_for
from morello.machine import Target
from morello.spec import Compose, Dtype, Form, Kind, Layout, Memory, SpecKey, TensorSpec
from morello.spec.graphs.scaled import scaled_part, scaled_product
from morello.spec.mixes import dtypes_between, flushing_as, may_widen, summed_whole
from morello.spec.structure import has_several_products, products


def makes_progress(source: TensorSpec, level: Memory, form: Form) -> bool:
    """Whether a move brings an operand nearer, widens its dtype or packs it: none goes
    back."""
    if level is not source.level:
        return source.level.is_beyond(level)
    if form.dtype is not source.dtype:
        return source.dtype.widens_to(form.dtype)
    return form.layout.is_packed and not source.layout.is_packed


def asked_forms(key: SpecKey, operand: int, target: Target) -> tuple[Form, ...]:
    """The forms other than its own that kernels ask for an operand in, and may have.

    None for what is packed as asked for already, nor for what computes nothing:
    bringing it to another form is more work than the Spec is.
    """
    return _known_forms(key, operand, target.plain)


@lru_cache(maxsize=65536)
def _known_forms(key: SpecKey, operand: int, target: Target) -> tuple[Form, ...]:
    if key.kind.moves_data or not target.relayouts:
        return ()
    seen = SpecKey(key.kind, tuple(map(as_asked, key.tensors)))
    return _asked_forms(seen, operand, target.kernels)


def forms_beforehand(key: SpecKey, operand: int, target: Target) -> tuple[Form, ...]:
    """`asked_forms`, and those that kernels ask for in what is packed beforehand:
    there is no copy in programs, so that these may be without relayouts."""
    asked = asked_forms(key, operand, dataclasses.replace(target, relayouts=True))
    kernels = [KERNELS[name] for name in target.kernels]
    key, operand = _scaled_inside(key, operand)
    return (*asked, *(f for k in kernels for f in k.forms_beforehand(key, operand)))


def _scaled_inside(key: SpecKey, operand: int) -> tuple[SpecKey, int]:
    """The product of scaled integers that a key has inside, and which of its operands
    one is; the key itself where it is in none."""
    graph = key.kind.as_graph
    part = None if graph is None else scaled_part(graph)
    scaled = None if part is None else scaled_product(part.graph)
    if graph is None or part is None or scaled is None or operand not in part.values:
        return key, operand
    integers = part.values[scaled.integers]
    if integers >= len(graph.inputs) or key.tensors[integers].dtype.is_float:
        return key, operand
    kind, level = Compose.of(part.graph), key.tensors[operand].level
    tensors = tuple(
        key.tensors[value]
        if value < len(graph.inputs)
        else TensorSpec(Dtype.F32, level, Layout.row_major(value_operand.rank))
        for value, value_operand in zip(part.values, kind.operands, strict=False)
    )
    return SpecKey(kind, tensors), part.values.index(operand)


@lru_cache(maxsize=4096)
def as_asked(tensor: TensorSpec) -> TensorSpec:
    """An operand as `Kernel.forms` sees it: caches are alike, and so are tiles."""
    if tensor.level.is_registers:
        return tensor
    if tensor.level.is_cache:
        return near_form(tensor.dtype, tensor.layout)
    return TensorSpec(tensor.dtype, tensor.level, tensor.layout)


@lru_cache(maxsize=65536)
def _asked_forms(
    key: SpecKey, operand: int, kernels: tuple[str, ...]
) -> tuple[Form, ...]:
    source = key.tensors[operand]
    source_form = Form(source.dtype, source.layout)
    asking = kernels_for(type(key.kind), kernels)
    asked = {form: None for k in asking for form in k.forms(key, operand)}
    counts = key.kind.flushing or summed_whole(key.kind, key.dtypes)
    dtypes = key.dtypes if counts else ()
    by_products = _asked_by_products(key.kind, operand, source, kernels, dtypes)
    asked |= dict.fromkeys(by_products)
    if source.layout.is_packed and source_form in asked:
        return ()
    return tuple(
        form
        for form in asked
        if form != source_form
        and form.layout.rank == source.rank
        and (
            form.dtype is source.dtype
            or may_widen(key.kind, key.dtypes, operand, form.dtype)
        )
    )


@lru_cache(maxsize=65536)
def _asked_by_products(
    kind: Kind,
    operand: int,
    source: TensorSpec,
    kernels: tuple[str, ...],
    dtypes: tuple[Dtype, ...],
) -> tuple[Form, ...]:
    """Forms in which kernels ask for an operand of products inside the Spec, whatever
    the forms of the other operands.

    Args:
        dtypes: those of all operands, where products of bytes are added up in s32 or
            products flush; empty where all are taken to have that of the operand.

    Of several products, one after another, each operand has one packed form, the first:
    every form makes as many tables as there are forms of all others.
    """
    return tuple(_forms_of_products(kind, operand, source, kernels, dtypes))


def _forms_of_products(
    kind: Kind,
    operand: int,
    source: TensorSpec,
    kernels: tuple[str, ...],
    dtypes: tuple[Dtype, ...],
) -> Iterator[Form]:
    if source.level.is_registers:
        return
    several, rank = has_several_products(kind), source.rank
    dtype_of = dtypes_between(kind, dtypes) if dtypes else {}
    for inner, index in products(kind, operand):
        tensor = inner.inward(index, source)
        if tensor is None:  # neighbours lie along what the product lacks
            row_major = Layout.row_major(inner.kind.operands[index].rank)
            tensor = TensorSpec(source.dtype, source.level, row_major)
            if not source.layout.is_packed:
                layout = inner.outward(index, row_major, rank)
                assert layout is not None
                yield Form(source.dtype, layout)
        plain = (
            TensorSpec(
                dtype_of.get(value, tensor.dtype),
                tensor.level,
                Layout.row_major(inner_operand.rank),
            )
            for value, inner_operand in zip(
                inner.values, inner.kind.operands, strict=True
            )
        )
        tensors = tuple(tensor if i == index else t for i, t in enumerate(plain))
        inner_dtypes = tuple(t.dtype for t in tensors)
        inside = SpecKey(flushing_as(kind, inner.kind, inner_dtypes), tensors)
        for kernel in kernels_for(type(inside.kind), kernels):
            for form in kernel.forms(inside, index):
                layout = inner.outward(index, form.layout, rank)
                if layout is None or form.dtype is not tensor.dtype:
                    continue
                if layout.is_packed or not several:
                    yield Form(form.dtype, layout)
                if layout.is_packed and several:
                    return


def relayout_levels(key: SpecKey, target: Target) -> frozenset[Memory]:
    """The levels where an operand may take another form without moving nearer."""
    return frozenset(
        tensor.level
        for index, tensor in enumerate(key.tensors)
        if not tensor.level.is_registers
        and any(
            makes_progress(tensor, tensor.level, form)
            for form in asked_forms(key, index, target)
        )
    )


def register_forms(
    key: SpecKey, operand: int, target: Target
) -> Iterator[tuple[Memory, Dtype]]:
    """The registers in which kernels want an operand, and its dtype there, once each.

    None but those that are filled from where it is.
    """
    source = key.tensors[operand]
    wanted = dict.fromkeys(
        (kernel.register_file, kernel.register_dtype(key, operand))
        for kernel in _of_registers(target.kernels)
        if kernel.register_file.source is source.level
        and operand in kernel.register_operands(key)
    )
    for memory, dtype in wanted:
        may_take = may_widen(key.kind, key.dtypes, operand, dtype)
        if dtype is source.dtype or may_take:
            yield memory, dtype


@lru_cache(maxsize=64)
def _of_registers(kernels: tuple[str, ...]) -> tuple[Kernel, ...]:
    """The kernels that may want operands in registers: every key asks them."""
    return tuple(
        kernel
        for kernel in (KERNELS[name] for name in kernels)
        if type(kernel).register_operands is not Kernel.register_operands
    )
