/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the tracker's kernels share: sizes, the rows in which targets and poses are kept, and
 * arithmetic whose bits are the same on every processor.
 *
 * The tracker is KCF (Henriques, Caseiro, Martins, Batista: High-Speed Tracking with Kernelized
 * Correlation Filters, IEEE TPAMI 37(3), 2015): a square region around the target, three times as
 * large as the square root of its area, is sampled to 128 x 128 pixels and described by 32 x 32
 * cells of fHOG (Felzenszwalb et al., IEEE TPAMI 32(9), 2010); the response is that of a Gaussian
 * kernel, the model the moving average of what was seen.
 */
#ifndef TRACK_H
#define TRACK_H

#include <math.h>

#include <ttprem/kernel.h>

enum {
  TRACK_CELLS = 32, /* of a region, in each direction */
  TRACK_CELL = 4,   /* pixels of a cell */
  TRACK_PIXELS = TRACK_CELLS * TRACK_CELL,
  TRACK_CHANNELS = 31,
  TRACK_PLANES = 16, /* two channels each, as real and imaginary part */
  TRACK_MAX_SCALES = 7
};

#define TRACK_REGION   3.0F /* the region's side, in square roots of the target's area */
#define TRACK_MIN_SIDE 4.0F /* of a target: the square root of its area, pixels */

/** A row of `command`: which box to track. With a new serial number the target begins anew. */
enum { COMMAND_SERIAL, COMMAND_X, COMMAND_Y, COMMAND_WIDTH, COMMAND_HEIGHT, COMMAND_NUMBERS = 8 };

/** A row of `pose`. */
enum {
  POSE_SERIAL, /* of the command that it comes from; 0: there is no target */
  POSE_X,      /* of the centre, pixels; the middle of pixel (0, 0) is (0.5, 0.5) */
  POSE_Y,
  POSE_WIDTH, /* as the command had them */
  POSE_HEIGHT,
  POSE_SCALE, /* by which they have grown */
  POSE_PEAK,  /* of the response; 1: the target as it was learnt */
  POSE_STATUS,
  POSE_NUMBERS
};

/** Of a pose, and of a box: what to think of it. */
enum {
  TARGET_NONE,    /* no target was given */
  TARGET_STARTED, /* it is where the command said */
  TARGET_FOUND,
  TARGET_LOST, /* hardly anything like it was seen: this is the best guess, and nothing is learnt */
  TARGET_REFUSED /* the command cannot be followed: too small, too large, outside the frame */
};

/** A row of `peaks`: the largest response of a region, where, and its four neighbours. */
enum {
  PEAK_VALUE,
  PEAK_ROW,
  PEAK_COLUMN,
  PEAK_UP,
  PEAK_DOWN,
  PEAK_LEFT,
  PEAK_RIGHT,
  PEAK_NUMBERS = 8
};

/** Where a region's pixel (0, 0) lies in the frame, and the way to the next. */
enum { GEOMETRY_Y, GEOMETRY_X, GEOMETRY_STEP, GEOMETRY_NUMBERS };

/** A row of `where`: the frame's first pixel of a window. A frame has two dimensions only, but rows
 * of 16 bytes are moved as a whole. */
enum { WHERE_ROW = 2, WHERE_COLUMN, WHERE_NUMBERS };

/** The smaller one; `limit` where `value` is no number. */
PREM_FN float track_at_most(float value, float limit) {
  return value < limit ? value : limit;
}

PREM_FN float track_at_least(float value, float limit) {
  return value > limit ? value : limit;
}

PREM_FN float track_within(float value, float least, float most) {
  return track_at_most(track_at_least(value, least), most);
}

PREM_FN bool track_is_number(float value) {
  return value - value == 0.0F;
}

/** The root of 2^-100 and more, as sqrtf() rounds it. On a GPU that one tests for less and
 * branches, so that a lane with more than one number in hand would take them one by one; what
 * follows here is its way else: a guess, and a step of Newton's. */
PREM_FN float track_root(float value) {
#ifdef __CUDA_ARCH__
  float guess;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(guess) : "f"(value));
  const float root = value * guess;
  return fmaf(fmaf(-root, root, value), 0.5F * guess, root);
#else
  return sqrtf(value);
#endif
}

/** The largest integer that is not above; of what is no number, or far from 0, one of +-2^24. */
PREM_FN int32_t track_floor(float value) {
  const float held = track_within(value, -16777216.0F, 16777216.0F);
  const int32_t towards_0 = (int32_t)held;
  return towards_0 - ((float)towards_0 > held);
}

/**
 * e^x for x <= 0, within 2 ulp: x = n log 2 + r, a polynomial in r. The C library's and CUDA's
 * differ in bits.
 */
PREM_FN float track_exp(float x) {
  if (!(x > -87.0F))
    return 0.0F;
  const int32_t n = track_floor(fmaf(x, 1.44269504F, 0.5F));
  const float r = fmaf((float)n, 2.12194440e-4F, fmaf((float)n, -0.693359375F, x));
  float sum = fmaf(r, 1.0F / 5040.0F, 1.0F / 720.0F);
  sum = fmaf(sum, r, 1.0F / 120.0F);
  sum = fmaf(sum, r, 1.0F / 24.0F);
  sum = fmaf(sum, r, 1.0F / 6.0F);
  sum = fmaf(sum, r, 0.5F);
  sum = fmaf(sum, r, 1.0F);
  sum = fmaf(sum, r, 1.0F);
  return sum * prem_f32_of_bits((uint32_t)(n + 127) << 23);
}

/** The side of a pose's region at scale 1, pixels. */
PREM_FN float track_side(const float *pose) {
  return TRACK_REGION * sqrtf(pose[POSE_WIDTH] * pose[POSE_HEIGHT]) * pose[POSE_SCALE];
}

