// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test mappings that move between the window and copies while a program and the device write to
 * them. No byte is lost, no overwritten byte comes back, and no mapping stays where it must not
 * be.
 */
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "window_move.h"

static int times(void)
{
	return getenv("VGPU_TIMES") ? 3 : 6;
}

struct writer {
	volatile uint32_t *words;
	size_t first;
	size_t step;
	size_t nr;
	unsigned int rounds;
	bool wrong;
	pthread_t thread;
};

static volatile bool stop;

/* Writes its words again and again. Each word must still hold the value of the last round. */
static void *writer_run(void *data)
{
	struct writer *writer = data;
	size_t i;

	for (; !stop && !writer->wrong; writer->rounds++)
		for (i = writer->first; i < writer->nr; i += writer->step) {
			if (writer->words[i] != writer->rounds)
				writer->wrong = true;
			writer->words[i] = writer->rounds + 1;
		}
	return NULL;
}

static bool writer_start(struct writer *writer, void *memory, size_t size, size_t first,
			 size_t step)
{
	*writer = (struct writer){
		.words = memory, .first = first, .step = step, .nr = size / sizeof(uint32_t),
	};
	return !pthread_create(&writer->thread, NULL, writer_run, writer);
}

/* Return: true if the writer always found what it had written, and made more than three rounds. */
static bool writer_end(struct writer *writer, const char *name)
{
	pthread_join(writer->thread, NULL);
	printf("# %s: %u rounds\n", name, writer->rounds);
	return !writer->wrong && writer->rounds > 3;
}

/*
 * The mapping moves out of the window and into it while the program writes to it and the device
 * writes to the buffer.
 */
static void drained(struct __test_metadata *_metadata, struct buffer *buffer, char *memory,
		    char *device)
{
	const uint32_t *words = (uint32_t *)device, *seen = (uint32_t *)memory;
	size_t nr = buffer->size / sizeof(*words), i;
	struct writer program, gpu;
	int n;

	memset(memory, 0, buffer->size);
	stop = false;
	ASSERT_TRUE(writer_start(&program, memory, buffer->size, 0, 2));
	ASSERT_TRUE(writer_start(&gpu, device, buffer->size, 1, 2));
	for (n = 0; n < times(); n++) {
		EXPECT_EQ(0, drain());
		EXPECT_EQ(0, window_status("bindings"));
		EXPECT_EQ(1, window_counter(buffer->fwd, "copy_mappings"));
		EXPECT_EQ(0, sync_buffer(buffer));
		EXPECT_EQ(0, fill());
		EXPECT_TRUE(await_mappings(buffer, 1));
		usleep(50000);
	}
	for (n = 0; n < 2000 && (*(volatile unsigned int *)&program.rounds < 4 ||
				 *(volatile unsigned int *)&gpu.rounds < 4); n++)
		usleep(10000);
	stop = true;
	EXPECT_TRUE(writer_end(&program, "program"));
	EXPECT_TRUE(writer_end(&gpu, "device"));
	/* Program and device both see all words of both writers. */
	for (i = 0; i < nr; i++) {
		ASSERT_EQ(i % 2 ? gpu.rounds : program.rounds, words[i]) TH_LOG("word %zu", i);
		ASSERT_EQ(words[i], seen[i]) TH_LOG("word %zu", i);
	}
}

#define DRAINED(name, flavour)						\
TEST_F_TIMEOUT(move, name, 100)						\
{									\
	ASSERT_TRUE(begin(self, flavour, 16 * PAGE));			\
	drained(_metadata, &self->buffer, self->memory, self->device);	\
}

DRAINED(pfn, VGPU_MOCK_BUF_PFN)
DRAINED(mixed, VGPU_MOCK_BUF_MIXED)
DRAINED(page, VGPU_MOCK_BUF_PAGE)
DRAINED(page_notify, VGPU_MOCK_BUF_PAGE | VGPU_MOCK_BUF_NOTIFY)
DRAINED(write_combining, VGPU_MOCK_BUF_WC)

