/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The checker's sweep: intervals that hold some of a limited supply, and where they hold more than
 * there is. One pass over the sorted starts with a heap of the ends.
 */
#pragma once

#include "schedules/checker/check.h"

/** A phase, or a tile's life, that holds `demand` in [start, end). */
typedef struct check_use {
  int64_t start_ns, end_ns; /* with the guard where that is judged */
  int64_t free_ns;          /* end without guard */
  int64_t gap_ns;           /* it is kept so much longer, if that is more than the guard */
  int32_t demand;
  int32_t group;   /* a supply each; of a gang resource: the task */
  int32_t acquire; /* the slot with which it begins */
  int32_t release; /* the slot with which it ends */
  bool continues;  /* goes on where another use of the same phases ends: no guard before it */
  bool wrapped;    /* began in the hyperperiod before */
} check_use;

typedef struct check_uses {
  check_use *use;
  int64_t count;
} check_uses;

prem_status prem_uses_add(check_uses *uses, const check_use *use);
void prem_uses_free(check_uses *uses);

/** What is swept, for the messages. */
typedef struct check_supply {
  int code;           /* of an excess: E037 or E039 */
  int32_t capacity;   /* of each group */
  const char *what;   /* "memory", "input buffers" */
  bool of_each_block; /* a group is a block, else there is one for all */
  bool per_task;      /* the uses of one task count once, with the largest demand */
} check_supply;

/**
 * Report every maximal interval in which a group's uses exceed the capacity; then, with a guard or
 * gaps, those in which they do so only because every use is kept that much longer (E040). Uses are
 * without guard; they are sorted, and copied where they wrap around the hyperperiod.
 */
prem_status prem_check_sweep(const prem_checker *checker, check_uses *uses,
                             const check_supply *supply);
