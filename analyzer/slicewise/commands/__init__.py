"""The subcommands, one file each; cli.py finds them by their files' names.

A file holds a function of its own name, or a Typer application `app` where the command has subcommands. It parses the
command line, calls an analysis and hands the result to a report. Its docstring is the help, with an example of its use.
"""

# How `slicewise --help` groups them, in the order in which one needs them. What is in no group comes last.
GROUPS = {
    "Profile jobs": ("doctor", "run", "top", "stacks", "recover", "list"),
    "Look at one job": ("report", "blame", "info", "flamegraph"),
    "Compare jobs": ("overlap", "compare", "campaign", "delta"),
    "Predict and choose": ("foretell", "copies", "model", "size", "expect", "policy"),
    "Serve a site": ("catalog", "serve-metrics", "coordinate"),
    "Files and tools": ("open", "import", "export", "merge", "config", "completion", "help"),
}
# What works although the user's file of settings has a mistake: it is how one finds out what is right.
WITHOUT_SETTINGS = ("config", "completion", "help")
