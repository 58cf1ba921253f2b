"""The page of an evaluation or a bench, and its static files."""
