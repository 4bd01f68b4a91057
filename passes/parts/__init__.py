"""Writers and readers of programs that several passes need."""
