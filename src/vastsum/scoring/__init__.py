"""Features and segments in, importance and its uncertainty out."""
