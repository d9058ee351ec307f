"""Parts of a page that a command writes, between marks, so that several commands can write parts of one page."""

import re


def marked(text: str, name: str) -> str | None:
    """The part of this name with its marks; None where there is none."""
    found = re.search(_pattern(name), text, flags=re.DOTALL)
    return found[0] if found else None


def with_marked(text: str, name: str, content: str) -> str:
    """The text with this content for the part; a new part comes behind the first heading."""
    part = f"<!-- {name}: begin -->\n{content.strip()}\n<!-- {name}: end -->"
    if marked(text, name) is not None:
        return re.sub(_pattern(name), lambda _: part, text, count=1, flags=re.DOTALL)
    heading, _, rest = text.partition("\n")
    return f"{heading}\n\n{part}\n{rest}"


def _pattern(name: str) -> str:
    return rf"<!-- {re.escape(name)}: begin -->.*?<!-- {re.escape(name)}: end -->"
