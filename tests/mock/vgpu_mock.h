/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * User interface of the mock device, whose ioctls have arguments that are
 * hard to forward.
 *
 * Every command below has a twin whose number differs only in bit 7 (see
 * VGPU_MOCK_UNDESCRIBED()): same structure, same behaviour. A forwarder's
 * schema table describes the plain numbers and leaves the twins out, so that
 * one test executes both mechanisms. Commands whose comment says "never
 * described" are left out in both forms.
 *
 * How to read the comments of the structures:
 *
 *   pointer, in, @n x T     the driver reads @n elements of type T there
 *   pointer, out, @n x T    the driver writes up to @n elements there
 *   pointer, inout, @n x T  both
 *   fd in, fd out           a file descriptor that enters, or is created
 *
 * A field with none of these words is plain data. The command's direction
 * (_IOW, _IOR, _IOWR) is the direction of the structure itself. Unless a
 * comment says otherwise, the structure is copied out on errors too, as DRM
 * does, except when copying it in failed, and a null pointer is allowed when
 * its count is 0. No structure has implicit padding; all but the one of
 * VGPU_MOCK_IOC_COMPAT are the same for 32-bit programs.
 */
#ifndef VGPU_MOCK_H
#define VGPU_MOCK_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define VGPU_MOCK_IOC_TYPE		0xb5
#define VGPU_MOCK_UNDESCRIBED_BIT	0x80

/* The twin of a command; no schema table describes the twin. */
#define VGPU_MOCK_UNDESCRIBED(cmd)	((cmd) | VGPU_MOCK_UNDESCRIBED_BIT)

/* Larger counts fail with -E2BIG, and larger strides with -EINVAL, natively too. */
#define VGPU_MOCK_MAX_ELEMS		0x100000u	/* elements of an array */
#define VGPU_MOCK_MAX_BYTES		(64u << 20)	/* bytes of a LARGE_* buffer */
#define VGPU_MOCK_MAX_STRUCTS		64u		/* elements of STRUCTS, LISTS */
#define VGPU_MOCK_MAX_STRUCT_BYTES	65536u		/* bytes of a buffer of STRUCTS, CHUNKS */
#define VGPU_MOCK_MAX_CHAIN		16u		/* extensions of CHAIN */
#define VGPU_MOCK_MAX_CHUNKS		32u		/* chunks of CHUNKS */
#define VGPU_MOCK_MAX_FDS		64u		/* fds of FDS_IN, FDS_OUT */
#define VGPU_MOCK_MAX_STRIDE		256u		/* bytes of an element of STRIDE, a list */

/*
 * Plain arguments
 */

/* The argument is ignored. The benchmark uses this command. */
#define VGPU_MOCK_IOC_NOOP	_IO(VGPU_MOCK_IOC_TYPE, 0x00)

/**
 * struct vgpu_mock_in - VGPU_MOCK_IOC_IN
 * @a: any value
 * @b: any value
 * @c: any value
 * @d: any values
 *
 * The return value of the ioctl is a positive hash of the structure.
 */
struct vgpu_mock_in {
	__u64 a;
	__u32 b;
	__u16 c;
	__u8 d[2];
};

#define VGPU_MOCK_IOC_IN	_IOW(VGPU_MOCK_IOC_TYPE, 0x01, struct vgpu_mock_in)

/**
 * struct vgpu_mock_out - VGPU_MOCK_IOC_OUT
 * @out_seed: hash of the last structure that VGPU_MOCK_IOC_IN got on this file
 * @out_bytes: a pattern made from @out_seed
 */
struct vgpu_mock_out {
	__u64 out_seed;
	__u8 out_bytes[56];
};

#define VGPU_MOCK_IOC_OUT	_IOR(VGPU_MOCK_IOC_TYPE, 0x02, struct vgpu_mock_out)

/**
 * struct vgpu_mock_inout - VGPU_MOCK_IOC_INOUT
 * @value: becomes its hash
 * @keep: not changed
 * @out_value: the old @value
 */
struct vgpu_mock_inout {
	__u64 value;
	__u64 keep;
	__u64 out_value;
};

#define VGPU_MOCK_IOC_INOUT	_IOWR(VGPU_MOCK_IOC_TYPE, 0x03, struct vgpu_mock_inout)

/*
 * The argument is an integer, not a pointer. The return value is
 * (argument ^ 0x5a5a5a5a) & 0x7fffffff.
 */
#define VGPU_MOCK_IOC_INTEGER	_IO(VGPU_MOCK_IOC_TYPE, 0x04)

/**
 * struct vgpu_mock_error - VGPU_MOCK_IOC_ERROR
 * @error: errno to fail with, as a positive number, 0 for success
 * @reserved: must be 0
 * @value: any value
 * @out_value: hash of @value, whatever @error is
 * @ptr: pointer, inout, @count x __u32; each element becomes its hash,
 *	whatever @error is
 * @count: number of elements
 * @reserved2: must be 0
 *
 * Results are copied out and then the ioctl fails.
 */
struct vgpu_mock_error {
	__s32 error;
	__u32 reserved;
	__u64 value;
	__u64 out_value;
	__u64 ptr;
	__u32 count;
	__u32 reserved2;
};

#define VGPU_MOCK_IOC_ERROR	_IOWR(VGPU_MOCK_IOC_TYPE, 0x05, struct vgpu_mock_error)

/**
 * struct vgpu_mock_return - VGPU_MOCK_IOC_RETURN
 * @value: return value of the ioctl: up to 64 bits, -4095..-1 are errors
 */
struct vgpu_mock_return {
	__s64 value;
};

#define VGPU_MOCK_IOC_RETURN	_IOW(VGPU_MOCK_IOC_TYPE, 0x06, struct vgpu_mock_return)

/**
 * struct vgpu_mock_big - VGPU_MOCK_IOC_BIG
 * @value: each word becomes its hash
 *
 * The structure is nearly the largest one that _IOC_SIZE can express.
 */
struct vgpu_mock_big {
	__u32 value[4095];
};

#define VGPU_MOCK_IOC_BIG	_IOWR(VGPU_MOCK_IOC_TYPE, 0x07, struct vgpu_mock_big)

/**
 * struct vgpu_mock_overread - memory that VGPU_MOCK_IOC_OVERREAD reads
 * @head: the part that the command's size covers; becomes the hash of @tail
 * @tail: the part that the driver reads beyond the command's size
 *
 * A schema table says that the argument has 64 bytes, of which the driver
 * writes the first 8. Without a table a forwarder knows only _IOC_SIZE: the
 * driver then reads zeros or faults behind @head, and never reads another
 * call's bytes.
 */
struct vgpu_mock_overread {
	__u64 head;
	__u64 tail[7];
};

#define VGPU_MOCK_IOC_OVERREAD	_IOWR(VGPU_MOCK_IOC_TYPE, 0x08, __u64)

/**
 * struct vgpu_mock_self - VGPU_MOCK_IOC_SELF
 * @ptr: pointer, inout, @length x __u8; may point into @data of this very
 *	structure (or anywhere else)
 * @length: number of bytes, at most sizeof(@data)
 * @out_sum: hash of the bytes at @ptr before the change
 * @data: room for the bytes
 *
 * The driver inverts each byte at @ptr in user memory, and then stores only
 * @out_sum.
 */
struct vgpu_mock_self {
	__u64 ptr;
	__u32 length;
	__u32 out_sum;
	__u8 data[48];
};

#define VGPU_MOCK_IOC_SELF	_IOWR(VGPU_MOCK_IOC_TYPE, 0x09, struct vgpu_mock_self)

/**
 * struct vgpu_mock_bare - VGPU_MOCK_BARE
 * @base: any value
 * @ptr: pointer, inout, @count x __u64; @base is added to each element
 * @count: number of elements
 * @out_status: 0, or -errno; the ioctl itself returns 0
 *
 * The command is a bare number with no type, direction or size, as in
 * NVIDIA's UVM; its argument is a pointer to this structure, which is in and
 * out.
 */
struct vgpu_mock_bare {
	__u64 base;
	__u64 ptr;
	__u32 count;
	__s32 out_status;
};

#define VGPU_MOCK_BARE		0x2a

/**
 * struct vgpu_mock_extensible - VGPU_MOCK_IOC_EXTENSIBLE
 * @value: becomes its hash
 * @more: each becomes its hash
 *
 * As in DRM, the driver looks at the command's number alone. The driver copies
 * _IOC_SIZE bytes in, but not more than the structure, sets the rest to zero, and
 * copies as many bytes out. Any size of 8 or more works, even a larger one than
 * the structure; a schema table describes all sizes.
 */
struct vgpu_mock_extensible {
	__u64 value;
	__u64 more[3];
};

#define VGPU_MOCK_IOC_EXTENSIBLE \
	_IOWR(VGPU_MOCK_IOC_TYPE, 0x0a, struct vgpu_mock_extensible)
#define VGPU_MOCK_IOC_EXTENSIBLE_SIZED(size) \
	_IOC(_IOC_READ | _IOC_WRITE, VGPU_MOCK_IOC_TYPE, 0x0a, (size))

