/* SPDX-License-Identifier: MIT */
/* Whether hypervisors of this machine may show windows to guests that can run guests of their own. */
#ifndef VGPUD_NESTED_H
#define VGPUD_NESTED_H

/* The advice says what to do about -EPERM of nested_check() and of the module's windows. */
#define NESTED_ADVICE	"before Linux 6.13 that takes kvm_intel to be loaded with nested=0 " \
			"('options kvm_intel nested=0' in /etc/modprobe.d, then load it anew)"

/**
 * nested_check - may a hypervisor show device memory to a guest?
 *
 * The module asks the same, see drivers/host/nested.c for the reason. Return: 0; -EPERM: KVM's
 * nested VMX would keep pages that are taken away, or nobody can tell.
 */
int nested_check(void);

#endif /* VGPUD_NESTED_H */
