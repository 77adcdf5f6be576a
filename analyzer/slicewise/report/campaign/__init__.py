"""What a folder of runs shows of competition, as tables, words, a page, JSON and CSV."""
