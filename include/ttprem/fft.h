/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Fast Fourier transforms of 16 to 512 points, a power of two: what all kernels share that make
 * them.
 *
 * A line of N = R1 R2 or R1 R2 R3 points, each R 8 or 4, takes a pass for each R (Cooley and Tukey
 * 1965, decimation in frequency). All passes but the last leave a butterfly's results where its
 * points were, so they need no second place; the last one puts all in order, in another place.
 *
 * Lanes run along lines first: those of a warp use the same roots, and lie beside each other where
 * lines are columns. Every butterfly is written once, and lanes only share them out, so that the
 * bits are the same with any number of lanes, in any tile, and in the reference.
 */
#ifndef TTPREM_FFT_H
#define TTPREM_FFT_H

#include <math.h>
#include <stdalign.h>
#include <stdint.h>

#include "ttprem/kernel.h"

enum {
  PREM_FFT_MIN_BITS = 4, /* logarithms of a line's points */
  PREM_FFT_MAX_BITS = 9,
  PREM_FFT_QUARTER = 128 /* turn, in the table */
};

/* cos(2 pi k / 512) rounded once; -sin of the same is a quarter further on. */
PREM_TABLE float prem_fft_cosines[] = {
    1.0F,           0.999924719F,  0.999698818F,   0.999322355F,   0.99879545F,    0.998118103F,
    0.997290432F,   0.996312618F,  0.99518472F,    0.993906975F,   0.992479563F,   0.990902662F,
    0.989176512F,   0.987301409F,  0.985277653F,   0.983105481F,   0.980785251F,   0.97831738F,
    0.975702107F,   0.972939968F,  0.970031261F,   0.966976464F,   0.963776052F,   0.960430503F,
    0.956940353F,   0.953306019F,  0.949528158F,   0.945607305F,   0.941544056F,   0.937339008F,
    0.932992816F,   0.928506076F,  0.923879504F,   0.919113874F,   0.914209783F,   0.909168005F,
    0.903989315F,   0.898674488F,  0.893224299F,   0.887639642F,   0.881921291F,   0.876070082F,
    0.870086968F,   0.863972843F,  0.857728601F,   0.851355195F,   0.84485358F,    0.838224709F,
    0.831469595F,   0.824589312F,  0.817584813F,   0.81045717F,    0.803207517F,   0.795836926F,
    0.78834641F,    0.780737221F,  0.773010433F,   0.765167236F,   0.757208824F,   0.749136388F,
    0.740951121F,   0.732654274F,  0.724247098F,   0.715730846F,   0.707106769F,   0.698376238F,
    0.689540565F,   0.680601001F,  0.671558976F,   0.662415802F,   0.653172851F,   0.643831551F,
    0.634393275F,   0.624859512F,  0.615231574F,   0.605511069F,   0.59569931F,    0.585797846F,
    0.575808167F,   0.565731823F,  0.555570245F,   0.545324981F,   0.534997642F,   0.524589658F,
    0.514102757F,   0.50353837F,   0.492898196F,   0.482183784F,   0.471396744F,   0.460538715F,
    0.449611336F,   0.438616246F,  0.427555084F,   0.416429549F,   0.405241311F,   0.393992037F,
    0.382683426F,   0.371317208F,  0.359895051F,   0.348418683F,   0.336889863F,   0.32531029F,
    0.313681751F,   0.302005947F,  0.290284663F,   0.27851969F,    0.266712755F,   0.254865646F,
    0.242980182F,   0.231058106F,  0.219101235F,   0.207111374F,   0.195090324F,   0.183039889F,
    0.170961887F,   0.15885815F,   0.146730468F,   0.134580702F,   0.122410677F,   0.110222206F,
    0.0980171412F,  0.0857973099F, 0.0735645667F,  0.061320737F,   0.0490676761F,  0.0368072242F,
    0.024541229F,   0.0122715384F, 0.0F,           -0.0122715384F, -0.024541229F,  -0.0368072242F,
    -0.0490676761F, -0.061320737F, -0.0735645667F, -0.0857973099F, -0.0980171412F, -0.110222206F,
    -0.122410677F,  -0.134580702F, -0.146730468F,  -0.15885815F,   -0.170961887F,  -0.183039889F,
    -0.195090324F,  -0.207111374F, -0.219101235F,  -0.231058106F,  -0.242980182F,  -0.254865646F,
    -0.266712755F,  -0.27851969F,  -0.290284663F,  -0.302005947F,  -0.313681751F,  -0.32531029F,
    -0.336889863F,  -0.348418683F, -0.359895051F,  -0.371317208F,  -0.382683426F,  -0.393992037F,
    -0.405241311F,  -0.416429549F, -0.427555084F,  -0.438616246F,  -0.449611336F,  -0.460538715F,
    -0.471396744F,  -0.482183784F, -0.492898196F,  -0.50353837F,   -0.514102757F,  -0.524589658F,
    -0.534997642F,  -0.545324981F, -0.555570245F,  -0.565731823F,  -0.575808167F,  -0.585797846F,
    -0.59569931F,   -0.605511069F, -0.615231574F,  -0.624859512F,  -0.634393275F,  -0.643831551F,
    -0.653172851F,  -0.662415802F, -0.671558976F,  -0.680601001F,  -0.689540565F,  -0.698376238F,
    -0.707106769F,  -0.715730846F, -0.724247098F,  -0.732654274F,  -0.740951121F,  -0.749136388F,
    -0.757208824F,  -0.765167236F, -0.773010433F,  -0.780737221F,  -0.78834641F,   -0.795836926F,
    -0.803207517F,  -0.81045717F,  -0.817584813F,  -0.824589312F,  -0.831469595F,  -0.838224709F,
    -0.84485358F,   -0.851355195F, -0.857728601F,  -0.863972843F,  -0.870086968F,  -0.876070082F,
    -0.881921291F,  -0.887639642F, -0.893224299F,  -0.898674488F,  -0.903989315F,  -0.909168005F,
    -0.914209783F,  -0.919113874F, -0.923879504F,  -0.928506076F,  -0.932992816F,  -0.937339008F,
    -0.941544056F,  -0.945607305F, -0.949528158F,  -0.953306019F,  -0.956940353F,  -0.960430503F,
    -0.963776052F,  -0.966976464F, -0.970031261F,  -0.972939968F,  -0.975702107F,  -0.97831738F,
    -0.980785251F,  -0.983105481F, -0.985277653F,  -0.987301409F,  -0.989176512F,  -0.990902662F,
    -0.992479563F,  -0.993906975F, -0.99518472F,   -0.996312618F,  -0.997290432F,  -0.998118103F,
    -0.99879545F,   -0.999322355F, -0.999698818F,  -0.999924719F,  -1.0F,          -0.999924719F,
    -0.999698818F,  -0.999322355F, -0.99879545F,   -0.998118103F,  -0.997290432F,  -0.996312618F,
    -0.99518472F,   -0.993906975F, -0.992479563F,  -0.990902662F,  -0.989176512F,  -0.987301409F,
    -0.985277653F,  -0.983105481F, -0.980785251F,  -0.97831738F,   -0.975702107F,  -0.972939968F,
    -0.970031261F,  -0.966976464F, -0.963776052F,  -0.960430503F,  -0.956940353F,  -0.953306019F,
    -0.949528158F,  -0.945607305F, -0.941544056F,  -0.937339008F,  -0.932992816F,  -0.928506076F,
    -0.923879504F,  -0.919113874F, -0.914209783F,  -0.909168005F,  -0.903989315F,  -0.898674488F,
    -0.893224299F,  -0.887639642F, -0.881921291F,  -0.876070082F,  -0.870086968F,  -0.863972843F,
    -0.857728601F,  -0.851355195F, -0.84485358F,   -0.838224709F,  -0.831469595F,  -0.824589312F,
    -0.817584813F,  -0.81045717F,  -0.803207517F,  -0.795836926F,  -0.78834641F,   -0.780737221F,
    -0.773010433F,  -0.765167236F, -0.757208824F,  -0.749136388F,  -0.740951121F,  -0.732654274F,
    -0.724247098F,  -0.715730846F, -0.707106769F,  -0.698376238F,  -0.689540565F,  -0.680601001F,
    -0.671558976F,  -0.662415802F, -0.653172851F,  -0.643831551F,  -0.634393275F,  -0.624859512F,
    -0.615231574F,  -0.605511069F, -0.59569931F,   -0.585797846F,  -0.575808167F,  -0.565731823F,
    -0.555570245F,  -0.545324981F, -0.534997642F,  -0.524589658F,  -0.514102757F,  -0.50353837F,
    -0.492898196F,  -0.482183784F, -0.471396744F,  -0.460538715F,  -0.449611336F,  -0.438616246F,
    -0.427555084F,  -0.416429549F, -0.405241311F,  -0.393992037F,  -0.382683426F,  -0.371317208F,
    -0.359895051F,  -0.348418683F, -0.336889863F,  -0.32531029F,   -0.313681751F,  -0.302005947F,
    -0.290284663F,  -0.27851969F,  -0.266712755F,  -0.254865646F,  -0.242980182F,  -0.231058106F,
    -0.219101235F,  -0.207111374F, -0.195090324F,  -0.183039889F,  -0.170961887F,  -0.15885815F,
    -0.146730468F,  -0.134580702F, -0.122410677F,  -0.110222206F,  -0.0980171412F, -0.0857973099F,
    -0.0735645667F, -0.061320737F, -0.0490676761F, -0.0368072242F, -0.024541229F,  -0.0122715384F,
    0.0F,           0.0122715384F, 0.024541229F,   0.0368072242F,  0.0490676761F,  0.061320737F,
    0.0735645667F,  0.0857973099F, 0.0980171412F,  0.110222206F,   0.122410677F,   0.134580702F,
    0.146730468F,   0.15885815F,   0.170961887F,   0.183039889F,   0.195090324F,   0.207111374F,
    0.219101235F,   0.231058106F,  0.242980182F,   0.254865646F,   0.266712755F,   0.27851969F,
    0.290284663F,   0.302005947F,  0.313681751F,   0.32531029F,    0.336889863F,   0.348418683F,
    0.359895051F,   0.371317208F,  0.382683426F,   0.393992037F,   0.405241311F,   0.416429549F,
    0.427555084F,   0.438616246F,  0.449611336F,   0.460538715F,   0.471396744F,   0.482183784F,
    0.492898196F,   0.50353837F,   0.514102757F,   0.524589658F,   0.534997642F,   0.545324981F,
    0.555570245F,   0.565731823F,  0.575808167F,   0.585797846F,   0.59569931F,    0.605511069F,
    0.615231574F,   0.624859512F,  0.634393275F,   0.643831551F,   0.653172851F,   0.662415802F,
    0.671558976F,   0.680601001F,  0.689540565F,   0.698376238F,   0.707106769F,   0.715730846F,
    0.724247098F,   0.732654274F,  0.740951121F,   0.749136388F,   0.757208824F,   0.765167236F,
    0.773010433F,   0.780737221F,  0.78834641F,    0.795836926F,   0.803207517F,   0.81045717F,
    0.817584813F,   0.824589312F,  0.831469595F,   0.838224709F,   0.84485358F,    0.851355195F,
    0.857728601F,   0.863972843F,  0.870086968F,   0.876070082F,   0.881921291F,   0.887639642F,
    0.893224299F,   0.898674488F,  0.903989315F,   0.909168005F,   0.914209783F,   0.919113874F,
    0.923879504F,   0.928506076F,  0.932992816F,   0.937339008F,   0.941544056F,   0.945607305F,
    0.949528158F,   0.953306019F,  0.956940353F,   0.960430503F,   0.963776052F,   0.966976464F,
    0.970031261F,   0.972939968F,  0.975702107F,   0.97831738F,    0.980785251F,   0.983105481F,
    0.985277653F,   0.987301409F,  0.989176512F,   0.990902662F,   0.992479563F,   0.993906975F,
    0.99518472F,    0.996312618F,  0.997290432F,   0.998118103F,   0.99879545F,    0.999322355F,
    0.999698818F,   0.999924719F,  1.0F,           0.999924719F,   0.999698818F,   0.999322355F,
    0.99879545F,    0.998118103F,  0.997290432F,   0.996312618F,   0.99518472F,    0.993906975F,
    0.992479563F,   0.990902662F,  0.989176512F,   0.987301409F,   0.985277653F,   0.983105481F,
    0.980785251F,   0.97831738F,   0.975702107F,   0.972939968F,   0.970031261F,   0.966976464F,
    0.963776052F,   0.960430503F,  0.956940353F,   0.953306019F,   0.949528158F,   0.945607305F,
    0.941544056F,   0.937339008F,  0.932992816F,   0.928506076F,   0.923879504F,   0.919113874F,
    0.914209783F,   0.909168005F,  0.903989315F,   0.898674488F,   0.893224299F,   0.887639642F,
    0.881921291F,   0.876070082F,  0.870086968F,   0.863972843F,   0.857728601F,   0.851355195F,
    0.84485358F,    0.838224709F,  0.831469595F,   0.824589312F,   0.817584813F,   0.81045717F,
    0.803207517F,   0.795836926F,  0.78834641F,    0.780737221F,   0.773010433F,   0.765167236F,
    0.757208824F,   0.749136388F,  0.740951121F,   0.732654274F,   0.724247098F,   0.715730846F,
};

