/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's harness with other time limits. Limits count wall time, and a test machine may
 * get a small share of a processor, so they are long and only find tests that hang.
 * tests/harness knows that share, and limits whole runs.
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
