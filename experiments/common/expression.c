/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/common/expression.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/numbers.h"
#include "prem/base/suggest.h"

enum { MAX_DEPTH = 32, MAX_NAME = 128 };

typedef struct parser {
  const char *at;
  const prem_sweep_names *names;
  int depth;
  int skips; /* names are not looked up: what is parsed was not chosen */
  char *reason;
} parser;

static bool evaluate(const char *text, const prem_sweep_names *names, int depth,
                     prem_sweep_value *out, char *reason);
static bool parse_choice(parser *in, prem_sweep_value *out);

PREM_PRINTF(2, 3)
static bool refuse(char *reason, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(reason, PREM_REASON_BYTES, format, args);
  va_end(args);
  return false;
}

static bool is_name(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

/* ---- texts with values ---------------------------------------------------------------------- */

static bool is_whole(double number) {
  static const double max = 9007199254740992.0; /* integers above have gaps */
  return fabs(number) < max && number == floor(number);
}

/* "%+.2f": nothing but what a number may be written with. */
static bool is_format(const char *format) {
  const char *at = format + 1;
  at += *at == '+';
  at += strspn(at, "0123456789");
  if (*at == '.')
    at += 1 + strspn(at + 1, "0123456789");
  return at - format < 8 && *at && strchr("dfeg", *at) && !at[1];
}

static bool write_value(FILE *file, const prem_sweep_value *value, const char *format,
                        char *reason) {
  if (value->is_text) {
    fputs(value->text, file);
    return !*format || refuse(reason, "a text has no format '%s'; leave it out", format);
  }
  if (!*format) {
    if (is_whole(value->number))
      fprintf(file, "%" PRId64, (int64_t)value->number);
    else
      fprintf(file, "%.17g", value->number);
    return true;
  }
  if (!is_format(format))
    return refuse(reason, "the format '%s' is none; write %%.2f, %%.3g, %%+.0f or %%d", format);
  char own[16];
  snprintf(own, sizeof own, "%s", format);
  char *kind = own + strlen(own) - 1;
  const double number = *kind == 'd' ? trunc(value->number) : value->number;
  if (*kind == 'd')
    snprintf(kind, 4, ".0f");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  fprintf(file, own, number); /* is_format() has judged it */
#pragma GCC diagnostic pop
  return true;
}

/* From after "$(" to its ")"; NULL: there is none. Texts may hold any. */
static const char *closing(const char *at) {
  bool quoted = false;
  for (int open = 1; *at; ++at) {
    quoted ^= *at == '\'';
    if (!quoted)
      open += (*at == '(') - (*at == ')');
    if (open == 0)
      return at;
  }
  return NULL;
}

/* "%.2f" of "b + 1 %.2f", or the end. */
static char *format_of(char *expression) {
  bool quoted = false;
  for (; *expression && (quoted || *expression != '%'); ++expression)
    quoted ^= *expression == '\'';
  return expression;
}

/* Behind a "$". */
static const char *expand_one(const char *at, const prem_sweep_names *names, int depth, FILE *file,
                              char *reason) {
  const bool is_expression = *at == '(';
  const char *begin = at + is_expression, *end = begin;
  if (is_expression)
    end = closing(begin);
  else
    while (is_name(*end))
      ++end;
  if (!end || end == begin) {
    refuse(reason, "'$%.20s' is neither $name nor $(expression)", at);
    return NULL;
  }
  char *own = strndup(begin, (size_t)(end - begin));
  if (!own) {
    refuse(reason, "out of memory");
    return NULL;
  }
  char *format = format_of(own), shown[16] = "";
  snprintf(shown, sizeof shown, "%s", format);
  *format = '\0';
  prem_sweep_value value;
  const bool written =
      evaluate(own, names, depth + 1, &value, reason) && write_value(file, &value, shown, reason);
  free(own);
  return written ? end + is_expression : NULL;
}

static char *expand(const char *text, const prem_sweep_names *names, int depth, char *reason) {
  char *out = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&out, &length);
  if (!file) {
    refuse(reason, "out of memory");
    return NULL;
  }
  const char *at = text;
  while (at && *at) {
    const size_t plain = strcspn(at, "$");
    fwrite(at, 1, plain, file);
    at += plain;
    if (*at)
      at = expand_one(at + 1, names, depth, file, reason);
  }
  if (fclose(file) == 0 && at)
    return out;
  free(out);
  return NULL;
}

/* ---- operands ------------------------------------------------------------------------------- */

static void skip_spaces(parser *in) {
  in->at += strspn(in->at, " \t\n");
}

