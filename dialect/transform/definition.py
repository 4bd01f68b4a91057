"""The ``morello_transform`` dialect."""

from morello.dialect.definition import DialectBase


class MorelloTransform(DialectBase, name="morello_transform"):
    """One op an action: what a schedule is written with."""