/**
 * struct vgpu_mock_sized - VGPU_MOCK_IOC_SIZED
 * @size: number of bytes of this structure that the caller has, 16 or more
 * @reserved: must be 0
 * @value: becomes its hash
 * @more: each becomes its hash, as far as @size reaches
 *
 * The structure holds its own size (as in clone3 and iommufd) and is in and
 * out. Bytes that the driver does not know must be 0, else -E2BIG; @size is at
 * most 4096.
 */
struct vgpu_mock_sized {
	__u32 size;
	__u32 reserved;
	__u64 value;
	__u64 more[4];
};

#define VGPU_MOCK_IOC_SIZED	_IO(VGPU_MOCK_IOC_TYPE, 0x0b)

/*
 * Nested arguments
 */

/**
 * struct vgpu_mock_array - VGPU_MOCK_IOC_ARRAY_IN, _OUT, _INOUT
 * @ptr: pointer, in / out / inout as the command says, @count x __u32
 * @count: number of elements; for _OUT: number of elements that fit at @ptr
 * @seed: _OUT: seed of the pattern
 * @total: _OUT: number of elements the driver has; it writes min(@count,
 *	@total), as DRM does
 * @out_count: number of elements handled
 * @out_sum: hash of the elements before any change (0 for _OUT)
 */
struct vgpu_mock_array {
	__u64 ptr;
	__u32 count;
	__u32 seed;
	__u32 total;
	__u32 out_count;
	__u64 out_sum;
};

#define VGPU_MOCK_IOC_ARRAY_IN		_IOWR(VGPU_MOCK_IOC_TYPE, 0x10, struct vgpu_mock_array)
#define VGPU_MOCK_IOC_ARRAY_OUT		_IOWR(VGPU_MOCK_IOC_TYPE, 0x11, struct vgpu_mock_array)
#define VGPU_MOCK_IOC_ARRAY_INOUT	_IOWR(VGPU_MOCK_IOC_TYPE, 0x12, struct vgpu_mock_array)

/**
 * struct vgpu_mock_arrays - VGPU_MOCK_IOC_ARRAYS
 * @in_ptr: pointer, in, @in_count x __u64
 * @out_ptr: pointer, out, @out_count x __u16
 * @inout_ptr: pointer, inout, @inout_count x struct vgpu_mock_pair
 * @in_count: number of elements
 * @out_count: number of elements; the driver writes half of them, rounded up,
 *	and stores the number written
 * @inout_count: number of elements
 * @reserved: must be 0
 * @out_sum: hash of all bytes read
 */
struct vgpu_mock_arrays {
	__u64 in_ptr;
	__u64 out_ptr;
	__u64 inout_ptr;
	__u32 in_count;
	__u32 out_count;
	__u32 inout_count;
	__u32 reserved;
	__u64 out_sum;
};

#define VGPU_MOCK_IOC_ARRAYS	_IOWR(VGPU_MOCK_IOC_TYPE, 0x13, struct vgpu_mock_arrays)

/**
 * struct vgpu_mock_pair - element of VGPU_MOCK_IOC_ARRAYS
 * @key: not changed
 * @value: becomes its hash
 */
struct vgpu_mock_pair {
	__u32 key;
	__u32 value;
};

/**
 * struct vgpu_mock_ptrptr - VGPU_MOCK_IOC_PTRPTR
 * @ptr: pointer, in, 1 x __u64, which is a pointer, inout, 1 x __u64
 * @out_value: value at the second pointer; the driver then replaces the value
 *	in user memory by its hash
 */
struct vgpu_mock_ptrptr {
	__u64 ptr;
	__u64 out_value;
};

#define VGPU_MOCK_IOC_PTRPTR	_IOWR(VGPU_MOCK_IOC_TYPE, 0x14, struct vgpu_mock_ptrptr)

/**
 * struct vgpu_mock_structs - VGPU_MOCK_IOC_STRUCTS
 * @ptr: pointer, inout, @count x struct vgpu_mock_struct
 * @count: number of elements
 * @reserved: must be 0
 * @out_sum: hash of all buffers before the change
 */
struct vgpu_mock_structs {
	__u64 ptr;
	__u32 count;
	__u32 reserved;
	__u64 out_sum;
};

#define VGPU_MOCK_IOC_STRUCTS	_IOWR(VGPU_MOCK_IOC_TYPE, 0x15, struct vgpu_mock_structs)

/**
 * struct vgpu_mock_struct - element of VGPU_MOCK_IOC_STRUCTS
 * @ptr: pointer, inout, @length x __u8; each byte is inverted
 * @length: number of bytes
 * @out_sum: hash of the bytes before the change
 */
struct vgpu_mock_struct {
	__u64 ptr;
	__u32 length;
	__u32 out_sum;
};

/**
 * struct vgpu_mock_chain - VGPU_MOCK_IOC_CHAIN
 * @extensions: pointer, inout, to the first struct vgpu_mock_ext_base of a
 *	chain, or 0 (i915, xe)
 * @value: value of the chain, which the extensions change
 * @out_count: number of extensions that were handled
 * @out_sum: hash of all data in the extensions
 *
 * An unknown @name in an extension gives -EINVAL, more than
 * VGPU_MOCK_MAX_CHAIN extensions give -E2BIG.
 */
struct vgpu_mock_chain {
	__u64 extensions;
	__u64 value;
	__u32 out_count;
	__u32 out_sum;
};

#define VGPU_MOCK_IOC_CHAIN	_IOWR(VGPU_MOCK_IOC_TYPE, 0x16, struct vgpu_mock_chain)

/**
 * struct vgpu_mock_ext_base - head of every extension
 * @next_extension: pointer, inout, to the next struct vgpu_mock_ext_base, or 0
 * @name: type of the extension, one of VGPU_MOCK_EXT_*
 * @reserved: must be 0
 */
struct vgpu_mock_ext_base {
	__u64 next_extension;
	__u32 name;
	__u32 reserved;
};

#define VGPU_MOCK_EXT_SET	1	/* struct vgpu_mock_ext_set */
#define VGPU_MOCK_EXT_GET	2	/* struct vgpu_mock_ext_get */
#define VGPU_MOCK_EXT_ARRAY	3	/* struct vgpu_mock_ext_array */
#define VGPU_MOCK_EXT_MORE	4	/* struct vgpu_mock_ext_more */
#define VGPU_MOCK_EXT_PARAM	5	/* struct vgpu_mock_ext_param */

/**
 * struct vgpu_mock_ext_set - extension, in
 * @base: head
 * @value: becomes the value of the chain
 */
struct vgpu_mock_ext_set {
	struct vgpu_mock_ext_base base;
	__u64 value;
};

/**
 * struct vgpu_mock_ext_get - extension, inout
 * @base: head
 * @out_value: value of the chain when this extension is handled
 */
struct vgpu_mock_ext_get {
	struct vgpu_mock_ext_base base;
	__u64 out_value;
};

/**
 * struct vgpu_mock_ext_array - extension, in, with a pointer of its own
 * @base: head
 * @ptr: pointer, inout, @count x __u32; each element becomes its hash
 * @count: number of elements
 * @reserved: must be 0
 */
struct vgpu_mock_ext_array {
	struct vgpu_mock_ext_base base;
	__u64 ptr;
	__u32 count;
	__u32 reserved;
};

/**
 * struct vgpu_mock_ext_more - extension, in, with an array behind it (as i915's
 *	engines that share load)
 * @base: head
 * @count: number of elements
 * @reserved: must be 0
 * @more: @count words
 */
struct vgpu_mock_ext_more {
	struct vgpu_mock_ext_base base;
	__u16 count;
	__u16 reserved[3];
	__u32 more[];
};

/**
 * struct vgpu_mock_param - a parameter: a number, or a pointer to memory
 * @size: size of the memory in bytes; 0 for a number
 * @param: VGPU_MOCK_PARAM_*, says what @value is
 * @value: NUMBER: new value of the chain; BYTES: pointer, in, @size bytes;
 *	CHAIN: pointer, in, @size bytes, which begin with a pointer, in, to
 *	another chain that consists of struct vgpu_mock_ext_more alone (as
 *	i915's engines)
 */
struct vgpu_mock_param {
	__u32 size;
	__u32 param;
	__u64 value;
};

#define VGPU_MOCK_PARAM_NUMBER	0
#define VGPU_MOCK_PARAM_BYTES	1
#define VGPU_MOCK_PARAM_CHAIN	2

/**
 * struct vgpu_mock_ext_param - extension, in, with a parameter
 * @base: head
 * @param: the parameter
 */
struct vgpu_mock_ext_param {
	struct vgpu_mock_ext_base base;
	struct vgpu_mock_param param;
};

/**
 * struct vgpu_mock_chunks - VGPU_MOCK_IOC_CHUNKS
 * @chunks: pointer, in, @num_chunks x __u64, each of which is a pointer, in,
 *	to a struct vgpu_mock_chunk (amdgpu)
 * @num_chunks: number of chunks
 * @out_count: number of chunks that were handled
 * @out_sum: hash of all data in the chunks
 *
 * An unknown @chunk_id gives -EINVAL.
 */
struct vgpu_mock_chunks {
	__u64 chunks;
	__u32 num_chunks;
	__u32 out_count;
	__u64 out_sum;
};

#define VGPU_MOCK_IOC_CHUNKS	_IOWR(VGPU_MOCK_IOC_TYPE, 0x17, struct vgpu_mock_chunks)

