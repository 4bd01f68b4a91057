"""Products with weights as they are stored, beside the runtimes that have them."""
