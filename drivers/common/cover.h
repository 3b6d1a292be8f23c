/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Coverage of threads that serve others: KCOV counts it for the process whose handle is in the
 * module's parameter "cover". Only modules that are built for fuzzing (VGPU_FUZZ=1) have this.
 */
#ifndef VGPU_COVER_H
#define VGPU_COVER_H

#ifdef VGPU_FUZZ
/* Begin to count what current runs, which must not be a thread that counts for itself. */
void vgpu_cover_start(void);
/* End what vgpu_cover_start() has begun, if it has begun anything. */
void vgpu_cover_stop(void);
#else
static inline void vgpu_cover_start(void)
{
}

static inline void vgpu_cover_stop(void)
{
}
#endif

#endif /* VGPU_COVER_H */
