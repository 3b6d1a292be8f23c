#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes a picture of a terminal's screen, such as the one of vgpuctl top in the documents.

  screen.py ALT <SCREEN >PICTURE.svg

SCREEN is what tmux prints of a screen with its attributes: tmux capture-pane -e -p. ALT says what the
picture shows. A recording of util-linux's script comes to such a screen so:

  tmux new-session -d -s picture -x 100 -y 16 "cat RECORDING; sleep 9"
  tmux capture-pane -e -p -t picture"""

import html
import re
import sys

# Size of a character in the picture's units, and the space around the screen.
WIDTH, HEIGHT, SPACE = 8.4, 18, 12
PAPER, INK = "#1c1c1c", "#e4e4e4"
ATTRIBUTES = re.compile(r"\x1b\[([0-9;]*)m")


def runs(line, state):
    """Splits a line of the screen at changes of attributes. Yields the column, the text and whether it is
    reversed and bold; state: attributes, which go on in the next line"""
    column, at = 0, 0
    for match in [*ATTRIBUTES.finditer(line), None]:
        text = line[at:match.start() if match else len(line)]
        # What a terminal does not show, such as the change to its other character set.
        text = re.sub(r"\x1b[()].|[\x00-\x1f]", "", text)
        if text:
            yield column, text, state["reverse"], state["bold"]
        column += len(text)
        if match:
            at = match.end()
            for code in match[1].split(";"):
                if code in ("", "0"):
                    state.update(reverse=False, bold=False)
                elif code in ("7", "27"):
                    state["reverse"] = code == "7"
                elif code in ("1", "22"):
                    state["bold"] = code == "1"


def picture(lines, alt):
    """Returns lines of SVG."""
    columns = max(len(ATTRIBUTES.sub("", line)) for line in lines)
    width, height = round(columns * WIDTH + 2 * SPACE), len(lines) * HEIGHT + 2 * SPACE
    alt = html.escape(alt)
    yield "<!-- SPDX-License-Identifier: GPL-2.0-only -->"
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
           f'role="img" aria-label="{alt}">')
    yield f"<title>{alt}</title>"
    yield f'<rect width="{width}" height="{height}" rx="6" fill="{PAPER}"/>'
    yield f'<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" fill="{INK}">'
    state = {"reverse": False, "bold": False}
    for row, line in enumerate(lines):
        for column, text, reverse, bold in runs(line, state):
            x, y = SPACE + column * WIDTH, SPACE + row * HEIGHT
            if reverse:
                yield f'<rect x="{x:.1f}" y="{y}" width="{len(text) * WIDTH:.1f}" height="{HEIGHT}"/>'
            style = (f' fill="{PAPER}"' if reverse else "") + (' font-weight="bold"' if bold else "")
            # Each word has its place and length, so columns are straight in any font.
            for word in re.finditer(r"\S+(?: \S+)*", text):
                yield (f'<text x="{x + word.start() * WIDTH:.1f}" y="{y + 14}" textLength="{len(word[0]) * WIDTH:.1f}"{style}>'
                       f"{html.escape(word[0])}</text>")
    yield "</g>"
    yield "</svg>"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lines = sys.stdin.read().rstrip("\n").split("\n")
    print("\n".join(picture(lines, sys.argv[1])))


if __name__ == "__main__":
    main()
