#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests that vgpud asks no name service: all guests would wait if a name service did not answer.
Prints TAP.

  names_test.py VGPUD     VGPUD is linked with shared libraries, as it is installed"""

import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from unit_tap import main

VGPUD = sys.argv[1]
# Functions of libc that use nsswitch.conf or the resolver, directly or not: for users, groups,
# shadow files and their lists; hosts, networks, services, protocols, RPC; netgroups; mail aliases
# and keys; the expansion of ~; connections to named hosts. Functions that read a given file, such
# as fgetpwent(), are not among them.
ASKS = re.compile(r"""
      (get|set|end)(pw|gr|sp|sg|host|net|serv|proto|rpc|alias|netgr)ent(_r)?
    | get(pw(nam|uid)|gr(nam|gid)|sp(nam)|sg(nam)|alias(byname)|login|ipnodeby(name|addr))(_r)?
    | get(host|net|serv|proto|rpc)by(name2?|addr|port|number)(_r)?
    | getgrouplist | initgroups | getpw | cuserid
    | getaddrinfo(_a)? | getnameinfo
    | setnetgrent | endnetgrent | getnetgrent(_r)? | innetgr
    | getpublickey | getsecretkey | netname2(user|host) | user2netname | host2netname
    | ether_(hostton|ntohost)
    | (__)?res_\w+
    | rcmd(_af)? | rexec(_af)? | i?ruserok(_af)?
    | wordexp | __nss_\w+ | nss_\w+
    """, re.X)


def called(program):
    """Returns the names of library functions that a program uses."""
    out = subprocess.run(["nm", "-D", "--undefined-only", "--without-symbol-versions", program], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[-1] for line in out.splitlines()}


class Names(unittest.TestCase):
    def test_list(self):
        """The pattern matches functions that ask a name service, and none with similar names."""
        for name in ("getpwnam", "getpwuid_r", "getgrgid", "getgrouplist", "initgroups", "getaddrinfo", "gethostbyname2_r",
                     "getservbyport", "setnetgrent", "innetgr", "getspnam", "getlogin_r", "getprotobynumber", "res_query",
                     "__res_init", "getpwent", "getnameinfo", "getnetbyaddr", "res_nquery"):
            self.assertTrue(ASKS.fullmatch(name), name)
        for name in ("getpid", "getgroups", "setgroups", "getpeername", "gethostname", "fgetpwent", "fgetgrent_r", "getsockname",
                     "getsockopt", "getpwnam2"):
            self.assertFalse(ASKS.fullmatch(name), name)

    def test_vgpud(self):
        names = called(VGPUD)
        self.assertIn("epoll_wait", names)
        self.assertEqual([], sorted(filter(ASKS.fullmatch, names)))

    def test_vgpuctl(self):
        """The test finds such a function in vgpuctl, which shows users by their names."""
        self.assertIn("getpwuid", filter(ASKS.fullmatch, called(VGPUD.replace("vgpud/vgpud", "vgpuctl/vgpuctl"))))


main("names")
