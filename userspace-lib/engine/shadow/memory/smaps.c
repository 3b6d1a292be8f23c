// SPDX-License-Identifier: MIT
/* Properties that the kernel reports of a mapping, in /proc/self/smaps. */
#include "engine/shadow/memory/smaps.h"
#include "engine/shadow/thread/thread.h"

/* Converts the text of a "VmFlags:" line of smaps to flags of the wire. */
static u32 flags_of(const char *line, const char *end)
{
	static const struct {
		char name[3];
		u32 flag;
	} names[] = {
		{ "rd", VGPU_MAP_READ }, { "wr", VGPU_MAP_WRITE }, { "mr", VGPU_MAP_MAYREAD },
		{ "mw", VGPU_MAP_MAYWRITE }, { "sh", VGPU_MAP_SHARED }, { "io", VGPU_MAP_IO },
		{ "pf", VGPU_MAP_PFNMAP }, { "dc", VGPU_MAP_DONTCOPY },
		{ "de", VGPU_MAP_DONTEXPAND }, { "dd", VGPU_MAP_DONTDUMP },
	};
	u32 flags = 0, i;

	for (; line + 1 < end; line++)
		for (i = 0; i < ARRAY_SIZE(names); i++)
			if (line[-1] == ' ' && line[0] == names[i].name[0] &&
			    line[1] == names[i].name[1])
				flags |= names[i].flag;
	return flags;
}

static const char *hex_read(const char *text, u64 *value)
{
	for (*value = 0;; text++) {
		if (*text >= '0' && *text <= '9')
			*value = *value << 4 | (*text - '0');
		else if (*text >= 'a' && *text <= 'f')
			*value = *value << 4 | (*text - 'a' + 10);
		else
			return text;
	}
}

/* Handles one line. Return: true if the search is complete. */
static bool smaps_line(struct smaps *smaps, const char *line, const char *end)
{
	u64 from, to, offset;
	const char *at = hex_read(line, &from);

	if (*at == '-' && at > line) {
		at = hex_read(at + 1, &to);
		smaps->inside = smaps->addr >= from && smaps->addr < to;
		if (smaps->inside) {
			/* Skip the permissions, " rw-s ": the offset follows. */
			hex_read(at + 6, &offset);
			smaps->offset = offset + smaps->addr - from;
		}
		return false;
	}
	if (!smaps->inside || end - line < 10 || __builtin_memcmp(line, "VmFlags: ", 9))
		return false;
	smaps->flags = flags_of(line + 9, end);
	return true;
}

int smaps_read(struct smaps *smaps)
{
	char buf[4096];
	u32 have = 0;
	long ret;

	sys3(__NR_lseek, fd_maps, 0, 0);
	for (;;) {
		char *line = buf, *end;

		ret = sys3(__NR_read, fd_maps, (long)buf + have, sizeof(buf) - have - 1);
		if (ret <= 0)
			return -EIO;
		have += ret;
		buf[have] = '\0';
		for (end = line; end < buf + have; end++) {
			if (*end != '\n')
				continue;
			if (smaps_line(smaps, line, end))
				return 0;
			line = end + 1;
		}
		have = buf + have - line;
		if (have == sizeof(buf) - 1)
			have = 0;
		__builtin_memmove(buf, line, have);
	}
}
