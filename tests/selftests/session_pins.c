// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests show which files keep memory pinned that was given to NVIDIA's driver: all files
 * to which the driver could hand the memory, and no other program's. The test is the host, so
 * it knows when the guest releases memory. It has no such driver and carries nothing out.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "host_played.h"
#include "kernel_log.h"
#include "pins_host.h"
#include "pins_program.h"

#include "kselftest_harness.h"

/* The server has a file of NVIDIA's driver open all the time. The other programs come and go. */
FIXTURE(pins) {
	struct program server;
	struct program one;
	struct program two;
	struct program three;
};

static bool send_node(int which, const char *title, const char *driver, const char *path)
{
	struct vgpu_export_add add;

	fill_export(&add, node_names[which], NULL);
	add.kind = htole32(title[0] ? VGPU_EXPORT_NVIDIA :
			   which == CARD ? VGPU_EXPORT_DRM_RENDER : VGPU_EXPORT_PLAIN);
	snprintf((char *)add.title, sizeof(add.title), "%s", title);
	snprintf((char *)add.driver, sizeof(add.driver), "%s", driver);
	snprintf((char *)add.path, sizeof(add.path), "%s", path);
	return send_all(&add, sizeof(add));
}

FIXTURE_SETUP(pins)
{
	pthread_t thread;

	if (native())
		SKIP(return, "nothing is forwarded");
	ASSERT_EQ(host_begin_again(), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, accept_lanes, NULL), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, serve_control, NULL), 0);
	ASSERT_TRUE(send_node(CONTROL, "nvidiactl", "nvidia", "/dev/nvidiactl"));
	ASSERT_TRUE(send_node(MODESET, "nvidia-modeset", "nvidia", "/dev/nvidia-modeset"));
	ASSERT_TRUE(send_node(OTHER, "", "vgpu-mock", "/dev/vgpu-mock"));
	ASSERT_TRUE(send_node(CARD, "", "i915", "/dev/dri/renderD128"));
	ASSERT_TRUE(program_begin(&self->server));
	ASSERT_EQ(tell(&self->server, 'o', CONTROL, 0), 0);
}

FIXTURE_TEARDOWN(pins)
{
	struct program *programs[] = { &self->server, &self->one, &self->two, &self->three };
	size_t i;

	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		program_end(programs[i]);
	/* The thread that receives would keep the connection open. */
	shutdown(control, SHUT_RDWR);
	host_leave();
}

/*
 * Waits until the host has received all RELEASEs that were sent so far: the CLOSE of a file
 * that is closed now comes after them. The server's group has no memory. Return: true if the
 * CLOSE came.
 */
static bool settles(const struct program *server)
{
	int file = tell(server, 'o', CONTROL, 0);
	struct timespec end;
	uint32_t last;
	bool right;

	if (file < 0)
		return false;
	pthread_mutex_lock(&lock);
	last = opened;
	pthread_mutex_unlock(&lock);
	if (tell(server, 'c', file, 0))
		return false;
	time_out(&end);
	pthread_mutex_lock(&lock);
	while (closed != last && !pthread_cond_timedwait(&changed, &lock, &end))
		;
	right = closed == last;
	pthread_mutex_unlock(&lock);
	return right;
}

/* Expects that exactly @number pins were released. */
#define EXPECT_RELEASED(number) do { \
	EXPECT_TRUE(settles(&self->server)); \
	EXPECT_EQ(released, number); \
} while (0)

/* Starts a program with a file and with memory that it has handed to the file's driver. */
#define BEGIN_PINNED(program) do { \
	ASSERT_TRUE(program_begin(program)); \
	ASSERT_EQ(tell(program, 'o', CONTROL, 0), 0); \
	ASSERT_EQ(tell(program, 'p', 0, 0), 0); \
	ASSERT_EQ(tell(program, 'k', 0, 0), (int)PAGE / 1024); \
} while (0)

/*
 * Starts such a program, and has one of its calls wait in the driver while a process with the
 * same mm maps a file.
 */
