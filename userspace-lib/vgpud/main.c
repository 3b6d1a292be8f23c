// SPDX-License-Identifier: MIT
/*
 * vgpud: the host's agent. It decides which guests may use which device files, welcomes them, and
 * makes and reaps the shadows in which their calls run.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/manager.h"
#include "base/tsc.h"
#include "config/config.h"
#include "device/exporter.h"
#include "device/files.h"
#include "engines/share.h"
#include "export/change.h"
#include "export/grant.h"
#include "export/uevent.h"
#include "guest/event.h"
#include "guest/listener.h"
#include "handshake/handshake.h"
#include "handshake/hello.h"
#include "host/hostdev.h"
#include "host/left.h"
#include "process/cgroup.h"
#include "process/confine.h"
#include "process/hierarchy.h"
#include "process/leftover.h"
#include "process/oom.h"
#include "process/own.h"
#include "process/spawn.h"
#include "reload/reload.h"
#include "request/asker.h"
#include "request/control.h"
#include "shared/log.h"
#include "shared/loop.h"

#define RUN_DIR		"/run/vgpu"
#define CONFIG_FILE	"/etc/vgpu/vgpud.conf"

/* Signal that ends vgpud, and with settings.lasting leaves the guests to the next one. */
#define LEAVE_SIGNAL	SIGUSR2

/* Exit statuses of vgpud(8). vgpud.service does not start vgpud again after one of these. */
enum { EXIT_USAGE = 2, EXIT_CONFIG = 3, EXIT_MODULE = 4 };

static void usage(FILE *to)
{
	fputs("usage: vgpud [--config FILE] [--exports-dir DIR] [--socket PATH]\n"
	      "             [--shadow PROGRAM] [--check] [--debug]\n"
	      "       vgpud --clear\n"
	      "       vgpud --help | --version\n"
	      "\n"
	      "The agent of a vgpu host: lets guests use the device files that are\n"
	      "exported to them. Runs in the foreground, as root; see vgpud(8).\n"
	      "\n"
	      "  --config FILE       settings (default " CONFIG_FILE ")\n"
	      "  --exports-dir DIR   exports (default /etc/vgpu/exports.d)\n"
	      "  --socket PATH       control socket (default " RUN_DIR "/vgpud.sock)\n"
	      "  --shadow PROGRAM    the program of the processes that make guests' calls\n"
	      "  --check             check settings and exports, print mistakes, and end\n"
	      "  --clear             in vgpud.service: end processes that vgpud has left\n"
	      "  --debug             log more\n", to);
}

/* True if vgpud ends by LEAVE_SIGNAL. */
static bool leaving;

static void signal_ready(struct source *source, uint32_t events)
{
	struct signalfd_siginfo info;
	struct text words = { 0 };
	char who[64];

	(void)events;
	if (read(source->fd, &info, sizeof(info)) != sizeof(info))
		return;
	switch (info.ssi_signo) {
	case SIGCHLD:
		children_reap();
		exporters_review();
		break;
	case SIGHUP:
		snprintf(who, sizeof(who), "SIGHUP (uid %u, pid %u)", info.ssi_uid, info.ssi_pid);
		control_reload(who, &words);
		text_free(&words);
		break;
	default:
		leaving = info.ssi_signo == LEAVE_SIGNAL;
		loop_stop();
		break;
	}
}

static struct source signals = { .fd = -1, .ready = signal_ready };

static int signals_init(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, LEAVE_SIGNAL);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals.fd < 0)
		return -errno;
	return source_add(&signals, EPOLLIN);
}

static const struct files_ops files_ops = {
	.take = hostdev_export_file,
	.end = exports_files_told,
};

static const struct exporter_ops exporter_ops = {
	.is_used = exports_for_device,
	.ready = exports_grant_device,
	.sampled = share_sampled,
};

static void check_or(int ret, const char *what, int status)
{
	if (!ret)
		return;
	log_error("%s: %s", what, strerror(-ret));
	exit(status);
}

static void check(int ret, const char *what)
{
	check_or(ret, what, EXIT_FAILURE);
}

