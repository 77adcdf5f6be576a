"""What was seen of each process, and what the kernel counted of it."""

import polars as pl

from slicewise.digest.layers import KERNEL_LAYER, REQUEST_LAYER
from slicewise.digest.processes import DIRECTIONS
from slicewise.digest.schema import FRAMES

# Files of these types lie in memory: what is mapped of them is never fetched from or sent to storage.
TYPES_IN_MEMORY = ("tmpfs", "devtmpfs", "ramfs", "hugetlbfs", "proc", "sysfs")


def is_stored() -> pl.Expr:
    """Whether what is mapped of a mount's files is fetched from a storage."""
    return ~pl.col("type").is_in(TYPES_IN_MEMORY)


def process_coverage(slices: pl.LazyFrame, mounts: pl.DataFrame) -> pl.DataFrame:
    """The digest's frame `coverage`; without rows for an imported job, in which nobody asked the kernel."""
    if "kernel_read_bytes" not in slices.collect_schema().names():
        return pl.DataFrame(schema=FRAMES["coverage"].polars_schema)
    columns = []
    for way in DIRECTIONS:
        posix, kernel, is_request = (pl.col("layer") == layer for layer in ("posix", KERNEL_LAYER, REQUEST_LAYER))
        through = pl.col("layer").is_in(["stdio", REQUEST_LAYER])
        own, underneath, calls = pl.col(f"{way}_bytes"), pl.col(f"kernel_{way}_bytes"), pl.col(f"{way}_ops")
        columns += [
            (own.filter(posix).sum() + underneath.filter(through).sum()).alias(f"{way}_seen"),
            own.filter(kernel).sum().alias(f"{way}_kernel"),
            calls.filter(posix).sum().alias(f"{way}_calls_seen"),
            calls.filter(kernel).sum().alias(f"{way}_calls_kernel"),
            underneath.filter(kernel).sum().alias(f"{way}_storage"),
            (own.filter(is_request).cast(pl.Int64).sum() - underneath.filter(is_request).cast(pl.Int64).sum()).alias(
                f"{way}_requested"
            ),
            (calls.filter(kernel | is_request).sum() + pl.col("meta_ops").filter(posix).sum()).alias(f"{way}_touches"),
        ]
    on_storage = (pl.col("object") == "file") & is_stored()
    says_mapped = "mapped_bytes" in slices.collect_schema().names()
    mapped = pl.col("mapped_bytes").filter("is_stored").sum() if says_mapped else pl.lit(None, pl.Int64)
    return (
        slices.join(mounts.lazy().select("process", "mount", is_stored=on_storage), on=["process", "mount"], how="left")
        .group_by("process")
        .agg(*columns, has_stdio=(pl.col("layer") == "stdio").any(), mapped=mapped)
        .sort("process")
        .collect()
    )
