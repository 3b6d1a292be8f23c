// SPDX-License-Identifier: GPL-2.0-only
/* Conversion of times that a driver writes, in results of ioctls and of read(). */
#include "argument/marshal_mem.h"
#include "argument/marshal_stamp.h"

bool vgpu_marshal_stamp_counts(const struct vgpu_schema_field *field, const u8 *base, u32 len)
{
	const struct vgpu_schema_ref *ref = &field->when.ref;

	if (ref->kind == VGPU_REF_NONE)
		return true;
	if (ref->kind != VGPU_REF_FIELD || ref->offset + ref->size > len)
		return false;
	return vgpu_marshal_when(&field->when, vgpu_marshal_int(base + ref->offset, ref->size));
}

static void put_int(u8 *p, u8 size, u64 value)
{
	u32 value32 = value;

	if (size == sizeof(value))
		memcpy(p, &value, sizeof(value));
	else
		memcpy(p, &value32, sizeof(value32));
}

/* Return: nanoseconds of a unit of the integer; 1 for ticks as well. */
static u32 stamp_unit(const struct vgpu_schema_field *field)
{
	return field->max ?: 1;
}

/* Return: nanoseconds, or ticks; 0 if the value is no time of a clock. */
static u64 stamp_get(const struct vgpu_schema_field *field, const u8 *place)
{
	u8 half = field->size / 2;
	u64 value, parts;

	if (!field->unit) {
		value = vgpu_marshal_int(place, field->size);
		return value <= VGPU_CLOCK_MAX / stamp_unit(field) ?
			value * stamp_unit(field) : 0;
	}
	value = vgpu_marshal_int(place, half);
	parts = vgpu_marshal_int(place + half, half);
	if (parts >= field->unit || value >= VGPU_CLOCK_MAX / NSEC_PER_SEC)
		return 0;
	return value * NSEC_PER_SEC + parts * (NSEC_PER_SEC / field->unit);
}

static void stamp_put(const struct vgpu_schema_field *field, u8 *place, u64 time)
{
	u8 half = field->size / 2;

	if (!field->unit) {
		put_int(place, field->size, time / stamp_unit(field));
		return;
	}
	/* The seconds are truncated if the field is too short, as in drivers. */
	put_int(place, half, time / NSEC_PER_SEC);
	put_int(place + half, half, time % NSEC_PER_SEC / (NSEC_PER_SEC / field->unit));
}

/* Convert a time, unless it is 0, which is no time, or more than a clock can show. */
void vgpu_marshal_stamp(const struct vgpu_schema_field *field, u8 *place,
			const struct vgpu_marshal_fds *fds, void *fds_data)
{
	s64 time = stamp_get(field, place);

	if (!time)
		return;
	fds->stamp(fds_data, field->clock, &time);
	stamp_put(field, place, time);
}

static void event_stamps(const struct vgpu_schema_struct *body, u8 *event, u32 len,
			 const struct vgpu_marshal_fds *fds, void *fds_data)
{
	u32 i;

	for (i = 0; i < body->nr_fields; i++) {
		const struct vgpu_schema_field *field = &body->fields[i];

		if (field->type == VGPU_FIELD_STAMP && field->offset + field->size <= len &&
		    vgpu_marshal_stamp_counts(field, event, len))
			vgpu_marshal_stamp(field, event + field->offset, fds, fds_data);
	}
}

void vgpu_marshal_events(const struct vgpu_schema *schema, u8 *data, u32 len,
			 const struct vgpu_marshal_fds *fds, void *fds_data)
{
	const u32 head = 2 * sizeof(u32);
	u32 at, its_len;

	for (at = 0; len - at >= head; at += its_len) {
		const struct vgpu_schema_event *event =
			vgpu_schema_find_event(schema, vgpu_marshal_int(data + at, sizeof(u32)));

		its_len = vgpu_marshal_int(data + at + sizeof(u32), sizeof(u32));
		if (its_len < head || its_len > len - at)
			return;
		if (event)
			event_stamps(&event->body, data + at, its_len, fds, fds_data);
	}
}