/* A prem_c64 that is moved as one. */
typedef struct prem_fft_point {
  alignas(8) float re;
  float im;
} prem_fft_point;

typedef struct prem_fft_plan {
  int32_t bits;
  float sign;  /* 1, or -1 for the inverse */
  float scale; /* of what comes out of a line */
} prem_fft_plan;

/* Lines in a scratchpad, or anywhere. */
typedef struct prem_fft_lines {
  prem_fft_point *first;
  int32_t point, line, plane; /* points from one to the next */
} prem_fft_lines;

/* ---- butterflies ------------------------------------------------------------------------------*/

PREM_FN prem_fft_point prem_fft_sum(prem_fft_point a, prem_fft_point b) {
  prem_fft_point sum;
  sum.re = a.re + b.re;
  sum.im = a.im + b.im;
  return sum;
}

PREM_FN prem_fft_point prem_fft_difference(prem_fft_point a, prem_fft_point b) {
  prem_fft_point difference;
  difference.re = a.re - b.re;
  difference.im = a.im - b.im;
  return difference;
}

/* a + factor b */
PREM_FN prem_fft_point prem_fft_add_times(prem_fft_point a, float factor, prem_fft_point b) {
  prem_fft_point sum;
  sum.re = fmaf(factor, b.re, a.re);
  sum.im = fmaf(factor, b.im, a.im);
  return sum;
}

