# SPDX-License-Identifier: GPL-2.0-only
"""Settings of Sphinx for the two books. `make docs` in the folder above builds them."""

import re

from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)

project = "vgpu"
author = "the authors of vgpu"
root_doc = "index"
# Literal blocks are commands, drawings and logs, in no one language.
highlight_language = "none"
smartquotes = False

html_theme = "alabaster"
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
html_theme_options = {"page_width": "1100px"}

man_pages = [
    ("admin/index", "vgpu-admin", "how to export devices to guests", author, 7),
    ("internals/index", "vgpu-internals", "how vgpu works", author, 7),
]
man_make_section_directory = False

DOCUMENTS = re.compile(r"Documentation/(?P<name>[\w/]+)\.rst(#(?P<section>.*))?")


def link_documents(app, doctree, docname):
    """Makes links to files of Documentation, as CONTRIBUTING.rst has them, lead to their pages."""
    for node in doctree.findall(nodes.reference):
        link = DOCUMENTS.fullmatch(node.get("refuri", ""))
        if not link:
            continue
        if link["name"] not in app.env.found_docs:
            logger.warning("no document: %s", link["name"], location=node)
            continue
        sections = [name for section in app.env.get_doctree(link["name"]).findall(nodes.section) for name in section["ids"]]
        if link["section"] and link["section"] not in sections:
            logger.warning("no section: %s", link[0], location=node)
        node["refuri"] = app.builder.get_relative_uri(docname, link["name"]) + ("#" + link["section"] if link["section"] else "")
        node["internal"] = True


def setup(app):
    app.connect("doctree-resolved", link_documents)
