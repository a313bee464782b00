"""Hooks of mkdocs (mkdocs.yml): README.md is the home page, and headings have the anchors that code hosts give them."""

import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]


def slug(heading, separator):
    """Return the anchor of a heading: lower case, without punctuation, a separator for each space."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", separator)


def on_config(config):
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    return config


def on_files(files, config):
    files.append(File.generated(config, "index.md", content=home((ROOT / "README.md").read_text())))
    return files


def home(readme):
    """Return the README with links as seen from docs/. A link to a folder of the source becomes its name."""
    inside = re.sub(r"\]\(docs/", "](", readme)
    return re.sub(r"\[([^\]]+)\]\(((?!https?:)[\w/]+)\)", lambda link: f"{link[1]} (`{link[2]}`)", inside)
