// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks of programs, shadows, agents and engines are killed at random moments while programs use
 * the device in all ways, in the window and in copy mode. No other program is harmed, and nothing
 * stays.
 *
 * VGPU_DEATHS=PROGRAMS,SHADOWS,AGENTS,QEMUS says how many are killed in all (QEMUs by an ordeal),
 * and VGPU_SEED repeats the random numbers of an earlier run (make check-deaths). The kernel's
 * scheduling is another each time, so a seed repeats a run roughly.
 */
#include "deaths_load.h"
#include "window.h"

#include "kselftest_harness.h"

/*
 * Between two deaths programs finish some steps, and then there is a pause. The limits are those of
 * the number of steps, of the pause, and of the waits for steps and for a shadow.
 */
#define STEPS		10
#define PAUSE_US	12000
#define STEPS_MS	5000
#define SHADOW_MS	20000
/* A guest waits 20 s for the host to take the first lane of a session. */
#define GIVES_UP_MS	60000

enum victim { PROGRAMS, SHADOWS, AGENTS, NR_VICTIMS };

/* Numbers of deaths by default, of all cases and both variants together. */
static const unsigned int few[NR_VICTIMS] = { 80, 20, 4 };

FIXTURE(deaths) {
	const char *name;
	struct baseline before;
	unsigned int wanted[NR_VICTIMS];
	unsigned int killed[NR_VICTIMS];
	unsigned int hits[LOAD_STEPS + 1];	/* programs killed, by their step */
	unsigned long state;
	bool restarts;
	bool window;
	long slab;
};

FIXTURE_VARIANT(deaths) {
	bool window;
};

FIXTURE_VARIANT_ADD(deaths, copies) {
};

FIXTURE_VARIANT_ADD(deaths, window) {
	.window = true,
};

static long slab_kib(void)
{
	return baseline_field("/proc/meminfo", "SUnreclaim:");
}

/* Shares the deaths among the variants, of which there are two where there can be a window. */
static void get_wanted(unsigned int wanted[NR_VICTIMS])
{
	const char *text = getenv("VGPU_DEATHS");
	unsigned int variants = window_possible() ? 2 : 1, i;

	memcpy(wanted, few, sizeof(few));
	if (!text || sscanf(text, "%u,%u,%u", &wanted[0], &wanted[1], &wanted[2]) != 3)
		memcpy(wanted, few, sizeof(few));
	for (i = 0; i < NR_VICTIMS; i++)
		wanted[i] = (wanted[i] + variants - 1) / variants;
}

static bool make_window(void)
{
	return window_begin("64M");
}

/* Makes the exports those of a file, as they have to be there again after a restart. */
static bool restart_with_file(void)
{
	return agent_keep_exports() && agent_start_with(getenv("VGPU_NAME"), "");
}

static bool is_back(void)
{
	unsigned int tries;

	/* Each try lasts 40 s; the load takes most of a small machine's time. */
	for (tries = 0; tries < 4; tries++)
		if (agent_await(getenv("VGPU_NAME")) >= 0)
			return true;
	return false;
}

FIXTURE_SETUP(deaths)
{
	const char *seed = getenv("VGPU_SEED");

	self->name = getenv("VGPU_NAME");
	if (geteuid() || !getenv("VGPU_FWD") || !strcmp(getenv("VGPU_TIER") ?: "", "native"))
		SKIP(return, "needs root and a forwarded device");
	if (variant->window && !window_possible())
		SKIP(return, "needs the host module in the same machine");
	get_wanted(self->wanted);
	self->state = seed ? strtoul(seed, NULL, 0) : tool_now_ms() * 1000003 + getpid();
	TH_LOG("seed %lu", self->state);
	if (variant->window)
		ASSERT_TRUE(load_apart(make_window));
	self->window = variant->window;
}

FIXTURE_TEARDOWN(deaths)
{
	if (self->window)
		window_end();
	if (self->restarts)
		EXPECT_TRUE(agent_write_env());
}