#define BEGIN_MAPPING(program) \
	pid_t mapper; \
\
	BEGIN_PINNED(program); \
	ASSERT_EQ(tell(program, 'o', OTHER, 0), 1); \
	ASSERT_EQ(tell(program, 'w', 0, 0), 0); \
	until(&slow); \
	mapper = tell(program, 'v', 1, 0); \
	ASSERT_GT(mapper, 0); \
	until(&maps)

/* Files of other programs do not keep a program's memory pinned. */
TEST_F_TIMEOUT(pins, released_beside_a_server, 120)
{
	BEGIN_PINNED(&self->one);
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(1));
	EXPECT_EQ(tell(&self->one, 'z', 0, 0), 0);
	BEGIN_PINNED(&self->two);
	EXPECT_TRUE(program_end(&self->two));
	EXPECT_TRUE(releases(2));
}

/* Files of one program are a group: each may have memory that was handed over on another one. */
TEST_F_TIMEOUT(pins, kept_for_files_of_a_program, 120)
{
	BEGIN_PINNED(&self->one);
	EXPECT_EQ(tell(&self->one, 'o', CONTROL, 0), 1);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->one, 'c', 1, 0), 0);
	EXPECT_TRUE(releases(1));
}

/* The files of a child that has used an inherited file may have the parent's memory. */
TEST_F_TIMEOUT(pins, kept_for_a_child, 120)
{
	BEGIN_PINNED(&self->one);
	ASSERT_TRUE(program_fork(&self->one, &self->two));
	EXPECT_EQ(tell(&self->two, 'o', CONTROL, 0), 1);
	EXPECT_EQ(tell(&self->two, 'u', 0, 0), 0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->two, 'c', 0, 0), 0);
	EXPECT_RELEASED(0);
	EXPECT_TRUE(program_end(&self->two));
	EXPECT_TRUE(releases(1));
}

/* A child keeps an inherited file open even if it has not used the file. */
TEST_F_TIMEOUT(pins, kept_for_what_a_child_inherited, 120)
{
	BEGIN_PINNED(&self->one);
	ASSERT_TRUE(program_fork(&self->one, &self->two));
	EXPECT_EQ(tell(&self->two, 'o', CONTROL, 0), 1);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->two, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(1));
}

/* The files of a program that has named a file passed to it may have that file's memory. */
TEST_F_TIMEOUT(pins, kept_for_who_names_a_file, 120)
{
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', CONTROL, 0), 0);
	BEGIN_PINNED(&self->one);
	ASSERT_EQ(pass(&self->one, 0, &self->two), 1);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->two, 'n', 0, 1), 0);
	EXPECT_EQ(tell(&self->two, 'c', 1, 0), 0);
	EXPECT_RELEASED(0);
	EXPECT_TRUE(program_end(&self->two));
	EXPECT_TRUE(releases(1));
}

/*
 * Groups are merged in a row: the third program shares a file with the second, and the second
 * one with the first.
 */
TEST_F_TIMEOUT(pins, kept_for_others_in_a_row, 120)
{
	ASSERT_TRUE(program_begin(&self->three));
	ASSERT_EQ(tell(&self->three, 'o', CONTROL, 0), 0);
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', CONTROL, 0), 0);
	BEGIN_PINNED(&self->one);
	ASSERT_EQ(pass(&self->two, 0, &self->three), 1);
	EXPECT_EQ(tell(&self->three, 'u', 1, 0), 0);
	EXPECT_EQ(tell(&self->three, 'c', 1, 0), 0);
	ASSERT_EQ(pass(&self->one, 0, &self->two), 1);
	EXPECT_EQ(tell(&self->two, 'u', 1, 0), 0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_TRUE(program_end(&self->two));
	EXPECT_RELEASED(0);
	EXPECT_TRUE(program_end(&self->three));
	EXPECT_TRUE(releases(1));
}

/* A file of another driver may have the memory of a file that was imported into it. */
TEST_F_TIMEOUT(pins, kept_for_other_drivers, 120)
{
	BEGIN_PINNED(&self->one);
	EXPECT_EQ(tell(&self->one, 'o', OTHER, 0), 1);
	EXPECT_EQ(tell(&self->one, 'o', OTHER, 0), 2);
	EXPECT_EQ(tell(&self->one, 'm', 1, 0), 0);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->one, 'c', 1, 0), 0);
	EXPECT_TRUE(releases(1));
}

