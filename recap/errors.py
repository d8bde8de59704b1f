"""Errors whose message is one plain sentence that says what to do; callers may show it to people as it is."""


class RecapError(Exception):
    """Base of all errors of this library that carry a sentence for people."""


class InputError(RecapError, ValueError):
    """A picture, question or number that cannot be used."""


class TraceError(RecapError, ValueError):
    """A trace file that is broken, foreign or newer than this program."""


class ModelError(RecapError):
    """A model that cannot be loaded, or whose scores are not finite."""


class NotEnoughMemoryError(ModelError):
    """A model for which there is no room; there may be some once another one is given up."""
