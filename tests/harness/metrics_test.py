#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of vgpuctl metrics and vgpuctl top with a vgpud that the test plays. Prints TAP.

  metrics_test.py VGPUCTL

The output has to be OpenMetrics as its specification says, and the text format of Prometheus. The
glossary and the dashboard have to name the metrics that there are."""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

sys.dont_write_bytecode = True
from unit_tap import main

VGPUCTL = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..")
BUCKETS = 24
WAIT = 60
TOTALS = ("calls", "round_trips", "bytes_in", "bytes_out", "fetched_pages", "written_pages", "fetch_timeouts", "refused",
          "malformed", "stray_fds", "cancels", "delayed", "queued")
NOW = ("sessions", "lanes", "objects", "mappings", "mapped_bytes", "kept_bytes", "owned_bytes", "patience_ms")


def export(name, calls, bucket=5):
    buckets = [0] * BUCKETS
    buckets[bucket] = calls
    return {"name": name, "calls": calls, "errors": calls // 10, "bytes_in": 100 * calls, "bytes_out": 200 * calls,
            "ns": calls * 20000, "buckets": buckets}


def guest(cid, name, calls, programs=True):
    numbers = {key: 1000 * at + calls for at, key in enumerate(TOTALS)} | dict.fromkeys(NOW, 3)
    return {"cid": cid, "port": 5417, "name": name, "connected": True, "connections": 2, "device_ns": 1500000000 + calls,
            **numbers, "calls": calls, "exports": [export("gpu", calls), export("video", 0)],
            "programs": [{"number": 7, "comm": "glxgears", "guest_pid": 4321, "shadow_pid": 99, "calls": calls, "errors": 0,
                          "bytes_in": 1, "bytes_out": 2, "ns": 5000 * calls}] if programs else None}


class Vgpud:
    """Answers requests at the socket .path; make() makes each answer."""

    def __init__(self, make):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "sock")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.make = make
        self.asked = []
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rw") as stream:
                self.asked.append(json.loads(stream.readline()))
                stream.write(json.dumps(self.make()) + "\n")
                stream.flush()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.folder.cleanup()


NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|Inf)"
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)?\}})? ({NUMBER})")
SUFFIXES = {"counter": {"_total"}, "gauge": {""}, "histogram": {"_bucket", "_count", "_sum"}}


def parse(text, openmetrics):
    """Parses metrics; returns the types of families, and the samples as {(name, labels): value}.
    Raises AssertionError for what the format forbids."""
    families, samples, current, seen = {}, {}, None, set()
    assert text.endswith("\n"), "the last line is not complete"
    lines = text[:-1].split("\n")
    if openmetrics:
        assert lines.pop() == "# EOF", "no EOF"
    for line in lines:
        if line.startswith("# "):
            _, kind, name, value = line.split(" ", 3)
            if kind == "TYPE":
                assert name not in families, f"{name} has two parts"
                families[name] = {"type": value}
                current = name
            assert name == current, f"{line} is out of place"
            assert kind in ("TYPE", "HELP", "UNIT") and kind not in seen - {"TYPE"} or kind == "TYPE", line
            seen = {kind} if kind == "TYPE" else seen | {kind}
            families[name][kind.lower()] = value
            if kind == "UNIT":
                assert openmetrics and name.endswith("_" + value), line
            continue
        match = SAMPLE.fullmatch(line)
        assert match, f"no sample: {line!r}"
        name, labels, value = match.groups()
        kind = families[current]["type"]
        suffixes = SUFFIXES[kind] if openmetrics or kind != "counter" else {""}
        assert name.startswith(current) and name[len(current):] in suffixes, f"{name} is not of {current}"
        assert (name, labels) not in samples, f"{line} comes twice"
        samples[name, labels] = float(value)
    for name, family in families.items():
        assert family.get("help"), f"{name} has no help"
        if family["type"] == "counter":
            assert openmetrics != name.endswith("_total"), name
    return families, samples


class Case(unittest.TestCase):
    def setUp(self):
        self.calls = 100
        self.programs = True
        self.vgpud = Vgpud(self.answer)
        self.addCleanup(self.vgpud.close)

    def answer(self):
        self.calls += 50
        return {"ok": True, "version": "0.9", "engine": "kernel", "bucket_ns": 1024,
                "guests": [guest(3, 'we"b\\', self.calls, self.programs), guest(4, None, 0, self.programs)]}

    def run_it(self, *words, stdin=None, status=0):
        run = subprocess.run([VGPUCTL, *words, "--socket", self.vgpud.path], input=stdin, capture_output=True, text=True,
                             timeout=WAIT, check=False)
        self.assertEqual(status, run.returncode, run.stderr)
        return run.stdout


class Metrics(Case):
    def test_formats(self):
        """Both formats are as they are specified, and have the same samples."""
        self.answer = lambda: {"ok": True, "version": "0.9", "engine": "user", "guests": [guest(3, "web", 70)]}
        self.vgpud.make = self.answer
        families, samples = parse(self.run_it("metrics", "openmetrics"), True)
        self.assertEqual(samples, parse(self.run_it("metrics"), False)[1])
        self.assertEqual(self.run_it("metrics"), self.run_it("metrics", "prometheus"))
        self.assertEqual([{"op": "metrics"}], [json.loads(x) for x in {json.dumps(x) for x in self.vgpud.asked}])
        self.assertEqual(70, samples["vgpu_export_calls_total", 'guest="web",export="gpu"'])
        self.assertEqual(7, samples["vgpu_export_errors_total", 'guest="web",export="gpu"'])
        self.assertEqual(1.50000007, samples["vgpu_guest_device_seconds_total", 'guest="web"'])
        self.assertEqual(0.003, samples["vgpu_guest_patience_seconds", 'guest="web"'])
        self.assertEqual(1, samples["vgpu_agent_info", 'version="0.9",engine="user"'])
        self.assertEqual("histogram", families["vgpu_export_call_duration_seconds"]["type"])

    def test_histogram(self):
        """Buckets are cumulative, in rising order, and end with the count."""
        _, samples = parse(self.run_it("metrics"), False)
        name = "vgpu_export_call_duration_seconds"
        of = 'guest="we\\"b\\\\",export="gpu"'
        buckets = [(float(labels.rpartition('le="')[2][:-1]), value) for (key, labels), value in samples.items()
                   if key == name + "_bucket" and labels.startswith(of)]
        self.assertEqual(BUCKETS, len(buckets))
        self.assertEqual(sorted(buckets), buckets)
        self.assertEqual([0.0] * 5 + [150.0] * (BUCKETS - 5), [value for _, value in buckets])
        self.assertEqual((1024 << 5) / 1e9, buckets[5][0])
        self.assertEqual(float("inf"), buckets[-1][0])
        self.assertEqual(150, samples[name + "_count", of])
        self.assertAlmostEqual(150 * 20e-6, samples[name + "_sum", of])

    def test_promtool(self):
        """promtool finds nothing to say."""
        promtool = shutil.which("promtool")
        if not promtool:
            self.skipTest("there is no promtool")
        run = subprocess.run([promtool, "check", "metrics"], input=self.run_it("metrics"), capture_output=True, text=True,
                             check=False)
        self.assertEqual((0, "", ""), (run.returncode, run.stdout, run.stderr))

    def test_glossary(self):
        """The glossary names each metric, its kind and unit, and no others."""
        families, _ = parse(self.run_it("metrics"), False)
        units = parse(self.run_it("metrics", "openmetrics"), True)[0]
        with open(os.path.join(TOP, "Documentation/admin/observability.rst"), encoding="utf-8") as file:
            glossary = file.read().partition("\nGlossary\n")[2]
        entries = dict(re.findall(r"^``(vgpu_\w+)``\n((?:    .*\n)+)", glossary, re.M))
        self.assertEqual(set(families), set(entries))
        for name, text in entries.items():
            self.assertTrue(text.strip().startswith(families[name]["type"] + ","), f"{name}: {text}")
            unit = units[name.removesuffix("_total")].get("unit")
            self.assertTrue(not unit or re.search(rf"\b{unit}\b", text), f"{name} does not tell its unit")
            tests = re.search(r"Test:\s+((?:``[\w./]+``(?:,\s+)?)+)", text)
            self.assertTrue(tests, f"{name} has no test")
            for test in re.findall(r"``([\w./]+)``", tests.group(1)):
                places = (f"tests/selftests/{test}.c", f"tests/unit/{test}.c", f"tests/harness/{test}", test)
                self.assertTrue(any(os.path.exists(os.path.join(TOP, place)) for place in places), test)

    def test_dashboard(self):
        """Each query of the dashboard asks for a metric that there is, by labels that it has."""
        with open(os.path.join(TOP, "userspace-lib/conf/grafana.json"), encoding="utf-8") as file:
            board = json.load(file)
        _, samples = parse(self.run_it("metrics"), False)
        names = {name for name, _ in samples}
        queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
        queries += [variable["definition"] for variable in board["templating"]["list"] if "definition" in variable]
        self.assertGreater(len(queries), 15)
        for query in queries:
            asked = re.findall(r"\bvgpu_\w+", query)
            self.assertTrue(asked, query)
            self.assertLessEqual(set(asked), names, query)
            for name, labels in re.findall(r"\b(vgpu_\w+)\{([^}]*)\}", query):
                has = next(labels for key, labels in samples if key == name)
                for label in re.findall(r"(\w+)=~", labels):
                    self.assertIn(f"{label}=", has, query)
        ids = [panel["id"] for panel in board["panels"]]
        self.assertEqual(len(ids), len(set(ids)))

    def test_textfile(self):
        """The file is complete, can be read by all, and nothing else is left."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "vgpu.prom")
            for _ in range(2):
                self.assertEqual("", self.run_it("metrics", "--textfile", path))
                with open(path, encoding="utf-8") as file:
                    parse(file.read(), False)
            self.assertEqual(["vgpu.prom"], os.listdir(folder))
            self.assertEqual(0o644, os.stat(path).st_mode & 0o777)
            self.run_it("metrics", "--textfile", os.path.join(folder, "none/vgpu.prom"), status=5)

    def http(self, request):
        head, _, body = self.run_it("metrics", "--http", stdin=request).partition("\n\n")
        lines = head.split("\n")
        fields = dict(line.split(": ", 1) for line in lines[1:])
        if not request.startswith("HEAD"):
            self.assertEqual(len(body.encode()), int(fields["Content-Length"]))
        self.assertEqual("close", fields["Connection"])
        return lines[0], fields["Content-Type"], body

    def test_http(self):
        """HTTP answers in the format that is asked for, and nothing but /metrics."""
        line, kind, body = self.http("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assertEqual(("HTTP/1.1 200 OK", "text/plain; version=0.0.4; charset=utf-8"), (line, kind))
        parse(body, False)
        line, kind, body = self.http("GET /metrics HTTP/1.1\r\nHost: a\r\n"
                                     "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n\r\n")
        self.assertEqual("application/openmetrics-text; version=1.0.0; charset=utf-8", kind)
        parse(body, True)
        self.assertEqual("", self.http("HEAD /metrics HTTP/1.1\r\n\r\n")[2])
        for request, status in (("GET /secret HTTP/1.1\r\n\r\n", 404), ("GET /metricsx HTTP/1.1\r\n\r\n", 404),
                                ("POST /metrics HTTP/1.1\r\n\r\n", 405), ("hello\r\n\r\n", 400), ("GET /metrics", 400),
                                ("\r\n\r\n", 400), ("GET /metrics HTTP/1.1\r\n" + "a" * 9000, 400), ("", 400)):
            self.assertIn(f" {status} ", self.http(request)[0], request[:40])
        self.vgpud.make = lambda: {"ok": False, "errno": 12, "message": "no memory"}
        self.assertIn(" 503 ", self.http("GET / HTTP/1.1\r\n\r\n")[0])

    def test_arguments(self):
        for words in (("metrics", "xml"), ("metrics", "--http", "--textfile", "a"), ("metrics", "--json"),
                      ("top", "--delay", "0"), ("top", "--count", "x"), ("top", "-n", "1.5"), ("top", "--sort", "name"),
                      ("top", "--delay", "nan"), ("list", "--batch"), ("top", "-n")):
            self.run_it(*words, status=2)


class Top(Case):
    def test_batch(self):
        """Steps are printed with rates by guest, export and program."""
        text = self.run_it("top", "-b", "-n", "2", "-d", "0.5", "--sort", "bytes")
        self.assertEqual(2, text.count("sorted by bytes"))
        self.assertEqual(2, len(re.findall(r'^we"b\\ +[\d.]+ +', text, re.M)), text)
        self.assertEqual(2, len(re.findall(r'^gpu +we"b\\ +', text, re.M)), text)
        self.assertEqual(4, len(re.findall(r"^glxgears .* 4321$", text, re.M)), text)
        self.assertIn("P99", text)

    def test_json(self):
        """JSON has one object for each step."""
        lines = self.run_it("top", "--json", "-n", "2", "-d", "0.5").strip().split("\n")
        self.assertEqual(2, len(lines))
        for line in lines:
            step = json.loads(line)
            self.assertEqual(1, step["schema"])
            web = next(entry for entry in step["exports"] if entry["calls_per_second"])
            self.assertEqual(("gpu", 'we"b\\'), (web["name"], web["guest"]))
            self.assertAlmostEqual(50, web["calls_per_second"] * step["seconds"], places=3)
            self.assertAlmostEqual(5, web["errors_per_second"] * step["seconds"], places=3)
            self.assertAlmostEqual(15000, web["bytes_per_second"] * step["seconds"], places=1)
            self.assertAlmostEqual(20e-6, web["mean_seconds"])
            self.assertTrue((1024 << 4) / 1e9 < web["p50_seconds"] < web["p99_seconds"] < (1024 << 5) / 1e9)
            self.assertEqual([4321, 4321], [entry["guest_pid"] for entry in step["programs"]])
            self.assertIsNone(next(entry for entry in step["exports"] if entry["name"] == "video")["p50_seconds"])

    def test_hidden(self):
        """Users to whom vgpud names no programs are told so."""
        self.programs = False
        self.assertIn("may see them", self.run_it("top", "-b", "-n", "1", "-d", "0.1"))

    def begin(self):
        """Starts top on a terminal; returns the process, the terminal's ends and its settings."""
        own, terminal = pty.openpty()
        self.addCleanup(os.close, own)
        self.addCleanup(os.close, terminal)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 100, 0, 0))
        before = termios.tcgetattr(terminal)
        process = subprocess.Popen([VGPUCTL, "top", "-d", "0.3", "--socket", self.vgpud.path], stdin=terminal,
                                   stdout=terminal, stderr=terminal, env=os.environ | {"TERM": "xterm"})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, own, terminal, before

    @staticmethod
    def read(own, word):
        """Reads what the terminal shows until the word comes; returns all of it."""
        text, end = "", time.monotonic() + WAIT
        while word not in text and time.monotonic() < end:
            if select.select([own], [], [], 0.1)[0]:
                text += os.read(own, 65536).decode(errors="replace")
        return text

    def ends(self, end, status):
        """Checks that top shows something, ends after end(), and leaves the terminal as it was."""
        process, own, terminal, before = self.begin()
        self.assertIn("glxgears", self.read(own, "glxgears"))
        self.assertNotEqual(before, termios.tcgetattr(terminal))
        end(process, own)
        # The last bytes leave the other screen of the terminal.
        text = self.read(own, "\x1b[?1049l")
        self.assertIn("\x1b[?1049l", text)
        self.assertEqual(status, process.wait(WAIT))
        self.assertEqual(before, termios.tcgetattr(terminal))
        text = text.rpartition("\x1b[?1049l")[2]
        return text if status <= 0 or "vgpud" in text else text + self.read(own, "vgpud")

    def test_quit(self):
        self.ends(lambda process, own: os.write(own, b"sjkq"), 0)

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.ends(lambda process, own, number=number: process.send_signal(number), -number)

    def test_sort(self):
        """The key s sorts by the next column."""
        process, own, _, _ = self.begin()
        self.assertIn("by calls", self.read(own, "by calls"))
        os.write(own, b"s")
        self.assertIn("errors", self.read(own, "errors"))
        process.kill()

    def test_no_agent(self):
        """If vgpud ends, the terminal is given back before the error is printed."""
        self.assertIn("vgpud", self.ends(lambda process, own: self.vgpud.listener.shutdown(socket.SHUT_RDWR), 3))


