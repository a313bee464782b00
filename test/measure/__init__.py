"""Measures the resources and the latencies of the node from outside (`scripts/measure`)."""
