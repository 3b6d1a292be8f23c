// SPDX-License-Identifier: GPL-2.0-only
/*
 * hoard DIR
 *
 * Keeps several processes that take the GPU's memory in pieces, fill it, give some of it back, and
 * run kernels. Each of them dies by a signal after a random time, which may be in the middle of its
 * start or of a call. A new one follows. A quarter of the memory stays free, because neither the
 * driver nor vgpu limits the memory of a guest. Between them processes open device files and die
 * with them. DIR/done has the numbers of deaths. The program ends when DIR/stop exists.
 */
#include "common.cuh"
#include <csignal>
#include <vector>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const int eaters = 3, openers = 2;
/* Size of a piece, and the longest lives of processes in ms. */
static const size_t piece = 512UL << 20;
static const int eater_ms = 40000, opener_ms = 400;

struct shared {
	unsigned long pieces;		/* pieces that were allocated */
	unsigned long refused;		/* allocations that failed */
	unsigned long most;		/* largest number of pieces of one process */
};

static void eat(struct shared *told)
{
	std::vector<void *> pieces;
	size_t empty, all;
	void *memory;

	for (;;) {
		if (cudaMemGetInfo(&empty, &all) != cudaSuccess)
			_exit(1);
		if (empty < all / 4 + piece || random() % 8 == 0) {
			/* Some are freed, and sometimes all. */
			bool some = random() % 4;

			while (!pieces.empty() && (!some || random() % 3)) {
				cudaFree(pieces.back());
				pieces.pop_back();
			}
			continue;
		}
		if (cudaMalloc(&memory, piece) != cudaSuccess) {
			told->refused++;
			usleep(10000);
			continue;
		}
		pieces.push_back(memory);
		told->pieces++;
		if (pieces.size() > told->most)
			told->most = pieces.size();
		if (cudaMemset(memory, 0xa5, piece) != cudaSuccess)
			_exit(1);
		if (random() % 8 == 0)
			delay<<<64, 32>>>(100000000, NULL);
	}
}

static void open_files(void)
{
	static const char *const paths[] = { "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm" };

	for (;;) {
		int fd = open(paths[random() % 3], O_RDWR);

		if (random() % 2)
			close(fd);
		else if (fd > 200)
			_exit(0);
	}
}

static pid_t begin(bool eater, struct shared *told)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	srandom(getpid() ^ time(NULL));
	if (eater)
		eat(told);
	else
		open_files();
	_exit(0);
}

int main(int argc, char **argv)
{
	static const int signals[] = { SIGKILL, SIGKILL, SIGSEGV, SIGTERM };
	const int all = eaters + openers;
	pid_t pids[eaters + openers] = { };
	double until[eaters + openers];
	unsigned long deaths = 0, ends = 0;
	struct shared *told;
	std::string dir;
	int status;

	if (argc != 2)
		return 2;
	dir = argv[1];
	srandom(time(NULL));
	told = (struct shared *)mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		return 2;
	while (!exists(dir + "/stop")) {
		for (int i = 0; i < all; i++) {
			int life = i < eaters ? eater_ms : opener_ms;

			if (!pids[i]) {
				pids[i] = begin(i < eaters, told);
				if (pids[i] < 0)
					return 2;
				until[i] = now() + random() % life * 1e-3;
			}
			if (now() > until[i])
				kill(pids[i], signals[random() % 4]);
			if (waitpid(pids[i], &status, WNOHANG) != pids[i])
				continue;
			if (WIFSIGNALED(status))
				deaths++;
			else
				ends++;
			pids[i] = 0;
		}
		put_file(dir + "/done", std::to_string(deaths) + " " + std::to_string(ends) + " " +
			 std::to_string(told->pieces) + " " + std::to_string(told->refused) + " " +
			 std::to_string(told->most));
		usleep(20000);
	}
	for (int i = 0; i < all; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	printf("%lu deaths, %lu ends, %lu pieces, %lu refused, %lu at most in one process\n", deaths,
	       ends, told->pieces, told->refused, told->most);
	return 0;
}
