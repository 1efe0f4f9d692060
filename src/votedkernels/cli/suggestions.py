"""What a user may have meant by a name that does not exist."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question followed by a space, or an empty string if no known name is similar.

    >>> did_you_mean("Ages", ["weight", "age"])
    "did you mean 'age'? "
    """
    lower = {word.lower(): word for word in known}
    close = get_close_matches(name.lower(), lower, n=1)
    return f"did you mean {lower[close[0]]!r}? " if close else ""