/*
 * A program that starts later has no part in the group: while a file is open, the host gives
 * the pid of the shadow that used the file to no other process.
 */
TEST_F_TIMEOUT(pins, released_beside_a_later_program, 120)
{
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', CONTROL, 0), 0);
	BEGIN_PINNED(&self->one);
	ASSERT_EQ(pass(&self->one, 0, &self->two), 1);
	EXPECT_TRUE(program_end(&self->one));
	ASSERT_TRUE(program_begin(&self->three));
	ASSERT_EQ(tell(&self->three, 'o', CONTROL, 0), 0);
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->two, 'c', 1, 0), 0);
	EXPECT_TRUE(releases(1));
}

/* A shared object can be named by its handles, so any file in the guest may get it. */
TEST_F_TIMEOUT(pins, kept_where_it_was_shared, 240)
{
	static const struct {
		int how;
		bool shares;
	} cases[] = { { 0, false }, { 1, false }, { 2, true }, { 3, true }, { 4, true } };
	unsigned int number = 0, waiting = 0;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		BEGIN_PINNED(&self->one);
		EXPECT_EQ(tell(&self->one, 's', 0, cases[i].how), 0);
		EXPECT_TRUE(program_end(&self->one));
		if (cases[i].shares)
			waiting++;
		else
			number++;
		EXPECT_RELEASED(number);
	}
	EXPECT_TRUE(program_end(&self->server));
	EXPECT_TRUE(releases(number + waiting));
}

/* Any client's memory may have been taken by nvidia-modeset, too. */
TEST_F_TIMEOUT(pins, kept_for_nvidia_modeset, 120)
{
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', MODESET, 0), 0);
	BEGIN_PINNED(&self->one);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_RELEASED(0);
	EXPECT_TRUE(program_end(&self->two));
	BEGIN_PINNED(&self->one);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_TRUE(releases(1));
	EXPECT_TRUE(program_end(&self->server));
	EXPECT_TRUE(releases(2));
}

/*
 * A buffer with a number may come to another file of the device, which then keeps the memory
 * for longer than any file of the group is open.
 */
TEST_F_TIMEOUT(pins, kept_for_numbers_of_buffers, 240)
{
	unsigned int i;

	for (i = 0; i < NUMBERS; i++) {
		ASSERT_TRUE(program_begin(&self->two));
		ASSERT_EQ(tell(&self->two, 'o', CARD, 0), 0);
		BEGIN_PINNED(&self->one);
		ASSERT_EQ(tell(&self->one, 'o', CARD, 0), 1);
		EXPECT_EQ(tell(&self->one, 'b', 1, 0), 0);
		EXPECT_EQ(tell(&self->one, 'x', 1, i), 0);
		EXPECT_EQ(tell(&self->two, 'y', 0, i), 0);
		EXPECT_TRUE(program_end(&self->one));
		EXPECT_RELEASED(i);
		EXPECT_TRUE(program_end(&self->server));
		EXPECT_TRUE(settles(&self->two));
		EXPECT_EQ(released, i);
		EXPECT_TRUE(program_end(&self->two));
		EXPECT_TRUE(releases(i + 1));
		ASSERT_TRUE(program_begin(&self->server));
		ASSERT_EQ(tell(&self->server, 'o', CONTROL, 0), 0);
	}
}

/*
 * The same holds if the file gave the number before it came into a group, as the two calls may
 * have raced.
 */
