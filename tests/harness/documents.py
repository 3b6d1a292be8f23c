#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Finds mistakes in the documents that Sphinx does not see: long lines of text, paths of files and
cases of tests that are not there, source files that the map does not name, and a table of drivers
that is older than the schemas. Prints one line for each mistake."""

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import compatibility
import ordeals

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
WIDTH = 80
MAP = "Documentation/internals/map.rst"
# Folders of which the map names each source file.
MAPPED = ("drivers/", "userspace-lib/")
SOURCES = (".c", ".S")
# Paths of this tree in text, without those that stand for several files.
PATH = re.compile(r"``((?:drivers|userspace-lib|uapi|tests|Documentation)/[^`\s*<>]*)``")
TESTS = "tests/selftests/"
# A case of a test, such as ``mock_file: seek``; it may be on two lines.
CASE = re.compile(r"``([a-z]+_[a-z0-9_]+(?:\.sh)?):\s+([^`]+)``")
# Cases in a test, such as TEST(case), TEST_F(fixture, case) and DIFF_TEST(case), and in a script.
CASE_C = re.compile(r"^\w*TEST\w*\((?:\w+,\s*)?(\w+)", re.M)
CASE_SH = re.compile(r'\bcheck "([^"]*)"')
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
ORDEAL = re.compile(r"``(ordeal_\w+)``")


def indent(line):
    return len(line) - len(line.lstrip(" "))


def long_lines(lines):
    """Returns the numbers of lines of text that are too long. Literal blocks and single words,
    such as addresses of links, may be as long as they are."""
    found = []
    literal = None      # indentation of the paragraph that introduced a literal block
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if literal is not None and indent(line) > literal:
            continue
        literal = None
        if line.endswith("::") or re.match(r" *\.\. (code-block|parsed-literal|literalinclude)::", line):
            literal = indent(line)
        if len(line) > WIDTH and len(line.split()) > 1:
            found.append(number)
    return found


def missing_paths(lines, files):
    """Returns the number of the line, and the path, of each path that is neither a file, nor a
    folder, nor a program that is built from a file of its name."""
    return [(number, path) for number, line in enumerate(lines, 1) for path in PATH.findall(line)
            if path not in files and path + ".c" not in files and "/build/" not in path and
            not any(file.startswith(path.rstrip("/") + "/") for file in files)]


def cases(name, text):
    """Returns the names of the cases in a test of that name and text. In a shell script these are also
    the parts of a name between colons and variables."""
    if not name.endswith(".sh"):
        return set(CASE_C.findall(text))
    found = CASE_SH.findall(text)
    return set(found).union(*(re.split(r": | (?=\$)", case) for case in found))


def missing_cases(text, tests, known):
    """Returns the tests and cases that are named in text and are not there. tests: texts of the
    tests, by name. known: names of the ordeals."""
    found = []
    for name, case in CASE.findall(text):
        case = " ".join(case.split())
        if case not in cases(name, tests.get(name, "")):
            found.append(f"{name}: {case}")
    return found + [name for name in ORDEAL.findall(text) if name not in known]


def mapped(lines):
    """Returns the paths of source files that the map names: the lists of names below the headings
    of folders."""
    sources = []
    folder = None
    for line, below in zip(lines, lines[1:] + [""]):
        heading = re.fullmatch(r"``([^`]+)``", line)
        if heading and re.fullmatch(r"=+", below):
            folder = heading[1]
        entry = re.match(r"\* ``([^`/]+)``: \S", line)
        if entry and folder:
            sources.append(f"{folder}/{entry[1]}")
    return sources


def map_mistakes(lines, files):
    """Returns what is wrong with the map, for a tree with these files."""
    sources = mapped(lines)
    wanted = {path for path in files if path.endswith(SOURCES) and path.startswith(MAPPED)}
    return ([f"{path} is named twice" for path in sorted(set(sources)) if sources.count(path) > 1] +
            [f"{path} is not there" for path in sorted(set(sources) - files)] +
            [f"{path} is missing" for path in sorted(wanted - set(sources))])


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read().split("\n")


def with_headers(text, headers):
    """Returns the text of a test and of all headers that it includes, which may define cases for
    several tests. headers: texts of headers, by name."""
    texts = [text]
    seen = set()
    for part in texts:
        new = [name for name in INCLUDE.findall(part) if name in headers and name not in seen]
        seen.update(new)
        texts += [headers[name] for name in new]
    return "\n".join(texts)


def selftests(files):
    """Returns the texts of the tests, by the names by which they are run."""
    texts = {path[len(TESTS):]: "\n".join(read(path)) for path in files
             if path.startswith(TESTS) and path.endswith((".c", ".h", ".sh"))}
    return {re.sub(r"\.c$", "", name): with_headers(text, texts) for name, text in texts.items()
            if not name.endswith(".h")}


def main():
    out = subprocess.run(["git", "ls-files"], cwd=TOP, check=True, stdout=subprocess.PIPE, text=True).stdout
    files = {path for path in out.split("\n") if path and os.path.exists(os.path.join(TOP, path))}
    tests = selftests(files)
    for path in sorted(path for path in files if path.endswith(".rst")):
        lines = read(path)
        for missing in missing_cases("\n".join(lines), tests, ordeals.ORDEALS):
            print(f"{path}: no test is called {missing}")
        for number in long_lines(lines):
            print(f"{path}:{number}: more than {WIDTH} columns")
        for number, missing in missing_paths(lines, files):
            print(f"{path}:{number}: {missing} is not there")
    for mistake in map_mistakes(read(MAP), files):
        print(f"{MAP}: {mistake}")
    for mistake in compatibility.mistakes():
        print(mistake)


if __name__ == "__main__":
    main()