/* Memory that a PMD mapping shows in the window moves page by page. */
TEST_F_TIMEOUT(move, huge, 100)
{
	NEEDS_THP();
	ASSERT_TRUE(begin(self, VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_HUGE, HUGE));
	EXPECT_EQ(0, touch(self->memory, true));
	EXPECT_EQ(window_huge_possible(), window_status("huge"));
	drained(_metadata, &self->buffer, self->memory, self->device);
}

struct pair {
	volatile uint32_t *one;
	volatile uint32_t *two;
	size_t nr;
	unsigned int rounds;
	bool wrong;
};

/* A word written through either mapping can be read at once through the other one. */
static void *pair_run(void *data)
{
	struct pair *pair = data;
	uint32_t value = 0;
	size_t i;

	for (; !stop && !pair->wrong; pair->rounds++, value += 2)
		for (i = 0; i < pair->nr; i++) {
			pair->wrong |= pair->two[i] != value;
			pair->one[i] = value + 1;
			pair->wrong |= pair->two[i] != value + 1;
			pair->two[i] = value + 2;
			pair->wrong |= pair->one[i] != value + 2;
		}
	return NULL;
}

#define BETWEEN	20

/*
 * A program writes to both of two mappings of the same memory, one of which is unmapped in part.
 * Mappings of other buffers move between the two, which takes time.
 */
TEST_F_TIMEOUT(move, two_mappings, 200)
{
	struct buffer *buffer = &self->buffer, between;
	struct pair pair = { .nr = 3 * PAGE / sizeof(uint32_t) };
	pthread_t thread;
	char *other;
	size_t i;
	int n;

	ASSERT_TRUE(begin(self, VGPU_MOCK_BUF_PFN, 4 * PAGE));
	for (n = 0; n < BETWEEN; n++) {
		ASSERT_TRUE(buffer_make(&between, VGPU_MOCK_BUF_PFN, PAGE));
		ASSERT_NE(NULL, buffer_map(&between, between.fwd, PROT_READ | PROT_WRITE));
	}
	other = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, buffer->fwd,
		     buffer->offset);
	ASSERT_NE(MAP_FAILED, other);
	ASSERT_EQ(0, munmap(other + 3 * PAGE, PAGE));
	memset(self->memory, 0, 4 * PAGE);
	pair.one = (uint32_t *)self->memory;
	pair.two = (uint32_t *)other;
	stop = false;
	ASSERT_EQ(0, pthread_create(&thread, NULL, pair_run, &pair));
	for (n = 0; n < 2 * times(); n++) {
		EXPECT_EQ(0, drain());
		EXPECT_EQ(0, window_status("bindings"));
		usleep(20000);
		EXPECT_EQ(0, fill());
		EXPECT_TRUE(await_mappings(buffer, 2 + BETWEEN));
		usleep(20000);
	}
	for (n = 0; n < 2000 && *(volatile unsigned int *)&pair.rounds < 4; n++)
		usleep(10000);
	stop = true;
	pthread_join(thread, NULL);
	printf("# %u rounds\n", pair.rounds);
	EXPECT_FALSE(pair.wrong);
	EXPECT_LT(3, pair.rounds);
	EXPECT_EQ(0, sync_buffer(buffer));
	for (i = 0; i < pair.nr; i++)
		ASSERT_EQ(2 * pair.rounds, ((uint32_t *)self->device)[i]) TH_LOG("word %zu", i);
}

#define WORDS	16

/* A program that answers another one in WORDS words; in memory that both share. */
struct player {
	volatile unsigned int turns;
	volatile uint32_t wrong;
	uint32_t mine;
};

/*
 * Waits in one word after another until its turn has come there, and gives the turn to the other
 * player by adding one. A word can only have the value of this turn or of the turn before.
 */
static void player_run(struct player *player, volatile uint32_t *words)
{
	for (;; player->turns++) {
		volatile uint32_t *word = &words[player->turns % WORDS];
		uint32_t expected = player->turns / WORDS * 2 + player->mine, value;

		while ((value = *word) + 1 == expected)
			sched_yield();
		if (value != expected) {
			player->wrong = value + 1;
			return;
		}
		*word = expected + 1;
	}
}

