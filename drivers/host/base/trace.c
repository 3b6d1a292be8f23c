// SPDX-License-Identifier: GPL-2.0-only
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#endif
#include "base/trace.h"
