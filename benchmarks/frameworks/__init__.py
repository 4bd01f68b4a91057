"""Models in their frameworks: ``torch.compile`` and JAX, with Morello and without."""
