"""Parameters of the compiled functions, for code that builds or calls their entries."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Parameter:
    """An integer, or an array without gaps.

    Args:
        dtype: NumPy's name of its elements.
        rank: how many axes it has; 0 for an integer.
    """

    dtype: str
    rank: int

    @property
    def words(self) -> int:
        """How many integers pass a parameter: an address and lengths, or the number
        itself."""
        return 1 + self.rank


_N = Parameter("int64", 0)
_F = Parameter("float64", 1)
_FF = Parameter("float64", 2)
_S = Parameter("int32", 1)
_B = Parameter("int8", 1)
_T = Parameter("bool_", 1)
_W = Parameter("int64", 1)
_WW = Parameter("int64", 2)

FUNCTIONS: dict[str, tuple[str, tuple[Parameter, ...]]] = {
    "gather": ("gather", (_F, _S, _F, _N, _N, _WW, _WW)),
    "gather_totals": ("gather", (_F, _N, _N, _W, _WW)),
    "gather_counts": ("gather", (_F, _F, _N, _N, _WW, _WW)),
    "sweep": ("tiling", (_F, _S, _F, _F, _S, _N, _WW, _WW)),
    "sweep_around": ("tiling", (_F, _S, _F, _S, _WW, _WW, _T)),
    "equal_columns": ("tiling", (_FF, _W, _W)),
    "sweep_class": ("classes", (_F, _S, _F, _F, _T, _N, _WW, _WW)),
    "reach_loops": ("classes", (_F, _F, _F, _F, _F, _F, _F, _N, _WW, _WW)),
    "reach_holes": ("classes", (_F, _F, _F, _F, _F, _N, _N, _W, _WW, _WW)),
    "sweep_counts": ("counting", (_F, _F, _F, _F, _WW, _WW)),
    "cover_labels": ("label_cover", (_S, _W, _N, _S, _B, _S, _WW, _WW, _W, _S, _S)),
    "cover_costs": (
        "cost_cover",
        (_F, _S, _W, _N, _W, _W, _F, _B, _S, _WW, _W, _W, _S, _S, _W),
    ),
    "paint_labels": ("box_paint", (_S, *[_W] * 4, _S, _S)),
    "paint_costs": ("box_paint", (_F, _W, _W, _N, *[_W] * 4, _S, _W, _N)),
}
"""The functions that the rest of the search calls: their module and parameters. Each
answers an integer."""

USUAL = ("gather", "sweep", "equal_columns", "cover_labels", "cover_costs")
"""Functions that every search calls."""

CLASSES = (
    "gather_totals",
    "reach_loops",
    "reach_holes",
    "sweep_class",
    "paint_labels",
    "paint_costs",
)
"""Functions that reading tables and programs of different classes call besides."""
