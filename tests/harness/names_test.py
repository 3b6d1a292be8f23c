#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""vgpud asks no name service: all guests would wait for one that does not answer. Prints TAP.

  names_test.py VGPUD     linked with shared libraries, as it is installed"""

import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from unit_tap import main

VGPUD = sys.argv[1]
# Calls of libc that use nsswitch.conf or the resolver, by themselves or for others: users, groups, shadow and their lists;
# hosts, networks, services, protocols, RPC; netgroups; mail aliases and keys; what opens ~ or names whom it connects to.
# Those that read a file that they are given, as fgetpwent(), are none.
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
    """What it has of libraries."""
    out = subprocess.run(["nm", "-D", "--undefined-only", "--without-symbol-versions", program], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[-1] for line in out.splitlines()}


class Names(unittest.TestCase):
    def test_list(self):
        """It has the calls that a program could have, and not those that look like them."""
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
        """One that does is found: vgpuctl shows users by their names."""
        self.assertIn("getpwuid", filter(ASKS.fullmatch, called(VGPUD.replace("vgpud/vgpud", "vgpuctl/vgpuctl"))))


main("names")
