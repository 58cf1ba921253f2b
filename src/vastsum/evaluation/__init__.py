"""Metrics, reference rows and tables."""
