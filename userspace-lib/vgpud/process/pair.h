/* SPDX-License-Identifier: MIT */
/* Pairs of connected sockets between programs of guests, and between them and vgpud. */
#ifndef VGPUD_PAIR_H
#define VGPUD_PAIR_H

/**
 * pair_open - make a pair of connected sockets between an engine and another process
 * @pair: filled in: the sockets
 *
 * No sender waits until the other end reads: a sender that finds the buffer full gives the other
 * end up. The buffers therefore have room for all messages that may be sent at once: each mapping
 * of a shadow may end twice, and all mappings of a window may end together.
 *
 * Return: 0, or a negative errno.
 */
int pair_open(int pair[2]);

/**
 * pair_make - make a pair like pair_open()'s, one end of which vgpud keeps
 * @pair: filled in: the sockets; the first one is vgpud's, and nothing can be sent to it
 *
 * Return: 0, or a negative errno.
 */
int pair_make(int pair[2]);

/**
 * pair_mute - keep vgpud's end of a pair from receiving
 * @pair: the sockets; the first one is vgpud's
 *
 * A message could bring files, which vgpud would have to close, and the last close of a device
 * file may wait for its driver.
 *
 * Return: 0, or a negative errno; both ends are closed then.
 */
int pair_mute(int pair[2]);

#endif /* VGPUD_PAIR_H */
