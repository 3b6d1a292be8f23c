/* SPDX-License-Identifier: GPL-2.0-only */
/* Times in results. Private to marshal*.c. */
#ifndef VGPU_MARSHAL_STAMP_H
#define VGPU_MARSHAL_STAMP_H

#include "argument/marshal.h"

/* Return: true if the field's condition on the struct at @base, as the driver left it, holds. */
bool vgpu_marshal_stamp_counts(const struct vgpu_schema_field *field, const u8 *base, u32 len);
/* Convert the time at @place to the guest's clock. Values that are no time stay unchanged. */
void vgpu_marshal_stamp(const struct vgpu_schema_field *field, u8 *place,
			const struct vgpu_marshal_fds *fds, void *fds_data);

#endif /* VGPU_MARSHAL_STAMP_H */
