"""The ops of actions that make loops."""