/**
 * struct vgpu_mock_chunk - one chunk
 * @chunk_id: type of the chunk, one of VGPU_MOCK_CHUNK_*
 * @length_dw: length of the data in units of 4 bytes
 * @chunk_data: pointer, @length_dw x __u32; contents and direction depend on
 *	@chunk_id
 */
struct vgpu_mock_chunk {
	__u32 chunk_id;
	__u32 length_dw;
	__u64 chunk_data;
};

#define VGPU_MOCK_CHUNK_RAW	1	/* in: words */
#define VGPU_MOCK_CHUNK_RESULT	2	/* out: words, filled with a pattern */
#define VGPU_MOCK_CHUNK_BUFFERS	3	/* in: struct vgpu_mock_chunk_buffer, an array */
#define VGPU_MOCK_CHUNK_LIST	4	/* in: one struct vgpu_mock_list (amdgpu's buffers) */

/**
 * struct vgpu_mock_chunk_buffer - element of VGPU_MOCK_CHUNK_BUFFERS
 * @ptr: pointer, inout, @length x __u8; each byte is inverted
 * @length: number of bytes
 * @flags: must be 0
 */
struct vgpu_mock_chunk_buffer {
	__u64 ptr;
	__u32 length;
	__u32 flags;
};

/**
 * struct vgpu_mock_counted - VGPU_MOCK_IOC_COUNTED
 * @head: pointer, in, 1 x struct vgpu_mock_counted_head
 * @data: pointer, inout, (count found in *@head) x __u32; each element becomes
 *	its hash
 * @out_sum: hash of the elements before the change
 *
 * The number of elements of one buffer lies in another buffer.
 */
struct vgpu_mock_counted {
	__u64 head;
	__u64 data;
	__u64 out_sum;
};

#define VGPU_MOCK_IOC_COUNTED	_IOWR(VGPU_MOCK_IOC_TYPE, 0x18, struct vgpu_mock_counted)

/**
 * struct vgpu_mock_counted_head - buffer at @head of struct vgpu_mock_counted
 * @reserved: must be 0
 * @count: number of elements of @data in struct vgpu_mock_counted
 */
struct vgpu_mock_counted_head {
	__u32 reserved;
	__u32 count;
};

/**
 * struct vgpu_mock_stride - VGPU_MOCK_IOC_STRIDE
 * @ptr: pointer, inout, @count x @stride bytes; the first 4 bytes of each
 *	element become their hash
 * @count: number of elements
 * @stride: size of one element, a multiple of 4 from 4 to
 *	VGPU_MOCK_MAX_STRIDE, else -EINVAL
 * @out_sum: hash of all bytes read
 */
struct vgpu_mock_stride {
	__u64 ptr;
	__u32 count;
	__u32 stride;
	__u64 out_sum;
};

#define VGPU_MOCK_IOC_STRIDE	_IOWR(VGPU_MOCK_IOC_TYPE, 0x19, struct vgpu_mock_stride)

/**
 * struct vgpu_mock_large - VGPU_MOCK_IOC_LARGE_IN, _OUT, _INOUT
 * @ptr: pointer, in / out / inout as the command says, @length x __u8
 * @length: number of bytes, up to VGPU_MOCK_MAX_BYTES
 * @seed: _OUT: seed of the pattern
 * @out_sum: hash of the bytes before the change (0 for _OUT)
 *
 * _INOUT inverts each byte. The driver reads and writes the buffer in pieces.
 */
struct vgpu_mock_large {
	__u64 ptr;
	__u64 length;
	__u64 seed;
	__u64 out_sum;
};

#define VGPU_MOCK_IOC_LARGE_IN		_IOWR(VGPU_MOCK_IOC_TYPE, 0x1a, struct vgpu_mock_large)
#define VGPU_MOCK_IOC_LARGE_OUT		_IOWR(VGPU_MOCK_IOC_TYPE, 0x1b, struct vgpu_mock_large)
#define VGPU_MOCK_IOC_LARGE_INOUT	_IOWR(VGPU_MOCK_IOC_TYPE, 0x1c, struct vgpu_mock_large)

/**
 * struct vgpu_mock_either - VGPU_MOCK_IOC_EITHER
 * @ptr: pointer, @length x __u8, in when @op is 0, out when @op is 1; a schema
 *	table cannot express this and describes the pointer as inout
 * @length: number of bytes, up to VGPU_MOCK_MAX_STRUCT_BYTES
 * @op: 0: the driver reads; 1: the driver writes a pattern; else -EINVAL
 * @out_sum: hash of the bytes read; 0 when writing
 */
struct vgpu_mock_either {
	__u64 ptr;
	__u32 length;
	__u32 op;
	__u64 out_sum;
};

#define VGPU_MOCK_IOC_EITHER	_IOWR(VGPU_MOCK_IOC_TYPE, 0x1d, struct vgpu_mock_either)

/**
 * struct vgpu_mock_moved - VGPU_MOCK_IOC_MOVED
 * @ptr: pointer, in, @length x __u8; its value afterwards depends on @mode
 * @length: number of bytes, up to VGPU_MOCK_MAX_STRUCT_BYTES
 * @mode: change of the pointer, one of VGPU_MOCK_MOVED_*
 * @step: VGPU_MOCK_MOVED_ADVANCE: number of bytes to add to @ptr, up to @length
 * @reserved: must be 0
 * @out_sum: hash of the bytes
 *
 * The driver stores into the pointer field itself. A forwarder has to give the
 * program the native result: the program's own pointer, that pointer plus
 * @step, or the driver's value VGPU_MOCK_MOVED_VALUE.
 */
struct vgpu_mock_moved {
	__u64 ptr;
	__u32 length;
	__u32 mode;
	__u32 step;
	__u32 reserved;
	__u64 out_sum;
};

#define VGPU_MOCK_IOC_MOVED	_IOWR(VGPU_MOCK_IOC_TYPE, 0x1e, struct vgpu_mock_moved)

#define VGPU_MOCK_MOVED_KEEP	0
#define VGPU_MOCK_MOVED_ADVANCE	1
#define VGPU_MOCK_MOVED_REPLACE	2
#define VGPU_MOCK_MOVED_VALUE	0x1122334455667788ULL

/**
 * struct vgpu_mock_string - VGPU_MOCK_IOC_STRING, never described
 * @ptr: pointer, in, string of up to 255 bytes that ends with a 0 byte
 * @out_length: length of the string in bytes, without the 0 byte
 * @out_sum: hash of the string
 */
struct vgpu_mock_string {
	__u64 ptr;
	__u32 out_length;
	__u32 out_sum;
};

#define VGPU_MOCK_IOC_STRING	_IOWR(VGPU_MOCK_IOC_TYPE, 0x1f, struct vgpu_mock_string)

/**
 * struct vgpu_mock_op - one operation of VGPU_MOCK_IOC_OPS
 * @op: 0: @ptr is a number; 1: @ptr is a pointer
 * @length: number of bytes at @ptr
 * @ptr: a number, or pointer, inout, @length bytes, inverted as by STRUCTS
 */
struct vgpu_mock_op {
	__u32 op;
	__u32 length;
	__u64 ptr;
};

/**
 * struct vgpu_mock_ops - VGPU_MOCK_IOC_OPS
 * @count: number of operations, at most VGPU_MOCK_MAX_STRUCTS
 * @out_sum: hash of all numbers and bytes of the operations
 * @op: the operation, if @count is 1
 * @ptr: pointer, in, @count x struct vgpu_mock_op, if @count is not 1 (as xe's
 *	binds)
 */
struct vgpu_mock_ops {
	__u32 count;
	__u32 out_sum;
	union {
		struct vgpu_mock_op op;
		__u64 ptr;
	};
};

#define VGPU_MOCK_IOC_OPS	_IOWR(VGPU_MOCK_IOC_TYPE, 0x20, struct vgpu_mock_ops)

/**
 * struct vgpu_mock_control - element of VGPU_MOCK_IOC_CONTROLS
 * @id: any number
 * @size: number of bytes at @ptr; 0: @value is a number
 * @reserved: must be 0
 * @value: a number, inout, if @size is 0
 * @ptr: pointer, inout, @size bytes, inverted as by STRUCTS, if @size is not 0
 *	(as V4L2's controls)
 */
struct vgpu_mock_control {
	__u32 id;
	__u32 size;
	__u32 reserved;
	union {
		__u64 value;
		__u64 ptr;
	} __attribute__((packed));
} __attribute__((packed));

/**
 * struct vgpu_mock_controls - VGPU_MOCK_IOC_CONTROLS
 * @count: number of controls, at most VGPU_MOCK_MAX_STRUCTS
 * @out_sum: hash of all numbers and bytes
 * @ptr: pointer, inout, @count x struct vgpu_mock_control
 */
struct vgpu_mock_controls {
	__u32 count;
	__u32 out_sum;
	__u64 ptr;
};

#define VGPU_MOCK_IOC_CONTROLS	_IOWR(VGPU_MOCK_IOC_TYPE, 0x21, struct vgpu_mock_controls)

