"""Reading linalg on tensors and StableHLO: text to a DAG of tensors."""
