/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A GLES 3.1 context on a DRM node that the program names, with no window and
 * no display. Everything here ends the program where it fails.
 */
#ifndef VGPU_DEMO_GLES_H
#define VGPU_DEMO_GLES_H

#include <GLES3/gl31.h>

/**
 * gles_open - make a context on a node current
 * @node: /dev/dri/renderDN or cardN; "any": whatever the library takes, as its
 *	environment says
 *
 * Prints the renderer. The context lives as long as the program.
 */
void gles_open(const char *node);

/**
 * gles_program - compile and link one shader, or two
 * @type: of the first: GL_COMPUTE_SHADER or GL_VERTEX_SHADER
 * @first: its source
 * @fragment: source of the fragment shader, or NULL
 *
 * Return: the program, which is in use.
 */
GLuint gles_program(GLenum type, const char *first, const char *fragment);

/**
 * gles_check - end the program if GL has an error
 * @what: what was done
 */
void gles_check(const char *what);

/* Return: seconds, from some point in time on. */
double gles_now(void);

#endif /* VGPU_DEMO_GLES_H */
