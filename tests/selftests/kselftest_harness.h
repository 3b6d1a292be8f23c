/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's, but for time limits. Those are of wall time, in a machine that may have a
 * small part of a processor for all of it: they only tell which test hangs. Which run takes
 * too long is for the harness to say, which knows how much of the time the machine had.
 */
#include_next <kselftest_harness.h>

#ifndef KSELFTEST_PATIENCE
#define KSELFTEST_PATIENCE	5

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	(KSELFTEST_PATIENCE * 30)

#undef TEST_F_TIMEOUT
#define TEST_F_TIMEOUT(fixture_name, test_name, timeout)		\
	__TEST_F_IMPL(fixture_name, test_name, -1, KSELFTEST_PATIENCE * (timeout))
#endif
