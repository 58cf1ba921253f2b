"""The bench: every method under one protocol, with the rows that published tables leave out."""
