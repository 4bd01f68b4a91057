"""Products with weights of 4 bits as PyTorch packs them for CPUs: `with_int4_products`.

torchao's models call such a product as one op, the only reader of its weights. It
becomes a call of the kernel of `morello.weights.ScaledWeights`, which reads copies of
the weights in the layouts that are best for it.
"""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch.fx import GraphModule, Node

from morello.compiler.compile import compile
from morello.compiler.kernel import Kernel
from morello.errors import MorelloError
from morello.runtime.calls.call_table import CallTable
from morello.runtime.calls.machine_call import on_addresses
from morello.torch.group import log, threads_of
from morello.torch.native_call import Weights
from morello.torch.options import Options
from morello.torch.worker import patience, submit
from morello.weights.packed_words import from_torch_int4
from morello.weights.scaled import Array, ScaledWeights

_PRODUCT: Any = torch.ops.aten._weight_int4pack_mm_for_cpu.default

_BLOCKS = {"AVX2": 32, "AVX512": 64}
"""Columns of a block of packed weights, by what PyTorch says of the CPU."""

_DTYPES: dict[torch.dtype, Any] = {
    torch.float32: np.float32,
    torch.float16: np.float16,
    torch.bfloat16: ml_dtypes.bfloat16,
}

_PACKED, _SCALES = 1, 3
"""The places of the arguments that are packed integers, and scales and zeros."""


def with_int4_products(
    graph: GraphModule, weights: Collection[Node], options: Options
) -> "list[Int4Product]":
    """Replace products with packed weights, in place, by what is to be started.

    Args:
        graph: of ATen's ops, with static shapes.
        weights: the arguments of the graph that are parameters and buffers.
        options: of the user.
    """
    block = _BLOCKS.get(torch.backends.cpu.get_cpu_capability())
    products: list[Int4Product] = []
    for node in graph.graph.find_nodes(op="call_function", target=_PRODUCT):
        x, packed, scales = (node.args[place] for place in (0, _PACKED, _SCALES))
        rows = x.meta["val"]
        fits = rows.device.type == "cpu" and rows.dtype in _DTYPES and rows.numel()
        if block is None or not fits or not {packed, scales} <= {*weights}:
            continue
        # Eager has vectors for narrow activations alone: others are worth it that each
        # call reads the weights twice.
        if not options.packs and rows.dtype is not torch.float32:
            continue
        layer = _layer(packed.meta["val"], scales.meta["val"])
        product = Int4Product(len(rows), layer, block, options)
        product.__name__ = f"int4_product{len(products)}"
        product.__module__ = __name__
        node.target = product
        products.append(product)
    return products


def _layer(packed: Any, scales: Any) -> ScaledWeights:
    """Weights of the shapes of tensors that have no memory."""
    (n, half), groups = packed.shape, len(scales)
    of_groups = np.zeros((), _DTYPES[scales.dtype])
    return ScaledWeights(
        np.broadcast_to(np.uint8(0), (half, n)),
        np.broadcast_to(of_groups, (groups, n)),
        8,
        np.broadcast_to(of_groups, (groups, n)),
        bits=4,
    )


@dataclasses.dataclass(frozen=True)
class _Copies:
    """Copies of packed weights as a kernel reads them."""

    kernel: Kernel
    block: int

    def arrays(self, weights: Mapping[int, Array]) -> tuple[Array, ...]:
        """Scales, integers and zeros in the layouts of the kernel."""
        layer = from_torch_int4(weights[_PACKED], weights[_SCALES], self.block)
        return tuple(
            self.kernel.pack(array, name)
            for name, array in zip(_operands(layer), layer.arguments, strict=True)
        )


def _operands(layer: ScaledWeights) -> list[str]:
    """The names of the operands that are arguments of a layer."""
    return [f"x{place + 1}" for place in range(len(layer.arguments))]


class Int4Product:
    """A product of activations with packed weights: eager until its kernel is found.

    Args:
        rows: of the activations.
        layer: weights of the shapes and dtypes of the product's.
        block: columns of a block of the packed weights.
        options: of the user.
    """

    def __init__(
        self, rows: int, layer: ScaledWeights, block: int, options: Options
    ) -> None:
        layouts = "".join(f":{name}=any" for name in _operands(layer))
        self._spec, self._columns = layer.spec(rows) + layouts, layer.shape[1]
        self._block, self._options = block, options
        self._kernel: tuple[Any, Weights] | None = None
        self.is_settled = False
        """Whether nothing more is compiled."""
        self.__name__ = "int4_product"
        """The name by which the graph around it prints it."""

    def __call__(self, x: Any, packed: Any, group: int, scales: Any) -> Any:
        """The product in the dtype of the activations."""
        if self._kernel is None:
            return _PRODUCT(x, packed, group, scales)
        run, weights = self._kernel
        held = weights.held((x, packed, group, scales))
        wide = x.float().contiguous()
        y = torch.empty((len(x), self._columns))
        run(wide.data_ptr(), *held.addresses, y.data_ptr())
        return y.to(x.dtype)

    @property
    def is_compiled(self) -> bool:
        """Whether calls run a kernel."""
        return self._kernel is not None

    def start(self) -> None:
        """Compile it in the background, or now if the user waits."""
        future = submit(self._compile)
        if self._options.wait:
            future.result()

    def _compile(self) -> None:
        try:
            self._take(self._searched())
        except MorelloError as error:
            log.warning("a product with packed weights stays eager: %s", error)
        self.is_settled = True

    def _searched(self) -> Kernel:
        options = self._options
        return compile(
            self._spec,
            target=options.target,
            threads=threads_of(options),
            db=options.database,
            tune=options.tune,
            time_limit=patience(options.time_limit),
        )

    def _take(self, kernel: Kernel) -> None:
        """Call a kernel from now on."""
        table = CallTable(
            kernel.address,
            kernel.parameters,
            kernel.workspace_bytes,
            kernel.threads,
        )
        copies = _Copies(kernel, self._block)
        weights = Weights(copies, (_PACKED, _SCALES), self._options.freeze)
        self._kernel = on_addresses(table), weights
        log.info("compiled a product with packed weights: %s", kernel.spec)