/* a + turn (-i) b: a quarter turn forwards with 1, back with -1 */
PREM_FN prem_fft_point prem_fft_add_turned(prem_fft_point a, float turn, prem_fft_point b) {
  prem_fft_point sum;
  sum.re = fmaf(turn, b.im, a.re);
  sum.im = fmaf(-turn, b.re, a.im);
  return sum;
}

PREM_FN prem_fft_point prem_fft_scaled(prem_fft_point a, float scale) {
  a.re *= scale;
  a.im *= scale;
  return a;
}

/* a (re + i im) */
PREM_FN prem_fft_point prem_fft_product(prem_fft_point a, float re, float im) {
  prem_fft_point product;
  product.re = fmaf(a.re, re, -(a.im * im));
  product.im = fmaf(a.re, im, a.im * re);
  return product;
}

/* a times the 512th root of unity to the power of k. */
PREM_FN prem_fft_point prem_fft_rotated(prem_fft_point a, float sign, int32_t k) {
  return prem_fft_product(a, prem_fft_cosines[k], sign * prem_fft_cosines[k + PREM_FFT_QUARTER]);
}

/* cos(2 pi m / 32), m from 0 to 31 and known to the compiler, as the table has it. */
PREM_FN float prem_fft_cosine_32(int32_t m) {
  const int32_t half = m <= 16 ? m : 32 - m, quarter = half <= 8 ? half : 16 - half;
  const float cosine = quarter == 0   ? 1.0F
                       : quarter == 1 ? 0.980785251F
                       : quarter == 2 ? 0.923879504F
                       : quarter == 3 ? 0.831469595F
                       : quarter == 4 ? 0.707106769F
                       : quarter == 5 ? 0.555570245F
                       : quarter == 6 ? 0.382683426F
                       : quarter == 7 ? 0.195090324F
                                      : 0.0F;
  return half <= 8 ? cosine : -cosine;
}

