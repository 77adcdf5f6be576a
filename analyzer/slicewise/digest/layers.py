"""Which layers of the I/O stack add up: decided in schema/enums.def, and taken from there here and nowhere else.

A layer that lies on another moves the same bytes again: stdio and requests bypass the POSIX calls that are interposed,
so these three add up; MPI-IO ends in one of them, and the kernel counts all of them once more.
"""

import polars as pl

from slicewise.contract import layers_of

# Layers whose times are those of the program's own threads.
CALL_LAYERS = layers_of("call")
# Requests are under way while the program computes: their bytes add to the calls', their times do not.
(REQUEST_LAYER,) = layers_of("request")
OWN_LAYERS = (*CALL_LAYERS, REQUEST_LAYER)
MPIIO_LAYERS = layers_of("mpiio")
(KERNEL_LAYER,) = layers_of("kernel")
# The layers that add up, where only their sum is known: of a job that a catalog keeps.
ALL_LAYERS = "all"


def is_own() -> pl.Expr:
    """A filter for the table `slices`: rows of layers that add up to what a process moved."""
    return pl.col("layer").is_in((*OWN_LAYERS, ALL_LAYERS))


def is_call() -> pl.Expr:
    """A filter for the table `slices`: rows whose times add up to threads' time in calls; requests are left out."""
    return pl.col("layer").is_in(CALL_LAYERS)
