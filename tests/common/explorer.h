/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: all interleavings of a few threads that share a few words, over the very source that
 * is shipped. The source is compiled with accesses that ask the explorer (explore_access()).
 *
 * The memory is C11's without promises: every word keeps the messages that were stored to it, and
 * each thread a view, which message of each word it has seen at least. A load may return any
 * message from there on, so stores seem to wait in a buffer, and loads seem to be early, unless
 * acquire, release and fences forbid it; a read-modify-write takes the newest. Kang et al.,
 * A promising semantics for relaxed-memory concurrency (2017), has this machine. Two things it does
 * not show: a load that sees a store which comes after it in its own thread, and stores to one word
 * in another order than they were made.
 *
 * A thread is calls of a function on a few bytes of its own. It is run again from the start of the
 * call with what its accesses have returned so far, up to the one that comes next; there it is left
 * by longjmp(). So nothing has to be known of the source. A state that was seen is not gone on
 * from; states are told apart by 128 bits of a hash.
 *
 * Who loops until others change something calls explore_mark() where a round begins and
 * explore_again() where it ends in vain: the round is forgotten.
 */
#pragma once

#include <check.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
  EXPLORE_THREADS = 4,
  EXPLORE_WORDS = 20,
  EXPLORE_MESSAGES = 12, /* that one word keeps at most: nobody is later than that */
  EXPLORE_STEPS = 48,    /* accesses of one call */
  EXPLORE_OWN = 640      /* bytes of a thread's own */
};

typedef enum explore_kind {
  EXPLORE_LOAD,
  EXPLORE_NEWEST, /* a load that sees it */
  EXPLORE_STORE,
  EXPLORE_ADD,     /* to all of the word, */
  EXPLORE_ADD_LOW, /* to its low half, */
  EXPLORE_ADD_HIGH,
  EXPLORE_EXCHANGE,
  EXPLORE_CAS,
  EXPLORE_FENCE,
  EXPLORE_AGAIN
} explore_kind;

enum { EXPLORE_RELAXED, EXPLORE_ACQUIRE = 1, EXPLORE_RELEASE = 2, EXPLORE_ACQ_REL = 3 };

/** Of up to 16 bytes. */
typedef struct explore_value {
  uint64_t low, high;
} explore_value;

typedef struct explore_step {
  explore_kind kind;
  int word, order;
  explore_value value, expected;
} explore_step;

typedef struct explore_view {
  uint8_t seen[EXPLORE_WORDS];
} explore_view;

typedef struct explore_message {
  explore_value value;
  explore_view view; /* what who acquires it sees as well */
} explore_message;

typedef struct explore_thread {
  bool is_over;
  int steps;            /* of the call in hand */
  explore_step pending; /* what comes next */
  explore_view now, acquired, released;
  unsigned char own[EXPLORE_OWN];
  explore_value results[EXPLORE_STEPS]; /* [steps] */
} explore_thread;

typedef struct explore_state {
  int messages[EXPLORE_WORDS];
  explore_message message[EXPLORE_WORDS][EXPLORE_MESSAGES];
  explore_thread thread[EXPLORE_THREADS];
} explore_state;

typedef struct explorer explorer;
struct explorer {
  int threads, words;
  int late; /* messages that one word keeps, where loops make ever more; 0: the most */
  int deep; /* steps in a row to states that are new, at most; 0: 400 */
  size_t own_bytes;
  /** One call of a thread; false: it has no other. NULL at first is zeros. */
  bool (*call)(explorer *of, int thread, void *own);
  /** After every call: what is wrong, or NULL; */
  const char *(*judge_call)(explorer *of, int thread, const void *own);
  /** when all threads are over. `newest` is the newest message of each word. */
  const char *(*judge_end)(explorer *of, const explore_state *state);
  explore_state first;
  const void *context;
  bool drops_release, drops_acquire, drops_fences; /* planted */
  /* found: */
  int64_t states, ends, wrong, stuck;
  const char *what; /* the first that was wrong */
  int longest;      /* accesses of a call */
  /* inside: */
  explore_thread *running;
  int at;
  jmp_buf leave;
  uint64_t (*seen)[2];
  int32_t *number;
  int64_t room;
  int32_t (*edges)[2];
  int64_t edge_count, edge_room;
  uint8_t *can_end;
  int64_t can_end_room;
};