PREM_FN float prem_fft_choose(int32_t j, float none, float one, float two, float three) {
  return j == 0 ? none : j == 1 ? one : j == 2 ? two : three;
}

/* a times the 32nd root of unity to the power of j m, j from 0 to 3. A table would have to be
 * fetched at its first use on an SM; among four numbers that stand in the code a lane chooses. */
PREM_FN prem_fft_point prem_fft_rotated_few(prem_fft_point a, float sign, int32_t j, int32_t m) {
  const float re = prem_fft_choose(j, 1, prem_fft_cosine_32(m & 31), prem_fft_cosine_32(2 * m & 31),
                                   prem_fft_cosine_32(3 * m & 31));
  const float im =
      prem_fft_choose(j, 0, prem_fft_cosine_32((m + 8) & 31), prem_fft_cosine_32((2 * m + 8) & 31),
                      prem_fft_cosine_32((3 * m + 8) & 31));
  return prem_fft_product(a, re, sign * im);
}

/* Four points, in place. */
PREM_FN void prem_fft_four(float sign, prem_fft_point *a, prem_fft_point *b, prem_fft_point *c,
                           prem_fft_point *d) {
  const prem_fft_point even = prem_fft_sum(*a, *c), odd = prem_fft_sum(*b, *d);
  const prem_fft_point even_rest = prem_fft_difference(*a, *c),
                       odd_rest = prem_fft_difference(*b, *d);
  *a = prem_fft_sum(even, odd);
  *b = prem_fft_add_turned(even_rest, sign, odd_rest);
  *c = prem_fft_difference(even, odd);
  *d = prem_fft_add_turned(even_rest, -sign, odd_rest);
}

