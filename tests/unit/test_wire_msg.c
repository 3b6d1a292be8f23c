// SPDX-License-Identifier: GPL-2.0-only
/* Tests of every rule of every message but CALL and REPLY, broken one at a time. */
#include "tap.h"
#include "wire_case.h"

static const struct wire_case hello[] = {
	BAD(vgpu_hello, magic, 0),
	BAD(vgpu_hello, version_min, 0),
	BAD(vgpu_hello, version_min, VGPU_WIRE_VERSION + 1),
	GOOD(vgpu_hello, version_max, 9),
	BAD(vgpu_hello, version_max, 0),
	BAD(vgpu_hello, page_size, 65536),
	BAD(vgpu_hello, reserved, 1),
	GOOD(vgpu_hello, features, ~0ULL),
	GOOD(vgpu_hello, features, 0),
};

static const struct wire_case welcome[] = {
	BAD(vgpu_welcome, magic, 1),
	BAD(vgpu_welcome, version, 0),
	BAD(vgpu_welcome, version, VGPU_WIRE_VERSION + 1),
	BAD(vgpu_welcome, reserved, 1),
	GOOD(vgpu_welcome, features, 0),
	BAD(vgpu_welcome, features, VGPU_FEATURES + 1),
	BAD(vgpu_welcome, features, VGPU_FEATURE_RESERVED),
	BAD(vgpu_welcome, features, 1ULL << 63),
	BAD(vgpu_welcome, reserved_base, 0x3e0000000001),
	BAD(vgpu_welcome, reserved_base, -4096ULL),
	BAD(vgpu_welcome, reserved_size, 0),
	BAD(vgpu_welcome, reserved_size, 4097),
	BAD(vgpu_welcome, reserved_size, -4096ULL),
	BAD(vgpu_welcome, call_bytes_max, 0),
	BAD(vgpu_welcome, call_bytes_max, VGPU_CALL_BYTES_MIN - 1),
	GOOD(vgpu_welcome, call_bytes_max, VGPU_CALL_BYTES_MIN),
	GOOD(vgpu_welcome, call_bytes_max, VGPU_CALL_BYTES_MAX),
	BAD(vgpu_welcome, call_bytes_max, VGPU_CALL_BYTES_MAX + 1),
	BAD(vgpu_welcome, segs_max, 0),
	GOOD(vgpu_welcome, segs_max, VGPU_SEGS_MAX),
	BAD(vgpu_welcome, segs_max, VGPU_SEGS_MAX + 1),
	BAD(vgpu_welcome, fixups_max, 0),
	GOOD(vgpu_welcome, fixups_max, VGPU_FIXUPS_MAX),
	BAD(vgpu_welcome, fixups_max, VGPU_FIXUPS_MAX + 1),
	BAD(vgpu_welcome, lanes_max, 1),
	GOOD(vgpu_welcome, lanes_max, 2),
	GOOD(vgpu_welcome, ping_timeout_ms, 0),
	GOOD(vgpu_welcome, tsc_khz, 1),
	GOOD(vgpu_welcome, tsc_khz, 0xffffffff),
};

static const struct wire_case refuse[] = {
	BAD(vgpu_refuse, error, 0),
	GOOD(vgpu_refuse, error, 4095),
	BAD(vgpu_refuse, error, 4096),
	BAD(vgpu_refuse, error, -EACCES),
	BAD(vgpu_refuse, reserved, 1),
};

#define COMM(i)	(offsetof(struct vgpu_lane_hello, comm) + (i))

static const struct wire_case lane[] = {
	BAD(vgpu_lane_hello, magic, 0),
	GOOD(vgpu_lane_hello, tgid, 0),
	GOOD(vgpu_lane_hello, session, ~0ULL),
	BYTE_CASE("name is empty but not over", COMM(0), 0, false),
	BYTE_CASE("name has a hole", COMM(3), 0, false),
	BYTE_CASE("name has a control character", COMM(3), '\n', false),
	BYTE_CASE("name has a byte above ASCII", COMM(3), 0xc3, false),
	BYTE_CASE("name has DEL", COMM(3), 0x7f, false),
	BYTE_CASE("name has a space", COMM(3), ' ', true),
	BYTE_CASE("name goes on behind its end", COMM(9), 'x', false),
	BYTE_CASE("no NUL in the last byte", COMM(15), 'x', false),
	BYTE_CASE("name is one longer", COMM(8), '2', true),
};