/**
 * struct vgpu_mock_table - VGPU_MOCK_IOC_TABLE
 * @ptr: pointer, inout, @width x @height x __u32; each becomes its hash. When
 *	@height is 1, this is no pointer but the single row itself, a number (xe)
 * @width: number of elements of a row
 * @height: number of rows
 * @out_sum: hash of the elements, or of the number
 */
struct vgpu_mock_table {
	__u64 ptr;
	__u16 width;
	__u16 height;
	__u32 out_sum;
};

#define VGPU_MOCK_IOC_TABLE	_IOWR(VGPU_MOCK_IOC_TYPE, 0x22, struct vgpu_mock_table)

/**
 * struct vgpu_mock_caps - VGPU_MOCK_IOC_CAPS
 * @kind: 0: @out_caps holds flags; 1: @out_caps is a number
 * @out_caps: 0xff (bits 0 to 7) if @kind is 0, and 5 if it is 1. A forwarder
 *	whose schema table describes the command clears VGPU_MOCK_CAPS_HIDDEN
 *	in the flags, and replaces the number by -1
 */
struct vgpu_mock_caps {
	__u32 kind;
	__u32 out_caps;
};

#define VGPU_MOCK_IOC_CAPS	_IOWR(VGPU_MOCK_IOC_TYPE, 0x23, struct vgpu_mock_caps)

#define VGPU_MOCK_CAPS_HIDDEN	0x12

/**
 * struct vgpu_mock_list - an array with the size of its elements
 * @ptr: pointer, in, @count x @stride bytes
 * @count: number of elements
 * @stride: size of one element, from 1 to VGPU_MOCK_MAX_STRIDE, else -EINVAL
 */
struct vgpu_mock_list {
	__u64 ptr;
	__u32 count;
	__u32 stride;
};

/**
 * struct vgpu_mock_lists - VGPU_MOCK_IOC_LISTS
 * @lists: array of up to VGPU_MOCK_MAX_STRUCTS elements; each begins with struct
 *	vgpu_mock_lists_elem and is longer when it was made for a newer driver
 *	(panthor's binds and submits)
 * @out_sum: hash of all bytes read, except pointers, counts and strides
 *
 * An element shorter than struct vgpu_mock_lists_elem gives -EINVAL.
 */
struct vgpu_mock_lists {
	struct vgpu_mock_list lists;
	__u64 out_sum;
};

#define VGPU_MOCK_IOC_LISTS	_IOWR(VGPU_MOCK_IOC_TYPE, 0x24, struct vgpu_mock_lists)

/**
 * struct vgpu_mock_lists_elem - element of VGPU_MOCK_IOC_LISTS
 * @value: any value
 * @list: array of plain data
 */
struct vgpu_mock_lists_elem {
	__u64 value;
	struct vgpu_mock_list list;
};

/**
 * struct vgpu_mock_exec - VGPU_MOCK_IOC_EXEC
 * @flags: VGPU_MOCK_EXEC_CHAIN, VGPU_MOCK_EXEC_ARRAY or 0, else -EINVAL
 * @ptr: _CHAIN: pointer, inout, to a chain as that of VGPU_MOCK_IOC_CHAIN; _ARRAY: pointer, in,
 *	@count x struct vgpu_mock_pair; no flag: a number (i915's fences)
 * @param: a number or a pointer, depending on @op
 * @count: number of elements at @ptr
 * @op: VGPU_MOCK_EXEC_OP_*, else -EINVAL (xe's observation)
 * @value: value that the chains change
 * @out_sum: hash of all bytes read, numbers included
 *
 * The driver handles @ptr first, then @param.
 */
struct vgpu_mock_exec {
	__u64 flags;
	__u64 ptr;
	__u64 param;
	__u32 count;
	__u32 op;
	__u64 value;
	__u64 out_sum;
};

#define VGPU_MOCK_IOC_EXEC	_IOWR(VGPU_MOCK_IOC_TYPE, 0x25, struct vgpu_mock_exec)

#define VGPU_MOCK_EXEC_CHAIN	1
#define VGPU_MOCK_EXEC_ARRAY	2

#define VGPU_MOCK_EXEC_OP_NUMBER	0	/* a number */
#define VGPU_MOCK_EXEC_OP_OPEN		1	/* pointer, inout, to a chain */
#define VGPU_MOCK_EXEC_OP_ADD		2	/* pointer, in, 1 x struct vgpu_mock_exec_config */
#define VGPU_MOCK_EXEC_OP_REMOVE	3	/* pointer, in, 1 x __u64 */

/**
 * struct vgpu_mock_exec_config - argument of VGPU_MOCK_EXEC_OP_ADD
 * @ptr: pointer, in, @count x struct vgpu_mock_pair
 * @count: number of elements, up to VGPU_MOCK_MAX_ELEMS
 * @reserved: must be 0
 */
struct vgpu_mock_exec_config {
	__u64 ptr;
	__u32 count;
	__u32 reserved;
};

/*
 * Time, signals, locks
 */

/**
 * struct vgpu_mock_sleep - VGPU_MOCK_IOC_SLEEP
 * @ms: time to sleep in milliseconds
 * @mode: kind of the sleep, one of VGPU_MOCK_SLEEP_*
 * @on_signal: result of an interrupted sleep, one of VGPU_MOCK_SIGNAL_*
 * @out_woken: 0: the sleep was complete, 1: it was interrupted; stored on errors too
 */
struct vgpu_mock_sleep {
	__u32 ms;
	__u32 mode;
	__u32 on_signal;
	__u32 out_woken;
};

#define VGPU_MOCK_IOC_SLEEP	_IOWR(VGPU_MOCK_IOC_TYPE, 0x30, struct vgpu_mock_sleep)

#define VGPU_MOCK_SLEEP_INTERRUPTIBLE	0
#define VGPU_MOCK_SLEEP_KILLABLE	1
#define VGPU_MOCK_SLEEP_UNINTERRUPTIBLE	2

#define VGPU_MOCK_SIGNAL_ERESTARTSYS	0
#define VGPU_MOCK_SIGNAL_EINTR		1
#define VGPU_MOCK_SIGNAL_ERESTARTNOINTR	2
#define VGPU_MOCK_SIGNAL_ERESTARTNOHAND	3
#define VGPU_MOCK_SIGNAL_RESTARTBLOCK	4

/**
 * struct vgpu_mock_wait - VGPU_MOCK_IOC_WAIT, VGPU_MOCK_IOC_WAKE
 * @slot: number of an event of this file, 0 to 15
 * @target: _WAIT: count of the event that ends the interruptible sleep, or a
 *	higher one; _WAKE: number to add to the event's count
 * @out_count: count of the event
 * @out_waiters: number of calls that wait for the event
 *
 * An interrupted wait returns -ERESTARTSYS.
 */
struct vgpu_mock_wait {
	__u32 slot;
	__u32 target;
	__u32 out_count;
	__u32 out_waiters;
};

#define VGPU_MOCK_IOC_WAIT	_IOWR(VGPU_MOCK_IOC_TYPE, 0x31, struct vgpu_mock_wait)
#define VGPU_MOCK_IOC_WAKE	_IOWR(VGPU_MOCK_IOC_TYPE, 0x32, struct vgpu_mock_wait)

/**
 * struct vgpu_mock_locked - VGPU_MOCK_IOC_LOCKED
 * @in_ptr: pointer, in, @length x __u8
 * @out_ptr: pointer, out, @length x __u8: the bytes of @in_ptr inverted
 * @length: number of bytes, up to VGPU_MOCK_MAX_STRUCT_BYTES; 0: the driver
 *	copies nothing
 * @hold_ms: time to sleep between the two copies, in milliseconds
 * @out_waited_us: time to get the mutex, in microseconds
 *
 * The driver takes a mutex that all users of the device share, uninterruptibly,
 * and holds it over the copies from and to user memory.
 */
struct vgpu_mock_locked {
	__u64 in_ptr;
	__u64 out_ptr;
	__u32 length;
	__u32 hold_ms;
	__u64 out_waited_us;
};

#define VGPU_MOCK_IOC_LOCKED	_IOWR(VGPU_MOCK_IOC_TYPE, 0x33, struct vgpu_mock_locked)

/*
 * File descriptors
 *
 * An "object" is an anonymous file of the mock. An object can be polled
 * (readable when signalled), read (8 bytes, its cookie, when signalled; else
 * the read blocks or fails with -EAGAIN), and mapped (one page that starts with
 * the cookie), and takes VGPU_MOCK_IOC_OBJ_*. The fd of an opened mock device is
 * accepted for an object's fd: its cookie is the seed of VGPU_MOCK_IOC_OUT.
 *
 * The undescribed twins cannot be forwarded. An fd that no schema describes goes
 * in as a plain number, which is no open file at the host (-EBADF). A file that
 * comes out is closed at the host, and the call fails with -EOPNOTSUPP.
 */

/**
 * struct vgpu_mock_fd_out - VGPU_MOCK_IOC_FD_OUT
 * @cookie: cookie of the new object
 * @flags: O_CLOEXEC, O_NONBLOCK or 0 for the new fd, else -EINVAL
 * @out_fd: fd out: the new object
 */
struct vgpu_mock_fd_out {
	__u64 cookie;
	__u32 flags;
	__s32 out_fd;
};

#define VGPU_MOCK_IOC_FD_OUT	_IOWR(VGPU_MOCK_IOC_TYPE, 0x40, struct vgpu_mock_fd_out)