/* Check the program of the shadows, which another attempt would not find either. */
static void check_program(int ret)
{
	if (!ret)
		return;
	log_error("%s: %s: install vgpu again, or give the program with --shadow or 'program' in [shadow]",
		  settings.shadow, strerror(-ret));
	exit(EXIT_CONFIG);
}

static void check_socket(int ret)
{
	if (!ret)
		return;
	log_error("control socket %s: %s: give another path with --socket or 'socket' in [agent]",
		  settings.socket, strerror(-ret));
	exit(EXIT_CONFIG);
}

/* Attempts to listen while a process of an earlier vgpud has its socket, and ms between two. */
#define LISTEN_TRIES	500
#define LISTEN_MS	20

/*
 * Listen for guests. A child of an earlier vgpud that crashed has its sockets until the child
 * executes its program; it was killed by now, and ends soon.
 */
static int listen_for_guests(void)
{
	unsigned int tries = settings.lasting ? LISTEN_TRIES : 0;
	int ret;

	while ((ret = listener_get(settings.port)) == -EADDRINUSE && tries--)
		usleep(LISTEN_MS * 1000);
	return ret;
}

static void make_run_dir(void)
{
	umask(022);
	if (mkdir(RUN_DIR, 0755) && errno != EEXIST)
		check(-errno, RUN_DIR);
}

#define NOT_ROOT	"only root may run vgpud: start vgpud as root"

static void open_engines(void)
{
	if (geteuid()) {
		log_error(NOT_ROOT);
		exit(EXIT_MODULE);
	}
	make_run_dir();
	if (hostdev_open_engines(&guest_events))
		exit(EXIT_MODULE);
	log_info("user-space engines serve the guests");
}

/* Start engines because the module is not there, unless the settings ask for the module. */
static void do_without_module(void)
{
	if (settings.engine) {
		log_error(VGPU_HOST_DEVICE " does not exist, but 'engine = kernel' needs the host module: load it (modprobe vgpu_host)");
		exit(EXIT_MODULE);
	}
	log_warning(VGPU_HOST_DEVICE " does not exist, because the host module is not loaded (modprobe vgpu_host), so user-space engines serve the guests: set 'engine = user' in [agent] if this is intended, 'engine = kernel' to forbid it");
	open_engines();
}

/*
 * Open the module, or start engines, as the settings say. The module refuses a second agent, so
 * it is opened before anything else is made.
 */
static void open_module(void)
{
	const char *engine = settings.engine ? settings.engine : "kernel";
	int ret;

	if (settings.lasting && !hierarchy_may_last()) {
		log_warning("'lasting = yes' has no effect: systemd could not start another vgpud beside the control groups of guests");
		settings.lasting = false;
	}
	if (!strcmp(engine, "user")) {
		open_engines();
		return;
	}
	if (strcmp(engine, "kernel")) {
		log_error("engine = %s: give kernel or user", engine);
		exit(EXIT_CONFIG);
	}

	ret = hostdev_open(&guest_events);
	switch (ret) {
	case 0:
		return;
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
		do_without_module();
		return;
	case -EBUSY:
		log_error("another vgpud is running: end that one first (systemctl stop vgpud)");
		break;
	case -EACCES:
	case -EPERM:
		log_error(NOT_ROOT);
		break;
	default:
		log_error(VGPU_HOST_DEVICE ": %s", strerror(-ret));
		break;
	}
	exit(EXIT_MODULE);
}

