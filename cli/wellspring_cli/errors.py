"""The one error that a user is shown: a sentence that says what to do."""


class CliError(Exception):
    """Something the user can mend; `str()` of it is the whole message."""
