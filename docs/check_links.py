"""Every link of the built site that stays within it leads somewhere: `python docs/check_links.py docs/_build/html`."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the names that links may have after the sign #."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def broken_links(site: Path) -> list[str]:
    """``page: link`` for each link that leads nowhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    broken = []
    for path, page in pages.items():
        if "_modules" in path.parts:  # sources, which link to names where they are defined
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            if target.is_dir():
                target = target / "index.html"
            known = (
                pages.get(site.resolve() / target.relative_to(site.resolve()))
                if target.is_relative_to(site.resolve())
                else None
            )
            lost = not target.exists() or (
                parts.fragment and known is not None and unquote(parts.fragment) not in known.anchors
            )
            if lost:
                broken.append(f"{path.relative_to(site)}: {link}")
    return broken


if __name__ == "__main__":
    found = broken_links(Path(sys.argv[1]).resolve())
    print("\n".join(found) if found else "all links lead somewhere")
    sys.exit(bool(found))
