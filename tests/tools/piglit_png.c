// SPDX-License-Identifier: GPL-2.0-only
/*
 * piglit_png.so, preloaded into piglit's programs: writes the pictures that -png asks for,
 * where piglit was built without libpng and would abort.
 */
#include <err.h>
#include <stdbool.h>

#include <png.h>

#define GL_RGBA	0x1908

void piglit_write_png(const char *path, unsigned int format, int width, int height,
		      const unsigned char *data, bool upside_down);

void piglit_write_png(const char *path, unsigned int format, int width, int height,
		      const unsigned char *data, bool upside_down)
{
	png_image image = {
		.version = PNG_IMAGE_VERSION,
		.width = width,
		.height = height,
		.format = format == GL_RGBA ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB,
	};
	int row = PNG_IMAGE_ROW_STRIDE(image);

	if (!png_image_write_to_file(&image, path, 0, data, upside_down ? -row : row, NULL))
		errx(1, "%s: %s", path, image.message);
}