/**
 * struct vgpu_mock_fd_in - VGPU_MOCK_IOC_FD_IN
 * @fd: fd in: an object; -EBADF if not open, -EINVAL if not an object
 * @reserved: must be 0
 * @out_cookie: cookie of the object
 */
struct vgpu_mock_fd_in {
	__s32 fd;
	__u32 reserved;
	__u64 out_cookie;
};

#define VGPU_MOCK_IOC_FD_IN	_IOWR(VGPU_MOCK_IOC_TYPE, 0x41, struct vgpu_mock_fd_in)

/**
 * struct vgpu_mock_fds - VGPU_MOCK_IOC_FDS_IN, VGPU_MOCK_IOC_FDS_OUT
 * @ptr: pointer, _IN: in, _OUT: out, @count x __s32; each is an fd in / fd out
 * @count: number of fds
 * @flags: _OUT: as in struct vgpu_mock_fd_out, _IN: must be 0
 * @cookie: _OUT: cookie of the first object; each further object has a cookie
 *	greater by 1; _IN: sum of the cookies, stored by the driver
 */
struct vgpu_mock_fds {
	__u64 ptr;
	__u32 count;
	__u32 flags;
	__u64 cookie;
};

#define VGPU_MOCK_IOC_FDS_IN	_IOWR(VGPU_MOCK_IOC_TYPE, 0x42, struct vgpu_mock_fds)
#define VGPU_MOCK_IOC_FDS_OUT	_IOWR(VGPU_MOCK_IOC_TYPE, 0x43, struct vgpu_mock_fds)

/**
 * struct vgpu_mock_fd_merge - VGPU_MOCK_IOC_FD_MERGE
 * @fd: fd in
 * @fd2: fd in
 * @flags: as in struct vgpu_mock_fd_out
 * @out_fd: fd out: a new object whose cookie is the sum of those of @fd and
 *	@fd2
 */
struct vgpu_mock_fd_merge {
	__s32 fd;
	__s32 fd2;
	__u32 flags;
	__s32 out_fd;
};

#define VGPU_MOCK_IOC_FD_MERGE	_IOWR(VGPU_MOCK_IOC_TYPE, 0x44, struct vgpu_mock_fd_merge)

/**
 * struct vgpu_mock_fd_return - VGPU_MOCK_IOC_FD_RETURN
 * @cookie: cookie of the new object
 *
 * The return value of the ioctl is an fd out, opened with O_CLOEXEC.
 */
struct vgpu_mock_fd_return {
	__u64 cookie;
};

#define VGPU_MOCK_IOC_FD_RETURN	_IOW(VGPU_MOCK_IOC_TYPE, 0x45, struct vgpu_mock_fd_return)

/**
 * struct vgpu_mock_fd_optional - VGPU_MOCK_IOC_FD_OPTIONAL
 * @flags: VGPU_MOCK_FD_HAS_IN, VGPU_MOCK_FD_WANT_OUT
 * @fd_in: fd in, used only with VGPU_MOCK_FD_HAS_IN (any value is allowed
 *	without that flag, such as 0 or -1)
 * @fd_out: fd out, only with VGPU_MOCK_FD_WANT_OUT and on success: a new
 *	object with the cookie of @fd_in plus 1; otherwise not changed
 * @reserved: must be 0
 */
struct vgpu_mock_fd_optional {
	__u32 flags;
	__s32 fd_in;
	__s32 fd_out;
	__u32 reserved;
};

#define VGPU_MOCK_IOC_FD_OPTIONAL \
	_IOWR(VGPU_MOCK_IOC_TYPE, 0x46, struct vgpu_mock_fd_optional)

#define VGPU_MOCK_FD_HAS_IN	1
#define VGPU_MOCK_FD_WANT_OUT	2

/**
 * struct vgpu_mock_fd_swap - VGPU_MOCK_IOC_FD_SWAP
 * @flags: VGPU_MOCK_FD_HAS_IN, VGPU_MOCK_FD_WANT_OUT
 * @fd: fd in with VGPU_MOCK_FD_HAS_IN, and in the same place fd out with
 *	VGPU_MOCK_FD_WANT_OUT, on success: a new object whose cookie is that of
 *	the fd in plus 1; otherwise not changed (virtgpu's execbuffer)
 */
struct vgpu_mock_fd_swap {
	__u32 flags;
	__s32 fd;
};

#define VGPU_MOCK_IOC_FD_SWAP	_IOWR(VGPU_MOCK_IOC_TYPE, 0x49, struct vgpu_mock_fd_swap)

/*
 * The argument is a struct vgpu_mock_fd_swap with exactly one flag. VGPU_MOCK_FD_HAS_IN: the mock's
 * file takes a reference of the file @fd, which may be any other file. The mock's file holds the
 * reference until it gets another file, is released, or gives the held file back.
 * VGPU_MOCK_FD_WANT_OUT: the held file is given back as a new fd, opened with O_CLOEXEC; -ENOENT if
 * no file is held.
 */
#define VGPU_MOCK_IOC_FD_HOLD	_IOWR(VGPU_MOCK_IOC_TYPE, 0x4c, struct vgpu_mock_fd_swap)

/**
 * struct vgpu_mock_fd_maybe - VGPU_MOCK_IOC_FD_MAYBE
 * @want: 1: the result is an fd (as xe's observation); 0: the result is @number
 * @number: result of the ioctl, or cookie of the new object
 *
 * The fd out is opened with O_CLOEXEC, as FD_RETURN's.
 */
struct vgpu_mock_fd_maybe {
	__u32 want;
	__u32 number;
};

#define VGPU_MOCK_IOC_FD_MAYBE	_IOW(VGPU_MOCK_IOC_TYPE, 0x4a, struct vgpu_mock_fd_maybe)

/*
 * The argument itself is an fd in, as for VGPU_MOCK_IOC_FD_IN, although the command
 * has a size (as ALSA's LINK). The ioctl returns the cookie, modulo 2^31.
 */
#define VGPU_MOCK_IOC_FD_VALUE	_IOW(VGPU_MOCK_IOC_TYPE, 0x4b, int)

/**
 * struct vgpu_mock_obj_info - VGPU_MOCK_IOC_OBJ_INFO, on an object's fd
 * @out_cookie: cookie of the object
 * @out_f_flags: f_flags of the file as the driver sees them
 * @reserved: must be 0
 */
struct vgpu_mock_obj_info {
	__u64 out_cookie;
	__u32 out_f_flags;
	__u32 reserved;
};

#define VGPU_MOCK_IOC_OBJ_INFO	_IOR(VGPU_MOCK_IOC_TYPE, 0x47, struct vgpu_mock_obj_info)

/*
 * The command signals the object on whose fd it is called. The argument is an
 * integer, the delay in milliseconds.
 */
#define VGPU_MOCK_IOC_OBJ_SIGNAL	_IO(VGPU_MOCK_IOC_TYPE, 0x48)

/*
 * Memory to map
 *
 * A buffer belongs to the file that created it, and lives until that file is
 * released and no mapping of the buffer is left. Any opened file of the same
 * device may name and map it. Pages are allocated on first use. A mapping must
 * be shared, else -EINVAL.
 */

/**
 * struct vgpu_mock_buf_create - VGPU_MOCK_IOC_BUF_CREATE
 * @size: size in bytes, a multiple of the page size, up to 512 MiB (4 MiB for
 *	VGPU_MOCK_BUF_VMALLOC and VGPU_MOCK_BUF_REMAP)
 * @flavour: kind of memory, one of VGPU_MOCK_BUF_*, with flags
 * @out_id: name of the buffer
 * @out_offset: offset for mmap; differs from one buffer to the next
 */
struct vgpu_mock_buf_create {
	__u64 size;
	__u32 flavour;
	__u32 out_id;
	__u64 out_offset;
};

#define VGPU_MOCK_IOC_BUF_CREATE	_IOWR(VGPU_MOCK_IOC_TYPE, 0x50, struct vgpu_mock_buf_create)

#define VGPU_MOCK_BUF_PFN	0	/* VM_PFNMAP, filled on fault */
#define VGPU_MOCK_BUF_REMAP	1	/* VM_PFNMAP, filled when mapped */
#define VGPU_MOCK_BUF_MIXED	2	/* VM_MIXEDMAP, filled on fault */
#define VGPU_MOCK_BUF_PAGE	3	/* ordinary pages, filled on fault */
#define VGPU_MOCK_BUF_VMALLOC	4	/* vmalloc_user() memory, filled when mapped */
#define VGPU_MOCK_BUF_RAW	5	/* VM_MIXEDMAP, PFNs by vmf_insert_mixed(), on fault */
/* A flag for all flavours: the driver is notified of the first write to each page. */
#define VGPU_MOCK_BUF_NOTIFY	0x100
/*
 * A flag for _PFN and _REMAP: the memory consists of pieces of 2 MiB, and @size is a multiple of
 * that. One fault maps a piece as a whole (_PFN), or mmap maps it page by page (_REMAP).
 */