class Monitor(Case):
    def steps(self, *steps):
        """Returns the events between states of the guest web, as monitor prints them."""
        left = list(steps)
        self.vgpud.make = lambda: {"ok": True, "guests": [left.pop(0) if len(left) > 1 else left[0]]}
        return left

    def test_events(self):
        """Each change between two samples is an event, and nothing else is."""
        first = guest(3, "web", 0)
        gone = guest(3, "web", 0) | {"connected": False, "programs": [], "refused": first["refused"] + 3}
        back = gone | {"connected": True, "connections": 3, "exports": [*first["exports"], export("new", 0)]}
        other = back | {"programs": [first["programs"][0] | {"number": 8, "comm": "cat"}], "malformed": back["malformed"] + 1}
        again = other | {"connections": 4}
        self.steps(first, first, gone, back, other, again)
        lines = self.run_it("monitor", "-d", "0.1", "-n", "9").strip().split("\n")
        self.assertTrue(all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ", line) for line in lines), lines)
        self.assertEqual(["program-ended web glxgears (pid 4321)", "guest-gone web", "refused web +3", "guest-connected web",
                          "export-new web new", "program-started web cat (pid 4321)", "malformed web +1", "guest-gone web",
                          "guest-connected web"], [line.partition(" ")[2] for line in lines])

    def test_json(self):
        """JSON has one object for each event."""
        self.steps(guest(3, "web", 0) | {"programs": []}, guest(3, "web", 0))
        event = json.loads(self.run_it("monitor", "--json", "-d", "0.1", "-n", "1"))
        self.assertEqual({"schema": 1, "event": "program-started", "guest": "web", "program": "glxgears", "guest_pid": 4321},
                         {key: value for key, value in event.items() if key != "time"})


if __name__ == "__main__":
    main("metrics")
