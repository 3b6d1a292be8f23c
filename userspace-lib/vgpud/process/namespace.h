/* SPDX-License-Identifier: MIT */
/* Namespaces of the programs of guests. */
#ifndef VGPUD_NAMESPACE_H
#define VGPUD_NAMESPACE_H

/* Make a guest's namespaces, unless it has them already. Return: 0 or a negative errno. */
int namespaces_open(int *namespaces);
void namespaces_close(int *namespaces);
/* Enter all namespaces. Return: 0 or a negative errno. */
int namespaces_enter(const int *namespaces);

#endif /* VGPUD_NAMESPACE_H */