/** Can a command be followed in a frame? Sides up to `most` can be sampled. */
PREM_FN bool track_is_possible(const float *command, int32_t rows, int32_t columns, float most) {
  const float side = sqrtf(command[COMMAND_WIDTH] * command[COMMAND_HEIGHT]);
  const float x = command[COMMAND_X] + command[COMMAND_WIDTH] * 0.5F;
  const float y = command[COMMAND_Y] + command[COMMAND_HEIGHT] * 0.5F;
  return command[COMMAND_WIDTH] > 0 && command[COMMAND_HEIGHT] > 0 && side >= TRACK_MIN_SIDE &&
         TRACK_REGION * side <= most && x >= 0 && x <= (float)columns && y >= 0 && y <= (float)rows;
}

/** A pose that stands where a command says. */
PREM_FN void track_begin(const float *command, bool possible, float pose[POSE_NUMBERS]) {
  pose[POSE_SERIAL] = command[COMMAND_SERIAL];
  pose[POSE_X] = possible ? command[COMMAND_X] + command[COMMAND_WIDTH] * 0.5F : 0;
  pose[POSE_Y] = possible ? command[COMMAND_Y] + command[COMMAND_HEIGHT] * 0.5F : 0;
  pose[POSE_WIDTH] = possible ? command[COMMAND_WIDTH] : TRACK_MIN_SIDE;
  pose[POSE_HEIGHT] = possible ? command[COMMAND_HEIGHT] : TRACK_MIN_SIDE;
  pose[POSE_SCALE] = 1;
  pose[POSE_PEAK] = 0;
  pose[POSE_STATUS] = possible ? TARGET_STARTED : TARGET_REFUSED;
}

#if PREM_HOST

#include <stdio.h>

/** `scales` (an odd number up to TRACK_MAX_SCALES) and `step` of a task's args: the factors. */
static inline prem_status track_bind_scales(prem_bind *bind, int32_t *scales,
                                            float factors[TRACK_MAX_SCALES]) {
  int64_t count = 1;
  float step = 1.03F;
  prem_status status = prem_arg_ints(bind, "scales", &count, 1);
  if (status == PREM_OK)
    status = prem_arg_floats(bind, "step", &step, 1);
  if (status != PREM_OK)
    return status;
  if (count < 1 || count > TRACK_MAX_SCALES || count % 2 == 0)
    return prem_bind_refuse(bind, "args.scales", "is %lld; 1, 3, 5 or 7 scales are possible",
                            (long long)count);
  if (!(step > 1.0F && step <= 1.5F))
    return prem_bind_refuse(bind, "args.step",
                            "is %g; a scale is above 1 and up to 1.5 times the next", (double)step);
  *scales = (int32_t)count;
  const int64_t middle = count / 2;
  for (int32_t i = 0; i < TRACK_MAX_SCALES; ++i)
    factors[i] = i < count ? (float)pow((double)step, (double)(i - middle)) : 1.0F;
  return PREM_OK;
}

/** `frame = [ rows, columns ]` and `reach` (frame's pixels for one of the region at most). */
static inline prem_status track_bind_frame(prem_bind *bind, int32_t frame[2], float *reach) {
  int64_t size[2] = {0, 0};
  prem_status status = prem_arg_ints(bind, "frame", size, 2);
  *reach = 2.0F;
  if (status == PREM_OK)
    status = prem_arg_floats(bind, "reach", reach, 1);
  if (status != PREM_OK)
    return status;
  if (size[0] < 1 || size[1] < 1 || size[0] > 32768 || size[1] > 32768)
    return prem_bind_refuse(bind, "args.frame",
                            "is %lld x %lld; give the frame's 1 to 32768 rows and columns",
                            (long long)size[0], (long long)size[1]);
  if (!(*reach > 0 && *reach <= 8))
    return prem_bind_refuse(bind, "args.reach", "is %g; above 0 and up to 8 is possible",
                            (double)*reach);
  frame[0] = (int32_t)size[0];
  frame[1] = (int32_t)size[1];
  return PREM_OK;
}

/** Frame's pixels that so many of a region touch in one direction: from the first one's first to
 * the last one's second, and one for what floor() leaves. */
static inline int32_t track_window_extent(float reach, int32_t pixels) {
  return (int32_t)ceilf(reach * (float)(pixels - 1)) + 3;
}

/** Array `port` has rank `rank` and these sizes in its last dimensions (0: any). */
static inline prem_status track_expect(prem_bind *bind, int32_t port, const char *key, int32_t rank,
                                       const int64_t sizes[4]) {
  bool good = bind->rank[port] == rank;
  for (int32_t d = 0; d < 4; ++d)
    good = good && (sizes[d] == 0 || bind->shape[port][d] == sizes[d]);
  if (good)
    return PREM_OK;
  char wanted[96];
  size_t used = 0;
  for (int32_t d = 4 - rank; d < 4; ++d)
    used += sizes[d] == 0
                ? (size_t)snprintf(wanted + used, sizeof wanted - used, "%sany", used ? ", " : "")
                : (size_t)snprintf(wanted + used, sizeof wanted - used, "%s%lld", used ? ", " : "",
                                   (long long)sizes[d]);
  return prem_bind_refuse(bind, key, "must have the shape [ %s ]", wanted);
}

/** Let output `port` be new, or have just this shape. */
static inline prem_status track_output(prem_bind *bind, int32_t port, const char *key, int32_t rank,
                                       const int64_t shape[4]) {
  bind->new_rank[port] = rank;
  for (int32_t d = 0; d < 4; ++d)
    bind->new_shape[port][d] = shape[d];
  return bind->rank[port] == 0 ? PREM_OK : track_expect(bind, port, key, rank, shape);
}

#endif
#endif
