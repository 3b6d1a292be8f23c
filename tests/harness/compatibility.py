#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes the table of drivers in Documentation/admin/compatibility.rst from the schemas of the guest's
module and from the lists of ioctls of vgpud.

  compatibility.py            prints a line if the table in the document is an older one
  compatibility.py --write    replaces it"""

import glob
import os
import re
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DOCUMENT = "Documentation/admin/compatibility.rst"
BEGIN = ".. The next table is made by tests/harness/compatibility.py.\n\n"
END = "\n.. End of the table.\n"
# Schemas that every device of a kind has, those of tests, and parts of others.
NAMES = {
    "drm": "every DRM device", "v4l2": "V4L2 (cameras, codecs)", "media": "media controllers", "sound": "ALSA",
    "dma_buf": "dma-buf", "dma_heap": "DMA heaps", "udmabuf": "udmabuf",
    "sync_file": "sync_file", "uvm": "nvidia-uvm", "virtgpu": "virtio_gpu",
}
TESTS = {"mock", "mock_apart"}
# vgpud's names of lists, where they differ from those of schemas.
LISTS = {"virtgpu": "virtio_gpu", "sound": "alsa"}
# Schemas that are parts of others, or of the same kind of device.
PARTS = {"drm_mode": "drm", "i915_context": "i915", "sound_control": "sound"}


def read(pattern):
    """Returns the texts of files, joined."""
    texts = []
    for path in sorted(glob.glob(os.path.join(TOP, pattern))):
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    return "\n".join(texts)


def tables(text, kind):
    """Returns the entries of tables of this struct, by the names of the tables."""
    found = re.findall(rf"^static const struct {kind} (\w+)\[\] = \{{\n(.*?)^\}};", text, re.M | re.S)
    return {name: re.findall(r"^\t\{.*?(?=^\t\{|\Z)", re.sub(r"(?m)^\t/\*.*?\*/\n", "", body, flags=re.S), re.M | re.S)
            for name, body in found}


def schemas(text):
    """Returns for each schema the name of its table, or None."""
    found = re.findall(r"^const struct vgpu_schema vgpu_schema_(\w+) = \{\n(.*?)^\};", text, re.M | re.S)
    return {name: (re.findall(r"VGPU_IOCTLS\((\w+)\)", body) or [None])[0] for name, body in found}


def rows():
    """Returns the lines of the table: driver; ioctls that are described and refused; ioctls that
    vgpud knows by name, and those of them that give a device work."""
    text = read("drivers/guest/argument/schema/*.c")
    described, bases = tables(text, "vgpu_schema_ioctl"), schemas(text)
    known = {name.removesuffix("_ioctls"): entries
             for name, entries in tables(read("userspace-lib/vgpud/ioctls/*.c"), "ioctl").items()}
    nvidia = read("drivers/common/nvidia_ioctls.c")
    known["nvidia"], known["uvm"] = (re.findall(rf"^\t{macro}\(.*$", nvidia, re.M) for macro in ("RM", "UVM"))
    named = {LISTS.get(name, name): name for name in bases}
    lines = []
    # A driver whose ioctls vgpud knows by name may have no schema of its own.
    for name in sorted((set(bases) | {named.get(name, name) for name in known}) - TESTS - set(PARTS)):
        entries = [entry for part in bases if name in (part, PARTS.get(part)) for entry in described.get(bases[part], [])]
        refused = sum("REFUSE" in entry for entry in entries)
        names = known.get(LISTS.get(name, name), [])
        lines.append((NAMES.get(name, name), len(entries) - refused, refused, len(names),
                      sum("IOCTL_SUBMIT" in entry for entry in names)))
    return sorted(lines, key=lambda line: line[0].lower())


def table():
    """Returns the table as reStructuredText."""
    heads = ("driver or kind of device", "described", "refused", "in profiles", "work")
    lines = [[str(word) if word != 0 else "-" for word in line] for line in rows()]
    widths = [max(len(line[i]) for line in [heads, *lines]) for i in range(len(heads))]
    rule = " ".join("=" * width for width in widths)
    body = [" ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in [heads, *lines]]
    return "\n".join([rule, body[0], rule, *body[1:], rule]) + "\n"


def with_table(text):
    """Returns the text of the document with the table of this tree."""
    before, found, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return before + BEGIN + table() + END + after if found else text


def mistakes():
    """Returns what is wrong with the document."""
    with open(os.path.join(TOP, DOCUMENT), encoding="utf-8") as file:
        text = file.read()
    if BEGIN not in text or END not in text:
        return [f"{DOCUMENT}: the place of the table is missing"]
    return [] if with_table(text) == text else [f"{DOCUMENT}: the table is older than the schemas: run tests/harness/compatibility.py --write"]


def main():
    if sys.argv[1:] == ["--write"]:
        with open(os.path.join(TOP, DOCUMENT), "r+", encoding="utf-8") as file:
            text = with_table(file.read())
            file.seek(0)
            file.write(text)
            file.truncate()
    else:
        for mistake in mistakes():
            print(mistake)


if __name__ == "__main__":
    main()
