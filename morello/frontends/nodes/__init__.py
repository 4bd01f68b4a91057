"""A program as a DAG of tensors, and the passes that rewrite it."""
