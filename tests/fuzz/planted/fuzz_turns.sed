# userspace-lib/engine/session/submission.c
# SPDX-License-Identifier: GPL-2.0-only
# A lane that has its turn already can be cancelled, and gets a second answer.
s/else if (submission && submission->state == SUBMISSION_ASKS)/else if (submission)/
