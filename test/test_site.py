"""The site of the documentation (scripts/site): all pages, and no dead link."""

import html.parser
import os
import pathlib
import shutil
import subprocess
import urllib.parse

import pytest
from support.executable import ROOT

pytestmark = pytest.mark.timeout(600)


def build(root, target):
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    return subprocess.run(
        [root / "scripts" / "site"], env=environment, capture_output=True, text=True, timeout=500, check=False
    )


class Page(html.parser.HTMLParser):
    """The links of a page, and the anchors that it has."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(attributes[name] for name in ("id", "name") if attributes.get(name))
        self.links += [attributes[name] for name in ("href", "src") if attributes.get(name)]


def dead_links(site):
    """Return the links of all pages to files or anchors of the site that are not there."""
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html")}
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            # The error page of the web server is the only one with absolute links.
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                dead.append(f"{path.name}: {link}")
            elif target in pages and parts.fragment and parts.fragment not in pages[target].anchors | {"top"}:
                dead.append(f"{path.name}: {link}: no such heading")
    return dead


def test_the_site_has_every_page_and_no_dead_link(tmp_path):
    answer = build(ROOT, tmp_path)
    assert answer.returncode == 0, answer.stderr
    home = pathlib.Path(answer.stdout.strip())
    assert "navtree is a ROS 2 node" in home.read_text()
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert pages <= {path.stem for path in home.parent.glob("*.html")}
    assert dead_links(home.parent) == []


def test_a_dead_link_fails_the_build(tmp_path):
    copy = tmp_path / "copy"
    for name in ("docs", "scripts"):
        shutil.copytree(ROOT / name, copy / name)
    for name in ("README.md", "mkdocs.yml", "Cargo.toml"):
        shutil.copy(ROOT / name, copy / name)
    page = copy / "docs" / "status.md"
    for link in ("no_such_page.md", "nodes.md#no-such-heading"):
        page.write_text((ROOT / "docs" / "status.md").read_text() + f"\n[dead]({link})\n")
        answer = build(copy, tmp_path / "target")
        assert answer.returncode == 1 and link in answer.stderr, answer.stderr
