/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The kernel contract: all that somebody who adds a kernel has to know.
 *
 * A kernel is one header and one line in kernels.def. The header is compiled by a C compiler for
 * the CPU and by nvcc for the GPU. It holds
 *
 *   1. a plain parameter struct of at most PREM_PARAMS_BYTES, `NAME_params`;
 *   2. the compute function, written once:
 *        PREM_FN void NAME_compute(const NAME_params *params, const prem_view *views)
 *   3. inside `#if PREM_HOST`: NAME_bind(), NAME_reference() and the definition
 *        static const prem_kernel NAME_kernel = { ... };
 *
 * Memory phases are data, not code. NAME_bind() says, once per task, which window of every array a
 * tile reads or writes; the runtime moves the windows between the arrays and the block's
 * scratchpad. Compute sees views of the scratchpad and *cannot* touch an array. Outside an array a
 * window reads 0; every other border is compute's business.
 *
 * Code whose accesses no window can tell, because each depends on the one before, is a *compatible
 * interval* (`compatible`): its views are the windows where they lie in the arrays, and nothing is
 * moved. It has no memory phase; its compute counts as one from start to end, takes `memory`, and
 * in mode lock the token.
 *
 * Arithmetic: contraction is off in all compilers; write fmaf() where it is meant. An output then
 * equals the reference bit for bit, unless the kernel states a tolerance. Where the reference is a
 * NaN any NaN that arithmetic makes is right: CPUs and GPUs do not make the same one.
 */
#ifndef TTPREM_KERNEL_H
#define TTPREM_KERNEL_H

#include <string.h>

#include "ttprem/base.h"

/* ---- what compute functions are written with ------------------------------------------------ */

/** Threads of a block on the GPU that move memory: its first three warps. All others compute. */
#define PREM_MEMORY_THREADS 96

#ifdef __CUDACC__
#define PREM_FN         static __device__ __forceinline__
#define PREM_LANE       ((int32_t)threadIdx.x - PREM_MEMORY_THREADS)
#define PREM_LANE_COUNT ((int32_t)blockDim.x - PREM_MEMORY_THREADS)
/** A loop over this lane's share of 0 .. n-1: for (i of this lane). `i` is declared by the macro.
 *  No step may touch what another one writes. */
