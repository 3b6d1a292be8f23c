#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Lets storeys.py find uses that run up in a tree of two storeys. Prints TAP."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import storeys
from unit_tap import main

FILES = {
    'tree/low/a.c': '#include "low/a.h"\n',
    'tree/low/a.h': '',
    'tree/high/b.c': '#include <tree/main.h>\n#include "low/a.h"\n#include "b.h"\n',
    'tree/high/b.h': '',
    'tree/main.c': '#include "high/b.h"\n#include "main.h"\n',
    'tree/main.h': '',
    'tree/inner/c.c': '#include "c.h"\n',
    'tree/inner/c.h': '',
}


class Storeys(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        self.addCleanup(setattr, storeys, 'STOREYS', storeys.STOREYS)
        self.addCleanup(setattr, storeys, 'CIRCLES', storeys.CIRCLES)
        os.chdir(folder.name)
        storeys.STOREYS = {'tree': ['low', 'high'], 'tree/inner': []}
        storeys.CIRCLES = {}
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name, text):
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, 'w', encoding='utf-8') as file:
            file.write(text)

    def includes(self):
        return storeys.check_includes(sorted(FILES) + ['other/x.c'])

    def test_downwards(self):
        self.assertEqual([], self.includes())

    def test_upwards(self):
        for name in ('high/b.h', '../high/b.h', 'main.h', '../main.h'):
            self.write('tree/low/a.c', f'#include "{name}"\n')
            found = self.includes()
            self.assertEqual(1, len(found), name)
            self.assertIn('tree/low/a.c: uses ', found[0])

    def test_other_trees(self):
        self.write('userspace-lib/tree/high/b.h', '')
        self.write('userspace-lib/tree/low/a.c', '')
        storeys.STOREYS = {'userspace-lib/tree': ['low', 'high']}
        source = 'userspace-lib/tree/low/a.c'
        self.assertEqual([], storeys.check_includes([source]))
        self.write(source, '#include "tree/high/b.h"\n')
        self.assertEqual(1, len(storeys.check_includes([source])))

    def test_headers_count(self):
        self.write('tree/low/a.h', '# include "high/b.h"\n')
        self.assertEqual(1, len(self.includes()))

    def test_unknown_folder(self):
        FILES['tree/new/d.c'] = ''
        self.addCleanup(FILES.pop, 'tree/new/d.c')
        for text in ('', '#include "low/a.h"\n', '#include "d.h"\n'):
            self.write('tree/new/d.c', text)
            self.assertEqual(['tree/new/d.c: its folder is no storey of tree'], self.includes())

    def test_folder_that_is_gone(self):
        storeys.STOREYS['tree'].append('gone')
        self.assertEqual(['tree/gone: there is no such folder'], self.includes())

    def test_symbols(self):
        said = ['tree/low/a.o:0000000000000010 T a_make\n', 'tree/low/a.o:                 U kmalloc\n',
                'tree/high/b.o:                 U a_make\n', 'tree/high/b.o:0000000000000000 D b_ops\n',
                'tree/inner/c.o:0000000000000000 T c_make\n', 'tree/tree.o:0000000000000000 T b_make\n']
        self.assertEqual([], storeys.check_symbols(said))
        self.assertEqual(['tree/low/a.c: uses high/b.c, which is above it (b_ops)'],
                         storeys.check_symbols(said + ['tree/low/a.o:                 U b_ops\n']))
        self.assertEqual([], storeys.check_symbols(said + ['tree/high/b.o:                 U c_make\n']))

    def test_circles(self):
        self.write('tree/low/c.c', '')
        defined = [f'tree/{file}.o:0000000000000000 T {name}\n' for file, name in
                   (('low/a', 'a_make'), ('low/c', 'c_make'), ('high/b', 'b_make'))]
        said = defined + [f'tree/{file}.o:                 U {name}\n' for file, name in
                          (('low/a', 'c_make'), ('high/b', 'a_make'), ('high/b', 'b_make'))]
        self.assertEqual([], storeys.check_symbols(said))
        said.append('tree/low/c.o:                 U a_make\n')
        circle = 'tree: low/a.c, low/c.c: use each other in a circle'
        self.assertEqual([circle], storeys.check_symbols(said))
        storeys.CIRCLES = {'tree': [{'low/c.c', 'low/a.c'}]}
        self.assertEqual([], storeys.check_symbols(said))
        storeys.CIRCLES = {'tree': [{'low/c.c', 'low/a.c', 'high/b.c'}]}
        self.assertEqual(['tree: high/b.c: in no circle; shorten CIRCLES in storeys.py'],
                         storeys.check_symbols(said))
        storeys.CIRCLES = {'tree': [{'low/a.c', 'high/b.c'}]}
        self.assertEqual(2, len(storeys.check_symbols(said)))

    def test_errors(self):
        said = ['cc: error: a.c\n', 'tree/low/a.o:0000000000000010 T a_make\n']
        self.assertEqual(['cc: error: a.c'], storeys.check_symbols(said))

    def test_no_objects(self):
        self.assertEqual(['no object of any tree'], storeys.check_symbols(['other.o:0 T f\n']))


if __name__ == "__main__":
    main("storeys")