/* Parse the command line. @given: set to the settings that the command line contains. */
static void parse_options(int argc, char **argv, const char **config, bool *check_only,
			  bool *clear, struct settings *given)
{
	enum { OPT_CONFIG, OPT_EXPORTS, OPT_SOCKET, OPT_SHADOW, OPT_CHECK, OPT_CLEAR, OPT_DEBUG,
	       OPT_HELP, OPT_VERSION };
	static const struct option options[] = {
		{ "config", required_argument, NULL, OPT_CONFIG },
		{ "exports-dir", required_argument, NULL, OPT_EXPORTS },
		{ "socket", required_argument, NULL, OPT_SOCKET },
		{ "shadow", required_argument, NULL, OPT_SHADOW },
		{ "check", no_argument, NULL, OPT_CHECK },
		{ "clear", no_argument, NULL, OPT_CLEAR },
		{ "debug", no_argument, NULL, OPT_DEBUG },
		{ "help", no_argument, NULL, OPT_HELP },
		{ "version", no_argument, NULL, OPT_VERSION },
		{ NULL, 0, NULL, 0 },
	};
	const char *word;
	int opt, index;

	while (index = -1, (opt = getopt_long(argc, argv, "hV", options, &index)) >= 0) {
		word = optarg && optarg == argv[optind - 1] ? argv[optind - 2] : argv[optind - 1];
		/* getopt_long() takes abbreviations, which may mean another option later. */
		if (index >= 0 && strcspn(word + 2, "=") != strlen(options[index].name)) {
			fprintf(stderr, "vgpud: there is no option %s\n", word);
			opt = '?';
		}
		switch (opt) {
		case OPT_CONFIG:
			*config = optarg;
			break;
		case OPT_EXPORTS:
			given->exports_dir = optarg;
			break;
		case OPT_SOCKET:
			given->socket = optarg;
			break;
		case OPT_SHADOW:
			given->shadow = optarg;
			break;
		case OPT_CHECK:
			*check_only = true;
			break;
		case OPT_CLEAR:
			*clear = true;
			break;
		case OPT_DEBUG:
			log_init(true);
			break;
		case 'h':
		case OPT_HELP:
			usage(stdout);
			exit(EXIT_SUCCESS);
		case 'V':
		case OPT_VERSION:
			puts("vgpud " VGPU_VERSION);
			exit(EXIT_SUCCESS);
		default:
			usage(stderr);
			exit(EXIT_USAGE);
		}
	}
	if (optind != argc) {
		fprintf(stderr, "vgpud: takes no argument: leave %s out\n", argv[optind]);
		usage(stderr);
		exit(EXIT_USAGE);
	}
}

int main(int argc, char **argv)
{
	const char *config = NULL;
	bool check_only = false, clear = false;
	struct settings given = { 0 };
	struct answer words;
	int ret;

	log_init(false);
	parse_options(argc, argv, &config, &check_only, &clear, &given);
	/* A mistake in the settings must not keep processes from being ended. */
	if (clear)
		return leftover_clear(guests_are_left()) ? EXIT_FAILURE : EXIT_SUCCESS;
	if (config_read(config ? config : CONFIG_FILE, config))
		return EXIT_CONFIG;
	if (asker_plan(&words)) {
		log_error("%s", words.text);
		return EXIT_CONFIG;
	}
	asker_take();
	/* Options of the command line override the file. */
	if (given.exports_dir)
		settings.exports_dir = given.exports_dir;
	if (given.socket)
		settings.socket = given.socket;
	if (given.shadow)
		settings.shadow = given.shadow;
	if (check_only)
		return reload_check() ? EXIT_CONFIG : EXIT_SUCCESS;
	if (reload_guests())
		return EXIT_CONFIG;

	oom_init();
	own_files_raise();
	own_files_check();
	check(loop_init(), "epoll");
	check(files_init(&files_ops), "a thread for files");
	listeners_init(handshake_start);
	exporters_init(&exporter_ops);
	check(signals_init(), "signals");
	open_module();
	make_run_dir();
	if (cgroup_init())
		return EXIT_CONFIG;
	check_program(spawn_init());
	/* confine_init() has said what is wrong. */
	if (confine_init(hostdev_is_engine()))
		return EXIT_CONFIG;
	tsc_init();
	hello_adopt();
	hostdev_listen();
	check(listen_for_guests(), settings.vsock ?
	      "vsock (is a vsock transport loaded? modprobe vhost_vsock)" : "sockets of guests");
	check_socket(control_init());
	check(uevents_init(), "device events");
	reload_start();
	/* Those of the time without vgpud. */
	if (hostdev_is_adopting())
		uevents_lost();
	hostdev_settle();
	notify_manager("READY=1");
	log_info("listening on %sport %u", settings.vsock ? "vsock " : "sockets of guests for ", settings.port);

	ret = loop_run();
	notify_manager("STOPPING=1");
	if (ret)
		log_error("epoll: %s", strerror(-ret));
	control_exit();
	listener_exit();
	/* hostdev_close() ends all peers and shadows, unless they are left to another vgpud. */
	hostdev_close(leaving);
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}
