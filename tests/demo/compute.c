// SPDX-License-Identifier: GPL-2.0-only
/*
 * compute: runs a GLES compute shader on a DRM node (gles.h) and checks its results.
 *
 *	compute NODE [DISPATCHES]
 *
 * Each dispatch makes a step of a random generator in each of 4096 numbers, which the program
 * then reads and compares with its own. Prints dispatches per second, without the first one,
 * which compiles the shader.
 *
 * Exit status: 0 all results are right, 1 not (and why).
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "gles.h"

#define GROUP	64
#define NUMBERS	4096

static const char step_source[] =
	"#version 310 es\n"
	"layout(local_size_x = 64) in;\n"
	"layout(std430, binding = 0) buffer Numbers { uint number[]; };\n"
	"layout(location = 0) uniform uint turn;\n"
	"void main() {\n"
	"	uint i = gl_GlobalInvocationID.x;\n"
	"	uint x = number[i] * 1664525u + 1013904223u + turn;\n"
	"	x ^= x >> 13;\n"
	"	number[i] = x + (i << (turn & 7u));\n"
	"}\n";

static void step(uint32_t *number, uint32_t turn)
{
	uint32_t i, x;

	for (i = 0; i < NUMBERS; i++) {
		x = number[i] * 1664525u + 1013904223u + turn;
		x ^= x >> 13;
		number[i] = x + (i << (turn & 7));
	}
}

static void compare(const uint32_t *expected, uint32_t turn)
{
	const uint32_t *got = glMapBufferRange(GL_SHADER_STORAGE_BUFFER, 0,
					       NUMBERS * sizeof(*got), GL_MAP_READ_BIT);
	uint32_t i;

	if (!got)
		errx(1, "dispatch %u: the buffer cannot be mapped", turn);
	for (i = 0; i < NUMBERS; i++) {
		if (got[i] != expected[i])
			errx(1, "dispatch %u: number %u is %08x, not %08x", turn, i, got[i],
			     expected[i]);
	}
	glUnmapBuffer(GL_SHADER_STORAGE_BUFFER);
}

static void dispatch(uint32_t *expected, uint32_t turn)
{
	glUniform1ui(0, turn);
	glDispatchCompute(NUMBERS / GROUP, 1, 1);
	glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
	gles_check("dispatch");
	step(expected, turn);
	compare(expected, turn);
}

int main(int argc, char **argv)
{
	static uint32_t expected[NUMBERS];
	uint32_t dispatches = argc > 2 ? strtoul(argv[2], NULL, 0) : 20;
	uint32_t i, turn;
	double start;
	GLuint buffer;

	if (argc < 2 || argc > 3 || dispatches < 2)
		errx(2, "usage: compute NODE [DISPATCHES]");
	gles_open(argv[1]);
	gles_program(GL_COMPUTE_SHADER, step_source, NULL);
	for (i = 0; i < NUMBERS; i++)
		expected[i] = i * 2654435761u;
	glGenBuffers(1, &buffer);
	glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, buffer);
	glBufferData(GL_SHADER_STORAGE_BUFFER, sizeof(expected), expected, GL_DYNAMIC_COPY);
	gles_check("buffer");

	dispatch(expected, 0);
	start = gles_now();
	for (turn = 1; turn < dispatches; turn++)
		dispatch(expected, turn);
	printf("%u dispatches, %u results each, all right: %.1f per second\n", dispatches,
	       NUMBERS, (dispatches - 1) / (gles_now() - start));
	return 0;
}