/* Eight points, in place: the even ones, the odd ones, and both together. */
PREM_FN void prem_fft_eight(float sign, prem_fft_point z[8]) {
  const float root_half = 0.707106769F; /* the root of 1/2 */
  prem_fft_four(sign, &z[0], &z[2], &z[4], &z[6]);
  prem_fft_four(sign, &z[1], &z[3], &z[5], &z[7]);
  const prem_fft_point e0 = z[0], e1 = z[2], e2 = z[4], e3 = z[6], o0 = z[1], o2 = z[5];
  const prem_fft_point o1 =
      prem_fft_add_turned(z[3], sign, z[3]); /* an eighth, times the root of 2 */
  const prem_fft_point o3 =
      prem_fft_add_turned(z[7], -sign, z[7]); /* minus three eighths, likewise */
  z[0] = prem_fft_sum(e0, o0);
  z[1] = prem_fft_add_times(e1, root_half, o1);
  z[2] = prem_fft_add_turned(e2, sign, o2);
  z[3] = prem_fft_add_times(e3, -root_half, o3);
  z[4] = prem_fft_difference(e0, o0);
  z[5] = prem_fft_add_times(e1, -root_half, o1);
  z[6] = prem_fft_add_turned(e2, -sign, o2);
  z[7] = prem_fft_add_times(e3, root_half, o3);
}

/* ---- passes: all butterflies of all lines of some planes ------------------------------------- */

PREM_FN prem_fft_point *prem_fft_at(const prem_fft_lines *lines, int32_t plane, int32_t line,
                                    int32_t point) {
  return &lines->first[plane * lines->plane + line * lines->line + point * lines->point];
}

/* Of parts of 2^span points each. */
PREM_FN void prem_fft_pass_8(const prem_fft_plan *plan, int32_t span, prem_fft_lines from,
                             prem_fft_lines to, int32_t planes, int32_t line_count) {
  const int32_t bits = plan->bits - 3, apart = span - 3;
  const float sign = plan->sign;
  PREM_ROLLED PREM_LANES_2D(number, planes << bits, line, line_count) {
    const int32_t plane = number >> bits, i = number & ((1 << bits) - 1);
    const int32_t j = i & ((1 << apart) - 1), first = ((i >> apart) << span) + j;
    const int32_t turn = j << (PREM_FFT_MAX_BITS - span);
    const prem_fft_point *here = prem_fft_at(&from, plane, line, first);
    const int32_t step = from.point << apart, step_to = to.point << apart;
    prem_fft_point z[8];
    z[0] = here[0];
    z[1] = here[step];
    z[2] = here[2 * step];
    z[3] = here[3 * step];
    z[4] = here[4 * step];
    z[5] = here[5 * step];
    z[6] = here[6 * step];
    z[7] = here[7 * step];
    prem_fft_eight(sign, z);
    prem_fft_point *there = prem_fft_at(&to, plane, line, first);
    there[0] = z[0];
    there[step_to] = prem_fft_rotated(z[1], sign, turn);
    there[2 * step_to] = prem_fft_rotated(z[2], sign, 2 * turn);
    there[3 * step_to] = prem_fft_rotated(z[3], sign, 3 * turn);
    there[4 * step_to] = prem_fft_rotated(z[4], sign, 4 * turn);
    there[5 * step_to] = prem_fft_rotated(z[5], sign, 5 * turn);
    there[6 * step_to] = prem_fft_rotated(z[6], sign, 6 * turn);
    there[7 * step_to] = prem_fft_rotated(z[7], sign, 7 * turn);
  }
}

PREM_FN void prem_fft_pass_4(const prem_fft_plan *plan, int32_t span, prem_fft_lines from,
                             prem_fft_lines to, int32_t planes, int32_t line_count) {
  const int32_t bits = plan->bits - 2, apart = span - 2;
  const float sign = plan->sign;
  PREM_ROLLED PREM_LANES_2D(number, planes << bits, line, line_count) {
    const int32_t plane = number >> bits, i = number & ((1 << bits) - 1);
    const int32_t j = i & ((1 << apart) - 1), first = ((i >> apart) << span) + j;
    const int32_t turn = j << (PREM_FFT_MAX_BITS - span);
    const prem_fft_point *here = prem_fft_at(&from, plane, line, first);
    const int32_t step = from.point << apart, step_to = to.point << apart;
    prem_fft_point a = here[0], b = here[step], c = here[2 * step], d = here[3 * step];
    prem_fft_four(sign, &a, &b, &c, &d);
    prem_fft_point *there = prem_fft_at(&to, plane, line, first);
    there[0] = a;
    there[step_to] = prem_fft_rotated(b, sign, turn);
    there[2 * step_to] = prem_fft_rotated(c, sign, 2 * turn);
    there[3 * step_to] = prem_fft_rotated(d, sign, 3 * turn);
  }
}

