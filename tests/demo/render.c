// SPDX-License-Identifier: GPL-2.0-only
/*
 * render: draws scenes off-screen on a DRM node (gles.h), each to a PNG file.
 *
 *	render NODE DIRECTORY [SCENE...]
 *
 * Files are DIRECTORY/SCENE.png; two nodes of one device give the same bytes.
 *
 * Exit status: 0 all drawn, 1 not (and why).
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "gles.h"

#define WIDTH	320
#define HEIGHT	240
#define TEXTURE	64

/* The corners of a cube, seen from outside, follow from the number of the vertex alone. */
static const char cube_vertex[] =
	"#version 310 es\n"
	"out vec3 normal;\n"
	"out vec2 place;\n"
	"const int around[6] = int[6](0, 1, 2, 2, 1, 3);\n"
	"void main() {\n"
	"	int face = gl_VertexID / 6, corner = around[gl_VertexID % 6];\n"
	"	float side = (face & 1) == 0 ? 1.0 : -1.0;\n"
	"	place = vec2(float(corner & 1), float(corner >> 1));\n"
	"	vec2 flat_place = place * 2.0 - 1.0;\n"
	"	vec3 p = vec3(flat_place.x * side, flat_place.y, side);\n"
	"	normal = vec3(0.0, 0.0, side);\n"
	"	for (int i = 0; i < face / 2; i++) { p = p.zxy; normal = normal.zxy; }\n"
	"	float shift = float(gl_InstanceID);\n"
	"	mat3 turn = mat3(0.8, 0.36, -0.48, 0.0, 0.8, 0.6, 0.6, -0.48, 0.64);\n"
	"	p = turn * p * 0.9; normal = turn * normal;\n"
	"	p.xy += vec2(mod(shift, 3.0) - 1.0, floor(shift / 3.0)) * 1.7 - vec2(0.0, 0.2);\n"
	"	gl_Position = vec4(p.x * 0.75, p.y, p.z * 0.3, 2.5 - p.z * 0.4);\n"
	"}\n";

static const char lit_fragment[] =
	"#version 310 es\n"
	"precision highp float;\n"
	"in vec3 normal;\n"
	"in vec2 place;\n"
	"uniform sampler2D image;\n"
	"uniform float textured;\n"
	"uniform float opacity;\n"
	"out vec4 colour;\n"
	"void main() {\n"
	"	float light = 0.3 + 0.7 * max(0.0, dot(normalize(normal), vec3(0.48, 0.6, 0.64)));\n"
	"	vec3 base = mix(abs(normal), texture(image, place * 2.0).rgb, textured);\n"
	"	colour = vec4(base * light, opacity);\n"
	"}\n";

static const char whole_vertex[] =
	"#version 310 es\n"
	"void main() {\n"
	"	gl_Position = vec4(float(gl_VertexID & 1) * 4.0 - 1.0,\n"
	"			   float(gl_VertexID >> 1) * 4.0 - 1.0, 0.0, 1.0);\n"
	"}\n";

static const char fractal_fragment[] =
	"#version 310 es\n"
	"precision highp float;\n"
	"out vec4 colour;\n"
	"void main() {\n"
	"	vec2 c = gl_FragCoord.xy / 100.0 - vec2(2.2, 1.2), z = c;\n"
	"	int n = 0;\n"
	"	for (; n < 60 && dot(z, z) < 4.0; n++)\n"
	"		z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;\n"
	"	colour = vec4(float(n % 8) / 7.0, float(n % 13) / 12.0, float(n) / 60.0, 1.0);\n"
	"}\n";

static const char noise_compute[] =
	"#version 310 es\n"
	"layout(local_size_x = 8, local_size_y = 8) in;\n"
	"layout(rgba8, binding = 0) writeonly uniform highp image2D image;\n"
	"void main() {\n"
	"	uvec2 p = gl_GlobalInvocationID.xy;\n"
	"	uint h = (p.x * 73856093u) ^ (p.y * 19349663u);\n"
	"	h ^= h >> 11; h *= 2654435761u; h ^= h >> 15;\n"
	"	imageStore(image, ivec2(p), vec4(h & 255u, h >> 8 & 255u, h >> 16 & 255u, 255u) / 255.0);\n"
	"}\n";

static void set(GLuint program, const char *name, float value)
{
	glUniform1f(glGetUniformLocation(program, name), value);
}

static void cubes(float textured, float opacity, int count)
{
	GLuint program = gles_program(GL_VERTEX_SHADER, cube_vertex, lit_fragment);

	set(program, "textured", textured);
	set(program, "opacity", opacity);
	glEnable(GL_DEPTH_TEST);
	glDrawArraysInstanced(GL_TRIANGLES, 0, 36, count);
	glDisable(GL_DEPTH_TEST);
}

