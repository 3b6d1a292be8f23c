// SPDX-License-Identifier: GPL-2.0-only
/*
 * This module stands for KVM's module for Intel processors on other machines: it has that module's
 * name, and the parameter "nested" that vgpu_host reads.
 */
#include <linux/module.h>

static bool nested = true;
module_param(nested, bool, 0444);
MODULE_PARM_DESC(nested, "value that the parameter has when a test reads its file");

static int __init kvm_intel_init(void)
{
	return 0;
}

static void __exit kvm_intel_exit(void)
{
}

module_init(kvm_intel_init);
module_exit(kvm_intel_exit);

MODULE_DESCRIPTION("Stands for KVM's module of that name in tests of vgpu");
MODULE_LICENSE("GPL");
