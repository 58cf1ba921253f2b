"""How scores and summaries are measured against people."""