TEST_F_TIMEOUT(pins, kept_for_a_number_of_before, 120)
{
	BEGIN_PINNED(&self->one);
	ASSERT_EQ(tell(&self->one, 'o', CARD, 0), 1);
	EXPECT_EQ(tell(&self->one, 'x', 1, 0), 0);
	EXPECT_EQ(tell(&self->one, 'b', 1, 0), 0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_RELEASED(0);
	EXPECT_TRUE(program_end(&self->server));
	EXPECT_TRUE(releases(1));
}

/* A driver may find an fd in a call that no schema describes. */
TEST_F_TIMEOUT(pins, kept_for_what_is_not_described, 120)
{
	BEGIN_PINNED(&self->one);
	EXPECT_EQ(tell(&self->one, 'o', OTHER, 0), 1);
	EXPECT_EQ(tell(&self->one, 'u', 1, 0), 0);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->one, 'c', 1, 0), 0);
	EXPECT_TRUE(releases(1));
	EXPECT_TRUE(program_end(&self->one));
	/*
	 * A described call that names no file of the group does not bring its own file into the
	 * group.
	 */
	BEGIN_PINNED(&self->one);
	EXPECT_EQ(tell(&self->one, 'o', OTHER, 0), 1);
	EXPECT_EQ(tell(&self->one, 'm', 1, 2), 0);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(2));
	/* The driver finds no file by its fd in a call if the program had closed it before. */
	EXPECT_EQ(tell(&self->one, 'u', 1, 0), 0);
	EXPECT_EQ(tell(&self->one, 'o', CONTROL, 0), 0);
	EXPECT_EQ(tell(&self->one, 'p', 0, 0), 0);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(3));
}

/* A program that never had a file of NVIDIA's driver has nothing that others share. */
TEST_F_TIMEOUT(pins, released_beside_calls_of_others, 120)
{
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', OTHER, 0), 0);
	BEGIN_PINNED(&self->one);
	EXPECT_EQ(tell(&self->one, 's', 0, 4), 0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->two, 'u', 0, 0), 0);
	/* A program may still get a file of NVIDIA's driver while its call is running. */
	ASSERT_EQ(tell(&self->two, 'w', 0, 0), 0);
	until(&slow);
	EXPECT_TRUE(program_end(&self->server));
	answer_slow();
	EXPECT_EQ(tell(&self->two, 'j', 0, 0), 0);
	EXPECT_TRUE(releases(1));
}

/*
 * A program that has a file while its undescribed call runs may have what others share by then.
 * @ends_before: the sharing program ends before that file is opened.
 */
static void share_while_a_call_looks(struct __test_metadata *_metadata, FIXTURE_DATA(pins) *self,
				     bool ends_before)
{
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', OTHER, 0), 0);
	ASSERT_EQ(tell(&self->two, 'w', 0, 0), 0);
	until(&slow);
	BEGIN_PINNED(&self->one);
	EXPECT_EQ(tell(&self->one, 's', 0, 4), 0);
	if (ends_before)
		EXPECT_TRUE(program_end(&self->one));
	EXPECT_EQ(tell(&self->two, 'o', CONTROL, 0), 1);
	EXPECT_EQ(tell(&self->two, 'c', 1, 0), 0);
	EXPECT_RELEASED(0);
	answer_slow();
	EXPECT_EQ(tell(&self->two, 'j', 0, 0), 0);
	if (!ends_before)
		EXPECT_TRUE(program_end(&self->one));
	EXPECT_TRUE(program_end(&self->server));
	EXPECT_TRUE(settles(&self->two));
	EXPECT_EQ(released, 0);
	EXPECT_EQ(tell(&self->two, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(1));
}

TEST_F_TIMEOUT(pins, kept_while_a_call_looks_for_what_was_shared, 120)
{
	share_while_a_call_looks(_metadata, self, true);
}

/* The sharing program outlives the call. */
TEST_F_TIMEOUT(pins, kept_while_a_call_looks_for_what_is_shared, 120)
{
	share_while_a_call_looks(_metadata, self, false);
}

/* The driver may look up the fd at any time until the call is over. */
TEST_F_TIMEOUT(pins, kept_while_a_call_looks, 120)
{
	ASSERT_TRUE(program_begin(&self->one));
	ASSERT_EQ(tell(&self->one, 'o', OTHER, 0), 0);
	ASSERT_EQ(tell(&self->one, 'w', 0, 0), 0);
	until(&slow);
	EXPECT_EQ(tell(&self->one, 'o', CONTROL, 0), 1);
	EXPECT_EQ(tell(&self->one, 'p', 1, 0), 0);
	EXPECT_EQ(tell(&self->one, 'c', 1, 0), 0);
	EXPECT_RELEASED(0);
	answer_slow();
	EXPECT_EQ(tell(&self->one, 'j', 0, 0), 0);
	EXPECT_RELEASED(0);
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(1));
}

