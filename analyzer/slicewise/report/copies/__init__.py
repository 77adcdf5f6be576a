"""How many copies of a job may run side by side, as sentences, tables, texts for schedulers, JSON and a page."""
