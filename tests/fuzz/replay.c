// SPDX-License-Identifier: GPL-2.0-only
/* Runs a fuzz target on files, for compilers without a fuzzer. */
#include "fuzz.h"

int main(int argc, char **argv)
{
	static u8 data[1 << 20];
	int i;

	for (i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		u8 *copy;
		size_t len;

		if (!file) {
			perror(argv[i]);
			return 1;
		}
		len = fread(data, 1, sizeof(data), file);
		fclose(file);
		copy = malloc(len ? len : 1);
		if (!copy)
			abort();
		memcpy(copy, data, len);
		LLVMFuzzerTestOneInput(copy, len);
		free(copy);
	}
	printf("%d inputs\n", argc - 1);
	return argc > 1 ? 0 : 1;
}