/* Makes the load begin, from a state that comes back in end(). */
static void begin(struct __test_metadata *_metadata, FIXTURE_DATA(deaths) *self)
{
	ASSERT_TRUE(load_rest(&self->before)) TH_LOG("%s", self->before.text);
	self->slab = slab_kib();
	ASSERT_TRUE(load_begin(self->name, self->state));
}

/* Ends the load. No byte was wrong, and nothing stays. */
static void end(struct __test_metadata *_metadata, FIXTURE_DATA(deaths) *self)
{
	char hits[128] = "";
	unsigned int i;

	load_end();
	for (i = 0; i <= LOAD_STEPS; i++)
		snprintf(hits + strlen(hits), sizeof(hits) - strlen(hits), " %u", self->hits[i]);
	load_print_errors();
	EXPECT_EQ(0, load->wrong);
	EXPECT_LT(0, load->steps);
	EXPECT_TRUE(baseline_is(&self->before, self->name));
	TH_LOG("programs killed by step:%s", hits);
	TH_LOG("killed: %u tasks of programs, %u shadows, %u agents and engines",
	       self->killed[PROGRAMS], self->killed[SHADOWS], self->killed[AGENTS]);
	TH_LOG("%lu steps, mappings lost: %lu, %ld KiB more of slabs", load->steps, load->lost,
	       slab_kib() - self->slab);
}

/* Kills a program, or the task that has a program's memory. */
static bool kill_program(FIXTURE_DATA(deaths) *self)
{
	unsigned int nr = load_random(&self->state) % LOAD_PROGRAMS;
	struct load_slot *slot = &load->slots[nr];
	pid_t member = __atomic_load_n(&slot->member, __ATOMIC_RELAXED);

	if (member > 0 && load_random(&self->state) % 2)
		return !kill(member, SIGKILL);
	self->hits[slot->step]++;
	if (kill(slot->pid, SIGKILL) || waitpid(slot->pid, NULL, 0) != slot->pid)
		return false;
	return load_start(nr, load_random(&self->state));
}

