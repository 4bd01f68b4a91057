"""What part of the peak of its core a program reaches, if nobody else uses the core."""