/* Return: true if each player has had @more turns more within twenty seconds. */
static bool players_go_on(const struct player *players, unsigned int more)
{
	unsigned int end[2] = { players[0].turns + more, players[1].turns + more };
	int tries;

	for (tries = 0; tries < 2000; tries++) {
		if (players[0].turns >= end[0] && players[1].turns >= end[1])
			return true;
		usleep(10000);
	}
	return false;
}

/*
 * Two programs, each with a mapping of its own, answer each other in memory that moves. A lost
 * word would leave both waiting.
 */
TEST_F_TIMEOUT(move, two_programs, 300)
{
	struct buffer *buffer = &self->buffer;
	struct player *players;
	volatile uint32_t *words;
	pid_t children[2];
	unsigned int n, i;
	int status;

	ASSERT_TRUE(begin(self, VGPU_MOCK_BUF_PFN, PAGE));
	memset(self->memory, 0, PAGE);
	players = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, players);
	for (i = 0; i < 2; i++) {
		players[i].mine = i;
		children[i] = fork();
		if (children[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		words = (uint32_t *)buffer_map(buffer, buffer->fwd, PROT_READ | PROT_WRITE);
		if (words)
			player_run(&players[i], words);
		_exit(1);
	}
	EXPECT_TRUE(players_go_on(players, 2 * WORDS));
	for (n = 0; n < 4 * (unsigned int)times(); n++) {
		EXPECT_EQ(0, n % 2 ? fill() : drain());
		/* A player cannot have so many turns without the other player. */
		ASSERT_TRUE(players_go_on(players, 2 * WORDS)) {
			for (i = 0; i < 2; i++)
				TH_LOG("move %u, player %u: %u turns, wrong %#x, device has %#x",
				       n, i, players[i].turns, players[i].wrong,
				       ((uint32_t *)self->device)[players[i].turns % WORDS]);
		}
	}
	printf("# %u turns\n", players[0].turns);
	for (i = 0; i < 2; i++) {
		kill(children[i], SIGKILL);
		ASSERT_EQ(children[i], waitpid(children[i], &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
	}
}

/*
 * A mapping that finds no room beside another mapping of its memory takes that mapping out of
 * the window, too. The new mapping moves into the window when the other one has ended.
 */
TEST_F(move, no_room_for_two)
{
	struct buffer *buffer = &self->buffer;
	char *other;

	ASSERT_TRUE(window_begin("64K"));
	ASSERT_TRUE(begin(self, VGPU_MOCK_BUF_PFN, 10 * PAGE));
	self->memory[0] = 1;
	other = buffer_map(buffer, buffer->fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, other);
	other[0]++;
	EXPECT_EQ(2, self->memory[0]);
	self->memory[0]++;
	EXPECT_EQ(3, other[0]);
	EXPECT_TRUE(await_mappings(buffer, 0));
	ASSERT_EQ(0, munmap(self->memory, 10 * PAGE));
	EXPECT_EQ(3, other[0]);
	/* The window has room for one of the mappings. */
	EXPECT_TRUE(await_mappings(buffer, 1));
	other[0]++;
	ASSERT_EQ(0, sync_buffer(buffer));
	EXPECT_EQ(4, self->device[0]);
}

/*
 * A read-only mapping stays read-only in the window and as a copy. A mapping that is made in a
 * drained window is a copy.
 */
TEST_F(move, read_only)
{
	struct buffer *buffer = &self->buffer;
	char *memory, *more, *device;

	ASSERT_TRUE(buffer_make(buffer, VGPU_MOCK_BUF_PFN, 4 * PAGE));
	memory = buffer_map(buffer, buffer->fwd, PROT_READ);
	ASSERT_NE(NULL, memory);
	ASSERT_EQ(0, buffer_do(buffer, VGPU_MOCK_IOC_BUF_FILL, 1, 0));
	EXPECT_TRUE(memory_is(memory, 4 * PAGE, 1));
	ASSERT_EQ(0, drain());
	EXPECT_TRUE(memory_is(memory, 4 * PAGE, 1));
	EXPECT_EQ(SIGSEGV, touch(memory, true));
	more = buffer_map(buffer, buffer->fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, more);
	EXPECT_EQ(2, window_counter(buffer->fwd, "copy_mappings"));
	/* A mapping with a hole is bound as two parts. */
	ASSERT_EQ(0, munmap(more + PAGE, PAGE));
	ASSERT_EQ(0, fill());
	EXPECT_TRUE(window_await("bindings", 3));
	EXPECT_TRUE(await_mappings(buffer, 2));
	EXPECT_EQ(0, window_counter(buffer->fwd, "copy_mappings"));
	EXPECT_TRUE(memory_is(memory, 4 * PAGE, 1));
	EXPECT_EQ(SIGSEGV, touch(memory, true));
	ASSERT_EQ(0, buffer_do(buffer, VGPU_MOCK_IOC_BUF_FILL, 2, 0));
	EXPECT_TRUE(memory_is(memory, 4 * PAGE, 2));
	/* The program can make the mapping writable, as a copy and in the window. */
	device = buffer_map(buffer, buffer->real, PROT_READ);
	ASSERT_NE(NULL, device);
	ASSERT_EQ(0, mprotect(memory, 4 * PAGE, PROT_READ | PROT_WRITE));
	memory[PAGE] = 77;
	EXPECT_EQ(77, device[PAGE]);
	ASSERT_EQ(0, drain());
	memory[PAGE] = 78;
	ASSERT_EQ(0, sync_buffer(buffer));
	EXPECT_EQ(78, device[PAGE]);
}

TEST_F(move, vgpuctl)
{
	EXPECT_EQ(5, tool_run("vgpuctl window drain --to 99")->status);
	EXPECT_EQ(5, tool_run("vgpuctl window fill --to 99")->status);
	EXPECT_EQ(2, tool_run("vgpuctl window fill --to 1 --force")->status);
	EXPECT_EQ(2, tool_run("vgpuctl window drain --to 1 --size 1M")->status);
	EXPECT_EQ(2, tool_run("vgpuctl window empty --to 1")->status);
	EXPECT_EQ(0, drain());
	EXPECT_NE(NULL, strstr(tool_run("vgpuctl status")->out, "being drained"));
	EXPECT_NE(NULL, strstr(tool_run("vgpuctl status --json")->out, "\"drain\":true"));
	EXPECT_EQ(0, fill());
	EXPECT_EQ(NULL, strstr(tool_run("vgpuctl status")->out, "being drained"));
	EXPECT_NE(NULL, strstr(tool_run("vgpuctl status --json")->out, "\"drain\":false"));
}

#define MAPPERS	4
#define MAPPED	40
#define MAPPED_SHORT	12

struct mapper {
	struct buffer *buffer;
	unsigned int nr;
	char *mapped[MAPPED];
	pthread_t thread;
};

static void *mapper_run(void *data)
{
	struct mapper *mapper = data;
	unsigned int i;

	for (i = 0; i < mapper->nr; i++)
		mapper->mapped[i] = buffer_map(mapper->buffer, mapper->buffer->fwd, PROT_READ);
	return NULL;
}

/*
 * A mapping that is made while the window is drained or filled ends up where the other mappings
 * are.
 */
TEST_F_TIMEOUT(move, mapped_meanwhile, 200)
{
	struct buffer *buffer = &self->buffer;
	struct mapper mappers[MAPPERS];
	const unsigned int nr = getenv("VGPU_TIMES") ? MAPPED_SHORT : MAPPED;
	unsigned int n, i, k, in;

	ASSERT_TRUE(buffer_make(buffer, VGPU_MOCK_BUF_PFN, PAGE));
	for (n = 0; n < 2 * (unsigned int)times(); n++) {
		in = n % 2 ? MAPPERS * nr : 0;
		for (i = 0; i < MAPPERS; i++) {
			mappers[i].buffer = buffer;
			mappers[i].nr = nr;
			ASSERT_EQ(0, pthread_create(&mappers[i].thread, NULL, mapper_run,
						    &mappers[i]));
		}
		EXPECT_EQ(0, n % 2 ? fill() : drain());
		for (i = 0; i < MAPPERS; i++)
			pthread_join(mappers[i].thread, NULL);
		EXPECT_TRUE(await_mappings(buffer, in)) TH_LOG("round %u", n);
		EXPECT_TRUE(window_await("bindings", in)) TH_LOG("round %u", n);
		for (i = 0; i < MAPPERS; i++)
			for (k = 0; k < nr; k++)
				EXPECT_EQ(0, munmap(mappers[i].mapped[k], PAGE));
	}
}

/*
 * A window goes and another one comes at once. The guest is busy meanwhile with the first
 * mapping, as a slow driver takes its bytes. So the new window is there when the guest looks at
 * the second mapping.
 */
TEST_F_TIMEOUT(move, another_at_once, 60)
{
	struct buffer slow;
	char *more, *dirty;

	ASSERT_TRUE(begin(self, VGPU_MOCK_BUF_PFN, 4 * PAGE));
	more = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, more);
	memset(self->memory, 3, 4 * PAGE);
	/* The window has no room for this buffer. */
	ASSERT_TRUE(buffer_make(&slow, VGPU_MOCK_BUF_PFN, 65 << 20));
	dirty = buffer_map(&slow, slow.fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, dirty);
	ASSERT_EQ(0, drain());
	ASSERT_EQ(0, fill());
	ASSERT_TRUE(await_mappings(&self->buffer, 2));
	dirty[0] = 1;
	ASSERT_EQ(0, buffer_do(&slow, VGPU_MOCK_IOC_BUF_SLOW, 0, 1500));
	ASSERT_EQ(0, buffer_do(&slow, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
	ASSERT_EQ(0, tool_run("vgpuctl window destroy --to 1 --force; "
			      "vgpuctl window create --to 1 --size 1M")->status);
	/* The mappings move in although no program accesses them. */
	EXPECT_TRUE(window_await("bindings", 2));
	EXPECT_TRUE(await_mappings(&self->buffer, 2));
	EXPECT_EQ(3, self->memory[PAGE]);
	EXPECT_EQ(3, more[2 * PAGE]);
	more[0] = 30;
	EXPECT_EQ(30, self->memory[0]);
	EXPECT_EQ(30, self->device[0]);
}

/* A page of which a pipe holds a reference moves into the window, and out of it. */
TEST_F_TIMEOUT(move, referred_to, 60)
{
	struct iovec page = { .iov_len = PAGE };
	int pipes[2];

	ASSERT_TRUE(begin(self, VGPU_MOCK_BUF_PAGE, 4 * PAGE));
	ASSERT_EQ(0, drain());
	ASSERT_EQ(0, pipe(pipes));
	self->memory[PAGE] = 1;
	page.iov_base = (char *)self->memory + PAGE;
	ASSERT_EQ(PAGE, vmsplice(pipes[1], &page, 1, 0));
	ASSERT_EQ(0, fill());
	EXPECT_TRUE(await_mappings(&self->buffer, 1));
	self->memory[PAGE] = 2;
	EXPECT_EQ(2, self->device[PAGE]);
	EXPECT_EQ(0, drain());
	EXPECT_EQ(0, window_counter(self->buffer.fwd, "window_mappings"));
	EXPECT_EQ(2, self->memory[PAGE]);
	close(pipes[0]);
	close(pipes[1]);
}

/* The kernel holds a reference of a page, and writes to the page later. */
TEST_F_TIMEOUT(move, written_by_the_kernel, 100)
{
	struct buffer *buffer = &self->buffer, slow;
	struct iovec from = { .iov_len = PAGE }, to = { .iov_len = PAGE };
	unsigned long before;
	char *more;
	pid_t child;
	int status;

	ASSERT_TRUE(begin(self, VGPU_MOCK_BUF_PAGE, 4 * PAGE));
	ASSERT_EQ(0, drain());
	ASSERT_TRUE(buffer_make(&slow, VGPU_MOCK_BUF_PFN, PAGE));
	ASSERT_EQ(0, buffer_do(&slow, VGPU_MOCK_IOC_BUF_FILL, 9, 0));
	ASSERT_EQ(0, buffer_do(&slow, VGPU_MOCK_IOC_BUF_SLOW, 0, 9000));
	before = buffer_faults(&slow);
	from.iov_base = buffer_map(&slow, slow.real, PROT_READ);
	ASSERT_NE(NULL, from.iov_base);
	to.iov_base = self->memory + PAGE;
	child = fork();
	if (!child)
		_exit(process_vm_writev(getppid(), &from, 1, &to, 1, 0) != PAGE);
	ASSERT_TRUE(buffer_await_fault(&slow, before));
	ASSERT_EQ(0, fill());
	/*
	 * A new mapping, which could be in the window, is a copy like the mapping with the
	 * reference.
	 */
	more = buffer_map(buffer, buffer->fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, more);
	EXPECT_EQ(0, touch(more, true));
	EXPECT_EQ(0, touch(self->memory, true));
	EXPECT_EQ(0, window_counter(buffer->fwd, "window_mappings"));
	EXPECT_EQ(0, waitpid(child, &status, WNOHANG));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(memory_is(self->memory + PAGE, PAGE, 9));
	EXPECT_TRUE(await_mappings(buffer, 2));
	EXPECT_TRUE(memory_is(self->memory + PAGE, PAGE, 9));
	EXPECT_TRUE(memory_is(self->device + PAGE, PAGE, 9));
}

#define WRITERS	8

/* Keeps a processor busy, so that the writers below are preempted in the middle of faults. */
static void *busy_run(void *data)
{
	while (!stop)
		;
	return NULL;
}

static void *nice_run(void *data)
{
	volatile char *page = data;
	unsigned long i;

	/*
	 * The priority is that of this thread. A slow machine waits long for locks that the
	 * thread holds.
	 */
	setpriority(PRIO_PROCESS, 0, getenv("VGPU_TIMES") ? 10 : 19);
	for (i = 0; !stop; i++) {
		/* The page is mapped read-only first, and the write makes it writable. */
		madvise((void *)page, PAGE, MADV_DONTNEED);
		(void)*page;
		*page = i;
	}
	return NULL;
}

/*
 * A write makes a page writable while the mapping moves: the page that the fault found is in the
 * window, and the mapping is a copy by then.
 */
TEST_F_TIMEOUT(move, first_write_meanwhile, 600)
{
	/*
	 * A thread that waits for a writer waits for a thread that gets nearly no processor
	 * time.
	 */
	const uint64_t end = tool_now_ms() + 60000;
	struct buffer *buffer = &self->buffer;
	pthread_t busy, writers[WRITERS];
	pthread_attr_t attr;
	cpu_set_t one;
	int n, i;

	ASSERT_TRUE(begin(self, VGPU_MOCK_BUF_PAGE, WRITERS * PAGE));
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(one), &one);
	stop = false;
	ASSERT_EQ(0, pthread_create(&busy, &attr, busy_run, NULL));
	for (i = 0; i < WRITERS; i++)
		ASSERT_EQ(0, pthread_create(&writers[i], &attr, nice_run, self->memory + i * PAGE));
	for (n = 0; n < 2 * times() && (n < 4 || tool_now_ms() < end); n++) {
		EXPECT_EQ(0, n % 2 ? fill() : drain());
		ASSERT_TRUE(await_mappings_for(buffer, n % 2, 180));
		for (i = 0; i < 4 * WRITERS; i++) {
			(void)*(volatile char *)(self->memory + i % WRITERS * PAGE);
			usleep(2000);
		}
	}
	stop = true;
	pthread_join(busy, NULL);
	for (i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
}

TEST_HARNESS_MAIN
