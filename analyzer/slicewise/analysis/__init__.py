"""Analyses: frames in, frames or dataclasses out; nothing is printed here."""
