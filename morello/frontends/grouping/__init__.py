"""Groups of nodes as Specs, and the function that runs them one after another."""
