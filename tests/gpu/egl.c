// SPDX-License-Identifier: GPL-2.0-only
/*
 * egl [EXTENSION]
 *
 * Lists EGL's devices, and draws into an offscreen buffer on the first device that has EXTENSION.
 * The default extension means a device of CUDA.
 *
 * Prints "right", "refused: WHERE" or "wrong: HOW". The exit status is 1 if wrong, else 0.
 */
#include <stdio.h>
#include <string.h>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>

#define MOST	16
#define SIDE	64

static int give_up(const char *where)
{
	printf("refused: %s: %#x\n", where, eglGetError());
	return 0;
}

int main(int argc, char **argv)
{
	static const EGLint wanted[] = {
		EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_ES2_BIT,
		EGL_RED_SIZE, 8, EGL_GREEN_SIZE, 8, EGL_BLUE_SIZE, 8, EGL_ALPHA_SIZE, 8, EGL_NONE
	};
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, SIDE, EGL_HEIGHT, SIDE, EGL_NONE };
	PFNEGLGETPLATFORMDISPLAYEXTPROC get_display;
	PFNEGLQUERYDEVICESTRINGEXTPROC device_string;
	PFNEGLQUERYDEVICESEXTPROC query_devices;
	unsigned char pixels[SIDE * SIDE][4];
	PFNGLCLEARCOLORPROC clear_color;
	PFNGLREADPIXELSPROC read_pixels;
	PFNGLCLEARPROC clear;
	const char *wanted_extension = argc > 1 ? argv[1] : "EGL_NV_device_cuda";
	EGLDisplay display = EGL_NO_DISPLAY;
	EGLDeviceEXT devices[MOST];
	const char *extensions;
	EGLint count = 0, i;
	EGLContext context;
	EGLSurface surface;
	EGLConfig config;

	get_display = (void *)eglGetProcAddress("eglGetPlatformDisplayEXT");
	device_string = (void *)eglGetProcAddress("eglQueryDeviceStringEXT");
	query_devices = (void *)eglGetProcAddress("eglQueryDevicesEXT");
	if (!get_display || !device_string || !query_devices ||
	    !query_devices(MOST, devices, &count))
		return give_up("eglQueryDevicesEXT");
	for (i = 0; i < count; i++) {
		extensions = device_string(devices[i], EGL_EXTENSIONS);
		printf("device %d: %s\n", i, extensions);
		if (!display && extensions && strstr(extensions, wanted_extension))
			display = get_display(EGL_PLATFORM_DEVICE_EXT, devices[i], NULL);
	}
	if (!display || !eglInitialize(display, NULL, NULL))
		return give_up("eglInitialize");
	printf("%s, EGL %s\n", eglQueryString(display, EGL_VENDOR),
	       eglQueryString(display, EGL_VERSION));
	if (!eglChooseConfig(display, wanted, &config, 1, &count) || !count)
		return give_up("eglChooseConfig");
	eglBindAPI(EGL_OPENGL_ES_API);
	context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
	surface = eglCreatePbufferSurface(display, config, size);
	if (!context || !surface || !eglMakeCurrent(display, surface, surface, context))
		return give_up("eglMakeCurrent");
	clear_color = (void *)eglGetProcAddress("glClearColor");
	clear = (void *)eglGetProcAddress("glClear");
	read_pixels = (void *)eglGetProcAddress("glReadPixels");
	if (!clear_color || !clear || !read_pixels)
		return give_up("eglGetProcAddress");
	clear_color(1, 0, 1, 0);
	clear(GL_COLOR_BUFFER_BIT);
	read_pixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
	for (i = 0; i < SIDE * SIDE; i++) {
		if (memcmp(pixels[i], "\xff\x00\xff\x00", 4)) {
			printf("wrong: pixel %d\n", i);
			return 1;
		}
	}
	eglTerminate(display);
	printf("right\n");
	return 0;
}