static explorer *explore_now; /* the one whose call is under way */

/* ---- what the explored source calls --------------------------------------------------------- */

static inline explore_value explore_access(explore_step step) {
  explorer *of = explore_now;
  if (of->at < of->running->steps)
    return of->running->results[of->at++];
  of->running->pending = step;
  longjmp(of->leave, 1);
}
static inline int explore_mark(void) {
  return explore_now->at;
}
static inline void explore_again(int mark) {
  explore_access((explore_step){.kind = EXPLORE_AGAIN, .word = mark});
}

static inline uint64_t explore_newest(const explore_state *state, int word) {
  return state->message[word][state->messages[word] - 1].value.low;
}

/* ---- views and messages --------------------------------------------------------------------- */

static inline void explore_join(explore_view *view, const explore_view *with) {
  for (int w = 0; w < EXPLORE_WORDS; ++w)
    if (with->seen[w] > view->seen[w])
      view->seen[w] = with->seen[w];
}

static void explore_forget_word(explorer *of, explore_state *state, int word, uint8_t least) {
  state->messages[word] -= least;
  memmove(state->message[word], state->message[word] + least,
          (size_t)state->messages[word] * sizeof *state->message[word]);
  for (int w = 0; w < of->words; ++w)
    for (int m = 0; m < state->messages[w]; ++m) {
      uint8_t *seen = &state->message[w][m].view.seen[word];
      *seen = (uint8_t)(*seen > least ? *seen - least : 0);
    }
  for (int t = 0; t < of->threads; ++t) {
    explore_view *views[] = {&state->thread[t].now, &state->thread[t].acquired,
                             &state->thread[t].released};
    for (int v = 0; v < 3; ++v)
      views[v]->seen[word] =
          (uint8_t)(views[v]->seen[word] > least ? views[v]->seen[word] - least : 0);
  }
}

/* Messages that nobody can read any more. */
static void explore_forget(explorer *of, explore_state *state) {
  for (int word = 0; word < of->words; ++word) {
    uint8_t least = (uint8_t)(state->messages[word] - 1);
    for (int t = 0; t < of->threads; ++t)
      if (!state->thread[t].is_over && state->thread[t].now.seen[word] < least)
        least = state->thread[t].now.seen[word];
    if (least > 0)
      explore_forget_word(of, state, word, least);
  }
}

static void explore_store(explorer *of, explore_state *state, explore_thread *thread, int word,
                          explore_value value, int order, const explore_view *chain) {
  if (state->messages[word] == (of->late ? of->late : EXPLORE_MESSAGES)) {
    ck_assert_int_gt(of->late, 0);
    explore_forget_word(of, state, word, 1);
  }
  const uint8_t at = (uint8_t)state->messages[word]++;
  thread->now.seen[word] = thread->acquired.seen[word] = at;
  explore_message *made = &state->message[word][at];
  *made = (explore_message){value, order & EXPLORE_RELEASE ? thread->now : thread->released};
  made->view.seen[word] = at;
  if (chain)
    explore_join(&made->view, chain);
}

static explore_value explore_read(const explore_state *state, explore_thread *thread, int word,
                                  int at, int order) {
  const explore_message *message = &state->message[word][at];
  thread->now.seen[word] = (uint8_t)at;
  explore_join(&thread->acquired, &message->view);
  explore_join(&thread->acquired, &thread->now);
  if (order & EXPLORE_ACQUIRE)
    explore_join(&thread->now, &message->view);
  return message->value;
}

