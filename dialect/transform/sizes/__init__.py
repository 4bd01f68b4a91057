"""The ops of actions on Specs with a size that each call says."""