static void checker_texture(void)
{
	static uint8_t pixels[TEXTURE * TEXTURE * 4];
	uint32_t x, y;
	GLuint texture;

	for (y = 0; y < TEXTURE; y++) {
		for (x = 0; x < TEXTURE; x++) {
			uint8_t *p = pixels + 4 * (y * TEXTURE + x);

			p[0] = (x ^ y) & 8 ? 230 : 40;
			p[1] = 4 * x;
			p[2] = 4 * y;
			p[3] = 255;
		}
	}
	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D, texture);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, TEXTURE, TEXTURE, 0, GL_RGBA, GL_UNSIGNED_BYTE,
		     pixels);
	glGenerateMipmap(GL_TEXTURE_2D);
}

static void scene_cube(void)
{
	cubes(0, 1, 1);
}

static void scene_textured(void)
{
	checker_texture();
	cubes(1, 1, 3);
}

static void scene_blended(void)
{
	cubes(0, 1, 1);
	glClear(GL_DEPTH_BUFFER_BIT);
	glEnable(GL_BLEND);
	glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
	cubes(0, 0.4f, 6);
	glDisable(GL_BLEND);
}

static void scene_fractal(void)
{
	gles_program(GL_VERTEX_SHADER, whole_vertex, fractal_fragment);
	glDrawArrays(GL_TRIANGLES, 0, 3);
}

/* Draws the cube with a texture that a compute shader has filled. */
static void scene_computed(void)
{
	GLuint texture;

	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D, texture);
	glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA8, TEXTURE, TEXTURE);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
	glBindImageTexture(0, texture, 0, GL_FALSE, 0, GL_WRITE_ONLY, GL_RGBA8);
	gles_program(GL_COMPUTE_SHADER, noise_compute, NULL);
	glDispatchCompute(TEXTURE / 8, TEXTURE / 8, 1);
	glMemoryBarrier(GL_TEXTURE_FETCH_BARRIER_BIT);
	cubes(1, 1, 1);
}

static const struct {
	const char *name;
	void (*draw)(void);
} scenes[] = {
	{ "cube", scene_cube },
	{ "textured", scene_textured },
	{ "blended", scene_blended },
	{ "fractal", scene_fractal },
	{ "computed", scene_computed },
};

static void make_target(void)
{
	GLuint frame, colour, depth;

	glGenFramebuffers(1, &frame);
	glBindFramebuffer(GL_FRAMEBUFFER, frame);
	glGenRenderbuffers(1, &colour);
	glBindRenderbuffer(GL_RENDERBUFFER, colour);
	glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, WIDTH, HEIGHT);
	glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, colour);
	glGenRenderbuffers(1, &depth);
	glBindRenderbuffer(GL_RENDERBUFFER, depth);
	glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH_COMPONENT24, WIDTH, HEIGHT);
	glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, depth);
	if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
		errx(1, "the framebuffer is not complete");
	glViewport(0, 0, WIDTH, HEIGHT);
}

static void save(const char *path)
{
	static uint8_t pixels[WIDTH * HEIGHT * 4];
	png_image image = {
		.version = PNG_IMAGE_VERSION,
		.width = WIDTH,
		.height = HEIGHT,
		.format = PNG_FORMAT_RGBA,
	};
	size_t i, drawn = 0;

	glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
	gles_check(path);
	for (i = 4; i < sizeof(pixels); i += 4)
		drawn += !!memcmp(pixels, pixels + i, 4);
	if (!drawn)
		errx(1, "%s: all of one colour", path);
	/* GL counts lines from below. */
	if (!png_image_write_to_file(&image, path, 0, pixels, -WIDTH * 4, NULL))
		errx(1, "%s: %s", path, image.message);
	printf("%s: %zu pixels drawn\n", path, drawn);
}

int main(int argc, char **argv)
{
	char path[4096];
	size_t i;
	int j;

	if (argc < 3)
		errx(2, "usage: render NODE DIRECTORY [SCENE...]");
	gles_open(argv[1]);
	make_target();
	for (i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		for (j = 3; j < argc && strcmp(argv[j], scenes[i].name); j++)
			;
		if (argc > 3 && j == argc)
			continue;
		glClearColor(0.1f, 0.2f, 0.3f, 1);
		glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
		scenes[i].draw();
		gles_check(scenes[i].name);
		snprintf(path, sizeof(path), "%s/%s.png", argv[2], scenes[i].name);
		save(path);
	}
	return 0;
}
