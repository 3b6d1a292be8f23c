/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inputs of a fuzzer: a list of steps, each with data. A fuzzer says what the kinds of steps and
 * the data mean.
 */
#ifndef INPUT_H
#define INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INPUT_MAX	(128U << 10)	/* bytes */
#define INPUT_STEPS	24

/**
 * struct step - one step of an input
 * @kind: kind of the step
 * @where: number of the connection or file that the step uses
 * @flags: flags of the step
 * @len: number of bytes that follow, without their padding to a multiple of 8
 */
struct step {
	uint8_t kind;
	uint8_t where;
	uint16_t flags;
	uint32_t len;
	uint8_t data[];
};

/**
 * struct input - a list of steps
 * @len: number of bytes in use
 * @bytes: the steps, one after the other
 */
struct input {
	size_t len;
	uint8_t bytes[INPUT_MAX] __attribute__((aligned(8)));
};

/* Return: the step behind @step, or the first one if that is NULL; NULL: there is none. */
struct step *input_next(struct input *input, const struct step *step);
/* Adds a step at the end. Return: it; NULL: there is no room. */
struct step *input_add(struct input *input, uint8_t kind, uint8_t where, uint16_t flags,
		       const void *data, size_t len);
/* Removes a step. */
void input_remove(struct input *input, struct step *step);
/* Takes bytes of a file for an input; steps that are cut are left out. */
void input_take(struct input *input, const void *bytes, size_t len);
/*
 * Changes an input. @other: an input of which steps may be taken. @make: adds a new step.
 * @change: changes the data of a step, of which @room bytes are there, and returns its length.
 */
void input_change(struct input *input, struct input *other, void (*make)(struct input *input),
		  size_t (*change)(struct step *step, size_t room));

#endif /* INPUT_H */