/* Kills one of the processes whose program's path ends with @program. Return: there was one. */
static bool kill_one_of(FIXTURE_DATA(deaths) *self, const char *program)
{
	pid_t pids[256];
	char path[300], exe[4096];
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	unsigned int nr = 0;
	ssize_t len;

	while (proc && nr < 256 && (entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/exe", entry->d_name);
		len = readlink(path, exe, sizeof(exe) - 1);
		if (len < (ssize_t)strlen(program))
			continue;
		exe[len] = '\0';
		/* A shadow's tracer runs the same program, and may be killed as well. */
		if (!strcmp(exe + len - strlen(program), program))
			pids[nr++] = atoi(entry->d_name);
	}
	if (proc)
		closedir(proc);
	return nr && !kill(pids[load_random(&self->state) % nr], SIGKILL);
}

static bool kill_shadow(FIXTURE_DATA(deaths) *self)
{
	uint64_t end = tool_now_ms() + SHADOW_MS;

	while (!kill_one_of(self, tool_shadow())) {
		if (tool_now_ms() >= end)
			return false;
		usleep(2000);
	}
	return true;
}

/* Kills vgpud, or the guest's engine if there is one. Return: the device is back. */
static bool kill_agent(FIXTURE_DATA(deaths) *self)
{
	if (tool_user_engine() && load_random(&self->state) % 2) {
		if (!kill_one_of(self, "/vgpu-engine")) {
			fprintf(stderr, "# there is no engine\n");
			return false;
		}
	} else {
		if (!agent_gone(agent_kill(SIGKILL)))
			return false;
		agent_run(NULL);
	}
	return load_apart(is_back);
}

/* Waits until programs have finished some steps, and then at most PAUSE_US. */
static void pause_some(FIXTURE_DATA(deaths) *self)
{
	unsigned long until = load->steps + load_random(&self->state) % STEPS;
	uint64_t end = tool_now_ms() + STEPS_MS;

	while (__atomic_load_n(&load->steps, __ATOMIC_RELAXED) < until && tool_now_ms() < end)
		usleep(1000);
	usleep(load_random(&self->state) % PAUSE_US);
}

/* Kills so many of each kind, in random order and at random moments. */
static bool kill_all(FIXTURE_DATA(deaths) *self, const unsigned int wanted[NR_VICTIMS])
{
	static bool (*const kinds[])(FIXTURE_DATA(deaths) *) = {
		kill_program, kill_shadow, kill_agent,
	};
	unsigned int left[NR_VICTIMS], sum, at, kind;

	memcpy(left, wanted, sizeof(left));
	while ((sum = left[PROGRAMS] + left[SHADOWS] + left[AGENTS])) {
		pause_some(self);
		at = load_random(&self->state) % sum;
		for (kind = 0; at >= left[kind]; kind++)
			at -= left[kind];
		if (!kinds[kind](self)) {
			/* A member may have ended by itself. */
			if (kind == PROGRAMS)
				continue;
			fprintf(stderr, "# kind %u: not killed, or not back\n", kind);
			return false;
		}
		left[kind]--;
		self->killed[kind]++;
		load_reap(load_random(&self->state));
	}
	return true;
}

/* Tasks of programs die, and no other program notices: no call of any fails. */
TEST_F_TIMEOUT(deaths, of_programs, 1500)
{
	const unsigned int wanted[] = {
		self->wanted[PROGRAMS] - self->wanted[PROGRAMS] / 4 - self->wanted[PROGRAMS] / 8,
		0, 0,
	};
	begin(_metadata, self);
	EXPECT_TRUE(kill_all(self, wanted));
	/* A driver's wait for memory of a program may be over on a slow machine: ENOBUFS. */
	EXPECT_EQ(0, load_errors_but(0, ENOBUFS));
	EXPECT_EQ(0, load->lost);
	end(_metadata, self);
}

/*
 * Shadows die as well: their programs lose what they have, and can begin again. The connection is
 * the same all the time.
 */
TEST_F_TIMEOUT(deaths, of_shadows, 1500)
{
	const unsigned int wanted[] = {
		self->wanted[PROGRAMS] / 4, self->wanted[SHADOWS] - self->wanted[SHADOWS] / 8, 0,
	};
	long since;

	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	begin(_metadata, self);
	since = tool_counter("since");
	EXPECT_TRUE(kill_all(self, wanted));
	EXPECT_EQ(since, tool_counter("since"));
	EXPECT_EQ(0, load_errors_but(ENODEV, ENOBUFS));
	end(_metadata, self);
}

/* Agents and engines die as well, and the device is back each time. */
TEST_F_TIMEOUT(deaths, of_agents, 1500)
{
	const unsigned int wanted[] = {
		self->wanted[PROGRAMS] / 8, self->wanted[SHADOWS] / 8, self->wanted[AGENTS],
	};

	if (!tool_has_host() || variant->window)
		SKIP(return, "needs the host in the same machine, and no window, which ends with vgpud");
	self->restarts = true;
	ASSERT_TRUE(load_apart(restart_with_file));
	begin(_metadata, self);
	EXPECT_TRUE(kill_all(self, wanted));
	end(_metadata, self);
}

/*
 * A program gives up while vgpud is stopped, so that vgpud makes a shadow for it too late. The
 * shadow does not stay.
 */
TEST_F_TIMEOUT(deaths, of_late_agent, 120)
{
	uint64_t start;
	pid_t agent, pid;
	int status;

	if (!tool_has_host() || variant->window)
		SKIP(return, "needs the host in the same machine, and no window");
	ASSERT_TRUE(load_rest(&self->before)) TH_LOG("%s", self->before.text);
	ASSERT_EQ(1, tool_processes("/vgpud", &agent));
	ASSERT_EQ(0, kill(agent, SIGSTOP));
	start = tool_now_ms();
	pid = fork();
	if (!pid)
		_exit(open(getenv("VGPU_FWD"), O_RDWR) < 0 ? errno : 0);
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, kill(agent, SIGCONT));
	TH_LOG("gave up after %lu ms: %s", (unsigned long)(tool_now_ms() - start),
	       strerror(WEXITSTATUS(status)));
	EXPECT_NE(0, status);
	EXPECT_GT(start + GIVES_UP_MS, tool_now_ms());
	EXPECT_TRUE(baseline_is(&self->before, self->name));
}

TEST_HARNESS_MAIN
