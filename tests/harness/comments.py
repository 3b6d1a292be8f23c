#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""comments.py FILE...: prints what is wrong with the comments of C files, one fault a line.

A comment of one line is a sentence, so none of OPENINGS begins it. HOUSE has words of this project
for which the kernel has a word, and words that hide who does something; no comment has one of them. The list
only grows: add a word, and mend the comments that have it."""

import re
import sys

OPENINGS = ("What", "Of", "Where", "Whoever", "As long")
# Pattern of a word that comments must not have, and the words to write in its place.
HOUSE = {
    r"raw pages?": "PFN without struct page",
    r"entr(?:y|ies) of 2 MiB": "PMD mapping",
    r"puts? (?:\w+ ){1,6}into (?:the |its )?page tables?": "inserts a PTE",
    r"(?:is|are|was|were) put into (?:the |its )?page tables?": "a PTE is inserted",
    r"hears? of": "is notified of",
    r"whoever": "the noun",
    r"somebody|nobody|anybody": "the noun",
}

# Pattern of comments, and of strings: text in a string is no comment, whatever it looks like.
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def text_of(comment):
    """Returns the words of a comment, without the stars at the beginning of its lines."""
    return re.sub(r"\s*\n\s*\*?\s*", " ", comment.strip("/").strip("*")).strip()


def faults(source):
    """Yields the line and the fault of each comment that has one."""
    for match in TOKEN.finditer(source):
        comment = match.group()
        if comment[0] != "/":
            continue
        line = source.count("\n", 0, match.start()) + 1
        text = text_of(comment)
        if "\n" not in comment:
            for opening in OPENINGS:
                if re.match(rf"{opening}\b", text):
                    yield line, f"'{opening}' begins no sentence: {text}"
        for word, better in HOUSE.items():
            found = re.search(rf"\b(?:{word})\b", text, re.IGNORECASE)
            if found:
                yield line, f"'{found.group()}': write {better}"


def main():
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as file:
            for line, fault in faults(file.read()):
                print(f"{name}:{line}: {fault}")


if __name__ == "__main__":
    main()
