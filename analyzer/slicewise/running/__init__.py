"""Running commands under the profiler, and whether that works here."""
