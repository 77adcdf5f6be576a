"""The subcommands, one file each; cli.py finds them by their files' names.

A file holds a function of its own name, or a Typer application `app` where the command has subcommands. It parses the
command line, calls an analysis and hands the result to a report.
"""
