/* SPDX-License-Identifier: MIT */
/* Windows: memory of the host by which guests access device mappings without copies. */
#ifndef VGPUD_WINDOW_H
#define VGPUD_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct answer;

/**
 * struct window_spec - a window to be made
 * @cid: context ID of the guest
 * @port: vsock port of vgpud by which the guest connects; 0: the default port
 * @size: size in bytes
 * @owner: name of the user whose hypervisor opens the window; NULL or "": libvirt's user, or
 *	root if there is none
 * @automatic: true if a file asks for the window, not a person
 */
struct window_spec {
	uint32_t cid;
	uint32_t port;
	uint64_t size;
	const char *owner;
	bool automatic;
};

/* Return what is wrong with a window's size, or NULL. */
const char *window_size_mistake(uint64_t size);
/* Describe an error of user_find_owner(). Return: the error for the user who asks for a window. */
int window_owner_say(struct answer *words, int error, const char *owner);

/* Get the path of a window from the name that the host module or a keeper gave it. */
void window_path(const char *name, char path[48]);
/* Make a window. This and the next functions return 0, or a negative errno with words in @words. */
int window_create(const struct window_spec *spec, char path[48], struct answer *words);
/* Have the guest move its mappings out of the window, or allow them again. */
int window_drain(uint32_t cid, uint32_t port, bool drain, struct answer *words);
int window_destroy(uint32_t cid, uint32_t port, bool force, struct answer *words);

#endif /* VGPUD_WINDOW_H */
