"""The error of an export."""


class ExportError(ValueError):
    """The model cannot be exported; the message says why, and what to do instead."""
