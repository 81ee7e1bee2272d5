"""Adds to the documentation's site what nobody writes: pages made of the code, and the list of decisions.

mkdocs calls the functions `on_…` while it builds.
"""

from __future__ import annotations

import re
import sys
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

CHECKOUT = Path(__file__).parent.parent
sys.path.insert(0, str(CHECKOUT))  # mkdocs loads this file by its path

from scripts.docs_reference import PAGES  # noqa: E402 - found by the line above

# There is a docs/formats, too, which has pages alone.
OUTSIDE = re.compile(
    r"\]\((?:\.\./)+(?P<path>(?!formats/\w+\.md\))"
    r"(?:systemd|config|tests|examples|daemon|drivers|formats)/[^)#]+)\)"
)

TABLE_ROW, CODE = re.compile(r"^\|.*$", re.MULTILINE), re.compile(r"`[^`\n]+`")


def on_config(config: MkDocsConfig) -> None:
    """List the decisions, each by the title of its page, and call headings as web hosts of git do."""
    config.mdx_configs["toc"]["slugify"] = anchor
    titles: list[Any] = [{_title(page): f"decisions/{page.name}"} for page in _by_number()]
    (explanations,) = (group["Explanations"] for group in config.nav or [] if "Explanations" in group)
    (decisions,) = (item for item in explanations if "Decisions" in item)
    decisions["Decisions"] = ["decisions/index.md", *titles]


def anchor(heading: str, separator: str) -> str:
    """Return what links call a heading: each blank counts, and what stands between < and > does, too."""
    return re.sub(r"[^\w\- ]", "", unescape(heading).lower()).replace(" ", separator)


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages that are made, and the files outside of docs/ that pages link to."""
    for name, text in {**PAGES, "contributing.md": _contributing, "decisions/index.md": _decisions}.items():
        files.append(File.generated(config, name, content=text()))
    linked = {path for page in files.documentation_pages() for path in OUTSIDE.findall(page.content_string)}
    for path in sorted(linked):
        files.append(File.generated(config, f"checkout/{path}", content=(CHECKOUT / path).read_bytes()))


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Let links that leave docs/ lead to the copies, one to a folder to its list, and to the README home.

    A `|` in code within a table is escaped for GitHub, and must not be for Python-Markdown.
    """
    up = "../" * page.file.src_uri.count("/")
    text = OUTSIDE.sub(rf"]({up}checkout/\g<path>)", markdown)
    text = TABLE_ROW.sub(lambda row: CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0]), text)
    return text.replace("](decisions/)", "](decisions/index.md)").replace("](../README.md)", "](index.md)")


def _title(page: Path) -> str:
    return page.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")


def _by_number() -> list[Path]:
    """Return the pages of decisions by the numbers that their titles begin with."""
    pages = (CHECKOUT / "docs" / "decisions").glob("*.md")
    return sorted(pages, key=lambda page: int(_title(page).partition(".")[0]))


def _decisions() -> str:
    lines = [f"- [{_title(page)}]({page.name})" for page in _by_number()]
    return "\n".join(["# Decisions", "", "Why it is as it is, one page each.", "", *lines, ""])


def _contributing() -> str:
    text = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.replace("](docs/", "](")
