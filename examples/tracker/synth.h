/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Videos made of numbers: targets that move over a background, and where exactly they are.
 *
 * All is computed in integers from the settings and the frame's number, so that any frame can be
 * had at any time, and that every compiler and machine makes the same bytes. Targets of one video
 * never cover each other: each keeps to its own cell of the picture.
 */
#ifndef TRACKER_SYNTH_H
#define TRACKER_SYNTH_H

#include <stdint.h>

#include <ttprem/diag.h>

#include "box.h"

enum { SYNTH_MAX_TARGETS = 64 };

typedef struct synth_settings {
  uint64_t seed;
  int64_t frames;                /* 0: without an end */
  int32_t width, height;         /* 16 to 8192 px */
  int32_t targets;               /* 1 to SYNTH_MAX_TARGETS */
  int32_t box_width, box_height; /* 8 to 1024 px, before scale */
  int32_t speed;                 /* of a target along each axis, at most: 1/256 px a frame */
  int32_t scale;                 /* boxes grow and shrink by up to so many %, 0 to 25 */
  int32_t light;                 /* the same of the brightness, 0 to 50 */
  int32_t pan;                   /* the background moves by up to so many px, 0 to 256 */
  int32_t noise;                 /* each pixel by up to so many grey levels, 0 to 64 */
  int32_t bar;                   /* width of a bar that hides what passes beneath, px; 0: none */
} synth_settings;

typedef struct synth synth;

/** 300 frames of 320 x 240, one target of 40 x 32, 3 px a frame; nothing of scale to bar. */
synth_settings synth_defaults(void);

/**
 * Set what `text` says, as "seed=3,width=640,scale=20": keys are the members' names, `box` is
 * "40x32", `size` is "640x480". Others stay.
 *
 * @retval PREM_ERR_ARGUMENT  no such key, or no number; nothing was changed
 */
prem_status synth_parse(const char *text, synth_settings *settings, prem_diag *diag);

/**
 * Make the textures and the trajectories.
 *
 * @param[out] out  free with synth_free(); NULL on error.
 * @retval PREM_ERR_ARGUMENT  a value is out of its range, or the targets do not fit
 */
prem_status synth_new(const synth_settings *settings, synth **out, prem_diag *diag);
void synth_free(synth *video);

const synth_settings *synth_settings_of(const synth *video);

/** Frame `number`, from 0, into rows `pitch_bytes` apart. Thread-safe. */
void synth_frame(const synth *video, int64_t number, uint8_t *pixels, size_t pitch_bytes);

/** Where target `target` is in frame `number`: multiples of 1/256 px, exact. Thread-safe. */
box synth_truth(const synth *video, int64_t number, int32_t target);

/** FNV-1a of bytes behind those that gave `sum`; SYNTH_SUM_START before the first. */
#define SYNTH_SUM_START UINT64_C(0xCBF29CE484222325)
uint64_t synth_sum(uint64_t sum, const void *bytes, size_t count);

#endif
