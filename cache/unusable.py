"""The one error of a log that can't be used."""


class StoreUnusable(Exception):
    """Redis can't be reached, refuses what it is asked, or answers nonsense.

    The message names the kind of failure, never an address or what the server sent.
    """
