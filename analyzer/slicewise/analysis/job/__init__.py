"""What one job did: totals, times, phases, call sites."""
