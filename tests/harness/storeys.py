#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""storeys.py includes FILE...
nm -gA OBJECT... | storeys.py symbols

Checks that code uses only its own storey and lower ones. A storey is a folder of one of the trees
below; the files in a tree's own folder are its top storey. "includes" reads the #include lines of
the given sources. "symbols" reads the symbols of objects, whose paths are those of their sources:
an object uses the object that defines one of its undefined symbols.

Prints each use that runs up, and each folder that is no storey of its tree. "symbols" also prints
the files that use each other in a circle, and are not in CIRCLES.
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

# Files that use each other in a circle, in each tree. The lists should only become shorter.
CIRCLES = {
    # An ioctl gives files, whose operations have that ioctl.
    'drivers/guest': [{'file/file.c', 'file/ioctl.c', 'file/proxy.c'}],
    # A window ends its bindings, which hold it; a binding's work item uses the binding.
    'drivers/host': [{'window/ahead.c', 'window/binding.c', 'window/resolve.c', 'window/touch.c', 'window/window.c',
                      'window/window_fault.c', 'window/window_file.c'}],
    'userspace-lib/vgpud': [
        {'config/config.c', 'config/group.c', 'config/guestfile.c', 'config/guests.c', 'config/limits.c'},
        {'engines/denial.c', 'engines/engine.c', 'engines/init.c', 'engines/lasting.c', 'engines/limit.c', 'engines/offer.c',
         'engines/shadow.c'},
        {'export/change.c', 'export/denial.c', 'export/export.c', 'export/grant.c'},
        {'guest/peer.c', 'guest/session.c'},
        {'handshake/handshake.c', 'handshake/hello.c', 'handshake/pace.c'},
        {'keeper/keeper.c', 'keeper/process.c'}],
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


def circles(uses):
    """The sets of files that use each other in a circle. uses: the files that each file uses"""
    number, least, path, found = {}, {}, [], []

    def visit(user):
        number[user] = least[user] = len(number)
        path.append(user)
        for used in sorted(uses[user]):
            if used not in number:
                visit(used)
                least[user] = min(least[user], least[used])
            elif used in path:
                least[user] = min(least[user], number[used])
        if least[user] == number[user]:
            circle = path[path.index(user):]
            del path[path.index(user):]
            if len(circle) > 1:
                found.append(set(circle))

    for user in sorted(uses):
        if user not in number:
            visit(user)
    return found


def check_circles(tree, uses):
    """The findings about circles in a tree, and about those in CIRCLES that are there no more."""
    known, now = CIRCLES.get(tree, []), circles(uses)
    found = [f'{tree}: {", ".join(sorted(circle))}: use each other in a circle'
             for circle in now if not any(circle <= files for files in known)]
    return found + [f'{tree}: {", ".join(sorted(files - set().union(*now)))}: in no circle; shorten CIRCLES in storeys.py'
                    for files in known if files - set().union(*now)]


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
    uses = {tree: {} for tree, _ in home}
    for tree, user, name in sorted(undefined):
        if (tree, name) in home:
            used = home[tree, name]
            upward = compare(tree, user, used, name)
            found += upward
            if used != user and not upward:
                uses[tree].setdefault(used, set())
                uses[tree].setdefault(user, set()).add(used)
    for tree in sorted(uses):
        found += check_circles(tree, uses[tree])
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