/* The files of a shadow that died stay open on the host until the program closes them. */
TEST_F_TIMEOUT(pins, released_where_a_shadow_died, 120)
{
	unsigned int tries;

	BEGIN_PINNED(&self->one);
	end_session(newest);
	for (tries = 0; !tell(&self->one, 'u', 0, 0) && tries < PATIENCE_MS / 10; tries++)
		usleep(10000);
	EXPECT_LT(tries, PATIENCE_MS / 10);
	EXPECT_RELEASED(0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_TRUE(releases(1));
}

/*
 * Each call of a program uses a lane of its own; one lane is reserved for mmap(). A shadow's death
 * ends both calls, and the program gets a new shadow.
 */
TEST_F_TIMEOUT(pins, released_where_a_shadow_died_in_mmap, 120)
{
	BEGIN_MAPPING(&self->one);
	end_session(newest);
	EXPECT_EQ(tell(&self->one, 'q', mapper, 0), 0);
	EXPECT_EQ(tell(&self->one, 'j', 0, 0), 0);
	EXPECT_EQ(tell(&self->one, 'o', CONTROL, 0), 2);
	EXPECT_RELEASED(0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_TRUE(releases(1));
}

/*
 * A killed call ends its lane, here the one that was kept for mmap(). An idle lane takes its
 * place, and shows the shadow's death.
 */
TEST_F_TIMEOUT(pins, opens_where_another_lane_told, 120)
{
	unsigned int tries;

	BEGIN_MAPPING(&self->one);
	answer_slow();
	while (!tell(&self->one, 'e', 0, 0))
		usleep(1000);
	EXPECT_EQ(kill(mapper, SIGKILL), 0);
	EXPECT_EQ(tell(&self->one, 'q', mapper, 0), SIGKILL);
	ASSERT_TRUE(forget_said());
	end_session(newest);
	/* No call is made meanwhile, as it would notice the shadow's death itself. */
	for (tries = 0; !said("has ended the session of this process") && tries < PATIENCE_MS / 10; tries++)
		usleep(10000);
	EXPECT_EQ(said("has ended the session of this process"), 1);
	EXPECT_EQ(tell(&self->one, 'o', CONTROL, 0), 2);
}

/*
 * If no lane shows the shadow's death, the next call that wants a new lane notices it, and
 * open() works again.
 */
TEST_F_TIMEOUT(pins, opens_where_no_lane_told, 120)
{
	BEGIN_MAPPING(&self->one);
	EXPECT_EQ(kill(mapper, SIGKILL), 0);
	EXPECT_EQ(tell(&self->one, 'q', mapper, 0), SIGKILL);
	end_session(newest);
	EXPECT_EQ(tell(&self->one, 'j', 0, 0), 0);
	EXPECT_EQ(tell(&self->one, 'u', 0, 0), -1);
	EXPECT_EQ(tell(&self->one, 'o', CONTROL, 0), 2);
}

/* A user may pin half of what all users together may pin; root has no such limit. */
TEST_F_TIMEOUT(pins, half_for_a_user, 240)
{
	const int slack = 2 * LARGE / 1024;
	struct sysinfo info;
	int half, kib;

	ASSERT_EQ(sysinfo(&info), 0);
	/* All users together may pin half of the memory. */
	half = info.totalram / 1024 * info.mem_unit / 4;
	ASSERT_TRUE(program_begin(&self->one));
	ASSERT_EQ(tell(&self->one, 'o', CONTROL, 0), 0);
	ASSERT_EQ(tell(&self->one, 'i', 65533, 0), 0);
	kib = tell(&self->one, 'l', 0, 0);
	EXPECT_LE(kib, half);
	EXPECT_GT(kib, half - slack);
	/* Two more programs follow: one of the same user and one of another user. */
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', CONTROL, 0), 0);
	ASSERT_EQ(tell(&self->two, 'i', 65533, 0), 0);
	kib = tell(&self->two, 'l', 0, 0);
	EXPECT_GE(kib, 0);
	EXPECT_LT(kib, slack);
	ASSERT_TRUE(program_begin(&self->three));
	ASSERT_EQ(tell(&self->three, 'o', CONTROL, 0), 0);
	ASSERT_EQ(tell(&self->three, 'i', 65532, 0), 0);
	EXPECT_EQ(tell(&self->three, 'p', 0, 0), 0);
	EXPECT_TRUE(program_end(&self->three));
	EXPECT_TRUE(program_end(&self->two));
	/* Pages that are released can be pinned again. */
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_EQ(tell(&self->one, 'z', 0, 0), 0);
	EXPECT_EQ(tell(&self->server, 'p', 0, 0), 0);
	EXPECT_GT(tell(&self->server, 'l', 0, 0), half);
	/*
	 * Memory that is not released before the host goes would count until the machine boots
	 * anew.
	 */
	EXPECT_EQ(tell(&self->server, 'c', 0, 0), 0);
	EXPECT_EQ(tell(&self->server, 'z', 0, 0), 0);
}

/* The host knows pinned memory by numbers. A user may have half of them. */
TEST_F_TIMEOUT(pins, half_of_the_numbers_for_a_user, 240)
{
	const int half = VGPU_KEPT_NUMBERS / 2;

	ASSERT_TRUE(program_begin(&self->one));
	ASSERT_EQ(tell(&self->one, 'o', CONTROL, 0), 0);
	ASSERT_EQ(tell(&self->one, 'i', 65533, 0), 0);
	EXPECT_EQ(tell(&self->one, 'h', 0, half + 1), half);
	ASSERT_TRUE(program_begin(&self->two));
	ASSERT_EQ(tell(&self->two, 'o', CONTROL, 0), 0);
	ASSERT_EQ(tell(&self->two, 'i', 65532, 0), 0);
	EXPECT_EQ(tell(&self->two, 'p', 0, 0), 0);
	/* Numbers that are released can be used again. */
	EXPECT_EQ(tell(&self->one, 'c', 0, 0), 0);
	EXPECT_TRUE(releases(half));
	EXPECT_EQ(tell(&self->one, 'z', 0, 0), 0);
	ASSERT_EQ(tell(&self->one, 'o', CONTROL, 0), 0);
	EXPECT_EQ(tell(&self->one, 'p', 0, 0), 0);
}

/*
 * A call has room for a limited number of runs. A call with more fails and leaves nothing
 * pinned.
 */
TEST_F_TIMEOUT(pins, no_more_runs_than_a_call_has_room_for, 120)
{
	const int most = VGPU_CALL_BYTES_MIN / sizeof(struct vgpu_run) / SCATTERED;
	const int kib = SCATTERED * PAGE / 1024;

	ASSERT_TRUE(program_begin(&self->one));
	ASSERT_EQ(tell(&self->one, 'o', CONTROL, 0), 0);
	EXPECT_EQ(tell(&self->one, 'r', 0, most / 2), 0);
	EXPECT_EQ(tell(&self->one, 'k', 0, 0), most / 2 * kib);
	EXPECT_EQ(tell(&self->one, 'r', 0, most + most / 4), ENOMEM);
	EXPECT_EQ(tell(&self->one, 'k', 0, 0), most / 2 * kib);
	/* A smaller call works afterwards. */
	EXPECT_EQ(tell(&self->one, 'r', 0, most / 2), 0);
	EXPECT_TRUE(program_end(&self->one));
	EXPECT_TRUE(releases(2));
}

PLAYED_MAIN
