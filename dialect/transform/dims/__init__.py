"""The ops of actions that change the dimensions of a Spec."""
