# SPDX-License-Identifier: GPL-2.0-only
"""Settings of Sphinx for the two books. `make docs` in the folder above builds them."""

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
