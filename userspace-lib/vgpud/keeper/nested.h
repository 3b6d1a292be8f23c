/* SPDX-License-Identifier: MIT */
/* Check whether hypervisors of this host may show device memory to guests, despite nested VMX. */
#ifndef VGPUD_NESTED_H
#define VGPUD_NESTED_H

/* Advice for an error -EPERM of nested_check() or of the module's windows. */
#define NESTED_ADVICE	"before Linux 6.13 kvm_intel must be loaded with nested=0 " \
			"(put 'options kvm_intel nested=0' in /etc/modprobe.d, then reload kvm_intel)"

/**
 * nested_check - check whether a hypervisor may show device memory to a guest
 *
 * The module makes the same check, see drivers/host/window/nested.c for the reason.
 *
 * Return: 0; -EPERM: KVM's nested VMX could keep pages that are taken away, or this is not
 * known.
 */
int nested_check(void);

#endif /* VGPUD_NESTED_H */
