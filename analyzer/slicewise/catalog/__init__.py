"""Many jobs' digests kept as Parquet files, partitioned by day: what is in them, how they come in, how one asks them.

The dataset is plain: polars, DuckDB and Spark read it as it is. docs/catalog.md lists its columns.
"""