static explore_value explore_changed(const explore_step *step, explore_value was) {
  explore_value is = step->value;
  const uint64_t low = UINT32_MAX;
  switch (step->kind) {
  case EXPLORE_ADD:
    is.low = was.low + step->value.low;
    break;
  case EXPLORE_ADD_LOW:
    is.low = (was.low & ~low) | ((was.low + step->value.low) & low);
    break;
  case EXPLORE_ADD_HIGH:
    is.low = was.low + (step->value.low << 32);
    break;
  case EXPLORE_CAS:
    is = was.low == step->expected.low && was.high == step->expected.high ? is : was;
    break;
  default:
    break;
  }
  return is;
}

/* ---- one step ------------------------------------------------------------------------------- */

static int explore_order(const explorer *of, int order) {
  return order &
         ~((of->drops_release ? EXPLORE_RELEASE : 0) | (of->drops_acquire ? EXPLORE_ACQUIRE : 0));
}

/* Run a thread up to its next access: into its `pending`. Calls that end on the way have ended. */
static const char *explore_run(explorer *of, explore_state *state, int t) {
  explore_thread *thread = &state->thread[t];
  static unsigned char own[EXPLORE_OWN]; /* the call's own copy */
  explore_now = of;
  while (!thread->is_over) {
    memcpy(own, thread->own, of->own_bytes);
    of->running = thread;
    of->at = 0;
    if (setjmp(of->leave) == 0) {
      const bool goes_on = of->call(of, t, own);
      memcpy(thread->own, own, of->own_bytes);
      thread->steps = 0;
      thread->is_over = !goes_on;
      const char *wrong = of->judge_call ? of->judge_call(of, t, thread->own) : NULL;
      if (wrong)
        return wrong;
    } else if (thread->pending.kind == EXPLORE_AGAIN) {
      thread->steps = thread->pending.word;
    } else {
      return NULL;
    }
  }
  return NULL;
}

/* How many different things may come of the pending step. */
static int explore_choices(const explore_state *state, int t, const explore_step *step) {
  return step->kind == EXPLORE_LOAD
             ? state->messages[step->word] - state->thread[t].now.seen[step->word]
             : 1;
}

static void explore_do(explorer *of, explore_state *state, int t, explore_step step, int choice) {
  explore_thread *thread = &state->thread[t];
  const int order = explore_order(of, step.order), newest = state->messages[step.word] - 1;
  explore_value result = {0, 0};
  if (step.kind == EXPLORE_FENCE) {
    if (!of->drops_fences) {
      thread->now = thread->acquired;
      thread->released = thread->now;
    }
  } else if (step.kind == EXPLORE_LOAD || step.kind == EXPLORE_NEWEST) {
    result = explore_read(state, thread, step.word, newest - choice, order);
  } else if (step.kind == EXPLORE_STORE) {
    explore_store(of, state, thread, step.word, step.value, order, NULL);
  } else {
    result = explore_read(state, thread, step.word, newest, order);
    const explore_view chain = state->message[step.word][newest].view;
    const explore_value is = explore_changed(&step, result);
    const bool differs = is.low != result.low || is.high != result.high;
    if (differs) /* else it is as if nobody had written */
      explore_store(of, state, thread, step.word, is, order, &chain);
  }
  ck_assert_int_lt(thread->steps, EXPLORE_STEPS);
  thread->results[thread->steps++] = result;
  of->longest = thread->steps > of->longest ? thread->steps : of->longest;
  explore_forget(of, state);
}

/* ---- states that were seen ------------------------------------------------------------------ */

static void explore_mix(uint64_t hash[2], const void *bytes, size_t count) {
  const unsigned char *from = bytes;
  for (size_t i = 0; i < count; i += 16) {
    uint64_t words[2] = {0, 0};
    memcpy(words, from + i, count - i < 16 ? count - i : 16);
    const uint64_t low = (hash[0] ^ words[0]) * UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t high = (hash[1] + words[1]) * UINT64_C(0xc2b2ae3d27d4eb4f);
    hash[0] = low ^ high >> 29;
    hash[1] = high ^ low >> 31;
  }
}

