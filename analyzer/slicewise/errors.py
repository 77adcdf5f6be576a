"""The one kind of failure that is the user's to mend."""


class UserError(Exception):
    """What a user sees as one line with exit status 2: it names the thing, the reason and the way out. Raised anywhere,
    caught in cli.py alone. Everything else that is raised is a defect and keeps its traceback.
    """
