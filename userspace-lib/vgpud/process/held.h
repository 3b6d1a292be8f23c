/* SPDX-License-Identifier: MIT */
/* vgpud's side of the holder (holder.h): notes for the next vgpud, and those of the earlier one. */
#ifndef VGPUD_HELD_H
#define VGPUD_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct held - a note of an earlier vgpud
 * @peer: see struct holder_msg, as for the next members
 * @key: see @peer
 * @part: see @peer
 * @len: see @peer
 * @data: contents of the note
 * @fd: file; -1: there is none, or it was taken
 */
struct held {
	uint32_t peer;
	uint64_t key;
	uint32_t part;
	uint32_t len;
	void *data;
	int fd;
};

/*
 * Take over the holder of an earlier vgpud with its notes, or start one. Return: 0 or a negative
 * errno; then nothing is held.
 */
int held_open(void);
/* End the holder of an earlier vgpud, if there is one, and the guests for which it has notes. */
void held_drop(void);
/* Check whether there is a holder, so that guests wait for a vgpud, or have one. */
bool held_is_there(void);
/* Check whether an earlier vgpud has left notes that were not let go. */
bool held_any(void);

/* Keep a note and a file (-1: none), of which the holder gets references. A failure is logged. */
void held_keep(uint32_t peer, uint64_t key, uint32_t part, const void *data, size_t len, int fd);
/* Forget all parts of a note. */
void held_forget(uint32_t peer, uint64_t key);
/* Forget all notes of a peer. */
void held_forget_all(uint32_t peer);
/* Have the holder end, and wait until it has. */
void held_end(void);

/* Find a note of the earlier vgpud. Return: it, until held_let_go(); or NULL. */
struct held *held_find(uint32_t peer, uint64_t key, uint32_t part);
/* Find the first note whose name is not less, in the order of @peer, @key and @part. */
struct held *held_next(uint32_t peer, uint64_t key, uint32_t part);
/* Take the file of a note (NULL: none), which the caller closes. Return: -1 if there is none. */
int held_take(struct held *held);
/* Let the notes of the earlier vgpud go, which the holder still has. */
void held_let_go(void);

#endif /* VGPUD_HELD_H */
