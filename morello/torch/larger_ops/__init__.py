"""Rules that take one family of larger ops of PyTorch apart, each."""