/* Where the last pass puts the first result of part i, after 2^first parts and then 2^middle. */
PREM_FN int32_t prem_fft_place(int32_t i, int32_t first, int32_t middle) {
  return (i >> middle) + ((i & ((1 << middle) - 1)) << first);
}

PREM_FN void prem_fft_last_8(const prem_fft_plan *plan, int32_t first, prem_fft_lines from,
                             prem_fft_lines to, int32_t planes, int32_t line_count) {
  const int32_t bits = plan->bits - 3, middle = bits - first;
  const float sign = plan->sign, scale = plan->scale;
  PREM_ROLLED PREM_LANES_2D(number, planes << bits, line, line_count) {
    const int32_t plane = number >> bits, i = number & ((1 << bits) - 1);
    const prem_fft_point *here = prem_fft_at(&from, plane, line, i << 3);
    const int32_t step = from.point, step_to = to.point << bits;
    prem_fft_point z[8];
    z[0] = here[0];
    z[1] = here[step];
    z[2] = here[2 * step];
    z[3] = here[3 * step];
    z[4] = here[4 * step];
    z[5] = here[5 * step];
    z[6] = here[6 * step];
    z[7] = here[7 * step];
    prem_fft_eight(sign, z);
    prem_fft_point *there = prem_fft_at(&to, plane, line, prem_fft_place(i, first, middle));
    there[0] = prem_fft_scaled(z[0], scale);
    there[step_to] = prem_fft_scaled(z[1], scale);
    there[2 * step_to] = prem_fft_scaled(z[2], scale);
    there[3 * step_to] = prem_fft_scaled(z[3], scale);
    there[4 * step_to] = prem_fft_scaled(z[4], scale);
    there[5 * step_to] = prem_fft_scaled(z[5], scale);
    there[6 * step_to] = prem_fft_scaled(z[6], scale);
    there[7 * step_to] = prem_fft_scaled(z[7], scale);
  }
}

PREM_FN void prem_fft_last_4(const prem_fft_plan *plan, int32_t first, prem_fft_lines from,
                             prem_fft_lines to, int32_t planes, int32_t line_count) {
  const int32_t bits = plan->bits - 2, middle = bits - first;
  const float sign = plan->sign, scale = plan->scale;
  PREM_ROLLED PREM_LANES_2D(number, planes << bits, line, line_count) {
    const int32_t plane = number >> bits, i = number & ((1 << bits) - 1);
    const prem_fft_point *here = prem_fft_at(&from, plane, line, i << 2);
    const int32_t step = from.point, step_to = to.point << bits;
    prem_fft_point a = here[0], b = here[step], c = here[2 * step], d = here[3 * step];
    prem_fft_four(sign, &a, &b, &c, &d);
    prem_fft_point *there = prem_fft_at(&to, plane, line, prem_fft_place(i, first, middle));
    there[0] = prem_fft_scaled(a, scale);
    there[step_to] = prem_fft_scaled(b, scale);
    there[2 * step_to] = prem_fft_scaled(c, scale);
    there[3 * step_to] = prem_fft_scaled(d, scale);
  }
}

/* ---- whole transforms ------------------------------------------------------------------------ */

/* The logarithm of the next radix, with `left` passes to come: a line's passes differ by one at
 * most, larger ones first. */
PREM_FN int32_t prem_fft_radix(int32_t span, int32_t left) {
  return span > 2 * left ? 3 : 2;
}

PREM_FN int32_t prem_fft_passes(int32_t bits) {
  return (bits + 2) / 3;
}

/* The CPU's compiler makes more of lines beside each other if it is told; the GPU's would make the
 * code twice as long. */
PREM_FN bool prem_fft_beside(const prem_fft_lines *from, const prem_fft_lines *to) {
  return PREM_HOST && from->line == 1 && to->line == 1;
}

/* One pass but the last. */
PREM_FN void prem_fft_spread(const prem_fft_plan *plan, int32_t span, int32_t radix,
                             prem_fft_lines from, prem_fft_lines to, int32_t planes,
                             int32_t line_count) {
  if (radix == 3)
    prem_fft_pass_8(plan, span, from, to, planes, line_count);
  else
    prem_fft_pass_4(plan, span, from, to, planes, line_count);
}

/* The last pass. */
PREM_FN void prem_fft_gather(const prem_fft_plan *plan, prem_fft_lines from, prem_fft_lines to,
                             int32_t planes, int32_t line_count) {
  const int32_t bits = plan->bits, passes = prem_fft_passes(bits),
                first = prem_fft_radix(bits, passes);
  const int32_t rest = bits - first, middle = passes == 3 ? prem_fft_radix(rest, 2) : 0;
  if (rest - middle == 3)
    prem_fft_last_8(plan, first, from, to, planes, line_count);
  else
    prem_fft_last_4(plan, first, from, to, planes, line_count);
}

