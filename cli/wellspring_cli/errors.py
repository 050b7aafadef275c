"""The errors that a person is shown: a sentence that says what to do, and the exit code of its kind."""


class CliError(Exception):
    """Something the user can mend; `str()` of it is the whole message."""

    code = 1
    """What was asked for was not done."""


class WrongUse(CliError):
    """What was typed, or stands in a file, cannot be meant."""

    code = 2


class NotThere(CliError):
    """No source, post or message has this name."""

    code = 3


class NoStack(CliError):
    """There is nothing to talk to: no stack, no credentials, no local cloud."""

    code = 4


UNAVAILABLE = 5
"""AWS refused, throttled or could not be reached."""

BUG = 70
INTERRUPTED = 130