#define VGPU_MOCK_BUF_HUGE	0x200
/*
 * Flags for _PFN: pages that a window cannot map with every hypervisor, or whose caching differs
 * from vm_page_prot. _UNCOUNTED: the memory consists of pieces of 16 KiB (@size is a multiple of
 * that) whose pages share one reference; a fault maps its page and the rest of the piece. _WC: the
 * pages are write-combining. _LATER, with one of these: the first 64 KiB are ordinary pages.
 */
#define VGPU_MOCK_BUF_UNCOUNTED	0x400
#define VGPU_MOCK_BUF_WC	0x800
#define VGPU_MOCK_BUF_LATER	0x1000
/* A flag for all flavours: debuggers access mappings through the driver (vm_ops->access). */
#define VGPU_MOCK_BUF_ACCESS	0x2000
/*
 * A flag for _PFN, _MIXED, _PAGE and _RAW: only the file that created the buffer may name and map
 * it, as with drivers whose names are valid for one file. New pages hold VGPU_MOCK_NEW_BYTE, which
 * stands for undefined contents.
 */
#define VGPU_MOCK_BUF_NEW	0x4000
#define VGPU_MOCK_NEW_BYTE	0xa5
/* A flag for _PFN: one page is mapped at a time, as each fault zaps all PTEs of the buffer. */
#define VGPU_MOCK_BUF_ONE	0x8000

/**
 * struct vgpu_mock_buf_range - VGPU_MOCK_IOC_BUF_DESTROY, _FILL, _SUM,
 *	_INVALIDATE, _REVOKE, _SYNC, _SLOW, _ECHO
 * @id: name of the buffer, -ENOENT if there is none
 * @seed: _FILL: seed of the pattern; _SLOW: VGPU_MOCK_SLOW_*
 * @offset: _FILL, _SUM: offset of the first byte, a multiple of 8; _ECHO: a multiple of 16;
 *	_SLOW: number of faults before the one that gets SIGBUS
 * @length: _FILL, _SUM: number of bytes, a multiple of 8
 * @delay_ms: time in milliseconds. _FILL: 0: fill before the ioctl returns; else the "device"
 *	fills by itself after this time. _SLOW: duration of each later page fault, or mmap.
 *	_ECHO: longest time that the "device" answers
 * @reserved: must be 0
 * @out_sum: _SUM: hash of the bytes
 *
 * _INVALIDATE zaps all PTEs of the buffer and moves its contents to other pages,
 * as a driver that evicts it would (the contents of VGPU_MOCK_BUF_PAGE, _VMALLOC,
 * _RAW, _UNCOUNTED and _WC stay where they are). _REVOKE zaps the PTEs and makes
 * later accesses SIGBUS. _SYNC waits until all delayed fills and echoes are done. _SLOW
 * delays faults by a killable sleep. _ECHO lets the "device" answer by itself: the program
 * stores 1, 2, 3 and so on into the 64 bits at @offset, and the "device" stores
 * the hash of each number into the 64 bits behind; all ones end the echo. _DESTROY
 * drops the name; mappings stay.
 */
struct vgpu_mock_buf_range {
	__u32 id;
	__u32 seed;
	__u64 offset;
	__u64 length;
	__u32 delay_ms;
	__u32 reserved;
	__u64 out_sum;
};

/*
 * A fault drops mmap_lock while it sleeps, as in drivers with long waits. A fault that must not
 * drop the lock does not sleep.
 */
#define VGPU_MOCK_SLOW_UNLOCKED	1
/* The next fault gets SIGBUS, or a later one when @offset is not 0. */
#define VGPU_MOCK_SLOW_ERROR	2
/* Faults that are asleep end their sleep at once. */
#define VGPU_MOCK_SLOW_END	4
/* Each mmap sleeps, too, under the caller's mmap_lock. */
#define VGPU_MOCK_SLOW_MMAP	8

#define VGPU_MOCK_IOC_BUF_DESTROY	_IOW(VGPU_MOCK_IOC_TYPE, 0x51, struct vgpu_mock_buf_range)
#define VGPU_MOCK_IOC_BUF_FILL		_IOW(VGPU_MOCK_IOC_TYPE, 0x52, struct vgpu_mock_buf_range)
#define VGPU_MOCK_IOC_BUF_SUM		_IOWR(VGPU_MOCK_IOC_TYPE, 0x53, struct vgpu_mock_buf_range)
#define VGPU_MOCK_IOC_BUF_INVALIDATE	_IOW(VGPU_MOCK_IOC_TYPE, 0x54, struct vgpu_mock_buf_range)
#define VGPU_MOCK_IOC_BUF_REVOKE	_IOW(VGPU_MOCK_IOC_TYPE, 0x55, struct vgpu_mock_buf_range)
#define VGPU_MOCK_IOC_BUF_SYNC		_IOW(VGPU_MOCK_IOC_TYPE, 0x56, struct vgpu_mock_buf_range)
#define VGPU_MOCK_IOC_BUF_SLOW		_IOW(VGPU_MOCK_IOC_TYPE, 0x58, struct vgpu_mock_buf_range)
#define VGPU_MOCK_IOC_BUF_ECHO		_IOW(VGPU_MOCK_IOC_TYPE, 0x59, struct vgpu_mock_buf_range)

/**
 * struct vgpu_mock_buf_info - VGPU_MOCK_IOC_BUF_INFO
 * @id: name of the buffer
 * @out_flavour: flavour of the buffer, without flags
 * @out_size: size of the buffer in bytes
 * @out_pages: number of pages allocated so far
 * @out_maps: number of VMAs that map the buffer
 * @out_faults: number of page faults that have reached the driver
 * @out_notified: number of first writes that the driver was notified of
 * @out_huge: number of page faults that made a PMD mapping
 */
struct vgpu_mock_buf_info {
	__u32 id;
	__u32 out_flavour;
	__u64 out_size;
	__u64 out_pages;
	__u64 out_maps;
	__u64 out_faults;
	__u64 out_notified;
	__u64 out_huge;
};

#define VGPU_MOCK_IOC_BUF_INFO	_IOWR(VGPU_MOCK_IOC_TYPE, 0x57, struct vgpu_mock_buf_info)

/**
 * struct vgpu_mock_buf_job - VGPU_MOCK_IOC_BUF_JOB
 * @id: name of the buffer, -ENOENT if there is none
 * @seed: seed of the pattern
 * @offset: offset of the first byte, a multiple of 8
 * @length: number of bytes, a multiple of 8
 * @delay_ms: time in milliseconds after which the "device" fills the buffer by itself
 * @flags: VGPU_MOCK_JOB_*: ways to notify the program of the end
 * @event: fd in, only with VGPU_MOCK_JOB_EVENT: an eventfd, signalled at the end
 * @out_fence: fd out, only with VGPU_MOCK_JOB_FENCE and on success: a sync_file,
 *	signalled at the end
 *
 * The buffer is filled after the ioctl has returned, as a GPU does its work.
 */
struct vgpu_mock_buf_job {
	__u32 id;
	__u32 seed;
	__u64 offset;
	__u64 length;
	__u32 delay_ms;
	__u32 flags;
	__s32 event;
	__s32 out_fence;
};

#define VGPU_MOCK_IOC_BUF_JOB	_IOWR(VGPU_MOCK_IOC_TYPE, 0x5a, struct vgpu_mock_buf_job)

#define VGPU_MOCK_JOB_EVENT	1
#define VGPU_MOCK_JOB_FENCE	2

/**
 * struct vgpu_mock_buf_map - VGPU_MOCK_IOC_BUF_MAP
 * @id: name of the buffer, -ENOENT if there is none; -EOPNOTSUPP if it is one of
 *	VGPU_MOCK_BUF_VMALLOC
 * @pad: ignored
 * @offset: offset in the buffer, in bytes
 * @size: number of bytes; the whole range has to be in the buffer, else -EINVAL
 * @out_addr: address of the new mapping; not changed on errors
 * @flags: 0 or VGPU_MOCK_MAP_WC, else -EINVAL; checked before the other fields
 *
 * The ioctl maps the buffer itself, as i915's GEM_MMAP does.
 */
struct vgpu_mock_buf_map {
	__u32 id;
	__u32 pad;
	__u64 offset;
	__u64 size;
	__u64 out_addr;
	__u64 flags;
};

#define VGPU_MOCK_IOC_BUF_MAP	_IOWR(VGPU_MOCK_IOC_TYPE, 0x5b, struct vgpu_mock_buf_map)

#define VGPU_MOCK_MAP_WC	1

/**
 * struct vgpu_mock_buf_place - VGPU_MOCK_IOC_BUF_PLACE
 * @id: name of the buffer, -ENOENT if there is none
 * @pad: must be 0, else -EINVAL
 * @out_offset: offset for mmap
 * @flags: VGPU_MOCK_PLACE_WC or VGPU_MOCK_PLACE_CACHED, else -EINVAL
 * @extensions: must be 0, else -EINVAL
 */
struct vgpu_mock_buf_place {
	__u32 id;
	__u32 pad;
	__u64 out_offset;
	__u64 flags;
	__u64 extensions;
};

#define VGPU_MOCK_IOC_BUF_PLACE	_IOWR(VGPU_MOCK_IOC_TYPE, 0x5c, struct vgpu_mock_buf_place)

#define VGPU_MOCK_PLACE_WC	1
#define VGPU_MOCK_PLACE_CACHED	2