#define NAME(i)		(offsetof(struct vgpu_export_add, name) + (i))
#define DRIVER(i)	(offsetof(struct vgpu_export_add, driver) + (i))
#define PATH(i)		(offsetof(struct vgpu_export_add, path) + (i))
#define BUS_ID(i)	(offsetof(struct vgpu_export_add, bus_id) + (i))
#define PCI_HEADER(i)	(offsetof(struct vgpu_export_add, pci_header) + (i))

static const struct wire_case export_add[] = {
	BAD(vgpu_export_add, export, 0),
	GOOD(vgpu_export_add, export, ~0U),
	GOOD(vgpu_export_add, kind, VGPU_EXPORT_PLAIN),
	GOOD(vgpu_export_add, kind, VGPU_EXPORT_LAST),
	BAD(vgpu_export_add, kind, VGPU_EXPORT_LAST + 1),
	BYTE_CASE("a title, and no node of V4L2", offsetof(struct vgpu_export_add, title), 'x', false),
	GOOD(vgpu_export_add, device, 0),
	BYTE_CASE("name has a hole", NAME(1), 0, false),
	BYTE_CASE("name has a control character", NAME(1), 27, false),
	BYTE_CASE("name is not over", NAME(VGPU_NAME_LEN - 1), 'x', false),
	BYTE_CASE("driver has a control character", DRIVER(1), 9, false),
	BYTE_CASE("driver is not over", DRIVER(VGPU_NAME_LEN - 1), 'x', false),
	BYTE_CASE("path has a control character", PATH(4), 9, false),
	BYTE_CASE("path is not over", PATH(VGPU_PATH_LEN - 1), 'x', false),
	BAD(vgpu_export_add, bus, VGPU_BUS_FAUX + 1),
	BAD(vgpu_export_add, bus, VGPU_BUS_NONE),
	BAD(vgpu_export_add, bus, VGPU_BUS_PLATFORM),
	BAD(vgpu_export_add, reserved, 1),
	BYTE_CASE("name on the bus is empty but not over", BUS_ID(0), 0, false),
	BYTE_CASE("name on the bus has a control character", BUS_ID(4), '\n', false),
	BYTE_CASE("name on the bus is not over", BUS_ID(VGPU_BUS_ID_LEN - 1), 'x', false),
	BYTE_CASE("another PCI header", PCI_HEADER(63), 0xff, true),
};

static const struct wire_case export_del[] = {
	BAD(vgpu_export_del, export, 0),
	BAD(vgpu_export_del, reserved, 1),
};

static const struct wire_case export_change[] = {
	BAD(vgpu_export_change, export, 0),
	GOOD(vgpu_export_change, export, ~0U),
	BAD(vgpu_export_change, flags, 0),
	GOOD(vgpu_export_change, flags, VGPU_CHANGE_HOTPLUG | VGPU_CHANGE_WEDGED),
	BAD(vgpu_export_change, flags, VGPU_CHANGE_HOTPLUG),	/* wedged is not 0 */
	/* A LEASE has no connector. */
	BAD(vgpu_export_change, flags, VGPU_CHANGE_LEASE | VGPU_CHANGE_WEDGED),
	BAD(vgpu_export_change, flags, VGPU_CHANGES | VGPU_CHANGE_WEDGED << 1),
	BAD(vgpu_export_change, wedged, 0),
	GOOD(vgpu_export_change, wedged, VGPU_WEDGED_ALL),
	BAD(vgpu_export_change, wedged, VGPU_WEDGED_ALL + 1),
	BAD(vgpu_export_change, reserved, 1),
	BAD(vgpu_export_change, connector, 0),
	GOOD(vgpu_export_change, connector, ~0U),
	GOOD(vgpu_export_change, property, 0),
	GOOD(vgpu_export_change, property, ~0U),
};

#define NAME_AT(i, c, ok) \
	BYTE_CASE("name", offsetof(struct vgpu_export_file, name) + (i), c, ok)

