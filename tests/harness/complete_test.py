#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests that the completions which vgpuctl prints for bash, zsh and fish offer its commands and
options, and that its manual describes them all. Prints TAP.

  complete_test.py COMMAND...     COMMAND runs vgpuctl, such as: in-root /out/vgpuctl

bash has to be there. The scripts for zsh and fish are tested where these shells are."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from unit_tap import main

VGPUCTL = sys.argv[1:]
LIB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "userspace-lib")
COMMON = {"--json", "--socket", "--help"}
# vgpuctl as the scripts run it for words that only vgpud knows.
PLAYED = """case $* in
"completion exports") printf 'card\\nrender\\n' ;;
"completion guests") printf '3\\nweb\\n' ;;
"completion limits web") printf 'sessions=\\nlanes=\\n' ;;
esac
"""


def run(*arguments):
    return subprocess.run([*VGPUCTL, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


HELP = json.loads(run("help", "--json"))
COMMANDS = {command["name"]: command for command in HELP["commands"]}
OPTIONS = {"--" + option["name"] for option in HELP["options"]}


def options_of(command):
    return {"--" + option for option in command["options"]}


class Complete(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        played = os.path.join(self.dir, "vgpuctl")
        with open(played, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n" + PLAYED)
        os.chmod(played, 0o755)
        self.env = os.environ | {"PATH": self.dir + ":" + os.environ["PATH"], "HOME": self.dir}

    def script(self, shell):
        """Returns the path of the script for a shell; skips the test if the shell is not there."""
        if not shutil.which(shell):
            self.skipTest(f"{shell} is not installed")
        path = os.path.join(self.dir, "script." + shell)
        with open(path, "w", encoding="utf-8") as file:
            file.write(run("completion", shell))
        return path

    def output(self, *command):
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=self.env).stdout

    def bash(self, *words):
        """Returns bash's completions of the last word of a line."""
        line = " ".join(f"'{word}'" for word in ("vgpuctl", *words))
        return set(self.output("bash", "-c", f"source {self.script('bash')}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; "
                               '_vgpuctl; printf "%s\\n" "${COMPREPLY[@]}"').split())

    def fish(self, line):
        """Returns fish's completions of a line."""
        out = self.output("fish", "--no-config", "-c", f"source {self.script('fish')}; complete -C '{line}'")
        return {word.split("\t")[0] for word in out.splitlines()}

    def test_bash(self):
        """Bash offers each command, and for each command the options that it takes."""
        if shutil.which("shellcheck"):
            self.output("shellcheck", self.script("bash"))
        self.assertGreater(len(COMMANDS), 10)
        self.assertEqual(self.bash(""), set(COMMANDS) | COMMON | {"--version"})
        self.assertEqual(self.bash("help", ""), set(COMMANDS) | COMMON)
        for name, command in COMMANDS.items():
            self.assertEqual(self.bash(name, "-"), options_of(command), name)
            for verb in command["commands"]:
                self.assertIn(verb["name"], self.bash(name, ""))
                self.assertEqual(self.bash(name, verb["name"], "-"), options_of(verb))

    def test_bash_words(self):
        """Bash offers what vgpud knows: exports, guests and limits; and users, and words."""
        self.assertEqual(self.bash("unexport", "r"), {"render"})
        self.assertEqual(self.bash("unexport", "--to", ""), {"3", "web"})
        self.assertEqual(self.bash("--to", "web", "unexport", "c"), {"card"})
        self.assertEqual(self.bash("limit", "w"), {"web"})
        self.assertEqual(self.bash("limit", "web", "s"), {"sessions="})
        self.assertEqual(self.bash("limit", "web", "lanes=3", "s"), {"sessions="})
        self.assertIn("root", self.bash("window", "create", "--owner", "ro"))
        self.assertEqual(self.bash("export", "--profile", "re"), {"render"})
        self.assertIn("/dev/null", self.bash("export", "/dev/nul"))
        self.assertEqual(self.bash("export", "--name", ""), set())

    def test_fish(self):
        """fish offers the same, and takes the script."""
        self.output("fish", "--no-execute", self.script("fish"))
        self.assertLessEqual(set(COMMANDS), self.fish("vgpuctl "))
        for name, command in COMMANDS.items():
            if not command["commands"]:
                self.assertEqual(self.fish(f"vgpuctl {name} --") & OPTIONS, options_of(command), name)
            for verb in command["commands"]:
                self.assertIn(verb["name"], self.fish(f"vgpuctl {name} "))
                self.assertEqual(self.fish(f"vgpuctl {name} {verb['name']} --") & OPTIONS, options_of(verb))
        self.assertEqual(self.fish("vgpuctl unexport r"), {"render"})
        self.assertEqual(self.fish("vgpuctl unexport --to "), {"3", "web"})
        self.assertEqual(self.fish("vgpuctl limit web s"), {"sessions="})

    def test_zsh(self):
        """zsh takes the script, which names each command and option."""
        path = self.script("zsh")
        self.output("zsh", "-n", path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for name, command in COMMANDS.items():
            part = text.partition(f"\n\t{name})\n")[2].partition("\n\t\t*)" if command["commands"] else ";;\n")[0]
            self.assertEqual(set(re.findall(r"'\*?(--[a-z-]+)\[", part)), options_of(command), name)

    def test_help(self):
        """Each command says in a line what it does, and its help has all its options."""
        for name, command in COMMANDS.items():
            self.assertRegex(command["summary"], r"\A[a-z][^\n]{5,65}[^.\n]\Z")
            text = run("help", name)
            self.assertEqual(set(re.findall(r"^  (?:-[a-zA-Z], )?(--[a-z-]+)", text, re.M)), options_of(command), name)
            for verb in command["commands"]:
                self.assertIn(f"\n  {verb['name']} ", text)

    def test_manual(self):
        """The manual has each command in its synopsis and its description, and each option."""
        with open(os.path.join(LIB, "man", "vgpuctl.1"), encoding="utf-8") as file:
            manual = file.read()
        synopsis = manual.partition(".Sh SYNOPSIS")[2].partition(".Sh ")[0]
        description = manual.partition(".Sh DESCRIPTION")[2].partition(".Sh ")[0]
        for name, command in COMMANDS.items():
            for verb in command["commands"] or [{"name": ""}]:
                words = f"{name} {verb['name']}".strip()
                # Several verbs may share a line of the synopsis: drain | fill.
                rest = rf" ([a-z-]+ \| )*{verb['name']}\b" if verb["name"] else r"\b"
                # So may several commands: freeze | thaw.
                self.assertRegex(synopsis, rf"(?m)^\.Cm ([a-z]+ \| )*{name}{rest}", words)
                if name != "help":
                    self.assertRegex(description, rf"\.(It )?Cm {words}\b", words)
            for option in options_of(command):
                self.assertRegex(manual, rf" -{option[2:]}\b", name)


if __name__ == "__main__":
    main("complete")
