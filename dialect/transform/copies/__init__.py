"""The ops of actions that bring operands elsewhere, or into another form."""
