// SPDX-License-Identifier: GPL-2.0-only
/* Batches: see batch.h. */
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "memory/batch.h"
#include "memory/space.h"

/* Largest order of a piece: larger ones are rare on a machine that has run for some time. */
#define BATCH_ORDER	5

/*
 * Allocate 2^*@order pages in a row, or fewer, each with a reference of its own. *@order becomes
 * the order of what was allocated. Return: the first page, or NULL.
 */
static struct page *batch_piece(gfp_t gfp, unsigned int *order)
{
	struct page *page;
	unsigned int i;

	for (; *order; --*order) {
		/* A piece is worth neither reclaim nor the reserves, as single pages will do. */
		page = alloc_pages((gfp & ~__GFP_RECLAIM) | __GFP_NOMEMALLOC | __GFP_NOWARN,
				   *order);
		if (!page)
			continue;
		split_page(page, *order);
		/*
		 * The allocator clears page_private() of the first page only: another may have a
		 * stale value, which may be SPACE_PAGE_GONE (space.c).
		 */
		for (i = 1; i < 1U << *order; i++)
			set_page_private(page + i, 0);
		return page;
	}
	return alloc_page(gfp);
}

u32 vgpu_batch_alloc(struct vgpu_page **pages, u32 nr, bool zero)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | (zero ? __GFP_ZERO : 0);
	unsigned int order = BATCH_ORDER;
	struct page *piece = NULL;
	u32 made, left = 0;

	for (made = 0; made < nr; made++) {
		pages[made] = kzalloc(sizeof(*pages[made]), GFP_KERNEL_ACCOUNT);
		if (!pages[made])
			break;
		if (!left) {
			/* An order that has just failed is not tried again. */
			order = min_t(unsigned int, order, ilog2(nr - made));
			piece = batch_piece(gfp, &order);
			left = piece ? 1U << order : 0;
		}
		if (!left) {
			kfree(pages[made]);
			break;
		}
		pages[made]->page = piece++;
		left--;
	}
	for (; left; left--)
		put_page(piece++);
	return made;
}

void vgpu_page_free(struct vgpu_page *page)
{
	put_page(page->page);
	kfree(page);
}

void vgpu_batch_free(struct vgpu_page **pages, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (pages[i])
			vgpu_page_free(pages[i]);
}

size_t vgpu_batch_vec(struct vgpu_page *const *pages, u32 nr, struct kvec *vec)
{
	void *end = NULL;
	size_t used = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		void *bytes = page_address(pages[i]->page);

		if (!used || bytes != end)
			vec[used++] = (struct kvec){ .iov_base = bytes };
		vec[used - 1].iov_len += PAGE_SIZE;
		end = bytes + PAGE_SIZE;
	}
	return used;
}