#define PREM_LANES(i, n)                                                                           \
  for (int32_t i = PREM_LANE, i##_end = (n); i < i##_end; i += PREM_LANE_COUNT)
/** Is this the lane that does what one alone has to do? */
#define PREM_FIRST_LANE() (PREM_LANE == 0)
/** A quotient of lanes or rows, without the long way of an integer division: exact for
 *  0 <= a <= 2^20 and 1 <= b < 2^24. a + 1/2 is at least a relative 2^-22 away from any multiple of
 *  b, which is what the quotient of floats may be wrong by. */
static __device__ __forceinline__ int32_t prem_lane_quotient(int32_t a, int32_t b) {
  return (int32_t)__fdividef((float)a + 0.5F, (float)b);
}
/** A loop over this lane's share of a rectangle of 0 or more rows and 1 or more columns, columns
 *  fastest; declares `r` and `c`. It divides at its start only. */
#define PREM_LANES_2D(r, rows, c, columns)                                                         \
  for (int32_t r##_end = (rows), c##_end = (columns), r = prem_lane_quotient(PREM_LANE, c##_end),  \
               c = PREM_LANE - r * c##_end,                                                        \
               r##_step = prem_lane_quotient(PREM_LANE_COUNT, c##_end),                            \
               c##_step = PREM_LANE_COUNT - r##_step * c##_end;                                    \
       r < r##_end;                                                                                \
       c += c##_step, r += r##_step + (c >= c##_end), c -= c >= c##_end ? c##_end : 0)
/** In front of a loop: not to be unrolled. All kernels share the registers of one executive, so
 *  that one that takes many makes all of them slower. */
#define PREM_ROLLED _Pragma("unroll 1")
/** Wait for all lanes of the block's compute warps. No local variable survives it. */
#define PREM_SYNC() asm volatile("bar.sync 1, %0;" ::"r"(PREM_LANE_COUNT) : "memory")
/** In front of a table of numbers that are known to the compiler: PREM_TABLE float name[] = {...};
 *  Fast where the lanes of a warp read one element at a time. It is in no scratchpad: of its first
 *  use on an SM it comes from memory, so keep it to few kilobytes. */
#define PREM_TABLE static __constant__ const
#ifndef PREM_HOST
#define PREM_HOST 0
#endif
#else
/* Lanes run beside each other, and so may the steps of a loop that they share: the compiler, told
 * so, makes vectors where it could not prove it. */
#if defined(__GNUC__) && !defined(__clang__)
#define PREM_APART _Pragma("GCC ivdep")
#else
#define PREM_APART
#endif
#define PREM_FN           static inline __attribute__((always_inline, unused))
#define PREM_LANE         0 /* one lane does all */
#define PREM_LANE_COUNT   1
#define PREM_LANES(i, n)  for (int32_t i = 0, i##_end = (n); i < i##_end; ++i)
#define PREM_FIRST_LANE() true
#define PREM_LANES_2D(r, rows, c, columns)                                                         \
  for (int32_t r = 0, r##_end = (rows), c##_end = (columns); r < r##_end; ++r)                     \
  PREM_APART for (int32_t c = 0; c < c##_end; ++c)
#define PREM_ROLLED
#define PREM_SYNC() ((void)0)
#define PREM_TABLE  static const
#ifndef PREM_HOST
#define PREM_HOST 1
#endif
#endif

/**
 * A window in the scratchpad, as compute sees it. Dimensions are right-aligned: index 3 is the
 * innermost (stride 1), leading dimensions that an array lacks have extent 1.
 * Inputs have the extents that bind declared, also where they hang over the array's edge (zeros
 * there, which compute can tell by `origin` and a shape that bind put into the parameters); outputs
 * are cut to the part inside the array. An output's scratch is not initialised.
 * An input's scratch is the tile's own copy: compute may write there what it likes.
 * Rows stand at their array's distance from a 16-byte boundary, in whole 16-byte pieces of their
 * own: compute may read and write these pieces, and the gap up to the next row, as a whole. What
 * stands there besides the window has no meaning and goes nowhere.
 * A store anywhere else is a mistake. The simulator and the backend cpu name it and end the run.
 */
typedef struct prem_view {
  void *data;        /* the window's first element; aligned to the element only */
  int32_t extent[4]; /* elements */
  int32_t pitch[3];  /* elements from one index of dimension d to the next */
  int32_t reserved;  /* 0 */
  int64_t origin[4]; /* the first element's index in the array; negative in a halo */
} prem_view;

/** Element (row, column) of the two innermost dimensions of a view. */
#define PREM_AT(type, view, row, column)                                                           \
  (((type *)(view).data)[(int64_t)(row) * (view).pitch[2] + (column)])

typedef struct prem_c64 {
  float re, im;
} prem_c64;

/** An IEEE 754 binary16, and the upper half of a float: their bits. Arithmetic is done in floats.
 */
typedef uint16_t prem_f16;
typedef uint16_t prem_bf16;

/* Conversions in integers, so that every compiler and processor gives the same bits. To the shorter
 * type they round to nearest, ties to even; what is too large becomes an infinity, any NaN the
 * quiet one of its sign. The other way they are exact. */

PREM_FN uint32_t prem_f32_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

PREM_FN float prem_f32_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

PREM_FN float prem_f16_to_f32(prem_f16 half) {
  const uint32_t sign = (uint32_t)(half & 0x8000U) << 16, magnitude = half & 0x7FFFU;
  if (magnitude > 0x7C00U)
    return prem_f32_of_bits(sign | 0x7FC00000U);
  if (magnitude == 0x7C00U)
    return prem_f32_of_bits(sign | 0x7F800000U);
  if (magnitude < 0x400U) /* subnormal: so many times 2^-24 */
    return prem_f32_of_bits(sign | prem_f32_bits((float)(int32_t)magnitude * 0x1p-24F));
  return prem_f32_of_bits(sign | ((magnitude << 13) + 0x38000000U));
}

PREM_FN prem_f16 prem_f16_from_f32(float value) {
  const uint32_t bits = prem_f32_bits(value), magnitude = bits & 0x7FFFFFFFU;
  const uint32_t sign = bits >> 16 & 0x8000U;
  if (magnitude > 0x7F800000U)
    return (prem_f16)(sign | 0x7E00U);
  if (magnitude >= 0x47800000U) /* 2^16; what is rounded up to it carries into the infinity */
    return (prem_f16)(sign | 0x7C00U);
  if (magnitude >= 0x38800000U) { /* 2^-14 */
    const uint32_t rebased = magnitude - 0x38000000U;
    return (prem_f16)(sign | (rebased + 0xFFFU + (rebased >> 13 & 1U)) >> 13);
  }
  if (magnitude < 0x33000000U) /* 2^-25 */
    return (prem_f16)sign;
  const uint32_t shift = 126U - (magnitude >> 23), digits = (magnitude & 0x7FFFFFU) | 0x800000U;
  return (prem_f16)(sign | (digits + (1U << (shift - 1)) - 1U + (digits >> shift & 1U)) >> shift);
}

PREM_FN float prem_bf16_to_f32(prem_bf16 half) {
  if ((half & 0x7FFFU) > 0x7F80U)
    return prem_f32_of_bits((uint32_t)(half & 0x8000U) << 16 | 0x7FC00000U);
  return prem_f32_of_bits((uint32_t)half << 16);
}

PREM_FN prem_bf16 prem_bf16_from_f32(float value) {
  const uint32_t bits = prem_f32_bits(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
    return (prem_bf16)((bits >> 16 & 0x8000U) | 0x7FC0U);
  return (prem_bf16)((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

/* ---- what a kernel declares ----------------------------------------------------------------- */

/** What an array's elements are; docs/schedule-format.md has their values. */
typedef enum prem_type {
  PREM_F32 = 0,
  PREM_C64 = 1, /* prem_c64 */
  PREM_U8 = 2,
  PREM_U16 = 3,
  PREM_I32 = 4,
  PREM_F16 = 5,  /* prem_f16 */
  PREM_BF16 = 6, /* prem_bf16 */
  PREM_TYPE_COUNT = 7
} prem_type;
typedef enum prem_access { PREM_IN, PREM_OUT } prem_access;

/** One array of a kernel. Views and windows come in the order of the ports. */
typedef struct prem_port {
  const char *name; /* the key in a task's `arrays` group */
  prem_access access;
  prem_type type; /* that its arrays have, unless the kernel's `port_types` says more */
} prem_port;

/** A type's bit in `port_types`. */
#define PREM_TYPE_BIT(TYPE) (1U << (TYPE))

/**
 * The window of an array that belongs to a tile, right-aligned to 4 dimensions:
 * origin[d] = base[d] + sum over k of step[d][k] * index[k]; `extent` elements in each dimension.
 * Windows of an output, as far as they lie in the array, are disjoint and together cover it; each
 * index moves them in one dimension at most. A task whose kernel gives others is refused (E031).
 */
typedef struct prem_window {
  int64_t base[PREM_MAX_RANK];
  int64_t step[PREM_MAX_RANK][PREM_MAX_GRID];
  int32_t extent[PREM_MAX_RANK];
  int32_t aim; /* 0; 1 + port: an aimed window */
} prem_window;

/**
 * Where an aimed window begins in one dimension.
 *
 * An *aimed* window of an input begins where another task has said. Its `aim` names an input of the
 * same kernel, of type i32, whose window of the same tile is a row of 1 to 4 numbers. They belong
 * to the last dimensions, the last number to index 3, and are added to the window's origin there;
 * the result is then clamped so that the window lies within the array, whatever the numbers are. So
 * the extent, and with it bytes and time, stay what they are. The numbers are read once, at the
 * start of the prefetch; compute sees them in the view of that port and, clamped, in the view's
 * origin. The array must be at least as large as the window. References call this function.
 */
PREM_FN int64_t prem_aimed(int64_t origin, int32_t aim, int32_t extent, int64_t shape) {
  const int64_t first = origin + aim, last = shape - extent;
  return first < 0 ? 0 : first > last ? last : first;
}

/** A whole array, for references: dense, index 3 innermost, leading dimensions 1. A reference knows
 *  neither tile nor grid; one that needs them has them in its parameters, where bind puts them. */
typedef struct prem_array_view {
  void *data;
  int64_t shape[4];
} prem_array_view;

typedef struct prem_arg prem_arg; /* one setting of a task's `args` group */

/**
 * What NAME_bind() gets and gives. The caller has zeroed all that bind gives.
 * Tile t of the task is index (t / (grid[1]*grid[2]), t / grid[2] % grid[1], t % grid[2]).
 */
typedef struct prem_bind {
  /* given: */
  prem_arg *args; /* read with prem_arg_...(); one that is not read is an error (E031) */
  int32_t arg_count;
  int32_t tile_rank;                /* 0 where the file has no `tile` */
  int32_t tile[PREM_MAX_RANK];      /* as in the file: left-aligned */
  int32_t tiles;                    /* the file's `tiles`; 0 where it has none */
  int32_t rank[PREM_MAX_PORTS];     /* of each array; 0 for an output called "new" */
  int64_t shape[PREM_MAX_PORTS][4]; /* right-aligned, leading 1s */
  prem_type type[PREM_MAX_PORTS];   /* of each array; the port's for an output called "new" */
  /* made by bind: */
  int32_t grid[PREM_MAX_GRID]; /* tiles in each dimension of the tile index, all >= 1 */
  prem_window window[PREM_MAX_PORTS];
  int32_t new_rank[PREM_MAX_PORTS]; /* of an output called "new": its rank and shape */
  int64_t new_shape[PREM_MAX_PORTS][4];
  /* of a work area in the scratchpad, which no memory phase moves: compute sees it behind the
   * ports, as views[port_count], a row of bytes that begins at a multiple of 128. What it holds
   * when compute begins has no meaning. 0: none. With one, a kernel has at most PREM_MAX_PORTS - 1
   * ports. */
  int32_t work_bytes;
  union {
    unsigned char bytes[PREM_PARAMS_BYTES];
    int64_t align;
  } params;
  /* on failure, through prem_bind_refuse(): */
  char key[PREM_NAME_BYTES];
  char reason[256];
} prem_bind;

typedef struct prem_kernel {
  const char *name;
  const char *summary;    /* one line for `ttprem list` */
  uint32_t version;       /* raise it when the same inputs give other outputs or other costs */
  uint32_t params_bytes;  /* sizeof(NAME_params), at most PREM_PARAMS_BYTES; 0: none */
  const prem_port *ports; /* may be NULL when port_count is 0 */
  int32_t port_count;
  /** Host, once per task. PREM_OK, or prem_bind_refuse(). */
  prem_status (*bind)(prem_bind *bind);
  /** One tile on the CPU: the header's compute function. NULL: compute does nothing. */
  void (*compute)(const void *params, const prem_view *views);
  /** The whole task, untiled, in plain C; arrays in the order of the ports. */
  void (*reference)(const void *params, const prem_array_view *arrays);
  /** 0: equal to the reference bit for bit; else |out - ref| <= tolerance * max(|ref|, 1e-30). */
  double tolerance;
  /** A compatible interval: views lie in the arrays. Windows must be inside them. Inputs are no
   *  copies, and rows have no gaps to write to: compute writes its outputs' windows alone. */
  bool compatible;
  /** [port_count] Of each port the types that its array may have, as PREM_TYPE_BITs; bind sees
   *  which it is. NULL: each port's own type alone. */
  const uint32_t *port_types;
} prem_kernel;

/** A kernel without code: the work is an application's own, see prem_session_attach_graph(). */
#define PREM_CUDA_GRAPH "cuda_graph"

/** The kernels of a program. Plain data; what prem_registry_builtin() returns lives for ever. */
typedef struct prem_registry {
  const prem_kernel *const *kernels;
  int32_t count;
} prem_registry;

/* fmaf() is one instruction on every x86-64 CPU of the last decade, but a call of the C library in
 * code that has to run on all of them: the entry is compiled for both and chosen at load. Define it
 * empty where that cannot be, as it is under GCC's sanitizers, which are not ready at that time. */
#ifndef PREM_CLONES
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__FMA__) &&                          \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define PREM_CLONES __attribute__((target_clones("fma", "default")))
#else
#define PREM_CLONES
#endif
#endif

/* Bind would write beyond what it is given. */
#ifdef __cplusplus
#define PREM_PARAMS_FIT static_assert
#else
#define PREM_PARAMS_FIT _Static_assert
#endif

/** For the `compute` member: NAME_compute without types. */
#define PREM_COMPUTE_ENTRY(NAME)                                                                   \
  PREM_PARAMS_FIT(sizeof(NAME##_params) <= PREM_PARAMS_BYTES,                                      \
                  #NAME "_params is larger than PREM_PARAMS_BYTES");                               \
  PREM_CLONES static void NAME##_entry(const void *params, const prem_view *views) {               \
    NAME##_compute((const NAME##_params *)params, views);                                          \
  }

/** In the definition of a kernel: its name, its parameters, the ports of a table, NAME_bind(),
 *  NAME_entry() and NAME_reference(). */
#define PREM_KERNEL_OF(NAME, PORTS)                                                                \
  .name = #NAME, .params_bytes = sizeof(NAME##_params), .ports = (PORTS),                          \
  .port_count = (int32_t)(sizeof(PORTS) / sizeof((PORTS)[0])), .bind = NAME##_bind,                \
  .compute = NAME##_entry, .reference = NAME##_reference

PREM_EXTERN_C_BEGIN

/** Say why a task is refused; returns PREM_ERR_INVALID for `return prem_bind_refuse(...)`. */
PREM_API prem_status prem_bind_refuse(prem_bind *bind, const char *key, const char *format, ...)
    PREM_PRINTF(3, 4);
/**
 * Read a number, or an array of exactly `count` numbers, from the task's args.
 * Absent: `out` keeps what it holds (the default) and the call succeeds.
 * Wrong type or length: refuses as prem_bind_refuse() does.
 */
PREM_API prem_status prem_arg_floats(prem_bind *bind, const char *key, float *out, int32_t count);
PREM_API prem_status prem_arg_ints(prem_bind *bind, const char *key, int64_t *out, int32_t count);
/**
 * Cut an array into tiles of the size in the file's `tile`: sets `grid`, so that tile t is tile
 * number t of the array in row-major order, and `window`, the tile without any halo.
 * Refuses a missing `tile`, one of another rank, and more tiles than a grid holds.
 *
 * @param shape  right-aligned, of `rank` dimensions; a larger tile is cut down to it.
 */
PREM_API prem_status prem_bind_tile(prem_bind *bind, int32_t rank, const int64_t shape[4],
                                    prem_window *window);
/**
 * Let output `port`, "arrays.KEY" in messages, be a vector of one element for each tile: sets its
 * window, rank and shape. Refuses an array of another shape. After prem_bind_tile().
 */
PREM_API prem_status prem_bind_tile_results(prem_bind *bind, int32_t port, const char *key);

/** The kernel of a name, or NULL. Thread-safe. */
PREM_API const prem_kernel *prem_registry_find(const prem_registry *registry, const char *name);
/** The kernels of kernels.def. Thread-safe. */
PREM_API const prem_registry *prem_registry_builtin(void);
/** Bytes of an element. Thread-safe. */
PREM_API int32_t prem_type_bytes(prem_type type);
/** As in a schedule file: "f32". Thread-safe. */
PREM_API const char *prem_type_name(prem_type type);

PREM_EXTERN_C_END
#endif
