"""Morello: from a Spec to the fastest x86 kernel that can be proved right."""

from morello._version import __version__

__all__ = ["__version__"]
