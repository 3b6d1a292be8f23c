// SPDX-License-Identifier: MIT
/*
 * Start of a shadow: the entry point, the move of the program to a random address, and the
 * protection keys that keep drivers from the program's memory. Both kinds of shadows have this.
 */
#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/mman.h>
#include <linux/prctl.h>

#include "keys.h"
#include "sys.h"

#define PAGE		4096UL

unsigned char keys_on;
unsigned long slots_base;

/* ELF header of the loaded program, followed by the program headers: so the size is not given. */
extern const unsigned char __ehdr_start[] HIDDEN;

static const Elf64_Ehdr *program_header(void)
{
	return (const void *)__ehdr_start;
}

static const Elf64_Phdr *program_headers(void)
{
	return (const void *)(__ehdr_start + program_header()->e_phoff);
}

/* Return the distance of the running copy from the address at which the program was linked. */
static unsigned long program_offset(void)
{
	return (unsigned long)__ehdr_start - SHADOW_RESERVED_BASE;
}

static unsigned long page_below(unsigned long addr)
{
	return addr & ~(PAGE - 1);
}

static unsigned long page_above(unsigned long addr)
{
	return page_below(addr + PAGE - 1);
}

/* --- the start, and the program's place ------------------------------------- */

/* The stack is in .bss, and so in the reserved range. */
static unsigned char main_stack[64 * 1024] __attribute__((aligned(16), used));

/*
 * Entry point. It passes exec's stack to shadow_main(), which reads argc and argv at the beginning
 * of that stack before it unmaps the stack. shadow_main() runs on main_stack, in the moved copy of
 * the program.
 */
__asm__(".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rbx\n"
	"	call program_move\n"
	"	lea main_stack+65536(%rip), %rsp\n"
	"	lea shadow_main(%rip), %rcx\n"
	"	add %rax, %rsp\n"
	"	add %rax, %rcx\n"
	"	mov %rbx, %rdi\n"
	"	call *%rcx\n"
	"	hlt\n");
_Static_assert(sizeof(main_stack) == 65536, "_start names the stack's end");

void name_take(const long *start)
{
	const char *const *argv = (const char *const *)(start + 1);

	if (start[0] >= 2)
		sys2(__NR_prctl, PR_SET_NAME, (long)argv[1]);
}

/*
 * Move a part of the program. MREMAP_DONTUNMAP keeps the old mapping, whose pages are read from
 * the file again: the code that runs goes on there.
 */
static void part_move(unsigned long start, unsigned long end, unsigned long by)
{
	if (start == end)
		return;
	if (sys6(__NR_mremap, start, end - start, end - start,
		 MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, start + by, 0) !=
	    (long)(start + by))
		sys_exit_group(SHADOW_EXIT_MAP);
}

/*
 * Adjust addresses in the program's data. Code is position-independent. Only tables with
 * addresses of functions are left, in data that was just loaded: no other word there has a
 * value in the program's range.
 */
static void addresses_move(unsigned long *word, const unsigned long *end, unsigned long by)
{
	for (; word < end; word++)
		if (*word - SHADOW_RESERVED_BASE < SHADOW_PROGRAM_MAX)
			*word += by;
}

/*
 * Move the program to a random place. Called on exec's stack before all else. Return: the
 * distance of the move; the code that runs is still the old copy.
 */
static unsigned long __attribute__((used)) program_move(void)
{
	const Elf64_Phdr *phdr = program_headers();
	unsigned long by, file_end;
	unsigned int random;
	int i;

	if (sys3(__NR_getrandom, (long)&random, sizeof(random), 0) != sizeof(random))
		sys_exit_group(SHADOW_EXIT_MAP);
	by = SHADOW_PROGRAM_MAX + random % (SHADOW_PROGRAM_ROOM / PAGE) * PAGE;
	for (i = 0; i < program_header()->e_phnum; i++) {
		if (phdr[i].p_type != PT_LOAD)
			continue;
		file_end = page_above(phdr[i].p_vaddr + phdr[i].p_filesz);
		part_move(page_below(phdr[i].p_vaddr), file_end, by);
		part_move(file_end, page_above(phdr[i].p_vaddr + phdr[i].p_memsz), by);
		if (phdr[i].p_flags & PF_W)
			addresses_move((void *)(((phdr[i].p_vaddr + 7) & ~7UL) + by),
				       (void *)(phdr[i].p_vaddr + phdr[i].p_filesz + by), by);
	}
	return by;
}

/* --- keys --------------------------------------------------------------------- */

static long data_protect(void)
{
	const Elf64_Phdr *phdr = program_headers();
	unsigned long start, end;
	long ret = 0;
	int i;

	for (i = 0; !ret && i < program_header()->e_phnum; i++) {
		if (phdr[i].p_type != PT_LOAD || !(phdr[i].p_flags & PF_W))
			continue;
		start = page_below(phdr[i].p_vaddr);
		end = page_above(phdr[i].p_vaddr + phdr[i].p_memsz);
		ret = keys_give(start + program_offset(), end - start, KEY_OWN);
	}
	return ret;
}

/* Allocate all keys. The thread, and all threads that it starts, can use them at once. */
static unsigned char keys_take(void)
{
	int key;

	for (key = KEY_OWN; key <= VGPU_KEY_LAST; key++)
		if (sys2(__NR_pkey_alloc, 0, 0) != key)
			return 0;
	return 1;
}

/*
 * Choose random addresses. Memory of threads begins somewhere in SHADOW_SLOTS_ROOM. The kernel
 * chooses the highest free addresses: a mapping of up to SHADOW_TOP_ROOM bytes at the end of the
 * range shifts them down by a random length.
 */
static long addresses_choose(void)
{
	unsigned int random[2];
	unsigned long top;
	long ret;

	ret = sys3(__NR_getrandom, (long)random, sizeof(random), 0);
	if (ret != sizeof(random))
		return ret < 0 ? ret : -EIO;
	slots_base = SHADOW_SLOTS_BASE + random[0] % (SHADOW_SLOTS_ROOM / PAGE) * PAGE;
	top = (random[1] % (SHADOW_TOP_ROOM / PAGE) + 1) * PAGE;
	ret = sys_mmap(SHADOW_RESERVED_BASE + SHADOW_RESERVED_SIZE - top, top, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	return sys_is_error(ret) ? ret : 0;
}

int keys_init(void)
{
	long ret;

	/* Unmap the program's old place, where nothing runs after the move. */
	ret = sys2(__NR_munmap, SHADOW_RESERVED_BASE, SHADOW_PROGRAM_MAX);
	if (!ret)
		ret = addresses_choose();
	if (ret)
		return ret;
	keys_on = keys_take();
	return keys_on ? data_protect() : 0;
}

long keys_protect(unsigned long addr, unsigned long len, int prot, int key)
{
	if (!keys_on)
		return sys3(__NR_mprotect, addr, len, prot);
	return sys4(__NR_pkey_mprotect, addr, len, prot, key);
}

long keys_give(unsigned long addr, unsigned long len, int key)
{
	return keys_protect(addr, len, PROT_READ | PROT_WRITE, key);
}
