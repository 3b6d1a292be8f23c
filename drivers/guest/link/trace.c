// SPDX-License-Identifier: GPL-2.0-only
/* Code of the tracepoints, which trace.h declares. Sparse does not see the generated code. */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#endif
#include "link/trace.h"
