"""``torch.compile`` with the backend of Morello."""
