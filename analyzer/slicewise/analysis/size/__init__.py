"""Bandwidth and latency by transfer size: what a size costs, and which one to take."""
