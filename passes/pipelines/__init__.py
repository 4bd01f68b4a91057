"""From the text of a pipeline to passes that run."""
