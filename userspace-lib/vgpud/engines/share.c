// SPDX-License-Identifier: MIT
/*
 * Shares of the cards of NVIDIA's driver. Programs give such a card work without any call, so
 * vgpud tells each engine when the channels of its guest may run (engine/memory/channel.c).
 *
 * While several guests are connected, vgpud looks every LOOK_MS who has channels on which card.
 * If two or more have, it also asks the driver which processes have used the card. The driver notes
 * every 200 ms or so how much of that time the card has worked, and the process for which it worked
 * at that moment. No guest can forge that. A guest is busy if one of its processes was seen lately,
 * or if the driver does not say.
 */
#include <stdlib.h>

#include "device/exporter.h"
#include "engines/engine.h"
#include "engines/shadow.h"
#include "engines/share.h"
#include "engines/slots.h"
#include "shared/log.h"
#include "shared/loop.h"

#define NS_PER_US	1000
#define LOOK_MS		500
/* Time for which a guest counts as busy that has made its first channels of a card. */
#define NEW_MS		3000
/* Time after which a guest may count as busy again for that reason. */
#define NEW_AGAIN_MS	30000
/* Time for which what the driver has said of a card is used. */
#define SAMPLED_MS	2000
/* Largest number of busy guests of one card that share it; others are not cut. */
#define GUESTS_MAX	256
/* Part of the time, in 1/10000, from which on a card counts as used. */
#define USED		100
/*
 * A guest is busy if it was seen in the last samples at least a quarter as often as if it had used
 * all of its slot. There are so many samples that a guest with a short slot is seen four times.
 */
#define SEEN_PART	4
#define SAMPLES_LEAST	16
/* The driver's number for no process. */
#define NO_PROCESS	UINT32_MAX
/* Time in nanoseconds within which one of the guests must have been seen on a card that works. */
#define RECENT_NS	3000000000ULL

/* Time until which what the driver has said of a card is used, by card. */
static uint64_t known_until_ms[RM_DEVICES];
/* Minor numbers of cards, plus 1; 0: the driver has not said yet, so it may be any. */
static uint32_t minors[RM_DEVICES];

static void look_late(struct timer *timer)
{
	(void)timer;
	share_look();
}

static struct timer look_timer = { .expired = look_late };

void share_limit(const struct vgpu_host_peer_limit *limit)
{
	struct engine *engine = engine_find(limit->peer);

	if (!engine)
		return;
	engine->share.weight = limit->flags & VGPU_HOST_LIMIT_FREEZE ? 0 :
		limit->weight ? limit->weight : VGPU_HOST_WEIGHT_DEFAULT;
	engine->share.cap = limit->cap ? limit->cap : 100;
	share_look();
}

static bool is_same(const struct card_slot *one, const struct card_slot *other)
{
	return one->period == other->period && one->start == other->start &&
	       one->length == other->length;
}

static void tell(struct engine *engine, uint32_t card, const struct card_slot *slot)
{
	const struct engine_slot msg = { .type = ENGINE_SLOT, .card = card, .slot = *slot };

	if (is_same(&engine->share.sent[card], slot))
		return;
	engine->share.sent[card] = *slot;
	log_debug("guest %u:%u: card %u: %llu of %llu us, from %llu on", engine->cid, engine->port,
		  card, (unsigned long long)slot->length / NS_PER_US,
		  (unsigned long long)slot->period / NS_PER_US,
		  (unsigned long long)slot->start / NS_PER_US);
	engine_tell(engine, &msg, sizeof(msg), -1);
}

static bool has_card(const struct share *share, uint32_t card)
{
	if (!minors[card])
		return share->granted;
	return share->granted & 1U << (minors[card] - 1);
}

/* Return: the cards on which the guest has channels. */
static uint32_t cards_of(const struct engine *engine)
{
	uint32_t cards, card;

	if (engine->agent_fd < 0)
		return 0;
	cards = __atomic_load_n(&engine->shared->cards, __ATOMIC_RELAXED);
	for (card = 0; card < RM_DEVICES; card++)
		if (!has_card(&engine->share, card))
			cards &= ~(1U << card);
	return cards;
}

static bool is_busy(const struct share *share, uint32_t card, uint64_t now)
{
	if (!(share->cards & 1U << card))
		return false;
	return now < share->new_until_ms[card] || now >= known_until_ms[card] ||
	       share->busy & 1U << card;
}

static struct slot_guest guest_of(const struct share *share, uint32_t card, uint64_t now)
{
	return (struct slot_guest) {
		.weight = share->weight,
		.cap = share->cap,
		.busy = is_busy(share, card, now),
	};
}

