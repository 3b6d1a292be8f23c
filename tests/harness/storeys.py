#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""storeys.py includes FILE...
nm -gA OBJECT... | storeys.py symbols

Checks that code uses only its own storey and lower ones. A storey is a folder of one of the trees
below; the files in a tree's own folder are its top storey. "includes" reads the #include lines of
the given sources. "symbols" reads the symbols of objects, whose paths are those of their sources:
an object uses the object that defines one of its undefined symbols.

Prints each use that runs up, and each folder that is no storey of its tree.
"""

import os
import re
import sys

# The storeys of each tree, the lowest first.
STOREYS = {
    'drivers/guest': ['base', 'argument', 'link', 'memory', 'file', 'node'],
    'drivers/host': ['base', 'peer', 'object', 'window', 'session', 'memory', 'call', 'agent'],
    'userspace-lib/engine': ['base', 'guest', 'process', 'object', 'memory', 'session'],
    'userspace-lib/engine/shadow': ['base', 'thread', 'lane', 'memory', 'call'],
    'userspace-lib/engine/keeper': [],
    'userspace-lib/engine/master': [],
    'userspace-lib/vgpud': ['base', 'config', 'device', 'ioctls', 'process', 'keeper', 'engines', 'host', 'guest', 'export',
                            'handshake', 'reload', 'request'],
}

SYMBOL = re.compile(r'(?P<path>[^:]+)\.o:[0-9a-f ]+ (?P<kind>\S) (?P<name>\S+)')
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def tree_of(path):
    """The innermost tree that path lies in, and the path within it; None without a tree."""
    for tree in sorted(STOREYS, key=len, reverse=True):
        if path.startswith(tree + '/'):
            return tree, path[len(tree) + 1:]
    return None, path


def storey(tree, path):
    """The number of the storey that a file of the tree lies in, or None for an unknown folder."""
    folder = path.split('/')[0] if '/' in path else None
    if folder is None:
        return len(STOREYS[tree])
    if folder not in STOREYS[tree]:
        return None
    return STOREYS[tree].index(folder)


def compare(tree, user, used, why):
    """The finding about the use of one file by another, if it runs up."""
    numbers = storey(tree, user), storey(tree, used)
    if None in numbers or numbers[0] >= numbers[1]:
        return []
    return [f'{tree}/{user}: uses {used}, which is above it ({why})']


def check_includes(sources):
    """The findings about folders and #include lines."""
    found = [f'{tree}/{folder}: there is no such folder' for tree, folders in STOREYS.items()
             for folder in folders if not os.path.isdir(os.path.join(tree, folder))]
    for source in sources:
        tree, user = tree_of(source)
        if tree is None:
            continue
        if storey(tree, user) is None:
            found.append(f'{source}: its folder is no storey of {tree}')
            continue
        with open(source, encoding='utf-8') as text:
            names = INCLUDE.findall(text.read())
        for name in names:
            # The folders that compilers search: the source's own, the tree's, and userspace-lib.
            for folder in (os.path.dirname(source), tree, 'userspace-lib'):
                used = os.path.normpath(os.path.join(folder, name))
                if os.path.exists(used):
                    if tree_of(used)[0] == tree:
                        found += compare(tree, user, tree_of(used)[1], '#include')
                    break
    return found


def check_symbols(lines):
    """The findings about symbols, of lines that nm -gA has printed. Other lines are findings."""
    home, undefined, found = {}, set(), []
    for line in lines:
        symbol = SYMBOL.fullmatch(line.rstrip('\n'))
        if not symbol:
            found.append(line.rstrip('\n'))
            continue
        tree, user = tree_of(symbol['path'])
        user += '.c'
        if tree is None or not os.path.exists(os.path.join(tree, user)):
            continue
        kind, name = symbol['kind'], symbol['name']
        if kind in 'Uvw':
            undefined.add((tree, user, name))
        else:
            home[tree, name] = user
    if not home:
        found.append('no object of any tree')
    for tree, user, name in sorted(undefined):
        if (tree, name) in home:
            found += compare(tree, user, home[tree, name], name)
    return found


def main():
    """Prints the findings."""
    found = []
    if sys.argv[1] == 'includes':
        found = check_includes(sys.argv[2:])
    else:
        found = check_symbols(sys.stdin)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
