/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ranges of a window, and the end of a window with its ranges. A range is claimed for each mapping
 * and named in the MMAP or BIND call. The host may fail to bind the mapping there. A released range
 * is claimed again only after the host has confirmed (UNBOUND) that nothing is bound in the range.
 */
#ifndef VGPU_WINDOW_RANGE_H
#define VGPU_WINDOW_RANGE_H

#include <linux/interval_tree.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

struct vgpu_host;
struct vgpu_mapping;
struct vgpu_window;
struct vgpu_window_part;

enum vgpu_window_range_state {
	VGPU_RANGE_CLAIMED,	/* no mapping shows the range yet: an MMAP or BIND may name it */
	VGPU_RANGE_MAPPED,	/* a mapping shows the range */
	VGPU_RANGE_LEFT,	/* window lost, UNBIND sent, but the mapping cannot be copied */
	VGPU_RANGE_HIDDEN,	/* as LEFT, and the host has nothing bound there any more */
	VGPU_RANGE_RELEASED,	/* released by the mapping, waits for UNBOUND */
	VGPU_RANGE_UNBOUND,	/* UNBOUND came, waits for the provider's unbind */
};

/**
 * struct vgpu_window_ahead - PMD mappings that faults insert in advance; guarded by range->insert
 * @next: address behind the last PMD mapping, where a program that goes on in order faults next
 * @nr: number of PMD mappings that the last fault has inserted in advance
 */
struct vgpu_window_ahead {
	unsigned long next;
	unsigned int nr;
};

/**
 * struct vgpu_window_range - a part of a window that one mapping shows
 * @node: entry in window->ranges; guarded by window->lock like @state and @mapping
 * @window: window of the range, with a reference
 * @offset: offset in the window in bytes
 * @len: length in bytes
 * @state: state of the range, see enum vgpu_window_range_state
 * @mapping: mapping that shows the range, set by vgpu_window_attach(); NULL after
 *	vgpu_window_release(). The mapping lives until that call
 * @insert: mutex held while PTEs or PMD mappings are inserted, so that a PMD mapping is never
 *	inserted where a page table is, nor a page table where a PMD mapping is
 * @ahead: PMD mappings that faults insert in advance
 * @huge: true if a PMD mapping was inserted at any time; never reset, written and read anywhere
 * @bound: true if the provider's @bind was called
 * @data: private data of the provider
 * @unbound: work item that frees the range in the state VGPU_RANGE_UNBOUND
 * @bad_first: offset, in the window in bytes, of the first page that may have failed. The host is
 *	asked before a page from here to @bad_end is shown. Guarded by window->use like all that
 *	follow
 * @bad_end: offset, in the window in bytes, behind the last page that may have failed
 * @bad_count: generation of the last INVALIDATE for the range, unique among all ranges of all
 *	hosts; 0: none yet
 * @hopeless: true if a page failed again soon after the host had given it. The host can read
 *	the page, and the window cannot show it
 * @good: failed pages that the host was asked for since and has, indexed by page of the window;
 *	the value is the time of the answer in seconds
 */
struct vgpu_window_range {
	struct interval_tree_node node;
	struct vgpu_window *window;
	u64 offset;
	u64 len;
	enum vgpu_window_range_state state;
	struct vgpu_mapping *mapping;
	struct mutex insert;
	struct vgpu_window_ahead ahead;
	bool huge;
	bool bound;
	void *data;
	struct work_struct unbound;
	u64 bad_first;
	u64 bad_end;
	u64 bad_count;
	bool hopeless;
	struct xarray good;
};

/* Module init and exit; exit after the last host is freed. */
int vgpu_window_global_init(void);
void vgpu_window_global_exit(void);

/*
 * Return: the first range of the window that has bytes from offset @first to offset @last. The
 * caller holds window->lock.
 */
struct vgpu_window_range *vgpu_window_range_first(struct vgpu_window *window, u64 first, u64 last);
/* Return: the next range after @range that has such bytes. The caller holds window->lock. */
struct vgpu_window_range *vgpu_window_range_next(struct vgpu_window_range *range, u64 first,
						 u64 last);

/**
 * vgpu_window_is_over - check whether a lost window may be opened anew
 * @window: the window, whose lock the caller holds
 *
 * Return: true if the window is lost and the host has nothing bound in it any more.
 */
bool vgpu_window_is_over(const struct vgpu_window *window);

/**
 * vgpu_window_claim - claim a range of the host's window for a new mapping
 * @host: the host
 * @addr: address of the mapping in the program
 * @len: length of the mapping in bytes
 *
 * A range of 2 MiB or more gets an offset that is congruent to @addr modulo 2 MiB if there is
 * such room, so that PMD mappings are possible.
 *
 * Return: the range, to be given to vgpu_window_attach(), vgpu_window_release() or
 * vgpu_window_unclaim(); NULL if there is no window or no room in the window.
 */
struct vgpu_window_range *vgpu_window_claim(struct vgpu_host *host, u64 addr, u64 len);

/*
 * Attach a range to @mapping, which shows the range from now on; the host has bound it. Return:
 * 0, or an errno if the provider cannot map the range with the mapping's cache attribute.
 */
int vgpu_window_attach(struct vgpu_window_range *range, struct vgpu_mapping *mapping);

/**
 * vgpu_window_release - release a range
 * @range: range that no VMA shows any more
 * @bound: true if the host may have the range bound; then an UNBIND is sent to the host
 */
void vgpu_window_release(struct vgpu_window_range *range, bool bound);

/*
 * Release a claimed range that was not named to the host. A move calls this function when another
 * mapping of the unit has found no room, or could not be bound.
 */
void vgpu_window_unclaim(struct vgpu_window_range *range);

/*
 * Zap all PTEs that show [offset, offset + len) of the window; @len is not 0. For providers; may
 * be called from MMU notifiers.
 */
void vgpu_window_zap(struct vgpu_window *window, u64 offset, u64 len);

/*
 * End the use of a window whose memory goes away without the host's knowledge. All PTEs are zapped
 * when the function returns. Mappings that can be copies move to copy mode later; the others give
 * SIGBUS. For providers.
 */
void vgpu_window_lost(struct vgpu_window *window);

/*
 * Wait, killably, until the host has nothing bound in a lost window. For providers. The caller
 * holds a reference of the window. @timeout: jiffies. Return: true if nothing is bound, or the
 * window has ended and no UNBOUND will come; false after the timeout or a fatal signal.
 */
bool vgpu_window_await_hidden(struct vgpu_window *window, unsigned long timeout);

/* Handle the message UNBOUND of the host. */
void vgpu_window_unbound(struct vgpu_host *host, const struct vgpu_window_part *part);

/**
 * vgpu_window_end - end a window
 * @window: the window; the host's reference of it is consumed
 *
 * No PTE shows the window any more when the function returns, and no provider's unbind runs.
 *
 * Context: process; waits for work items.
 */
void vgpu_window_end(struct vgpu_window *window);

#endif /* VGPU_WINDOW_RANGE_H */
