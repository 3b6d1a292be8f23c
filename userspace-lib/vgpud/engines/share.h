/* SPDX-License-Identifier: MIT */
/* Shares of the cards of NVIDIA's driver: see share.c. */
#ifndef VGPUD_SHARE_H
#define VGPUD_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

#include "nvidia_rm.h"
#include "shared/proto.h"

struct card_usage;

/**
 * struct share - what vgpud knows of a guest for the shares of cards
 * @weight: see struct vgpu_host_peer_limit; 0: frozen
 * @cap: see struct vgpu_host_peer_limit
 * @granted: bit mask of the cards that the guest has or had, by minor numbers. An engine that was
 *	taken over may say that its guest has channels on any card
 * @cards: bit mask of the cards on which the guest had channels at the last look
 * @busy: bit mask of the cards that the guest was last seen to use
 * @new_until_ms: time until which the guest counts as busy, as it has just made its first channels
 *	of a card, by card
 * @sent: slots that its engine was told last, by card
 */
struct share {
	uint32_t weight;
	uint32_t cap;
	uint32_t granted;
	uint32_t cards;
	uint32_t busy;
	uint64_t new_until_ms[RM_DEVICES];
	struct card_slot sent[RM_DEVICES];
};

/* Set weight and cap of a new guest, until share_limit(). */
static inline void share_init(struct share *share)
{
	*share = (struct share) { .weight = VGPU_HOST_WEIGHT_DEFAULT, .cap = 100 };
}

/* Note that a guest gets an export with this device number. */
static inline void share_grant(struct share *share, dev_t rdev)
{
	if (major(rdev) == RM_MAJOR && minor(rdev) <= RM_MINOR_CARDS)
		share->granted |= minor(rdev) < RM_DEVICES ? 1U << minor(rdev) : ~0U;
}

/* Set weight and cap of the guest with that peer number. */
void share_limit(const struct vgpu_host_peer_limit *limit);
/* Look at all guests anew, as one has gone. */
void share_look(void);
/* Note which processes have used a card: a function of struct exporter_ops. */
void share_sampled(const struct card_usage *usage);

#endif /* VGPUD_SHARE_H */