/**
 * All lines of some planes, in two or three passes: `from` one place, where there are three by
 * `first`, then by `second`, `to` another. A place may be the one before it, but for the last.
 */
PREM_FN void prem_fft_transform(const prem_fft_plan *plan, prem_fft_lines from,
                                const prem_fft_lines *first, const prem_fft_lines *second,
                                const prem_fft_lines *to, int32_t planes, int32_t line_count) {
  int32_t span = plan->bits;
  PREM_ROLLED for (int32_t left = prem_fft_passes(span); left > 1; --left) {
    const int32_t radix = prem_fft_radix(span, left);
    prem_fft_lines next = left == 3 ? *first : *second;
    if (prem_fft_beside(&from, &next)) {
      from.line = next.line = 1;
      prem_fft_spread(plan, span, radix, from, next, planes, line_count);
    } else {
      prem_fft_spread(plan, span, radix, from, next, planes, line_count);
    }
    span -= radix;
    from = next;
    PREM_SYNC();
  }
  if (prem_fft_beside(&from, &from)) {
    from.line = 1;
    prem_fft_gather(plan, from, *to, planes, line_count);
  } else {
    prem_fft_gather(plan, from, *to, planes, line_count);
  }
}

/* The columns of a port that is cut as the kernel's port 1 is, and so has its pitch. */
PREM_FN prem_fft_lines prem_fft_columns_of(const prem_view *views, int32_t port) {
  prem_fft_lines lines;
  lines.first = (prem_fft_point *)views[port].data;
  lines.point = views[1].pitch[2];
  lines.line = 1;
  lines.plane = views[1].pitch[1];
  return lines;
}

/* The same places with rows for columns. */
PREM_FN prem_fft_lines prem_fft_turned(prem_fft_lines lines) {
  const int32_t point = lines.point;
  lines.point = lines.line;
  lines.line = point;
  return lines;
}

/* ---- square planes of 16, 32 or 64 points a side --------------------------------------------- */

/* Planes of rows of points, a whole number of 16 points apart. In a plane that is slid a row stands
 * further right, its end at its beginning, by prem_fft_slide(): then neighbouring lanes, which do
 * butterflies of one column, read different banks of a GPU's scratchpad, and write such as well. */
typedef struct prem_fft_square {
  prem_fft_point *first;
  int32_t row, plane; /* points from one to the next */
  int32_t is_slid;
} prem_fft_square;

/* Half a warp has 16 points at a time: those of a column's 2^`first` butterflies in the last pass,
 * and so many columns. */
PREM_FN int32_t prem_fft_slide(int32_t bits, int32_t first, int32_t row) {
  const int32_t columns = 16 >> first;
  return (row >> (bits - first)) * columns + ((row & (columns - 1)) << first);
}

PREM_FN void prem_fft_butterfly(int32_t radix, float sign, prem_fft_point z[8]) {
  if (radix == 3)
    prem_fft_eight(sign, z);
  else
    prem_fft_four(sign, &z[0], &z[1], &z[2], &z[3]);
}

/* The first of two passes over all columns; `radix` is a logarithm. Lanes run along rows. */
PREM_FN void prem_fft_square_spread(const prem_fft_plan *plan, bool is_known, int32_t radix,
                                    prem_fft_square from, prem_fft_square to, int32_t planes) {
  const int32_t bits = plan->bits, apart = bits - radix, last = (1 << bits) - 1;
  PREM_ROLLED PREM_LANES(number, planes << (bits + apart)) {
    const int32_t column = number & last, j = (number >> bits) & ((1 << apart) - 1);
    const int32_t plane = number >> (bits + apart), turn = j << (PREM_FFT_MAX_BITS - bits);
    const bool few = is_known && apart <= 2;
    const int32_t step = prem_fft_slide(bits, radix, 1 << apart);
    const int32_t at = column + from.is_slid * prem_fft_slide(bits, radix, j);
    const int32_t at_to = column + to.is_slid * prem_fft_slide(bits, radix, j);
    const prem_fft_point *here = from.first + plane * from.plane + j * from.row;
    prem_fft_point *there = to.first + plane * to.plane + j * to.row;
    prem_fft_point z[8];
    for (int32_t n = 0; n < 1 << radix; ++n)
      z[n] = here[(n << apart) * from.row + ((at + n * from.is_slid * step) & last)];
    prem_fft_butterfly(radix, plan->sign, z);
    for (int32_t n = 0; n < 1 << radix; ++n)
      there[(n << apart) * to.row + ((at_to + n * to.is_slid * step) & last)] =
          n == 0 ? z[0]
          : few  ? prem_fft_rotated_few(z[n], plan->sign, j, n << (5 - bits))
                 : prem_fft_rotated(z[n], plan->sign, n * turn);
  }
}

