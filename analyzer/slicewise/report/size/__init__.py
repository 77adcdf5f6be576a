"""Bandwidth and latency by transfer size, as sentences, tables, JSON and a page."""
