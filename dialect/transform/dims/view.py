"""The op that an action on views leaves: `build_on_views`."""

from collections.abc import Sequence

from morello.actions.dims.view import View, ViewAction
from morello.dialect.transform.action_op import Left, Site
from morello.mlir import ir


def view_at(site: Site, action: ViewAction) -> View:
    """The Specs that an action leaves of the Spec of an op, to which it applies."""
    view = action.view(site.spec.key)
    assert isinstance(view, View)
    return view


def build_on_views(site: Site, view: View, memrefs: Sequence[ir.Value]) -> Left:
    """Build the op.

    Args:
        site: of the Spec that is rewritten.
        view: of it.
        memrefs: the view of each of its operands.
    """
    return site.fill({"body": [memrefs[i] for i in view.operands]})
