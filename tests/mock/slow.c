// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module stops the first call of a function of the kernel or of a module until a test lets the
 * call go on. So tests meet races that are rare otherwise. Load it by "modprobe vgpu_slow
 * symbol=MODULE:FUNCTION", and write 1 to the parameter go to continue. The parameters null and
 * error make the call fail then. The parameters comm and skip choose another call than the first.
 * The kernel needs kprobes.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/wait.h>
#ifdef CONFIG_X86
#include <asm/cpufeature.h>
#endif

/* The limit ends the call of a test that fails before it writes to go. */
#define SLOW_LIMIT	(60 * HZ)

static DECLARE_WAIT_QUEUE_HEAD(slow_queue);

static char *symbol;
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "function whose first call is stopped; must be allowed to sleep, and have at most six arguments");

static char *comm = "";
module_param(comm, charp, 0444);
MODULE_PARM_DESC(comm, "name of the tasks whose calls count; empty: all tasks");

static int skip;
module_param(skip, int, 0444);
MODULE_PARM_DESC(skip, "number of calls that pass before the call that is stopped");

static bool null;
module_param(null, bool, 0444);
MODULE_PARM_DESC(null, "skip the function and return 0 or NULL instead");

static int error;
module_param(error, int, 0444);
MODULE_PARM_DESC(error, "errno to return instead of calling the function; 0: none");

static bool waits;
module_param(waits, bool, 0444);
MODULE_PARM_DESC(waits, "whether a call is or was stopped");

static bool go;

static int slow_go_set(const char *value, const struct kernel_param *param)
{
	int ret = param_set_bool(value, param);

	wake_up_all(&slow_queue);
	return ret;
}

static const struct kernel_param_ops slow_go_ops = {
	.set = slow_go_set,
	.get = param_get_bool,
};
module_param_cb(go, &slow_go_ops, &go, 0644);
MODULE_PARM_DESC(go, "set by a test to let the stopped call go on");

static int slow_handler(struct kprobe *probe, struct pt_regs *regs);

/* A post_handler keeps the probe from being optimized, which would ignore the new address. */
static void slow_after(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe slow_probe = { .pre_handler = slow_handler, .post_handler = slow_after };
static atomic_t calls = ATOMIC_INIT(0);
/* Number of calls that run this module's code: 0 or 1. */
static atomic_t inside = ATOMIC_INIT(0);

/* Runs in the place of the function's call, with the same arguments. */
static unsigned long slow_call(unsigned long a, unsigned long b, unsigned long c, unsigned long d,
			       unsigned long e, unsigned long f)
{
	unsigned long (*function)(unsigned long, unsigned long, unsigned long, unsigned long,
				  unsigned long, unsigned long) = (void *)slow_probe.addr;
	unsigned long ret = 0;

	WRITE_ONCE(waits, true);
	wait_event_timeout(slow_queue, READ_ONCE(go), SLOW_LIMIT);
	if (error)
		ret = -(long)error;
	else if (!null)
		ret = function(a, b, c, d, e, f);
	if (atomic_dec_and_test(&inside))
		wake_up_all(&slow_queue);
	return ret;
}

/* Context: atomic. */
static int slow_handler(struct kprobe *probe, struct pt_regs *regs)
{
	if (*comm && strcmp(comm, current->comm))
		return 0;
	if (atomic_inc_return(&calls) != 1 + skip)
		return 0;
	atomic_inc(&inside);
	instruction_pointer_set(regs, (unsigned long)slow_call);
	return 1;
}

static int __init slow_init(void)
{
#ifdef CONFIG_X86
	/* slow_call() could not call the probed address with IBT, as it is no ENDBR. */
	if (cpu_feature_enabled(X86_FEATURE_IBT))
		return -EOPNOTSUPP;
#endif
	slow_probe.symbol_name = symbol;
	return register_kprobe(&slow_probe);
}

static void __exit slow_exit(void)
{
	unregister_kprobe(&slow_probe);
	WRITE_ONCE(go, true);
	wake_up_all(&slow_queue);
	wait_event(slow_queue, !atomic_read(&inside));
	/* slow_call() runs its last instructions after the wake-up. */
	synchronize_rcu_tasks();
}

module_init(slow_init);
module_exit(slow_exit);

MODULE_DESCRIPTION("Stops a call of a kernel function to widen a race, for tests of vgpu");
MODULE_LICENSE("GPL");
