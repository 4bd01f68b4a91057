"""The MLIR dialects of Morello: ``morello`` and ``morello_transform``."""