/*
 * read, write, poll
 */

/**
 * struct vgpu_mock_io - VGPU_MOCK_IOC_IO_MODE
 * @mode: behaviour of the file, one of VGPU_MOCK_IO_*
 * @limit: largest number of bytes that one read or write handles; 0: no limit
 * @error: VGPU_MOCK_IO_ERROR: errno, as a positive number
 * @reserved: must be 0
 *
 * The ioctl says how later reads and writes of this file behave.
 */
struct vgpu_mock_io {
	__u32 mode;
	__u32 limit;
	__u32 error;
	__u32 reserved;
};

#define VGPU_MOCK_IOC_IO_MODE	_IOW(VGPU_MOCK_IOC_TYPE, 0x60, struct vgpu_mock_io)

/*
 * SPACE, the mode after open: the file has 64 KiB of memory, with a position;
 * reads past the end return 0, writes fail with -ENOSPC.
 * QUEUE: bytes that were written are read in order, without a position. Reads of
 * an empty queue and writes to a full one (4096 bytes) block, or fail with
 * -EAGAIN with O_NONBLOCK.
 * ERROR: the driver fills or reads the program's buffer, then the call fails.
 */
#define VGPU_MOCK_IO_SPACE	0
#define VGPU_MOCK_IO_QUEUE	1
#define VGPU_MOCK_IO_ERROR	2

#define VGPU_MOCK_SPACE_BYTES	65536
#define VGPU_MOCK_QUEUE_BYTES	4096

/**
 * struct vgpu_mock_poll - VGPU_MOCK_IOC_POLL_ARM
 * @events: events that poll reports after the delay (EPOLLIN, EPOLLOUT, EPOLLPRI,
 *	EPOLLERR ...), in the place of those before
 * @delay_ms: delay in milliseconds; 0: the change is immediate
 * @flags: VGPU_MOCK_POLL_CONSUME: the first poll that reports events clears
 *	them, as NVIDIA's driver does. VGPU_MOCK_POLL_HOLD: polls wait,
 *	interruptibly, until another POLL_ARM without the flag, as polls of
 *	drivers that take a mutex which another call holds
 * @reserved: must be 0
 *
 * Before the first POLL_ARM, poll reports EPOLLIN | EPOLLOUT; in QUEUE mode it
 * reports the state of the queue.
 */
struct vgpu_mock_poll {
	__u32 events;
	__u32 delay_ms;
	__u32 flags;
	__u32 reserved;
};

#define VGPU_MOCK_IOC_POLL_ARM	_IOW(VGPU_MOCK_IOC_TYPE, 0x61, struct vgpu_mock_poll)

#define VGPU_MOCK_POLL_CONSUME	1
#define VGPU_MOCK_POLL_HOLD	2

/*
 * The driver's view of its caller
 */

/**
 * struct vgpu_mock_pin - VGPU_MOCK_IOC_PIN, never described
 * @ptr: pointer, inout, @length x __u8: pinned with pin_user_pages_fast(),
 *	then each byte is inverted through the kernel's mapping of the pages
 * @length: number of bytes, up to VGPU_MOCK_MAX_STRUCT_BYTES
 * @out_pages: number of pages pinned
 * @out_sum: hash of the bytes before the change
 *
 * The ioctl returns the error of pinning, or -EFAULT when fewer pages were pinned.
 */
struct vgpu_mock_pin {
	__u64 ptr;
	__u32 length;
	__u32 out_pages;
	__u64 out_sum;
};

#define VGPU_MOCK_IOC_PIN	_IOWR(VGPU_MOCK_IOC_TYPE, 0x70, struct vgpu_mock_pin)

/**
 * struct vgpu_mock_atomic - VGPU_MOCK_IOC_ATOMIC
 * @ptr: pointer, in, @length x __u8
 * @length: number of bytes, up to one page
 * @mode: kind of access, one of VGPU_MOCK_ATOMIC_*
 * @out_missed: number of bytes that the first try could not read
 * @out_error: -errno of the first try, or 0
 * @out_sum: hash of the bytes when they were read, else 0
 *
 * The driver reads with page faults that must not sleep or drop mmap_lock.
 */
struct vgpu_mock_atomic {
	__u64 ptr;
	__u32 length;
	__u32 mode;
	__u32 out_missed;
	__s32 out_error;
	__u64 out_sum;
};

#define VGPU_MOCK_IOC_ATOMIC	_IOWR(VGPU_MOCK_IOC_TYPE, 0x71, struct vgpu_mock_atomic)

#define VGPU_MOCK_ATOMIC_ONLY		0	/* page faults disabled; -EFAULT if one is needed */
#define VGPU_MOCK_ATOMIC_FALLBACK	1	/* page faults disabled, then an ordinary copy */
#define VGPU_MOCK_ATOMIC_NO_RETRY	2	/* a fault that may not drop mmap_lock */
#define VGPU_MOCK_ATOMIC_DEVICE		3	/* a remote write fault, as VFIO's for a device */

/**
 * struct vgpu_mock_info - VGPU_MOCK_IOC_INFO
 * @out_tgid: process that made the call
 * @out_tid: thread that made the call
 * @out_mm: number that identifies the caller's address space
 * @out_opener_mm: number that identifies the address space that opened the file
 * @out_pos: position of the file
 * @out_f_flags: flags of the file
 * @out_f_mode: FMODE_READ (1) and FMODE_WRITE (2) of the file
 * @out_compat: 1 if the call came in as a 32-bit one
 * @out_uid: effective user id
 */
struct vgpu_mock_info {
	__u32 out_tgid;
	__u32 out_tid;
	__u64 out_mm;
	__u64 out_opener_mm;
	__u64 out_pos;
	__u32 out_f_flags;
	__u32 out_f_mode;
	__u32 out_compat;
	__u32 out_uid;
};

#define VGPU_MOCK_IOC_INFO	_IOR(VGPU_MOCK_IOC_TYPE, 0x72, struct vgpu_mock_info)

/**
 * struct vgpu_mock_counters - VGPU_MOCK_IOC_COUNTERS
 * @out_calls: number of ioctls called, by command number (bit 7 included;
 *	VGPU_MOCK_BARE counts under its own number)
 * @out_opens: opens that succeeded
 * @out_busy: opens that failed with -EBUSY
 * @out_releases: releases
 * @out_files: number of open files
 * @out_objects: number of objects that exist
 * @out_bufs: number of buffers that exist
 * @out_buf_pages: number of pages that the buffers have
 * @out_maps: number of VMAs that map buffers
 * @out_faults: page faults that have reached the driver
 * @out_reads: reads
 * @out_writes: writes
 * @out_polls: polls, of objects too
 * @out_seeks: llseeks
 * @out_mmaps: mmaps
 * @out_interrupted: sleeps and waits that were ended by a signal
 * @out_unflushed: releases of files whose ->flush was never called
 *
 * The counters cover the whole module since it was loaded.
 */
struct vgpu_mock_counters {
	__u32 out_calls[256];
	__u64 out_opens;
	__u64 out_busy;
	__u64 out_releases;
	__u64 out_files;
	__u64 out_objects;
	__u64 out_bufs;
	__u64 out_buf_pages;
	__u64 out_maps;
	__u64 out_faults;
	__u64 out_reads;
	__u64 out_writes;
	__u64 out_polls;
	__u64 out_seeks;
	__u64 out_mmaps;
	__u64 out_interrupted;
	__u64 out_unflushed;
};

#define VGPU_MOCK_IOC_COUNTERS	_IOR(VGPU_MOCK_IOC_TYPE, 0x73, struct vgpu_mock_counters)

/*
 * The argument is an integer: 1 makes this file exclusive (-EBUSY if another
 * file of the device is open), 0 ends that. While a file is exclusive, every
 * other open of the device fails with -EBUSY. A file opened with O_EXCL is
 * exclusive from the start. The release of the file ends the exclusive state.
 */
#define VGPU_MOCK_IOC_EXCLUSIVE	_IO(VGPU_MOCK_IOC_TYPE, 0x74)

/**
 * struct vgpu_mock_compat - VGPU_MOCK_IOC_COMPAT
 * @ptr: pointer, inout, @length x __u8, as large as the caller's pointers; each
 *	byte is inverted
 * @tag: not changed
 * @reserved: must be 0
 * @length: number of bytes, up to VGPU_MOCK_MAX_STRUCT_BYTES, as large as the
 *	caller's long
 * @value: becomes its hash; aligned to 4 in 32-bit programs
 *
 * This structure alone differs between 32-bit and 64-bit programs: 32-bit
 * programs use struct vgpu_mock_compat32 and VGPU_MOCK_IOC_COMPAT32.
 */
struct vgpu_mock_compat {
	unsigned long ptr;
	__u32 tag;
	__u32 reserved;
	unsigned long length;
	__u64 value;
};

#define VGPU_MOCK_IOC_COMPAT	_IOWR(VGPU_MOCK_IOC_TYPE, 0x75, struct vgpu_mock_compat)

/**
 * struct vgpu_mock_compat32 - struct vgpu_mock_compat in a 32-bit program
 * @ptr: pointer, inout, @length x __u8
 * @tag: not changed
 * @length: number of bytes
 * @value_lo: low half of the value
 * @value_hi: high half of the value
 */
