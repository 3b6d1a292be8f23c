/* SPDX-License-Identifier: MIT */
/* Submissions: lanes that wait for a turn to give a device work, and those that have one. */
#ifndef ENGINE_SUBMISSION_H
#define ENGINE_SUBMISSION_H

#include <stdint.h>

struct eshadow_msg;
struct shadow;

/* Ask vgpud for a turn, and answer the lane when it has come. */
void submission_ask(struct shadow *shadow, const struct eshadow_msg *msg);
/* Note that vgpud has admitted a submission, or has taken note that it was given up. */
void submission_admitted(uint64_t number);
/* Ask a vgpud that has taken this engine over for the turns that lanes wait for, or have. */
void submissions_ask_again(void);
/* End the wait of a lane whose call is cancelled. The wait may have been answered already. */
void submission_cancel(struct shadow *shadow, const struct eshadow_msg *msg);
/* End the turn of a lane. */
void submission_over(struct shadow *shadow, const struct eshadow_msg *msg);
/*
 * Give up the submissions of a shadow that is to end, as far as they wait. Turns last until
 * submission_shadow_gone(): the shadow's threads may be in the driver.
 */
void submission_shadow_ends(struct shadow *shadow);
/* Give up all submissions of a shadow that has ended. */
void submission_shadow_gone(struct shadow *shadow);

#endif /* ENGINE_SUBMISSION_H */