static void explore_hash(const explorer *of, const explore_state *state, uint64_t hash[2]) {
  hash[0] = 1, hash[1] = 2;
  explore_mix(hash, state->messages, sizeof state->messages);
  for (int w = 0; w < of->words; ++w)
    explore_mix(hash, state->message[w], (size_t)state->messages[w] * sizeof *state->message[w]);
  for (int t = 0; t < of->threads; ++t) {
    const explore_thread *thread = &state->thread[t];
    const int32_t facts[2] = {thread->is_over, thread->steps};
    explore_mix(hash, facts, sizeof facts);
    explore_mix(hash, thread->results, (size_t)thread->steps * sizeof *thread->results);
    explore_mix(hash, thread->own, of->own_bytes);
    if (!thread->is_over)
      explore_mix(hash, &thread->now, 3 * sizeof thread->now);
  }
  hash[0] |= 1; /* 0 is an empty place */
}

static int64_t explore_place(const explorer *of, const uint64_t hash[2]) {
  int64_t at = (int64_t)(hash[1] & (uint64_t)(of->room - 1));
  while (of->seen[at][0] && (of->seen[at][0] != hash[0] || of->seen[at][1] != hash[1]))
    at = (at + 1) & (of->room - 1);
  return at;
}

static void *explore_grow(void *old, size_t was, size_t is) {
  char *made = realloc(old, is);
  ck_assert_ptr_nonnull(made);
  memset(made + was, 0, is - was);
  return made;
}

static void explore_make_room(explorer *of) {
  if (2 * of->states < of->room)
    return;
  explorer old = *of;
  of->room = old.room ? 2 * old.room : 1 << 12;
  of->seen = explore_grow(NULL, 0, (size_t)of->room * sizeof *of->seen);
  of->number = explore_grow(NULL, 0, (size_t)of->room * sizeof *of->number);
  for (int64_t i = 0; i < old.room; ++i)
    if (old.seen[i][0]) {
      const int64_t at = explore_place(of, old.seen[i]);
      memcpy(of->seen[at], old.seen[i], sizeof old.seen[i]);
      of->number[at] = old.number[i];
    }
  free(old.seen);
  free(old.number);
}

/* The state's number; `is_new`: nobody has seen it. */
static int32_t explore_number(explorer *of, const explore_state *state, bool *is_new) {
  uint64_t hash[2];
  explore_make_room(of);
  explore_hash(of, state, hash);
  const int64_t at = explore_place(of, hash);
  *is_new = of->seen[at][0] == 0;
  if (*is_new) {
    memcpy(of->seen[at], hash, sizeof hash);
    of->number[at] = (int32_t)of->states++;
  }
  return of->number[at];
}

static void explore_edge(explorer *of, int32_t from, int32_t to) {
  if (of->edge_count == of->edge_room) {
    const int64_t room = of->edge_room ? 2 * of->edge_room : 1 << 12;
    of->edges = explore_grow(of->edges, (size_t)of->edge_room * sizeof *of->edges,
                             (size_t)room * sizeof *of->edges);
    of->edge_room = room;
  }
  of->edges[of->edge_count][0] = from;
  of->edges[of->edge_count++][1] = to;
}

static void explore_note_wrong(explorer *of, const char *what) {
  of->what = of->what ? of->what : what;
  ++of->wrong;
}

/* ---- the walk ------------------------------------------------------------------------------- */

