"""Measurements next to peers; `python -m benchmarks` runs them all."""
