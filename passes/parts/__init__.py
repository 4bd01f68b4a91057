"""What passes are made of: writers and readers of programs that several need."""