/* What is used of a state. */
static void explore_copy(const explorer *of, explore_state *to, const explore_state *from) {
  memcpy(to->messages, from->messages, sizeof to->messages);
  for (int w = 0; w < of->words; ++w)
    memcpy(to->message[w], from->message[w], (size_t)from->messages[w] * sizeof *to->message[w]);
  for (int t = 0; t < of->threads; ++t) {
    explore_thread *thread = &to->thread[t];
    const explore_thread *was = &from->thread[t];
    memcpy(thread, was, offsetof(explore_thread, own));
    memcpy(thread->own, was->own, of->own_bytes);
    memcpy(thread->results, was->results, (size_t)was->steps * sizeof *thread->results);
  }
}

static void explore_note_end(explorer *of, const explore_state *state, int32_t number) {
  if (number >= of->can_end_room) {
    const int64_t room = 2 * (int64_t)number + 4096;
    of->can_end = explore_grow(of->can_end, (size_t)of->can_end_room, (size_t)room);
    of->can_end_room = room;
  }
  of->can_end[number] = 1;
  ++of->ends;
  const char *wrong = of->judge_end ? of->judge_end(of, state) : NULL;
  if (wrong)
    explore_note_wrong(of, wrong);
}

static void explore_from(explorer *of, const explore_state *state, int32_t number,
                         explore_state *below, int depth, int most) {
  bool is_end = true;
  ck_assert_int_lt(depth, most);
  for (int t = 0; t < of->threads; ++t) {
    if (state->thread[t].is_over)
      continue;
    is_end = false;
    explore_state *next = &below[0];
    const explore_step step = state->thread[t].pending;
    const int choices = explore_choices(state, t, &step);
    for (int choice = 0; choice < choices; ++choice) {
      explore_copy(of, next, state);
      explore_do(of, next, t, step, choice);
      const char *wrong = explore_run(of, next, t);
      if (wrong) {
        explore_note_wrong(of, wrong);
        continue;
      }
      bool is_new;
      const int32_t to = explore_number(of, next, &is_new);
      if (to != number)
        explore_edge(of, number, to);
      if (is_new)
        explore_from(of, next, to, below + 1, depth + 1, most);
    }
  }
  if (is_end)
    explore_note_end(of, state, number);
}

/* States from which no end can be reached. */
static int64_t explore_count_stuck(explorer *of) {
  if (of->can_end_room < of->states) {
    of->can_end = explore_grow(of->can_end, (size_t)of->can_end_room, (size_t)of->states);
    of->can_end_room = of->states;
  }
  for (bool moves = true; moves;) {
    moves = false;
    for (int64_t e = of->edge_count - 1; e >= 0; --e)
      if (of->can_end[of->edges[e][1]] && !of->can_end[of->edges[e][0]])
        moves = true, of->can_end[of->edges[e][0]] = 1;
  }
  int64_t stuck = 0;
  for (int64_t i = 0; i < of->states; ++i)
    stuck += !of->can_end[i];
  return stuck;
}

/** A word holds this before anybody runs. */
static inline void explore_set(explorer *of, int word, explore_value value) {
  ck_assert_int_lt(word, EXPLORE_WORDS);
  of->first.messages[word] = 1;
  of->first.message[word][0] = (explore_message){value, {{0}}};
  of->words = word >= of->words ? word + 1 : of->words;
}

/** All states that can be reached. With what is wrong it goes on, for the count. */
static inline void explore_all(explorer *of) {
  const int most = of->deep ? of->deep : 400;
  ck_assert_uint_le(of->own_bytes, EXPLORE_OWN);
  explore_state *below = calloc((size_t)most + 1, sizeof *below);
  ck_assert_ptr_nonnull(below);
  bool is_new;
  for (int t = 0; t < of->threads; ++t)
    explore_run(of, &of->first, t); /* up to its first access */
  const int32_t number = explore_number(of, &of->first, &is_new);
  explore_from(of, &of->first, number, below, 0, most);
  of->stuck = of->wrong > 0 ? 0 : explore_count_stuck(of); /* what was wrong was not gone on from */
  free(below);
  free(of->seen);
  free(of->number);
  free(of->edges);
  free(of->can_end);
}
