"""Actions on Specs with a size that each call says."""