static bool take(parser *in, const char *word) {
  skip_spaces(in);
  const size_t length = strlen(word);
  if (strncmp(in->at, word, length) != 0)
    return false;
  in->at += length;
  return true;
}

static bool expect(parser *in, const char *word) {
  return take(in, word) || refuse(in->reason, "'%s' is expected %s%.20s", word,
                                  *in->at ? "before " : "at the end", in->at);
}

static void set_number(prem_sweep_value *out, double number) {
  out->is_text = out->whole = false;
  out->number = number;
}

static bool parse_text(parser *in, prem_sweep_value *out) {
  const size_t length = strcspn(in->at, "'");
  if (in->at[length] != '\'')
    return refuse(in->reason, "a text that begins with ' has no ' at its end");
  if (length >= sizeof out->text)
    return refuse(in->reason, "a text of %zu bytes; at most %d fit", length, PREM_VALUE_BYTES - 1);
  set_number(out, 0);
  out->is_text = true;
  memcpy(out->text, in->at, length);
  out->text[length] = '\0';
  in->at += length + 1;
  return true;
}

static const struct {
  const char *name;
  int arguments;
} functions[] = {{"abs", 1}, {"ceil", 1},     {"floor", 1}, {"max", 2},
                 {"min", 2}, {"round_up", 2}, {"whole", 1}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static double round_up(double number, double step) {
  if (!is_whole(step) || step < 1 || !(fabs(number) < 9e18))
    return (double)NAN;
  return (double)prem_round_up((int64_t)number, (int64_t)step);
}

static void call(const char *name, const double number[2], prem_sweep_value *out) {
  const double a = number[0], b = number[1];
  set_number(out, strcmp(name, "abs") == 0     ? fabs(a)
                  : strcmp(name, "ceil") == 0  ? ceil(a)
                  : strcmp(name, "floor") == 0 ? floor(a)
                  : strcmp(name, "max") == 0   ? fmax(a, b)
                  : strcmp(name, "min") == 0   ? fmin(a, b)
                  : strcmp(name, "whole") == 0 ? a
                                               : round_up(a, b));
  out->whole = strcmp(name, "whole") == 0 && is_whole(a);
}

static bool parse_call(parser *in, const char *name, prem_sweep_value *out) {
  int f = 0;
  while (f < FUNCTIONS && strcmp(functions[f].name, name) != 0)
    ++f;
  if (f == FUNCTIONS)
    return refuse(in->reason,
                  "unknown function '%s'; there are abs, ceil, floor, max, min, round_up and whole",
                  prem_show(name).text);
  double numbers[2] = {0, 0};
  for (int i = 0; i < functions[f].arguments; ++i) {
    if ((i > 0 && !expect(in, ",")) || !parse_choice(in, out))
      return false;
    if (out->is_text)
      return refuse(in->reason, "%s() of the text '%s'; it takes numbers", name,
                    prem_show(out->text).text);
    numbers[i] = out->number;
  }
  call(name, numbers, out);
  return expect(in, ")");
}

static bool parse_name(parser *in, prem_sweep_value *out) {
  char name[MAX_NAME];
  size_t length = 0;
  while (is_name(in->at[length]) || in->at[length] == '.')
    ++length;
  if (length == 0 || length >= sizeof name)
    return refuse(in->reason, "a number, a name or a text is expected %s%.20s",
                  *in->at ? "before " : "at the end", in->at);
  memcpy(name, in->at, length);
  name[length] = '\0';
  in->at += length;
  if (take(in, "("))
    return parse_call(in, name, out);
  set_number(out, (double)NAN);
  return in->skips > 0 || strcmp(name, "nan") == 0 ||
         in->names->find(in->names->from, name, out, in->reason);
}

static bool parse_operand(parser *in, prem_sweep_value *out) {
  skip_spaces(in);
  if (take(in, "("))
    return parse_choice(in, out) && expect(in, ")");
  if (take(in, "'"))
    return parse_text(in, out);
  const char sign = *in->at;
  if (sign == '-' || sign == '!') {
    ++in->at;
    if (++in->depth > MAX_DEPTH)
      return refuse(in->reason, "too deep; use names for its parts");
    if (!parse_operand(in, out))
      return false;
    --in->depth;
    if (out->is_text)
      return refuse(in->reason, "'%c' of a text; it takes a number", sign);
    set_number(out, sign == '-'          ? -out->number
                    : isnan(out->number) ? (double)NAN
                                         : out->number == 0);
    return true;
  }
  if (isdigit((unsigned char)sign)) {
    char *end;
    set_number(out, strtod(in->at, &end));
    in->at = end;
    return true;
  }
  return parse_name(in, out);
}

/* ---- operators ------------------------------------------------------------------------------ */

typedef enum operation {
  OR,
  AND,
  SAME,
  OTHER,
  MAX_SAME,
  MIN_SAME,
  LESS,
  MORE,
  ADD,
  SUB,
  MUL,
  DIV
} operation;

static const struct {
  const char *sign;
  int rank; /* binds the tighter, the larger it is */
} operators[] = {{"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<=", 4}, {">=", 4},
                 {"<", 4},  {">", 4},  {"+", 5},  {"-", 5},  {"*", 6},  {"/", 6}};
enum { OPERATORS = sizeof operators / sizeof *operators };

static double compute(operation op, double a, double b) {
  if (op == OR && (a == 0 || b == 0 || isnan(a) || isnan(b))) /* one that holds is enough */
    return (a != 0 && !isnan(a)) || (b != 0 && !isnan(b)) ? 1 : a + b;
  if (op == AND && (a == 0 || b == 0)) /* and one that does not is */
    return 0;
  if (isnan(a) || isnan(b))
    return (double)NAN;
  switch (op) {
  case SAME:
    return a == b;
  case OTHER:
    return a != b;
  case MAX_SAME:
    return a <= b;
  case MIN_SAME:
    return a >= b;
  case LESS:
    return a < b;
  case MORE:
    return a > b;
  case ADD:
    return a + b;
  case SUB:
    return a - b;
  case MUL:
    return a * b;
  case DIV:
    return b != 0 ? a / b : (double)NAN;
  default:
    return 1;
  }
}

static bool combine(parser *in, operation op, prem_sweep_value *a, const prem_sweep_value *b) {
  if (in->skips > 0)
    return true;
  if (!a->is_text && !b->is_text)
    set_number(a, compute(op, a->number, b->number));
  else if (a->is_text && b->is_text && (op == SAME || op == OTHER))
    set_number(a, (strcmp(a->text, b->text) == 0) == (op == SAME));
  else
    return refuse(in->reason, "'%s' of the text '%s'; it takes numbers", operators[op].sign,
                  prem_show(a->is_text ? a->text : b->text).text);
  return true;
}

static bool parse_operators(parser *in, int min_rank, prem_sweep_value *out) {
  if (!parse_operand(in, out))
    return false;
  for (;;) {
    int op = 0;
    skip_spaces(in);
    while (op < OPERATORS && strncmp(in->at, operators[op].sign, strlen(operators[op].sign)) != 0)
      ++op;
    if (op == OPERATORS || operators[op].rank < min_rank)
      return true;
    in->at += strlen(operators[op].sign);
    prem_sweep_value right;
    if (!parse_operators(in, operators[op].rank + 1, &right) ||
        !combine(in, (operation)op, out, &right))
      return false;
  }
}

static bool parse_choice(parser *in, prem_sweep_value *out) {
  if (++in->depth > MAX_DEPTH)
    return refuse(in->reason, "too deep; use names for its parts");
  if (!parse_operators(in, 0, out))
    return false;
  if (take(in, "?")) {
    const bool known = out->is_text || !isnan(out->number);
    const bool holds = !out->is_text && known && out->number != 0;
    prem_sweep_value other;
    in->skips += known && !holds;
    if (!parse_choice(in, out) || !expect(in, ":"))
      return false;
    in->skips += known ? holds ? 1 : -1 : 0;
    if (!parse_choice(in, &other))
      return false;
    in->skips -= known && holds;
    if (!holds)
      *out = other;
  }
  --in->depth;
  return true;
}

static bool evaluate(const char *text, const prem_sweep_names *names, int depth,
                     prem_sweep_value *out, char *reason) {
  if (depth > MAX_DEPTH)
    return refuse(reason, "too deep; use names for its parts");
  char *expanded = strchr(text, '$') ? expand(text, names, depth, reason) : NULL;
  if (!expanded && strchr(text, '$'))
    return false;
  parser in = {.at = expanded ? expanded : text, .names = names, .depth = depth, .reason = reason};
  *out = (prem_sweep_value){0};
  bool right = parse_choice(&in, out);
  skip_spaces(&in);
  if (right && *in.at)
    right = refuse(reason, "nothing is expected before '%.20s'", in.at);
  free(expanded);
  return right;
}

bool prem_sweep_evaluate(const char *text, const prem_sweep_names *names, prem_sweep_value *out,
                         char reason[PREM_REASON_BYTES]) {
  return evaluate(text, names, 0, out, reason);
}

char *prem_sweep_expand(const char *text, const prem_sweep_names *names,
                        char reason[PREM_REASON_BYTES]) {
  return expand(text, names, 0, reason);
}
