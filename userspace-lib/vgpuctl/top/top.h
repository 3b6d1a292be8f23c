/* SPDX-License-Identifier: MIT */
/* Options of commands that go step by step. */
#ifndef VGPUCTL_TOP_H
#define VGPUCTL_TOP_H

struct options;

/*
 * Take the values of --delay, in seconds, and of --count. What is not given stays as it is. Return:
 * 0 or an exit status.
 */
int take_step_options(const struct options *options, double *delay, long *count);

#endif /* VGPUCTL_TOP_H */
