"""Words, tables and pages: how results are shown."""
