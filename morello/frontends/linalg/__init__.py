"""Parts of `linalg.generic`: `morello.frontends.generic` reads the whole op."""
