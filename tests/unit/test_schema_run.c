// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs every ioctl of every table twice with the same memory: natively, and by
 * segments and fixups. Memory, result and new fds of the program must be the same.
 * No page may be fetched, and no byte read twice.
 */
#include <stdio.h>
#include <stdlib.h>

#include "schema_all.h"
#include "schema_case.h"
#include "tap.h"

/* The results of a run. */
struct outcome {
	long result;
	u64 sum;
	u8 *memory;
	size_t len;
	int installed;
	u32 new_objects[256];
};

static void outcome_take(struct outcome *o, const struct schema_case *c, long result)
{
	o->result = result;
	o->sum = c->sum;
	o->len = user.top - (u8 *)USER_BASE;
	o->memory = malloc(o->len + 1);
	memcpy(o->memory, (void *)USER_BASE, o->len);
	o->installed = user.installed;
	memcpy(o->new_objects, user.new_objects, sizeof(o->new_objects));
}

static u32 first_difference(const struct outcome *a, const struct outcome *b)
{
	u32 i = 0;

	while (i < a->len && a->memory[i] == b->memory[i])
		i++;
	return i;
}

static void run(const struct vgpu_schema *schema, struct schema_case *c, bool compat)
{
	const u32 seed = c->seed;
	struct outcome native, forwarded;
	struct host host;
	u32 pointers, fds;

	user_reset();
	schema_case_build(c);
	outcome_take(&native, c, schema_case_driver(NULL, c->ioctl->cmd, c->arg, c));
	pointers = c->pointers;
	fds = c->fds_in + c->fds_out;

	user_reset();
	host_init(&host);
	host.live = true;
	c->seed = seed;
	schema_case_build(c);
	outcome_take(&forwarded, c, host_ioctl(&host, schema, c->ioctl->cmd, c->arg, compat,
					       schema_case_driver, c));

	tap_expect(native.result == forwarded.result, "variant %u: result %ld, natively %ld",
		   c->variant, forwarded.result, native.result);
	tap_expect(native.sum == forwarded.sum, "variant %u: the driver reads the same",
		   c->variant);
	tap_expect(native.len == forwarded.len && !memcmp(native.memory, forwarded.memory,
							  native.len),
		   "variant %u: memory differs at %u of %zu", c->variant,
		   first_difference(&native, &forwarded), native.len);
	tap_expect(native.installed == forwarded.installed &&
		   !memcmp(native.new_objects, forwarded.new_objects,
			   sizeof(native.new_objects)), "variant %u: new fds", c->variant);
	tap_expect(pointers == c->pointers && fds == c->fds_in + c->fds_out,
		   "variant %u: the driver goes the same way", c->variant);
	tap_expect(host.calls == 1 && !host.fetches, "variant %u: %u calls, %u fetches",
		   c->variant, host.calls, host.fetches);
	tap_expect(!user.double_reads, "variant %u: %u bytes were read twice", c->variant,
		   user.double_reads);
	free(native.memory);
	free(forwarded.memory);
}

/* Return: the argument has pointers; some of these must be followed then. */
static bool has_pointers(const struct vgpu_schema_struct *body)
{
	u32 i;

	for (i = 0; i < body->nr_fields; i++)
		if (body->fields[i].type == VGPU_FIELD_PTR ||
		    body->fields[i].type == VGPU_FIELD_CHAIN)
			return true;
	return false;
}

static void ioctl_run(const struct vgpu_schema *schema, const struct vgpu_schema_ioctl *ioctl,
		      bool compat)
{
	static const u32 elems[] = { 3, 0, 1, 17 };
	struct schema_case c = { .ioctl = ioctl };
	u32 followed = 0, i;
	char name[96];

	/* PTR32 needs memory that this host does not have; test_marshal_size covers it. */
	if (compat)
		return;
	for (i = 0; i < ARRAY_SIZE(elems); i++) {
		c.elems = elems[i];
		c.variant = 0;
		do {
			c.seed = 1 + c.variant + 100 * i;
			c.result = 0;
			run(schema, &c, compat);
			followed += c.pointers;
			c.seed = 2 + c.variant + 100 * i;
			c.result = -EINVAL;
			run(schema, &c, compat);
			c.variant++;
		} while (c.has_variant && c.variant < 256);
	}
	if (has_pointers(&ioctl->body))
		tap_expect(followed, "pointers were followed");
	snprintf(name, sizeof(name), "%s: %s", schema->name, ioctl->name);
	tap_subject(name);
}

static void refused_run(const struct vgpu_schema *schema, const struct vgpu_schema_ioctl *ioctl)
{
	struct schema_case c = { .ioctl = ioctl };
	struct host host;
	char name[96];

	user_reset();
	host_init(&host);
	schema_case_build(&c);
	tap_expect(host_ioctl(&host, schema, ioctl->cmd, c.arg, false, schema_case_driver, &c) ==
		   -ioctl->error, "refused with its errno");
	tap_expect(!host.calls, "no call");
	snprintf(name, sizeof(name), "%s: %s is refused", schema->name, ioctl->name);
	tap_subject(name);
}

int main(void)
{
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(all_schemas); i++) {
		for (j = 0; j < all_schemas[i]->nr_ioctls; j++) {
			const struct vgpu_schema_ioctl *ioctl = &all_schemas[i]->ioctls[j];

			if (ioctl->arg == VGPU_ARG_REFUSED)
				refused_run(all_schemas[i], ioctl);
			else if (ioctl->arg != VGPU_ARG_MAP)	/* test_schema checks it */
				ioctl_run(all_schemas[i], ioctl, false);
		}
	}
	return tap_done();
}
