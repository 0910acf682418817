"""The one exception that reaches a user: a sentence that says what is wrong and what to do about it."""


class UserError(Exception):
    """Bad input or a condition that the user can mend. The front door prints the sentence and exits with status 2."""