/* Return: true if two or more guests have channels on the card. */
static bool look_at(uint32_t card)
{
	static struct slot_guest guests[GUESTS_MAX];
	unsigned int nr = 0, nr_told = 0, nr_users = 0;
	uint64_t now = now_ms();
	struct engine *engine;
	struct slot_guest guest;

	LIST_FOREACH(engine, &all_engines, node) {
		guest = guest_of(&engine->share, card, now);
		if (guest.busy && nr < GUESTS_MAX)
			guests[nr++] = guest;
		nr_users += !!(engine->share.cards & 1U << card);
	}
	slots_share(guests, nr);
	LIST_FOREACH(engine, &all_engines, node) {
		guest = guest_of(&engine->share, card, now);
		if (guest.busy && nr_told < nr)
			guest = guests[nr_told++];
		else
			slots_share(&guest, 1);
		tell(engine, card, &guest.slot);
	}
	return nr_users > 1;
}

/* Note that a guest has made its first channels of a card, which it may do again and again. */
static void note_new(struct share *share, uint32_t card)
{
	uint64_t now = now_ms();

	if (!share->new_until_ms[card] ||
	    now >= share->new_until_ms[card] - NEW_MS + NEW_AGAIN_MS)
		share->new_until_ms[card] = now + NEW_MS;
}

void share_look(void)
{
	unsigned int nr_engines = 0;
	struct engine *engine;
	bool shared_card = false;
	uint32_t card, cards;

	LIST_FOREACH(engine, &all_engines, node) {
		cards = cards_of(engine);
		for (card = 0; card < RM_DEVICES; card++)
			if (cards & ~engine->share.cards & 1U << card)
				note_new(&engine->share, card);
		engine->share.cards = cards;
		nr_engines++;
	}
	for (card = 0; card < RM_DEVICES; card++)
		shared_card |= look_at(card);
	if (shared_card)
		exporters_sample();
	if (nr_engines > 1)
		timer_set(&look_timer, LOOK_MS);
	else
		timer_cancel(&look_timer);
}

/* --- who uses a card ----------------------------------------------------------------------- */

static bool has_process(const struct engine *engine, uint32_t pid)
{
	const struct shadow_counters *shadow;

	LIST_FOREACH(shadow, &engine->shadows, node)
		if ((uint32_t)shadow->pid == pid)
			return true;
	return false;
}

/* Return: the number of samples that are newer than this one. */
static unsigned int age_of(const struct card_usage *usage, const struct card_sample *sample)
{
	unsigned int age = 0, i;

	for (i = 0; i < usage->nr; i++)
		age += usage->samples[i].time_ns > sample->time_ns;
	return age;
}

/* Return: true if the guest was seen often enough to be busy. */
static bool was_seen(const struct engine *engine, const struct card_usage *usage)
{
	const struct card_slot *slot = &engine->share.sent[usage->card];
	/* A guest without a slot competes with others for the card. */
	uint64_t period = slot->length ? slot->period : 2, length = slot->length ?: 1;
	uint64_t window = SEEN_PART * period / length;
	unsigned int seen = 0, i;

	if (window < SAMPLES_LEAST)
		window = SAMPLES_LEAST;
	for (i = 0; i < usage->nr; i++)
		seen += usage->samples[i].used >= USED &&
			has_process(engine, usage->samples[i].pid) &&
			age_of(usage, &usage->samples[i]) < window;
	return seen && seen >= window * length / period / SEEN_PART;
}

static bool is_of_guest(uint32_t pid)
{
	const struct engine *engine;

	LIST_FOREACH(engine, &all_engines, node)
		if (has_process(engine, pid))
			return true;
	return false;
}

/*
 * Return: true if the samples tell who uses the card: lately it has done nothing, or was seen to
 * work for guests alone. RM notes the process that has made a client. A guest may let that process
 * end, and use the client in another one.
 */
static bool is_telling(const struct card_usage *usage)
{
	bool is_used = false, is_named = false;
	const struct card_sample *sample;
	uint64_t newest = 0;
	unsigned int i;

	for (i = 0; i < usage->nr; i++)
		if (usage->samples[i].time_ns > newest)
			newest = usage->samples[i].time_ns;
	for (i = 0; i < usage->nr; i++) {
		sample = &usage->samples[i];
		if (sample->used < USED || newest - sample->time_ns > RECENT_NS)
			continue;
		is_used = true;
		if (sample->pid == NO_PROCESS)
			continue;
		if (!is_of_guest(sample->pid))
			return false;
		is_named = true;
	}
	return usage->nr && (is_named || !is_used);
}

void share_sampled(const struct card_usage *usage)
{
	struct engine *engine;

	if (usage->error || usage->card >= RM_DEVICES || usage->minor >= RM_DEVICES)
		return;
	known_until_ms[usage->card] = is_telling(usage) ? now_ms() + SAMPLED_MS : 0;
	minors[usage->card] = usage->minor + 1;
	LIST_FOREACH(engine, &all_engines, node) {
		engine->share.busy &= ~(1U << usage->card);
		if (was_seen(engine, usage))
			engine->share.busy |= 1U << usage->card;
	}
	look_at(usage->card);
}