struct vgpu_mock_compat32 {
	__u32 ptr;
	__u32 tag;
	__u32 length;
	__u32 value_lo;
	__u32 value_hi;
};

#define VGPU_MOCK_IOC_COMPAT32	_IOWR(VGPU_MOCK_IOC_TYPE, 0x75, struct vgpu_mock_compat32)

/**
 * struct vgpu_mock_times - VGPU_MOCK_IOC_TIMES
 * @flags: VGPU_MOCK_TIMES_VALID or 0
 * @reserved: must be 0
 * @out_host_ns: CLOCK_MONOTONIC in nanoseconds; no schema describes this field as a time
 * @ns: CLOCK_MONOTONIC in nanoseconds
 * @seconds: seconds of CLOCK_MONOTONIC; without _VALID VGPU_MOCK_TIMES_SECONDS, which is no time
 * @micro: microseconds that belong to @seconds; not changed without _VALID
 * @realtime_ns: CLOCK_REALTIME in nanoseconds
 * @raw_ns: CLOCK_MONOTONIC_RAW in nanoseconds
 * @realtime_us: CLOCK_REALTIME in microseconds
 * @tsc: ticks of the processor's counter; 0: the processor has none
 *
 * A schema describes @ns and all fields behind it as times.
 */
struct vgpu_mock_times {
	__u32 flags;
	__u32 reserved;
	__u64 out_host_ns;
	__u64 ns;
	__s64 seconds;
	__s64 micro;
	__u64 realtime_ns;
	__u64 raw_ns;
	__u64 realtime_us;
	__u64 tsc;
};

#define VGPU_MOCK_TIMES_VALID	(1u << 0)
#define VGPU_MOCK_TIMES_SECONDS	123456

#define VGPU_MOCK_IOC_TIMES	_IOWR(VGPU_MOCK_IOC_TYPE, 0x76, struct vgpu_mock_times)

/**
 * struct vgpu_mock_keep - VGPU_MOCK_IOC_KEEP
 * @ptr: pointer, @last + 1 bytes, pinned until the file is released; KEEP_PLAIN: an integer
 * @last: offset of the last byte, below VGPU_MOCK_KEEP_MAX
 * @what: VGPU_MOCK_KEEP_*
 * @out_pages: number of pages pinned
 *
 * The kept memories of a file get the numbers 0, 1 and so on, in the order of the calls. The ioctl
 * returns the error of pinning, or -EMFILE when the file keeps VGPU_MOCK_KEEPS_MAX memories.
 */
struct vgpu_mock_keep {
	__u64 ptr;
	__u64 last;
	__u32 what;
	__u32 out_pages;
};

#define VGPU_MOCK_KEEP_PLAIN	0
#define VGPU_MOCK_KEEP_PIN	1
#define VGPU_MOCK_KEEP_LATE	2	/* pins, and then fails with -EIO */
#define VGPU_MOCK_KEEP_ARGUMENT	3	/* pins memory at this structure, and ignores @ptr */
#define VGPU_MOCK_KEEP_MAX	(4ULL << 30)
#define VGPU_MOCK_KEEPS_MAX	16

#define VGPU_MOCK_IOC_KEEP	_IOWR(VGPU_MOCK_IOC_TYPE, 0x77, struct vgpu_mock_keep)

/**
 * struct vgpu_mock_kept - VGPU_MOCK_IOC_KEPT
 * @number: number of a kept memory
 * @reserved: must be 0
 * @offset: offset in the pages of the memory, a multiple of 8
 * @length: number of bytes, a multiple of 8
 * @seed: seed of vgpu_mock_pattern(), which replaces the bytes
 * @out_sum: hash of the bytes before the change
 *
 * The driver uses the pinned pages and not the program's addresses, as a device would.
 */
struct vgpu_mock_kept {
	__u32 number;
	__u32 reserved;
	__u64 offset;
	__u64 length;
	__u64 seed;
	__u64 out_sum;
};

#define VGPU_MOCK_IOC_KEPT	_IOWR(VGPU_MOCK_IOC_TYPE, 0x78, struct vgpu_mock_kept)

/*
 * The argument is an integer: the time in milliseconds that each later ->flush of this file waits,
 * plus VGPU_MOCK_FLUSH_DEAF if signals do not end the wait. Without that flag the wait is killable,
 * and a task that exits waits for VGPU_MOCK_FLUSH_ENDING_MS at most, as with amdgpu.
 */
#define VGPU_MOCK_IOC_FLUSH	_IO(VGPU_MOCK_IOC_TYPE, 0x79)

#define VGPU_MOCK_FLUSH_DEAF		0x80000000u
#define VGPU_MOCK_FLUSH_ENDING_MS	1000u

/**
 * struct vgpu_mock_reach - VGPU_MOCK_IOC_REACH
 * @address: an integer: address in the memory of the calling process; 0: none
 * @out_tried: VGPU_MOCK_REACH_*: operations that tried to read the address of the call before
 * @out_reached: VGPU_MOCK_REACH_*: operations that succeeded in reading that address
 *
 * The module has one such address for all files. The command is never described.
 */
struct vgpu_mock_reach {
	__u64 address;
	__u32 out_tried;
	__u32 out_reached;
};

#define VGPU_MOCK_REACH_MMAP	1
#define VGPU_MOCK_REACH_UNMAP	2	/* vm_ops->close */
#define VGPU_MOCK_REACH_FAULT	4
#define VGPU_MOCK_REACH_WRITE	8	/* vm_ops->pfn_mkwrite */
#define VGPU_MOCK_REACH_ACCESS	0x10	/* vm_ops->access */
#define VGPU_MOCK_REACH_LLSEEK	0x20
#define VGPU_MOCK_REACH_FLUSH	0x40

#define VGPU_MOCK_IOC_REACH	_IOWR(VGPU_MOCK_IOC_TYPE, 0x7a, struct vgpu_mock_reach)

/**
 * struct vgpu_mock_work - VGPU_MOCK_IOC_WORK
 * @us: time in microseconds for which the device works, up to VGPU_MOCK_WORK_MAX_US
 * @reserved: 0
 * @out_total_us: time for which the device has worked for this file
 *
 * The device works for one such call at a time, in the order in which they came to it. A call that
 * waits for the device can be interrupted, and returns -ERESTARTSYS then.
 */
struct vgpu_mock_work {
	__u32 us;
	__u32 reserved;
	__u64 out_total_us;
};

#define VGPU_MOCK_WORK_MAX_US	5000000

#define VGPU_MOCK_IOC_WORK	_IOWR(VGPU_MOCK_IOC_TYPE, 0x7b, struct vgpu_mock_work)

/**
 * struct vgpu_mock_queue - VGPU_MOCK_IOC_QUEUE
 * @us: time in microseconds for which the device works, up to VGPU_MOCK_WORK_MAX_US
 * @flags: VGPU_MOCK_QUEUE_FENCE: @out_fence is wanted; VGPU_MOCK_QUEUE_STUCK: the device does
 *	nothing, and the work seems to go on until a QUEUE_WAIT with VGPU_MOCK_QUEUE_FREE
 * @out_fence: fd out, only with VGPU_MOCK_QUEUE_FENCE and on success: a sync_file, signalled when
 *	the device has done the work
 * @reserved: ignored
 *
 * The ioctl returns at once. The device works for one call at a time, as for WORK. The last close
 * of the file waits for its work.
 */
struct vgpu_mock_queue {
	__u32 us;
	__u32 flags;
	__s32 out_fence;
	__u32 reserved;
};

#define VGPU_MOCK_QUEUE_FENCE	1
#define VGPU_MOCK_QUEUE_STUCK	2

#define VGPU_MOCK_IOC_QUEUE	_IOWR(VGPU_MOCK_IOC_TYPE, 0x7c, struct vgpu_mock_queue)

/**
 * struct vgpu_mock_queue_wait - VGPU_MOCK_IOC_QUEUE_WAIT
 * @flags: VGPU_MOCK_QUEUE_FREE: end all work of VGPU_MOCK_QUEUE_STUCK first, of any file
 * @reserved: 0
 * @out_total_us: time for which the device has worked for this file
 * @out_longest_us: longest time that the device has needed for one call of this file
 *
 * Waits until the device has done all work of this file. A signal ends the wait.
 */
struct vgpu_mock_queue_wait {
	__u32 flags;
	__u32 reserved;
	__u64 out_total_us;
	__u64 out_longest_us;
};

#define VGPU_MOCK_QUEUE_FREE	1

#define VGPU_MOCK_IOC_QUEUE_WAIT \
	_IOWR(VGPU_MOCK_IOC_TYPE, 0x7d, struct vgpu_mock_queue_wait)

/*
 * The devices. All of them take the ioctls in this file.
 *
 * MAIN has every file operation. STREAM has no read, write, llseek, mmap or
 * poll, so that the native errors can be compared. ITER has read_iter and
 * write_iter in the place of read and write.
 */
#define VGPU_MOCK_PATH_MAIN	"/dev/vgpu-mock"
#define VGPU_MOCK_PATH_STREAM	"/dev/vgpu-mock-stream"
#define VGPU_MOCK_PATH_ITER	"/dev/vgpu-mock-iter"

#endif /* VGPU_MOCK_H */