static const struct wire_case export_file[] = {
	BAD(vgpu_export_file, export, 0),
	GOOD(vgpu_export_file, export, ~0U),
	BAD(vgpu_export_file, flags, VGPU_FILE_GONE),		/* the message has data */
	BAD(vgpu_export_file, flags, VGPU_FILE_GONE << 1),
	BAD(vgpu_export_file, size, 0),
	BAD(vgpu_export_file, size, VGPU_FILE_PART),
	BAD(vgpu_export_file, size, VGPU_FILE_PART + 1),
	GOOD(vgpu_export_file, size, VGPU_FILE_PART + 14),	/* byte 13 is no padding then */
	BAD(vgpu_export_file, size, VGPU_FILE_PART + 17),
	BAD(vgpu_export_file, size, VGPU_FILE_MAX + 1),
	BAD(vgpu_export_file, size, ~0U),
	BAD(vgpu_export_file, offset, 0),
	BAD(vgpu_export_file, offset, 8),
	BAD(vgpu_export_file, offset, 2 * VGPU_FILE_PART),
	BAD(vgpu_export_file, offset, ~0U),
	NAME_AT(0, '/', false),
	NAME_AT(0, '.', false),
	NAME_AT(0, 0, false),
	NAME_AT(0, '_', true),
	NAME_AT(1, '.', true),
	NAME_AT(1, ':', true),
	NAME_AT(1, ' ', false),
	NAME_AT(1, ';', false),
	NAME_AT(1, 0xc4, false),
	NAME_AT(7, '/', false),					/* two slashes in a row */
	NAME_AT(9, '.', false),
	NAME_AT(9, '/', false),
	NAME_AT(12, '/', false),				/* a slash at the end */
	NAME_AT(12, '+', true),
	NAME_AT(14, 'x', false),
	NAME_AT(63, 'x', false),
	BYTE_CASE("padding", sizeof(struct vgpu_export_file) + 13, 1, false),
};

static const struct wire_case close_cases[] = {
	BAD(vgpu_close, object, 0),
	GOOD(vgpu_close, reference, ~0U),
};

static const struct wire_case unmap[] = {
	BAD(vgpu_unmap, addr, 0x7f0000001001),
	BAD(vgpu_unmap, addr, -4096ULL),
	BAD(vgpu_unmap, addr, -0x2000ULL),
	GOOD(vgpu_unmap, addr, 0),
	BAD(vgpu_unmap, len, 0),
	BAD(vgpu_unmap, len, 0x2008),
	BAD(vgpu_unmap, len, -4096ULL),
};

static const struct wire_case session_close[] = {
	GOOD(vgpu_session_close, session, ~0ULL),
};

static const struct wire_case event[] = {
	BAD(vgpu_event_signal, event, 0),
	GOOD(vgpu_event_signal, flags, 1),
	BAD(vgpu_event_signal, flags, 2),
};

static const struct wire_case window[] = {
	BAD(vgpu_window_info, window, 0),
	BAD(vgpu_window_info, size, 0),
	GOOD(vgpu_window_info, flags, 0),
	BAD(vgpu_window_info, flags, 2),
	BAD(vgpu_window_info, reserved, 1),
	BAD(vgpu_window_info, reserved, ~0U),
};

/* The smallest window has two pages. */
static void test_window_size(void)
{
	static const struct {
		u64 size;
		bool ok;
	} sizes[] = {
		{ 2 * VGPU_PAGE_SIZE, true }, { VGPU_PAGE_SIZE, false },
		{ 2 * VGPU_PAGE_SIZE + 1, false },
	};
	static struct wire_buf buf;
	struct vgpu_window_info *m = (struct vgpu_window_info *)buf.words;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		wire_sample_find("window")->fill(&buf);
		m->size = cpu_to_le64(sizes[i].size);
		tap_expect(wire_case_check(m, buf.len, NULL, &wire_sample_limits) ==
			   (sizes[i].ok ? 0 : -EPROTO), "size %llu",
			   (unsigned long long)sizes[i].size);
	}
	tap_subject("sizes of a window");
}

static const struct wire_case release[] = {
	BAD(vgpu_release, number, 0),
	GOOD(vgpu_release, number, ~0ULL),
};

static const struct wire_case window_part[] = {
	BAD(vgpu_window_part, window, 0),
	BAD(vgpu_window_part, offset, 0),
	BAD(vgpu_window_part, offset, 0x1001),
	BAD(vgpu_window_part, offset, -0x2000ULL),
	BAD(vgpu_window_part, len, 0),
	BAD(vgpu_window_part, len, 0x3008),
	BAD(vgpu_window_part, len, -0x1000ULL),
};

static const struct wire_case poll_event[] = {
	BAD(vgpu_poll_event, object, 0),
	BAD(vgpu_poll_event, revents, 0),
	GOOD(vgpu_poll_event, revents, VGPU_POLL_EVENTS),
	BAD(vgpu_poll_event, revents, 0x4000),
	GOOD(vgpu_poll_event, number, ~0U),
	GOOD(vgpu_poll_event, flags, 0),
	BAD(vgpu_poll_event, flags, VGPU_POLL_ANSWER << 1),
};

static const struct wire_case fetch[] = {
	BAD(vgpu_fetch, addr, 0x7ffc00001008),
	BAD(vgpu_fetch, addr, -4096ULL),
	BAD(vgpu_fetch, len, 0),
	BAD(vgpu_fetch, len, 4095),
	GOOD(vgpu_fetch, len, 31 * VGPU_PAGE_SIZE),
	BAD(vgpu_fetch, len, 32 * VGPU_PAGE_SIZE),
	BAD(vgpu_fetch, reserved, 1),
};

