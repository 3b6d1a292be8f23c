/* SPDX-License-Identifier: MIT */
/* Windows: memory in which guests see device mappings without copies. */
#ifndef VGPUD_WINDOW_H
#define VGPUD_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct answer;

/**
 * struct window_spec - a window to be made
 * @cid: the guest
 * @port: the port that it connects to; 0: ours
 * @size: bytes
 * @owner: name of the user whose hypervisor opens it; NULL or "": libvirt's, or root
 * @automatic: not made by hand
 */
struct window_spec {
	uint32_t cid;
	uint32_t port;
	uint64_t size;
	const char *owner;
	bool automatic;
};

/* Why there is no window of that size; NULL: there is. */
const char *window_size_mistake(uint64_t size);
/* Finds the user of such a name (as in struct window_spec). Return: as user_find(). */
int window_owner(const char *owner, uint32_t *uid, uint32_t *gid);
/* Says what an error of window_owner() means. Return: the error for who asks for a window. */
int window_owner_say(struct answer *words, int error, const char *owner);

/* Where what the host calls a window is. */
void window_path(const char *name, char path[48]);
/* All return 0 or a negative errno, with words for people. */
int window_create(const struct window_spec *spec, char path[48], struct answer *words);
/* The guest moves its mappings out, or back. */
int window_drain(uint32_t cid, uint32_t port, bool drain, struct answer *words);
int window_destroy(uint32_t cid, uint32_t port, bool force, struct answer *words);

#endif /* VGPUD_WINDOW_H */
