"""Programs that others wrote."""