static const struct wire_case fetched[] = {
	BAD(vgpu_fetched, error, EFAULT),
	BAD(vgpu_fetched, len, 0),
	BAD(vgpu_fetched, len, VGPU_PAGE_SIZE - 8),
	BAD(vgpu_fetched, len, 2 * VGPU_PAGE_SIZE),
};

static const struct wire_case fetched_error[] = {
	BAD(vgpu_fetched, error, 0),
	BAD(vgpu_fetched, error, 4096),
	BAD(vgpu_fetched, len, VGPU_PAGE_SIZE),
};

#define RANGE_CASE(i, field, value, ok) \
	CASE_AT("range " #i, sizeof(struct vgpu_writeback) + (i) * sizeof(struct vgpu_range), \
		vgpu_range, field, value, ok)

static const struct wire_case writeback[] = {
	BAD(vgpu_writeback, nr_ranges, 0),
	BAD(vgpu_writeback, nr_ranges, 1),
	BAD(vgpu_writeback, nr_ranges, 3),
	BAD(vgpu_writeback, nr_ranges, VGPU_RANGES_MAX + 1),
	BAD(vgpu_writeback, nr_ranges, ~0U),
	BAD(vgpu_writeback, reserved, 1),
	RANGE_CASE(0, addr, 1, true),
	RANGE_CASE(0, addr, -1ULL, false),
	RANGE_CASE(0, len, 0, false),
	RANGE_CASE(0, len, 6, true),
	RANGE_CASE(0, len, 7, false),
	RANGE_CASE(0, len, ~0U, false),
	RANGE_CASE(0, flags, VGPU_RANGE_MASK, false),
	RANGE_CASE(0, flags, 2, false),
	RANGE_CASE(1, len, 0, false),
	RANGE_CASE(1, flags, 2, false),
	BYTE_CASE("padding", sizeof(struct vgpu_writeback) + 2 * sizeof(struct vgpu_range) + 13,
		  1, false),
};

/* A byte of the second range's mask, behind three bytes of the first range. */
#define MASK_BYTE(i, value, ok) \
	BYTE_CASE("mask byte " #i, sizeof(struct vgpu_writeback) + \
		  2 * sizeof(struct vgpu_range) + 3 + (i), value, ok)

static const struct wire_case writeback_mask[] = {
	BAD(vgpu_writeback, nr_ranges, 1),
	RANGE_CASE(0, flags, VGPU_RANGE_MASK, false),
	RANGE_CASE(1, flags, 0, true),
	RANGE_CASE(1, flags, VGPU_RANGE_MASK | 2, false),
	RANGE_CASE(1, addr, 0x7ffc00002008, false),
	RANGE_CASE(1, addr, -4096ULL, false),
	RANGE_CASE(1, addr, 0, true),
	RANGE_CASE(1, len, VGPU_MASK_BYTES, false),
	RANGE_CASE(1, len, VGPU_MASK_BYTES + 1365, false),
	RANGE_CASE(1, len, VGPU_MASK_BYTES + 1367, false),
	RANGE_CASE(1, len, 4, false),
	RANGE_CASE(1, len, ~0U, false),
	MASK_BYTE(0, 0, false),
	MASK_BYTE(0, 0x92, true),
	MASK_BYTE(511, 0xff, false),
};

static const struct wire_case written[] = {
	GOOD(vgpu_written, error, EFAULT),
	GOOD(vgpu_written, error, 4095),
	BAD(vgpu_written, error, 4096),
	BAD(vgpu_written, reserved, 1),
};

/* A message may have the largest number of ranges, and not one more. */
static void test_ranges(void)
{
	static struct wire_buf buf;
	struct vgpu_writeback *m = (struct vgpu_writeback *)buf.words;
	struct vgpu_range *range = (struct vgpu_range *)(m + 1);
	u32 nr, i;

	for (nr = VGPU_RANGES_MAX; nr <= VGPU_RANGES_MAX + 1; nr++) {
		wire_sample_find("writeback")->fill(&buf);
		memset(range, 0, nr * sizeof(*range) + vgpu_wire_pad(nr));
		for (i = 0; i < nr; i++)
			range[i].len = cpu_to_le32(1);
		m->nr_ranges = cpu_to_le32(nr);
		buf.len = sizeof(*m) + nr * sizeof(*range) + vgpu_wire_pad(nr);
		m->hdr.len = cpu_to_le32(buf.len);
		tap_expect(wire_case_check(m, buf.len, NULL, &wire_sample_limits) ==
			   (nr > VGPU_RANGES_MAX ? -EPROTO : 0), "%u ranges", nr);
	}
	tap_subject("ranges of a write-back");
}

