// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <gbm.h>

#include "gles.h"

static EGLDisplay node_display(const char *node)
{
	int fd = open(node, O_RDWR | O_CLOEXEC);
	struct gbm_device *gbm;

	if (fd < 0)
		err(1, "%s", node);
	gbm = gbm_create_device(fd);
	if (!gbm)
		errx(1, "%s: GBM makes no device of it", node);
	return eglGetPlatformDisplay(EGL_PLATFORM_GBM_KHR, gbm, NULL);
}

void gles_open(const char *node)
{
	static const EGLint config_wants[] = {
		EGL_SURFACE_TYPE, 0, EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT, EGL_NONE,
	};
	static const EGLint context_wants[] = {
		EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 1, EGL_NONE,
	};
	EGLDisplay display;
	EGLContext context;
	EGLConfig config;
	EGLint count;

	if (strcmp(node, "any"))
		display = node_display(node);
	else
		display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA,
						(void *)EGL_DEFAULT_DISPLAY, NULL);
	if (display == EGL_NO_DISPLAY || !eglInitialize(display, NULL, NULL))
		errx(1, "%s: no EGL display", node);
	if (!eglBindAPI(EGL_OPENGL_ES_API) ||
	    !eglChooseConfig(display, config_wants, &config, 1, &count) || !count)
		errx(1, "%s: no EGL config", node);
	context = eglCreateContext(display, config, EGL_NO_CONTEXT, context_wants);
	if (context == EGL_NO_CONTEXT)
		errx(1, "%s: no GLES 3.1 context", node);
	if (!eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
		errx(1, "%s: the context cannot be used without a surface", node);
	printf("renderer: %s, %s\n", glGetString(GL_RENDERER), glGetString(GL_VERSION));
}

void gles_check(const char *what)
{
	GLenum error = glGetError();

	if (error)
		errx(1, "%s: GL error 0x%x", what, error);
}

static void attach(GLuint program, GLenum type, const char *source)
{
	GLuint shader = glCreateShader(type);
	char log[1024];
	GLint good;

	glShaderSource(shader, 1, &source, NULL);
	glCompileShader(shader);
	glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
	if (!good) {
		glGetShaderInfoLog(shader, sizeof(log), NULL, log);
		errx(1, "shader: %s", log);
	}
	glAttachShader(program, shader);
	glDeleteShader(shader);
}

GLuint gles_program(GLenum type, const char *first, const char *fragment)
{
	GLuint program = glCreateProgram();
	char log[1024];
	GLint good;

	attach(program, type, first);
	if (fragment)
		attach(program, GL_FRAGMENT_SHADER, fragment);
	glLinkProgram(program);
	glGetProgramiv(program, GL_LINK_STATUS, &good);
	if (!good) {
		glGetProgramInfoLog(program, sizeof(log), NULL, log);
		errx(1, "program: %s", log);
	}
	glUseProgram(program);
	gles_check("program");
	return program;
}

double gles_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}
