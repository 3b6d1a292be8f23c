/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * These functions make a GLES 3.1 context on a DRM node that the program names, without window
 * and display. All of them exit the program if they fail.
 */
#ifndef VGPU_DEMO_GLES_H
#define VGPU_DEMO_GLES_H

#include <GLES3/gl31.h>

/**
 * gles_open - make a context on a node current
 * @node: path /dev/dri/renderDN or cardN; "any" for the library's own choice, which
 *	depends on its environment
 *
 * Prints the renderer. The context lives as long as the program.
 */
void gles_open(const char *node);

/**
 * gles_program - compile and link one shader, or two
 * @type: type of the first: GL_COMPUTE_SHADER or GL_VERTEX_SHADER
 * @first: source of the first shader
 * @fragment: source of the fragment shader, or NULL
 *
 * Return: the program, which is in use.
 */
GLuint gles_program(GLenum type, const char *first, const char *fragment);

/**
 * gles_check - end the program if GL has an error
 * @what: name of the step, for the message
 */
void gles_check(const char *what);

/* Returns a time in seconds, from some fixed point on. */
double gles_now(void);

#endif /* VGPU_DEMO_GLES_H */