static void expect_check(const struct wire_buf *buf, bool ok, const char *what)
{
	tap_expect(wire_case_check(buf->words, buf->len, NULL, &wire_sample_limits) ==
		   (ok ? 0 : -EPROTO), "%s", what);
}

/* The sample's device is on PCI; these changes test the rules for other buses. */
static void test_export_bus(void)
{
	struct wire_buf buf;
	struct vgpu_export_add *m = (struct vgpu_export_add *)buf.words;

	wire_sample_find("export_add")->fill(&buf);
	m->bus = cpu_to_le32(VGPU_BUS_PLATFORM);
	expect_check(&buf, false, "a header of PCI on another bus");
	memset(m->pci_header, 0, sizeof(m->pci_header));
	expect_check(&buf, true, "a device on the platform bus");
	m->bus = cpu_to_le32(VGPU_BUS_NONE);
	expect_check(&buf, false, "a name on no bus");
	memset(m->bus_id, 0, sizeof(m->bus_id));
	expect_check(&buf, true, "no bus");
	m->bus = cpu_to_le32(VGPU_BUS_FAUX);
	expect_check(&buf, false, "no name on a bus");
	tap_subject("buses of an export");
}

/* A change may name a connector and its property, as the sample does, or neither. */
static void test_export_change(void)
{
	struct wire_buf buf;
	struct vgpu_export_change *m = (struct vgpu_export_change *)buf.words;

	wire_sample_find("export_change")->fill(&buf);
	m->connector = 0;
	m->property = 0;
	expect_check(&buf, true, "all changes, of any connector");
	m->flags = cpu_to_le32(VGPU_CHANGE_WEDGED);
	expect_check(&buf, true, "it hangs");
	m->flags = cpu_to_le32(VGPU_CHANGE_LEASE);
	m->wedged = 0;
	expect_check(&buf, true, "a lease");
	m->property = cpu_to_le32(5);
	expect_check(&buf, false, "a property of a lease");
	m->flags = cpu_to_le32(VGPU_CHANGE_HOTPLUG);
	expect_check(&buf, false, "a property without a connector");
	m->connector = cpu_to_le32(36);
	m->flags = cpu_to_le32(VGPU_CHANGE_LEASE);
	expect_check(&buf, false, "a connector and a property of a lease");
	tap_subject("changes of an export");
}

/* Messages that need a feature are refused without the feature. */
static void test_features(void)
{
	static const char *const names[] = { "window", "unbind", "unbound", "invalidate" };
	struct vgpu_wire_limits limits = wire_sample_limits;
	static struct wire_buf buf;
	u32 i;

	limits.features &= ~VGPU_FEATURE_WINDOW;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		wire_sample_find(names[i])->fill(&buf);
		tap_expect(wire_case_check(buf.words, buf.len, NULL, &limits) == -EPROTO,
			   "%s without the feature", names[i]);
	}
	limits.features = VGPU_FEATURES & ~VGPU_FEATURE_KEEP;
	wire_sample_find("release")->fill(&buf);
	tap_expect(wire_case_check(buf.words, buf.len, NULL, &limits) == -EPROTO,
		   "release without the feature");
	tap_subject("features");
}

int main(void)
{
	WIRE_CASES("hello", hello);
	WIRE_CASES("welcome", welcome);
	WIRE_CASES("refuse", refuse);
	WIRE_CASES("lane", lane);
	WIRE_CASES("export_add", export_add);
	WIRE_CASES("export_del", export_del);
	WIRE_CASES("export_change", export_change);
	WIRE_CASES("export_file", export_file);
	WIRE_CASES("close", close_cases);
	WIRE_CASES("unmap", unmap);
	WIRE_CASES("session_close", session_close);
	WIRE_CASES("poll_event", poll_event);
	WIRE_CASES("event", event);
	WIRE_CASES("window", window);
	WIRE_CASES("unbind", window_part);
	WIRE_CASES("unbound", window_part);
	WIRE_CASES("invalidate", window_part);
	WIRE_CASES("release", release);
	test_window_size();
	test_features();
	WIRE_CASES("fetch", fetch);
	WIRE_CASES("fetched", fetched);
	WIRE_CASES("fetched_error", fetched_error);
	WIRE_CASES("writeback", writeback);
	WIRE_CASES("writeback_mask", writeback_mask);
	WIRE_CASES("written", written);
	test_ranges();
	test_export_bus();
	test_export_change();
	return tap_done();
}
