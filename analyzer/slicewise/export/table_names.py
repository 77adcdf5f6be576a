"""Which tables of a profile can be had, and of which of its own tables each is made."""

TABLES = {
    "slices": ("processes", "mounts", "slices"),
    "processes": ("processes",),
    "hardware": ("processes", "hardware", "events"),
    **{
        name: ("processes", name)
        for name in ("mounts", "files", "calls", "mishaps", "sites", "frames", "modules", "waits")
    },
}