/* The last pass, which puts columns down as rows. Lanes run along a column's butterflies. */
PREM_FN void prem_fft_square_gather(const prem_fft_plan *plan, int32_t radix, prem_fft_square from,
                                    prem_fft_square to, int32_t planes) {
  const int32_t bits = plan->bits, parts = bits - radix, last = (1 << bits) - 1;
  PREM_ROLLED PREM_LANES(number, planes << (bits + parts)) {
    const int32_t i = number & ((1 << parts) - 1), column = (number >> parts) & last;
    const int32_t plane = number >> (bits + parts);
    const prem_fft_point *here = from.first + plane * from.plane + (i << radix) * from.row;
    prem_fft_point *there = to.first + plane * to.plane + column * to.row;
    const int32_t at = column + from.is_slid * prem_fft_slide(bits, parts, i << radix);
    const int32_t at_to = i + to.is_slid * prem_fft_slide(bits, parts, column);
    prem_fft_point z[8];
    for (int32_t n = 0; n < 1 << radix; ++n)
      z[n] = here[n * from.row + ((at + from.is_slid * prem_fft_slide(bits, parts, n)) & last)];
    prem_fft_butterfly(radix, plan->sign, z);
    for (int32_t n = 0; n < 1 << radix; ++n)
      there[(at_to + (n << parts)) & last] = prem_fft_scaled(z[n], plan->scale);
  }
}

/* Is that how it is done? A CPU has no banks, and its compiler makes vectors of the other way. */
#ifndef PREM_FFT_SLIDES
#define PREM_FFT_SLIDES (!PREM_HOST)
#endif

/* All columns, which are put down as rows, then the same once more. */
PREM_FN void prem_fft_square_twice(const prem_fft_plan *plan, bool is_known, prem_fft_square in,
                                   prem_fft_square out, int32_t planes) {
  const int32_t bits = plan->bits, first = prem_fft_radix(bits, 2);
  PREM_ROLLED for (int32_t times = 0; times < 2; ++times) {
    if (PREM_FFT_SLIDES) {
      /* pointers and not squares are chosen, so that the compiler sees that all are of the
       * scratchpad */
      const bool back = times == 1;
      const prem_fft_square from = {in.first, in.row, in.plane, times};
      const prem_fft_square between = {back ? in.first : out.first, back ? in.row : out.row,
                                       back ? in.plane : out.plane, 1};
      const prem_fft_square to = {back ? out.first : in.first, back ? out.row : in.row,
                                  back ? out.plane : in.plane, !back};
      if (first == 3)
        prem_fft_square_spread(plan, is_known, 3, from, between, planes);
      else
        prem_fft_square_spread(plan, is_known, 2, from, between, planes);
      PREM_SYNC();
      if (bits - first == 3)
        prem_fft_square_gather(plan, 3, between, to, planes);
      else
        prem_fft_square_gather(plan, 2, between, to, planes);
    } else {
      const prem_fft_lines a = {in.first, in.row, 1, in.plane};
      const prem_fft_lines b = {out.first, out.row, 1, out.plane};
      const prem_fft_lines between = times == 0 ? b : a;
      const prem_fft_lines to = prem_fft_turned(times == 0 ? a : b);
      prem_fft_transform(plan, a, &between, &between, &to, planes, 1 << bits);
    }
    if (times == 0)
      PREM_SYNC();
  }
}

/**
 * Transform square planes in both dimensions.
 *
 * @param plan  of a column: 4 to 6 bits
 * @param in    the planes; holds what stands between when this is done
 * @param out   not slid, as `in`
 */
PREM_FN void prem_fft_square_planes(const prem_fft_plan *plan, prem_fft_square in,
                                    prem_fft_square out, int32_t planes) {
  prem_fft_square_twice(plan, false, in, out, planes);
}

/** The same where `plan->bits` is a constant for the compiler, 4 or 5: a GPU needs no table then.
 */
PREM_FN void prem_fft_known_planes(const prem_fft_plan *plan, prem_fft_square in,
                                   prem_fft_square out, int32_t planes) {
  prem_fft_square_twice(plan, true, in, out, planes);
}

/* Of a port that is cut as the kernel's port 1 is, and so has its pitch. */
PREM_FN prem_fft_square prem_fft_square_of(const prem_view *views, int32_t port) {
  const prem_fft_square square = {(prem_fft_point *)views[port].data, views[1].pitch[2],
                                  views[1].pitch[1], 0};
  return square;
}

#endif
