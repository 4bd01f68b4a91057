"""The ops of actions that take graphs apart."""
