// SPDX-License-Identifier: GPL-2.0-only
// A step of a random generator in each number, see vulkan.c.
#version 450

layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) buffer Numbers { uint number[]; };
layout(push_constant) uniform Push { uint turn; };

void main()
{
	uint i = gl_GlobalInvocationID.x;
	uint x = number[i] * 1664525u + 1013904223u + turn;

	x ^= x >> 13;
	number[i] = x + (i << (turn & 7u));
}
