# SPDX-License-Identifier: GPL-2.0-only
"""Finds a kernel's reports of errors in its console."""

import re

REPORT = re.compile(
    r"WARNING: |BUG: |\bOops\b|Oops:|general protection fault|Kernel panic|KASAN:|UBSAN:|KCSAN:"
    r"|INFO: task .* blocked|INFO: rcu.* stall|INFO: possible|possible recursive|unreferenced object"
    r"|kmemleak: [1-9]\d* new|BUG |soft lockup|hard LOCKUP|refcount_t: |list_(add|del) corruption"
    r"|slab-out-of-bounds|use-after-free|scheduling while atomic|sleeping function called"
    r"|inconsistent lock state|suspicious RCU|bad unlock balance|held lock freed"
    r"|Objects remaining in|kobject_add_internal failed|sysfs: cannot create duplicate"
    r"|INFO: trying to register non-static key|Busy inodes after unmount|kmemleak: .*disabled"
    r"|turning off the locking correctness validator")

# Messages that a kernel prints on test VMs without this project's modules: e.g. vkms warns if it is
# asked for the time of a vblank whose timer has not run yet.
HARMLESS = re.compile(r"RAS: Correctable Errors|hung_task|WARNING: Unsupported flag value|"
                      r"workqueue: .* hogged CPU|WARNING: .* vkms_get_vblank_timestamp\+")


def reports(text, context=30):
    """Returns the reports in a piece of console, each with the lines that follow."""
    lines = text.splitlines()
    found = []
    skip = 0
    for number, line in enumerate(lines):
        if number < skip or HARMLESS.search(line) or not REPORT.search(line):
            continue
        found.append("\n".join(lines[number:number + context]))
        skip = number + context
    return found
