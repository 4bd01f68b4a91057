"""The ``morello_transform`` dialect: one op an action."""
