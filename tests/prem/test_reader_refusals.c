/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader refuses: every case with the whole message, and with its legal twin. */
#include "tests/common/schedule_text.h"

#include <errno.h>
#include <sys/stat.h>

/* A file without an error; the cases change one piece of it. */
static const char *const base =
    "version = 1;\n"
    "name = \"base\";\n"
    "platform: { blocks = 4;\n"
    "  buffers = 1;  scratch_bytes = 4096L;\n"
    "  resources = ( { name = \"memory\"; capacity = 2; }, { name = \"bus\"; capacity = 1; } );\n"
    "};\n"
    "arrays = (\n"
    "  { name = \"x\"; type = \"f32\"; shape = [ 8, 8 ]; },\n"
    "  { name = \"y\"; type = \"f32\"; shape = [ 8, 8 ]; }\n"
    ");\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 4; period_ns = 1000L;\n"
    "    prefetch: { wcet_ns = 10L; demand: { memory = 1; }; };\n"
    "    compute: { wcet_ns = 20L; }; },\n"
    "  { name = \"b\"; kernel = \"none\"; blocks = 2; tiles = 2; period_ns = 1000L;\n"
    "    writeback: { wcet_ns = 5L; };\n"
    "    after = ( { task = \"a\"; lag_ns = 0L; } ); },\n"
    "  { name = \"k\"; kernel = \"conv2d\"; blocks = \"0-2\"; tile = [ 4, 4 ]; period_ns = 1000L;\n"
    "    args: { coefficients = [ 1, 2, 3, 4, 5, 6, 7, 8, 9 ]; };\n"
    "    arrays: { in = \"x\"; out = \"y\"; }; }\n"
    ");\n"
    "policy: { use = \"auto\"; warmup_tiles = 0; };\n"
    "measure: { runs = 5; modes = [ \"free\", \"tt\" ]; };\n"
    "profiles: { here = \"absent.cfg\"; };\n"
    "plan: { hyperperiod_ns = 1000L;\n"
    "  runs = ( { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 0L;\n"
    "             repeat = 4; step_ns = 50L; } );\n"
    "  starts = ( { task = \"b\"; phase = \"writeback\"; block = 0; start_ns = [ 500L ]; } );\n"
    "};\n";

typedef struct refusal {
  const char *piece, *wrong, *right; /* `piece` of the base becomes one of the two */
  const char *message;               /* of the wrong one, without the file's name */
} refusal;

#define TIME(text) "period_ns = " text ";\n    prefetch"
#define LONG_63    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk"

static const refusal refusals[] = {
    /* syntax */
    {"version = 1;", "version == 1;", "version : 1;", "1: E002: syntax error near '='"},
    {"blocks = 4;", "blocks = 4 4;", "blocks = 4,", "3: E002: syntax error near '4'"},
    {"tiles = 4;", "tiles = 4; tiles = 4;", "tiles = 4;",
     "12: E002: duplicate key near '{ name = \"a\"; k"
     "ernel = \"none\"; blocks = [ 0 ]; tiles = 4; tiles'; take one out"},
    {"version = 1;", "", "version = 1", " E003: version: missing; write version = 1;"},
    {"name = \"base\";", "", "name = \"base\";", " E003: name: missing; give a string"},
    {"version = 1;", "version = 2;", "version = 1;",
     "1: E004: version: 2 is newer than the 1 that ttprem 0.1.0 reads"},
    {"version = 1;", "version = 0;", "version = 1L;", "1: E017: version: is 0, must be at least 1"},
    {TIME("1000L"), "perod = 1000L;\n    prefetch", TIME("1000L"),
     "12: E005: tasks.a.perod: unknown key 'perod', did you mean 'period_ns'?"},
    {"buffers = 1;", "bufers = 1;", "buffers = 2;",
     "4: E005: platform.bufers: unknown key 'bufers', did you mean 'buffers'?"},
    {"capacity = 2;", "capasity = 2;", "capacity = 3;",
     "5: E005: platform.resources.memory.capasity: unknown key 'capasity', did"
     " you mean 'capacity'?"},
    {"shape = [ 8, 8 ]; },", "shape = [ 8, 8 ]; sed = 1; },", "shape = [ 8, 8 ]; seed = 1; },",
     "8: E005: arrays.x.sed: unknown key 'sed', did you mean 'seed'?"},
    {"use = \"auto\";", "user = \"auto\";", "use = \"lists\";",
     "22: E005: policy.user: unknown key 'user', did you mean 'use'?"},
    {"runs = 5;", "run = 5;", "runs = 1;",
     "23: E005: measure.run: unknown key 'run', did you mean 'runs'?"},
    {"lag_ns = 0L;", "lag = 0L;", "lag_ns = 1L;",
     "17: E005: tasks.b.after[0].lag: unknown key 'lag', did you mean 'lag_ns'"
     "?"},
    {"demand: { m", "demands: { m", "demand: { bus = 0; m",
     "13: E005: tasks.a.prefetch.demands: unknown key 'demands', did you mean "
     "'demand'?"},
    {"repeat = 4;", "repeats = 4;", "repeat = 4L;",
     "27: E005: plan.runs[0].repeats: unknown key 'repeats', did you mean 'rep"
     "eat'?"},
    {"block = 0;", "blocks = 0;", "block = 1;",
     "28: E005: plan.starts[0].blocks: unknown key 'blocks', did you mean 'blo"
     "ck'?"},
    {"hyperperiod_ns = 1000L;", "hyperperiod_ns = 1000L; warmup = 1;", "hyperperiod_ns = 1000L;",
     "25: E005: plan.warmup: unknown key 'warmup', did you mean 'warmup_ns'?"},
    {"name = \"k\";", "name = \"a\";", "name = \"aa\";",
     "18: E006: tasks: two tasks are called 'a'; the other one is in line 12"},
    {"name = \"bus\"", "name = \"memory\"", "name = \"Memory\"",
     "5: E006: platform.resources.memory.name: two resources are called 'memor"
     "y'"},
    {"  { name = \"y\"", "  { name = \"x\"; type = \"f32\"; shape = [ 1 ]; }, { name = \"y\"",
     "  { name = \"z\"; type = \"f32\"; shape = [ 1 ]; }, { name = \"y\"",
     "9: E006: arrays.x.name: two arrays are called 'x'; the other one is in line 8"},
    {"\"free\", \"tt\"", "\"tt\", \"tt\"", "\"tt\", \"lock\"",
     "23: E006: measure.modes[1]: mode 'tt' stands here twice"},
    {TIME("1000L"), TIME("1000"), TIME("1000L"),
     "12: E007: tasks.a.period_ns: 1000 lacks the suffix of a 64-bit value; wr"
     "ite 1000L"},
    {TIME("1000L"), TIME("5000000000"), TIME("1000LL"),
     "12: E007: tasks.a.period_ns: 5000000000 lacks the suffix of a 64-bit val"
     "ue; write 5000000000L"},
    {"[ 500L ]", "[ 500 ]", "[ 500L ]",
     "28: E007: plan.starts[0].start_ns[0]: 500 lacks the suffix of a 64-bit v"
     "alue; write 500L"},
    {TIME("1000L"), TIME("1000.0"), TIME("1000L"),
     "12: E008: tasks.a.period_ns: is a float, must be an integer number of na"
     "noseconds such as 1500L, or a string such as \"1.5us\""},
    {TIME("1000L"), TIME("\"1000L\""), TIME("1000L"),
     "12: E008: tasks.a.period_ns: \"1000L\" is no time; write nanoseconds such as 1500L, or a "
     "number with one of the units ns, us, ms and s, such as \"1.5us\""},
    {TIME("1000L"), TIME("\".5us\""), TIME("\"1 us\""),
     "12: E008: tasks.a.period_ns: \".5us\" is no time; write nanoseconds such as 1500L, or a "
     "number with one of the units ns, us, ms and s, such as \"1.5us\""},
    {TIME("1000L"), TIME("\"1.us\""), TIME("\"1.0us\""),
     "12: E008: tasks.a.period_ns: \"1.us\" is no time; write nanoseconds such as 1500L, or a "
     "number with one of the units ns, us, ms and s, such as \"1.5us\""},
    {TIME("1000L"), TIME("\"0.0010001ms\""), TIME("\"0.0010000ms\""),
     "12: E009: tasks.a.period_ns: \"0.0010001ms\" is no whole number of nanoseconds; write "
     "\"1000ns\" or \"1001ns\""},
    {TIME("1000L"), TIME("\"4611686018.427387905s\""), TIME("\"0.000001s\""),
     "12: E009: tasks.a.period_ns: \"4611686018.427387905s\" is beyond the limit of 2^62 = "
     "4611686018427387904 ns"},
    {TIME("1000L"), TIME("\"99999999999999999999ns\""), TIME("\"1000ns\""),
     "12: E009: tasks.a.period_ns: \"99999999999999999999ns\" is beyond the limit of 2^62 = "
     "4611686018427387904 ns"},
    {TIME("1000L"), TIME("\"-1us\""), TIME("\"1us\""),
     "12: E014: tasks.a.period_ns: a period of -1000 ns; it must be above 0 (leave it out for a "
     "one-shot task)"},
    {TIME("1000L"), TIME("1us"), TIME("\"1us\""),
     "12: E002: syntax error near '1us'; put a time with a unit in quotes, as in \"1.5us\""},
    {TIME("1000L"), "period_us = 1;\n    prefetch", TIME("1000L"),
     "12: E005: tasks.a.period_us: unknown key 'period_us'; write period_ns = \"1us\""},
    {TIME("1000L"), "period_ms = 0.001;\n    prefetch", TIME("\"0.001ms\""),
     "12: E005: tasks.a.period_ms: unknown key 'period_ms'; write period_ns = \"0.001ms\""},
    {TIME("1000L"), "color_us = 1;\n    prefetch", TIME("1000L"),
     "12: E005: tasks.a.color_us: unknown key 'color_us'"},
    {"version = 1;", "\xef\xbb\xbfversion = 1;", "version = 1; ",
     "1: E002: syntax error near '\xef\xbb\xbf'; the file begins with a byte order mark (BOM); "
     "save it as UTF-8 without one"},
    {TIME("1000L"), TIME("true"), TIME("0x3E8L"),
     "12: E008: tasks.a.period_ns: is a boolean, must be an integer number of "
     "nanoseconds such as 1500L, or a string such as \"1.5us\""},
    {"tiles = 4;", "tiles = 4.5;", "tiles = 4L;",
     "12: E008: tasks.a.tiles: is a float, must be an integer"},
    {"arrays: { in = \"x\"; out = \"y\"; }", "arrays: { in = 1; out = \"y\"; }",
     "arrays: { in = \"x\"; out = \"y\"; }",
     "20: E008: tasks.k.arrays.in: must be the name of an array, or \"new\""},
    {"tile = [ 4, 4 ]", "tile = ( 4, 4 )", "tile = [ 4, 4 ]",
     "18: E008: tasks.k.tile: is a list ( ), must be an array [ ]"},
    {"lag_ns = 0L;", "lag_ns = 4611686018427387905L;", "lag_ns = 4611686018427387904L;",
     "17: E009: tasks.b.after[0].lag_ns: 4611686018427387905 ns is beyond the "
     "limit of 2^62 = 4611686018427387904 ns"},
    {"lag_ns = 0L;", "lag_ns = 9223372036854775808L;", "lag_ns = 0L;",
     "17: E009: tasks.b.after[0].lag_ns: 9223372036854775808L ns is beyond the"
     " limit of 2^62 = 4611686018427387904 ns"},
    {"4096L", "2147483648", "2147483647",
     "4: E009: scratch_bytes: 2147483648 without the suffix L would be cut to "
     "32 bits; write 2147483648L, or at most 2147483647"},
    {"4096L", "0x80000000", "0x7FFFFFFF",
     "4: E009: scratch_bytes: 0x80000000 without the suffix L would be cut to "
     "32 bits; write 0x80000000L, or at most 2147483647"},
    {"4096L", "9223372036854775808L", "9223372036854775807L",
     "4: E009: scratch_bytes: 9223372036854775808L does not fit 64 bits; write"
     " at most 9223372036854775807L"},
    {"tiles = 4;", "tiles = 4294967300;", "tiles = 4;",
     "12: E009: tiles: 4294967300 without the suffix L would be cut to 32 bits"
     "; write 4294967300L, or at most 2147483647"},
    {"[ 1, 2, 3, 4, 5, 6, 7, 8, 9 ]", "[ \"x\" ]", "[ 0.5 ]",
     "19: E008: tasks.k.args.coefficients[0]: must be a number, or an array of"
     " numbers"},
    {"[ 1, 2, 3, 4, 5, 6, 7, 8, 9 ]", "[ 1e999 ]", "[ 1e308 ]",
     "19: E009: tasks.k.args.coefficients[0]: is beyond what a number of 64 bi"
     "ts holds"},
    {"start_ns = 0L;\n", "\n", "start_ns = 0L;\n",
     "26: E003: plan.runs[0].start_ns: missing; give the first start, such as 0L"},
    {"start_ns = 0L;\n", "start_ns = 0;\n", "start_ns = 1L;\n",
     "26: E007: plan.runs[0].start_ns: 0 lacks the suffix of a 64-bit value; write 0L"},
    {"start_ns = 0L;\n", "start_ns = 0.5;\n", "start_ns = 0L;\n",
     "26: E008: plan.runs[0].start_ns: is a float, must be an integer number of nanoseconds such "
     "as 1500L, or a string such as \"1.5us\""},
    {"blocks = [ 0 ]", "blocks = [ 0, 1L ]", "blocks = [ 0L, 1L ]",
     "12: E010: an array of mixed types near '{ name = \"a\"; kernel = \"none\""
     "; blocks = [ 0, 1L ]; tiles = 4; p'; all its values must be of one type "
     "(integers all with the suffix L, or all without)"},
    {"name = \"k\";", "name = \"\";", "name = \"c\";",
     "18: E012: tasks[2].name: is empty; a name has 1 to 63 bytes"},
    {"name = \"k\";", "name = \"" LONG_63 "l\";", "name = \"" LONG_63 "\";",
     "18: E012: tasks[2].name: 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrst"
     "uvwxyzabcdefgh...' has 64 bytes, the limit is 63"},
    {"name = \"k\";", "name = \"b\\n\";", "name = \"b k\";",
     "18: E012: tasks[2].name: 'b?' has the control character U+000A, which no name may"},
    {"name = \"k\";", "name = \"\\xff\";", "name = \"\xc3\xbf\";",
     "18: E012: tasks.\\xff.name: '\\xff' is not UTF-8: byte 0xff at offset 0; save the file as "
     "UTF-8"},
    {"name = \"k\";", "name = \"a\xe2\x80\xae\";", "name = \"a\xe2\x80\xa6\";",
     "18: E012: tasks.a\\u202e.name: 'a\\u202e' has the control character U+202E, which no name "
     "may"},
    {"name = \"k\";", "name = \"a\xc2\x9b\";", "name = \"a\xc2\xa1\";",
     "18: E012: tasks.a\\u009b.name: 'a\\u009b' has the control character U+009B, which no name "
     "may"},
    {"name = \"k\";", "name = \"" LONG_63 "\"; copies = 2;", "name = \"" LONG_63 "\"; copies = 1;",
     "18: E012: tasks.abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcd"
     "efghijk.name: 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcde"
     "fghijk' is too long for a task with copies; 57 bytes are the limit"},
    {"tiles = 4;", "tiles = 33554432;", "tiles = 33554431;",
     "12: E013: tasks: 67108866 phases in one hyperperiod, the limit is 671088"
     "64; to plan them would take some 9.4 GiB of memory. Most are of task 'a' (1"
     " jobs of 33554432 tiles): use larger tiles, or periods with a smaller le"
     "ast common multiple"},
    /* values */
    {TIME("1000L"), TIME("0L"), TIME("1000L"),
     "12: E014: tasks.a.period_ns: a period of 0 ns; it must be above 0 (leave"
     " it out for a one-shot task)"},
    {TIME("1000L"), TIME("-1000L"), TIME("1000L"),
     "12: E014: tasks.a.period_ns: a period of -1000 ns; it must be above 0 (l"
     "eave it out for a one-shot task)"},
    {"lag_ns = 0L;", "lag_ns = -1L;", "lag_ns = 0L;",
     "17: E015: tasks.b.after[0].lag_ns: is -1 ns, must be 0 or more"},
    {TIME("1000L"), "deadline_ns = 0L; " TIME("1000L"), "deadline_ns = 1L; " TIME("1000L"),
     "12: E015: tasks.a.deadline_ns: is 0 ns, must be above 0"},
    {TIME("1000L"), "release_ns = -1L; " TIME("1000L"), "release_ns = 0L; " TIME("1000L"),
     "12: E015: tasks.a.release_ns: is -1 ns, must be 0 or more"},
    {"buffers = 1;", "buffers = 1; clock_step_ns = 0L;", "buffers = 1; clock_step_ns = 1L;",
     "4: E015: platform.clock_step_ns: is 0 ns, must be above 0"},
    {"buffers = 1;", "buffers = 1; guard_ns = -1L;", "buffers = 1; guard_ns = 0L;",
     "4: E015: platform.guard_ns: is -1 ns, must be 0 or more"},
    {"buffers = 1;", "buffers = 1; precedence_ns = -1L;", "buffers = 1; precedence_ns = 0L;",
     "4: E015: platform.precedence_ns: is -1 ns, must be 0 or more"},
    {"start_ns = 0L;", "start_ns = -1L;", "start_ns = 0L;",
     "26: E015: plan.runs[0].start_ns: is -1 ns, must be 0 or more"},
    {"[ 500L ]", "[ -2L ]", "[ -1L ]",
     "28: E015: plan.starts[0].start_ns[0]: is -2 ns, must be 0 or more, or -1"
     "L where the start is elsewhere"},
    {"wcet_ns = 20L;", "wcet_ns = 0L;", "wcet_ns = 1L;",
     "14: E016: tasks.a.compute.wcet_ns: is 0 ns, must be above 0 (leave out a"
     " phase that does not exist)"},
    {"wcet_ns = 20L;", "wcet_ns = -20L;", "",
     "14: E016: tasks.a.compute.wcet_ns: is -20 ns, must be above 0 (leave out"
     " a phase that does not exist)"},
    {"tiles = 4;", "tiles = 0;", "tiles = 1;", "12: E017: tasks.a.tiles: is 0, must be at least 1"},
    {"blocks = 2;", "blocks = 0;", "blocks = 1;",
     "15: E017: tasks.b.blocks: is 0, must be at least 1"},
    {"blocks = [ 0 ]", "blocks = [ ]", "blocks = [ 1 ]",
     "12: E017: tasks.a.blocks: is empty; a task needs a block"},
    {"blocks = 4;", "sms = 0; blocks_per_sm = 2;", "sms = 2; blocks_per_sm = 2;",
     "3: E017: platform.sms: is 0, must be at least 1"},
    {"buffers = 1;", "buffers = 1; block_threads = 0;", "buffers = 1; block_threads = 1;",
     "4: E017: platform.block_threads: is 0, must be at least 1"},
    {"capacity = 2;", "capacity = 0;", "capacity = 1;",
     "5: E017: platform.resources.memory.capacity: is 0, must be at least 1"},
    {"memory = 1;", "memory = -1;", "memory = 0;",
     "13: E017: tasks.a.prefetch.demand.memory: is -1, must be at least 0"},
    {"tile = [ 4, 4 ]", "tile = [ 4, 0 ]", "tile = [ 4, 1 ]",
     "18: E017: tasks.k.tile[1]: is 0, must be at least 1"},
    {"shape = [ 8, 8 ]; },", "shape = [ 8, 0 ]; },", "shape = [ 8, 1 ]; },",
     "8: E017: arrays.x.shape[1]: is 0, must be at least 1"},
    {"repeat = 4;", "repeat = 0;", "repeat = 1;",
     "27: E017: plan.runs[0].repeat: is 0, must be at least 1"},
    {"runs = 5;", "runs = 0;", "runs = 1;", "23: E017: measure.runs: is 0, must be at least 1"},
    {"[ 1, 2, 3, 4, 5, 6, 7, 8, 9 ]", "[ ]", "[ 9, 8, 7, 6, 5, 4, 3, 2, 1 ]",
     "19: E017: tasks.k.args.coefficients: is empty; give one number at least"},
    {"buffers = 1;", "buffers = 17;", "buffers = 16;",
     "4: E020: platform.buffers: is 17, the limit is 16"},
    {"shape = [ 8, 8 ]; },", "shape = [ 1, 1, 1, 8, 8 ]; },", "shape = [ 8, 8 ]; },",
     "8: E020: arrays.x.shape: has 5 dimensions, must have 1 to 4"},
    {"blocks = 4;", "blocks = 65536;", "blocks = 65535;",
     "3: E020: platform.blocks: is 65536, the limit is 65535"},
    {"shape = [ 8, 8 ]; }\n", "shape = [ 1048577, 1048576 ]; }\n",
     "shape = [ 1048576, 1048576 ]; }\n",
     "9: E020: arrays.y.shape: has more elements than the limit of 2^40"},
    {"name = \"k\";", "name = \"k\"; copies = 65534;", "name = \"k\"; copies = 1;",
     "18: E020: tasks.k: more than 65535 tasks in all"},
    {"plan: {", "plan: { kernels = \"0123456789abcdef0\";",
     "plan: { kernels = \"0123456789abcdef\";",
     "25: E020: plan.kernels: '0123456789abcdef0' has 17 bytes, the limit is 16"},
    {"plan: {", "plan: { machine = \"" LONG_63 LONG_63 "12\";",
     "plan: { machine = \"" LONG_63 LONG_63 "1\";",
     "25: E020: plan.machine: 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefgh...' "
     "has "
     "128 bytes, the limit is 127"},
    {"wcet_ns = 10L;", "wcet_ns = 10L; busy_ns = 11L;", "wcet_ns = 10L; busy_ns = 10L;",
     "13: E023: tasks.a.prefetch.busy_ns: 11 ns is above the phase's wcet_ns o"
     "f 10 ns"},
    /* references */
    {"task = \"a\"; lag", "task = \"aa\"; lag", "task = \"k\"; lag",
     "17: E024: tasks.b.after[0].task: there is no task 'aa', did you mean 'a'"
     "?"},
    {"in = \"x\"", "in = \"xx\"", "in = \"x\"",
     "20: E024: tasks.k.arrays.in: there is no array 'xx' in `arrays`, did you"
     " mean 'x'?"},
    {"memory = 1;", "memori = 1;", "bus = 1;",
     "13: E024: tasks.a.prefetch.demand.memori: there is no resource 'memori' "
     "in the platform, did you mean 'memory'?"},
    {"\"free\", \"tt\"", "\"fre\", \"tt\"", "\"lock\", \"tt\"",
     "23: E024: measure.modes[0]: unknown mode 'fre', did you mean 'free'?"},
    {"modes = [", "load = \"graf\"; modes = [", "load = \"graph\"; modes = [",
     "23: E024: measure.load: unknown word 'graf'; it is one of 'tiles', 'graph'"},
    {"type = \"f32\"", "type = \"f64\"", "type = \"f32\"",
     "8: E024: arrays.x.type: unknown word 'f64'; it is one of 'f32', 'c64', 'u8', 'u16', 'i32', "
     "'f16', 'bf16'"},
    {"tiles = 4;", "tiles = 4; profile = \"her\";", "tiles = 4; profile = \"here\";",
     "12: E024: tasks.a.profile: there is no profile 'her' in `profiles`, did "
     "you mean 'here'?"},
    {"task = \"a\"; phase", "task = \"A\"; phase", "task = \"a\"; phase",
     "26: E024: plan.runs[0].task: there is no task 'A' in `tasks`, did you me"
     "an 'a'?"},
    {"phase = \"prefetch\"", "phase = \"fetch\"", "phase = \"prefetch\"",
     "26: E024: plan.runs[0].phase: unknown word 'fetch'; it is one of 'prefet"
     "ch', 'compute', 'writeback'"},
    {"chain = [ \"compute\" ]", "chain = [ \"prefetch\" ]", "chain = [ ]",
     "26: E024: plan.runs[0].chain: 'prefetch' cannot be chained; \"compute\" "
     "and \"writeback\" can"},
    {"chain = [ \"compute\" ]", "chain = [ \"writeback\", \"compute\" ]",
     "chain = [ \"compute\", \"writeback\" ]",
     "26: E024: plan.runs[0].chain: the compute cannot follow the writeback"},
    {"phase = \"prefetch\"; chain = [ \"compute\" ];", "phase = \"compute\"; join: { tile = 0; };",
     "phase = \"prefetch\"; join: { tile = 0; };",
     "26: E024: plan.runs[0].join: only a run of prefetches can be joined with"
     " the writebacks of earlier tiles"},
    {"shape = [ 8, 8 ]; },", "shape = [ 8, 8 ]; file = \"absent.pgm\"; },",
     "shape = [ 8, 8 ]; save = \"absent.pgm\"; },",
     "8: E024: arrays.x.file: cannot read 'absent.pgm': No such file or direct"
     "ory (relative paths count from the schedule's folder)"},
    {"shape = [ 8, 8 ]; },", "shape = [ 8, 8 ]; save = \"y.jpeg\"; },",
     "shape = [ 8, 8 ]; save = \"y.PNG\"; },",
     "8: E024: arrays.x.save: 'y.jpeg' is no file that can be used; its name e"
     "nds in .pgm, .png, .f32, .c64, .u8, .u16, .i32, .f16, .bf16 or .raw"},
    {"shape = [ 8, 8 ]; },", "shape = [ 1, 8, 8 ]; save = \"y.png\"; },",
     "shape = [ 8, 8 ]; save = \"y.raw\"; },",
     "8: E031: arrays.x.save: a picture holds f32, u8 or u16 of rank 2; array 'x' is f32 "
     "of rank 3"},
    {"x\"; type = \"f32\"; shape = [ 8, 8 ]; },",
     "x\"; type = \"f16\"; shape = [ 8, 8 ]; save = \"y.pgm\"; },",
     "x\"; type = \"f32\"; shape = [ 8, 8 ]; save = \"y.pgm\"; },",
     "8: E031: arrays.x.save: a picture holds f32, u8 or u16 of rank 2; array 'x' is f16 of rank "
     "2"},
    {"x\"; type = \"f32\"; ", "x\"; ", "x\"; type = \"f32\"; ",
     "8: E003: arrays.x.type: missing; give \"f32\", \"u8\" or another one"},
    {"repeat = 4;", "repeat = 4; count = 2;", "repeat = 4; count = 1;",
     "26: E025: plan.runs[0].first_block: blocks 0 to 1 of task 'a', which has"
     " the blocks 0 to 0"},
    {"block = 0;", "block = 2;", "block = 1;",
     "28: E025: plan.starts[0].block: is 2; task 'b' has the blocks 0 to 1"},
    {"tiles = 4;", "tiles = 4; after = ( { task = \"b\"; } );",
     "tiles = 4; after = ( { task = \"k\"; } );",
     "17: E026: tasks.b.after: a cycle of precedence: 'b' -> 'a' -> 'b'; none "
     "of them could ever start"},
    {"period_ns = 1000L;\n    writeback", "period_ns = 2000L;\n    writeback",
     "period_ns = 1000L;\n    writeback",
     "17: E026: tasks.b.after[0]: task 'b' has a period of 2000 ns and its predecessor "
     "'a' has one of 1000 ns: their jobs do not pair; add instance = \"latest\""},
    {"blocks = [ 0 ]", "blocks = [ 4 ]", "blocks = [ 3 ]",
     "12: E027: tasks.a.blocks: block 4 does not exist; the platform has block"
     "s 0 to 3"},
    {"blocks = [ 0 ]", "blocks = [ 1, 1 ]", "blocks = [ 1, 0 ]",
     "12: E027: tasks.a.blocks: block 1 stands here twice"},
    {"blocks = 2;", "blocks = 4;", "blocks = 3;",
     "15: E027: tasks.b.blocks: task 'b' asks for 4 blocks that no task furthe"
     "r up uses, of the platform's 4 there are 3; name blocks to share, such a"
     "s \"0-3\""},
    {"\"0-2\"", "\"0-4\"", "\" 0-1 , 3 \"",
     "18: E027: tasks.k.blocks: block 4 does not exist; the platform has block"
     "s 0 to 3"},
    {"\"0-2\"", "\"2-0\"", "\"2-2\"",
     "18: E008: tasks.k.blocks: \"2-0\" names no blocks; write ranges such as "
     "\"0-3,8\""},
    {"\"0-2\"", "\"0-\"", "\"0\"",
     "18: E008: tasks.k.blocks: \"0-\" names no blocks; write ranges such as \""
     "0-3,8\""},
    {"tiles = 4;", "tiles = 4; tile = [ 1 ];", "tiles = 4;",
     "12: E031: tasks.a.kernel: \"none\" has no arrays, args or tile; name a k"
     "ernel of `ttprem list`"},
    {TIME("1000L"), "release_ns = 1000L; " TIME("1000L"), "release_ns = 999L; " TIME("1000L"),
     "12: E032: tasks.a.release_ns: 1000 ns is not below the period of 1000 ns"},
};

static const char *replaced(const char *piece, const char *by) {
  const char *at = strstr(base, piece);
  ck_assert_msg(at, "'%s' is not in the base", piece);
  return text("%.*s%s%s", (int)(at - base), base, by, at + strlen(piece));
}

/* Errors of a text, one a line, without the file's name. */
static const char *errors_of(const char *source) {
  char path[] = "/tmp/ttprem-test-XXXXXX.cfg";
  static char all[16384];
  int file = mkstemps(path, 4);
  ck_assert_int_ge(file, 0);
  ck_assert_int_eq(write(file, source, strlen(source)), (ssize_t)strlen(source));
  close(file);
  prem_schedule *schedule = NULL;
  prem_diag *diag = prem_diag_new();
  prem_status status = prem_schedule_load(path, NULL, &schedule, diag);
  unlink(path);
  ck_assert_int_eq(status == PREM_OK, prem_diag_errors(diag) == 0);
  ck_assert_int_eq(status == PREM_OK, schedule != NULL);
  all[0] = '\0';
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[2048];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    ck_assert_int_eq(strncmp(line, path, strlen(path)), 0);
    strcat(all, line + strlen(path) + 1);
    strcat(all, i + 1 < prem_diag_count(diag) ? "\n" : "");
  }
  prem_diag_free(diag);
  prem_schedule_free(schedule);
  return all;
}

/* Whole files: the wrong one, its twin, and the errors of the wrong one. */
typedef struct file_pair {
  const char *wrong, *right, *message;
} file_pair;

#define HEAD "version = 1; name = \"n\"; platform: { blocks = 2; };\n"
#define A    "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; "
#define B    "{ name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; "
#define C    "compute: { wcet_ns = 1L; }; "

/* A name of 58 bytes has no room for the number of a copy: there is no such task. */
#define LONG_NAME "a23456789b23456789c23456789d23456789e23456789f2345678xxxxx"
#define LONG      "tasks = ( { name = \"" LONG_NAME "\"; kernel = \"none\"; blocks = 1; tiles = 1; " C
#define FOLLOWS_LONG                                                                               \
  "{ name = \"z\"; kernel = \"none\"; blocks = 1; tiles = 1; " C                                   \
  " after = ( { task = \"" LONG_NAME "\"; } ); } );"
static const file_pair file_pairs[] = {
    {HEAD "tasks = ( );", HEAD "tasks = ( " A C "} );",
     "2: E001: tasks: no tasks; give one at least"},
    {HEAD, HEAD "tasks = ( " A C "} )", " E001: tasks: missing; give the list of what has to run"},
    {HEAD "tasks = [ 1 ];", HEAD "tasks = ( " A C "} ),",
     "2: E008: tasks: is an array [ ], must be a list ( )"},
    {HEAD "tasks = ( 1 );", HEAD "tasks = ( " A C "} );",
     "2: E008: tasks[0]: is an integer, must be a group { }"},
    {"version = 1; name = \"n\";\ntasks = ( " A C "} );", HEAD "tasks = ( " A C "} );",
     " E003: platform: missing; give a group { }"},
    {"version = 1; name = \"n\"; platform: { sms = 2; };\ntasks = ( " A C "} );",
     "version = 1; name = \"n\"; platform: { sms = 2; blocks_per_sm = 1; };\ntasks = ( " A C "} );",
     "1: E003: platform.blocks_per_sm: missing; give blocks = N, or sms = N and blocks_per_sm = M"},
    {"version = 1; name = \"n\"; platform: { sms = 256; blocks_per_sm = 256; };\n"
     "tasks = ( " A C "} );",
     "version = 1; name = \"n\"; platform: { sms = 255; blocks_per_sm = 257; };\n"
     "tasks = ( " A C "} );",
     "1: E020: platform.blocks_per_sm: 256 SMs of 256 blocks make 65536 blocks, the limit is "
     "65535"},
    {HEAD "tasks = ( { name = \"a\"; kernel = \"none\"; tiles = 1; " C "} );",
     HEAD "tasks = ( " A C "} );",
     "2: E003: tasks.a.blocks: missing; give a number, [ 0, 1 ] or \"0-1\""},
    {HEAD "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; " C "} );",
     HEAD "tasks = ( " A C "} );",
     "2: E003: tasks.a.tiles: missing; a task without a kernel needs it"},
    {HEAD "tasks = ( " A "} );", HEAD "tasks = ( " A C "} );",
     "2: E029: tasks.a: has no phase; give prefetch, compute or writeback with its wcet_ns"},
    {HEAD "tasks = ( " A C "}, 5, " B C "} );", HEAD "tasks = ( " A C "}, " B C "} );",
     "2: E008: tasks[1]: is an integer, must be a group { }"},
    {HEAD "tasks = ( " A "release_ns = 4611686018427387904L; " C "} );",
     HEAD "tasks = ( " A "release_ns = 4611686018427387903L; " C "} );",
     "2: E018: tasks.a: the release and the WCETs of one tile add up to more than 2^62 ns"},
    {HEAD "tasks = ( " A "prefetch: { wcet_ns = 4611686018427387904L; }; compute: { wcet_ns = "
          "4611686018427387904L; }; } );",
     HEAD "tasks = ( " A "prefetch: { wcet_ns = 4611686018427387903L; }; compute: { wcet_ns = "
          "1L; }; } );",
     "2: E018: tasks.a: the release and the WCETs of one tile add up to more than 2^62 ns"},
    {HEAD "tasks = ( " A "period_ns = 4611686018427387904L; " C "},\n " B "period_ns = 3L; " C
          "} );",
     HEAD "tasks = ( " A "period_ns = 4611686018427387904L; " C "},\n " B
          "period_ns = 2305843009213693952L; " C "} );",
     "3: E019: tasks: the least common multiple of the periods is above 2^62 ns: that of the tasks "
     "up to 'a' is 4611686018427387904 ns, 'b' has 3 ns; choose periods that divide each other"},
    {HEAD "tasks = ( " A C "after = ( { task = \"a\"; } ); } );",
     HEAD "tasks = ( " A C "}, " B C "after = ( { task = \"a\"; } ); } );",
     "2: E026: tasks.a.after: a cycle of precedence: 'a' -> 'a'; none of them could ever start"},
    {HEAD "tasks = ( " A C "copies = 2; after = ( { task = \"a\"; } ); } );",
     HEAD "tasks = ( " A C "copies = 2; }, " B C "after = ( { task = \"a.1\"; } ); } );",
     "2: E026: tasks.a.0.after: a cycle of precedence: 'a.0' -> 'a.0'; none of them could ever "
     "start\n"
     "2: E026: tasks.a.1.after: a cycle of precedence: 'a.1' -> 'a.0' -> 'a.1'; none of them could "
     "ever start\n"
     "2: E026: tasks.a.1.after: a cycle of precedence: 'a.1' -> 'a.1'; none of them could ever "
     "start"},
    {HEAD "tasks = ( " A C "copies = 2; }, " B C "after = ( { task = \"a\"; } ); } );\n"
          "measure: { chains = ( { name = \"c\"; tasks = [ \"a\", \"b\" ]; } ); };",
     HEAD "tasks = ( " A C "copies = 2; }, " B C "after = ( { task = \"a\"; } ); } );\n"
          "measure: { chains = ( { name = \"c\"; tasks = [ \"a.1\", \"b\" ]; } ); };",
     "3: E024: measure.chains.c.tasks[0]: 'a' stands for 2 tasks; name one of them, as 'a.0'"},
    {HEAD "tasks = ( " A C "copies = 2; }, { name = \"a.1\"; kernel = \"none\"; blocks = 1; "
          "tiles = 1; " C "} );",
     HEAD "tasks = ( " A C "copies = 2; }, { name = \"a.2\"; kernel = \"none\"; blocks = 1; "
          "tiles = 1; " C "} );",
     "2: E006: tasks: two tasks are called 'a.1'; the other one is in line 2"},
    {HEAD LONG "copies = 2; }, " FOLLOWS_LONG, HEAD LONG "copies = 1; }, " FOLLOWS_LONG,
     "2: E012: tasks." LONG_NAME ".name: '" LONG_NAME
     "' is too long for a task with copies; 57 bytes "
     "are the limit\n2: E024: tasks.z.after[0].task: there is no task '" LONG_NAME
     "', did you mean 'a23456789b23456789c23456789d23456789e23456789f2345'?"},
    {HEAD "tasks = ( " A C "copies = 3; blocks = 1; } );", HEAD "tasks = ( " A C "copies = 2; } );",
     "2: E002: duplicate key near 'tasks = ( { name = \"a\"; kernel = "
     "\"none\"; blocks = [ 0 ]; tiles '; take one out"},
    {HEAD "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; copies = 3; tiles = 1; " C
          "} );",
     HEAD "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; copies = 2; tiles = 1; " C
          "} );",
     "2: E027: tasks.a.blocks: task 'a.2' asks for 1 blocks that no task further up uses, of the "
     "platform's 2 there are 0; name blocks to share, such as \"0-1\""},
    {HEAD "tasks = ( " A C "} ) /* open", HEAD "tasks = ( " A C "} ) /* shut */",
     "2: E002: a comment or string that never ends: '/* open'"},
    {HEAD "tasks = ( " A C "} ); \"", HEAD "tasks = ( " A C "} ); // \"",
     "2: E002: a comment or string that never ends: '\"'"},
    {HEAD "tasks = (\n  { name = \"a;\n  kernel = \"none\";\n  blocks = 1; tiles = 1; " C "} );\n",
     HEAD "tasks = (\n  { name = \"a\";\n  kernel = \"none\";\n  blocks = 1; tiles = 1; " C
          "} );\n",
     "3: E002: a comment or string that never ends: '\"a;   kernel = '"},
    {HEAD "tasks = ( " A C "};", HEAD "tasks = ( " A C "} );", "2: E002: syntax error near ';'"},
    {HEAD "tasks = ( " A C "}", HEAD "tasks = ( " A C "} )",
     "2: E002: syntax error near 'end of file'"},
    {HEAD "tasks = ( " A C "}, );", HEAD "tasks = ( " A C "} );",
     "2: E002: syntax error near ')'; take out the comma before it: none follows the last element"},
    {HEAD "tasks = ( " A C "} );\n$", HEAD "tasks = ( " A C "} );\n",
     "3: E002: syntax error near '$'"},
    {HEAD "tasks = ( " A C "} );\n@import \"x\"", HEAD "tasks = ( " A C "} );\n# @import \"x\"",
     "3: E002: syntax error near '@'"},
    {HEAD "tasks = ( " A C "} );\n@include \"absent.cfg\"\n",
     HEAD "tasks = ( " A C "} );\n#@include \"absent.cfg\"\n",
     "3: E024: @include: \"absent.cfg\": there is no such file (includes count from the schedule's "
     "folder)"},
    {HEAD "arrays = ( { name = \"a.out\"; type = \"f32\"; shape = [ 4, 4 ]; } );\n"
          "tasks = ( { name = \"a\"; kernel = \"conv2d\"; blocks = 1; tile = [ 4, 4 ]; "
          "arrays: { in = \"a.out\"; out = \"new\"; }; } );",
     HEAD "arrays = ( { name = \"a.in\"; type = \"f32\"; shape = [ 4, 4 ]; } );\n"
          "tasks = ( { name = \"a\"; kernel = \"conv2d\"; blocks = 1; tile = [ 4, 4 ]; "
          "arrays: { in = \"a.in\"; out = \"new\"; }; } );",
     "3: E006: tasks.a.arrays.out: the output and another array are both called 'a.out'"},
    {HEAD "tasks = ( { name = \"" LONG_63 "\"; kernel = \"conv2d\"; blocks = 1; tile = [ 4, 4 ];\n"
          "arrays: { out = \"new\"; }; } );",
     HEAD "tasks = ( { name = \"a\"; kernel = \"conv2d\"; blocks = 1; tile = [ 4, 4 ];\n"
          "arrays: { out = \"new\"; }; } );",
     "3: E012: tasks." LONG_63 ".arrays.out: the output would be called '" LONG_63
     ".out': 67 bytes, the limit is 63"},
};

START_TEST(file_is_refused) {
  const char *found = errors_of(file_pairs[_i].wrong);
  ck_assert_str_eq(found, file_pairs[_i].message);
}
END_TEST

START_TEST(twin_of_file_is_legal) {
  ck_assert_str_eq(errors_of(file_pairs[_i].right), "");
}
END_TEST

START_TEST(all_problems_in_one_go) {
  const char *source =
      "version = 2;\n"
      "platform: { blocks = 2; guard_ns = 5; color = \"red\"; };\n"
      "tasks = (\n"
      "  { name = \"a\"; kernel = \"none\"; blocks = [ 9 ]; tiles = 0;\n"
      "    prefetch: { wcet_ns = 0L; }; period_ns = 0L; },\n"
      "  { name = \"a\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;\n"
      "    compute: { wcet_ns = 1.5; }; after = ( { task = \"z\"; } ); }\n"
      ");\n"
      "plan: { runs = ( { task = \"q\"; phase = \"compute\"; start_ns = 0; } ); };\n";
  ck_assert_str_eq(
      errors_of(source),
      "1: E004: version: 2 is newer than the 1 that ttprem 0.1.0 reads\n"
      " E003: name: missing; give a string\n"
      "2: E005: platform.color: unknown key 'color'\n"
      "2: E007: platform.guard_ns: 5 lacks the suffix of a 64-bit value; write 5L\n"
      "4: E027: tasks.a.blocks: block 9 does not exist; the platform has blocks 0 to 1\n"
      "4: E017: tasks.a.tiles: is 0, must be at least 1\n"
      "5: E016: tasks.a.prefetch.wcet_ns: is 0 ns, must be above 0 (leave out a phase that does "
      "not "
      "exist)\n"
      "5: E014: tasks.a.period_ns: a period of 0 ns; it must be above 0 (leave it out for a "
      "one-shot "
      "task)\n"
      "7: E008: tasks.a.compute.wcet_ns: is a float, must be an integer number of nanoseconds such "
      "as 1500L, or a string such as \"1.5us\"\n"
      "6: E006: tasks: two tasks are called 'a'; the other one is in line 4\n"
      "7: E024: tasks.a.after[0].task: there is no task 'z'\n"
      "9: E003: plan.hyperperiod_ns: missing; give the least common multiple of the periods, or "
      "the "
      "plan's length\n"
      "9: E024: plan.runs[0].task: there is no task 'q' in `tasks`");
}
END_TEST

START_TEST(zero_byte_is_refused) {
  char path[] = "/tmp/ttprem-test-XXXXXX.cfg";
  int file = mkstemps(path, 4);
  ck_assert_int_eq(write(file, "version = 1;\n\0", 14), 14);
  close(file);
  prem_schedule *schedule = NULL;
  prem_diag *diag = prem_diag_new();
  ck_assert_int_eq(prem_schedule_load_lenient(path, NULL, &schedule, diag), PREM_ERR_PARSE);
  unlink(path);
  ck_assert_ptr_null(schedule);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason, "a zero byte; a schedule file is text");
  ck_assert_int_eq(prem_diag_at(diag, 0)->line, 2);
  prem_diag_free(diag);
}
END_TEST

START_TEST(unreadable_files) {
  static const char *const paths[] = {"/tmp/ttprem-absent.cfg", "/tmp"};
  static const char *const reasons[] = {"cannot be read: No such file or directory",
                                        "cannot be read: it is a directory"};
  for (int i = 0; i < 2; ++i) {
    prem_schedule *schedule = NULL;
    prem_diag *diag = prem_diag_new();
    ck_assert_int_eq(prem_schedule_load(paths[i], NULL, &schedule, diag), PREM_ERR_IO);
    ck_assert_ptr_null(schedule);
    ck_assert_str_eq(prem_diag_at(diag, 0)->reason, reasons[i]);
    ck_assert_str_eq(prem_diag_at(diag, 0)->file, paths[i]);
    prem_diag_free(diag);
  }
}
END_TEST

/* ---- several files ----- */

static char folder[] = "/tmp/ttprem-test-XXXXXX";

static void make_folder(void) {
  ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", folder);
  ck_assert_int_eq(system(command), 0);
}

static const char *put(const char *name, const char *content) {
  const char *path = text("%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fputs(content, file);
  fclose(file);
  return path;
}

/* Errors of a file in the folder, whose name is left out of them. */
static const char *errors_in_folder(const char *path) {
  static char all[16384];
  prem_schedule *schedule = NULL;
  prem_diag *diag = prem_diag_new();
  prem_status status = prem_schedule_load(path, NULL, &schedule, diag);
  ck_assert_int_eq(status == PREM_OK, prem_diag_errors(diag) == 0);
  all[0] = '\0';
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[2048];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    const size_t skipped = strlen(folder) + 1;
    strcat(all, strncmp(line, folder, strlen(folder)) == 0 ? line + skipped : line);
    strcat(all, i + 1 < prem_diag_count(diag) ? "\n" : "");
  }
  prem_diag_free(diag);
  prem_schedule_free(schedule);
  return all;
}

/* Before libconfig makes a tree of them that takes some twenty times as much memory. */
START_TEST(too_many_tasks_are_refused_by_the_scanner) {
  enum { TASKS = PREM_MAX_TASKS + 1 };
  char path[] = "/tmp/ttprem-test-XXXXXX.cfg";
  int descriptor = mkstemps(path, 4);
  ck_assert_int_ge(descriptor, 0);
  FILE *file = fdopen(descriptor, "w");
  fputs("version = 1; name = \"t\";\ntasks = (", file);
  for (int i = 0; i < TASKS; ++i)
    fprintf(file, "%s{ prefetch: { wcet_ns = 1L; }; }", i ? "," : "");
  fputs(");\n", file);
  fclose(file);
  prem_diag *diag = prem_diag_new();
  prem_schedule *schedule = NULL;
  ck_assert_int_eq(prem_schedule_load(path, NULL, &schedule, diag), PREM_ERR_PARSE);
  unlink(path);
  ck_assert_uint_eq(prem_diag_count(diag), 1); /* the reader would miss names and a platform */
  ck_assert_int_eq(prem_diag_at(diag, 0)->code, 20);
  ck_assert_int_eq(prem_diag_at(diag, 0)->line, 2);
  prem_diag_free(diag);
}
END_TEST

START_TEST(too_many_arrays_are_refused) {
  char path[] = "/tmp/ttprem-test-XXXXXX.cfg";
  const int descriptor = mkstemps(path, 4);
  ck_assert_int_ge(descriptor, 0);
  FILE *file = fdopen(descriptor, "w");
  fputs("version = 1; name = \"t\"; platform: { blocks = 1; };\n"
        "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;"
        " compute: { wcet_ns = 1L; }; } );\narrays = ( ",
        file);
  for (int i = 0; i <= PREM_MAX_TASKS; ++i)
    fprintf(file, "%s{ }", i ? "," : "");
  fputs(" );\n", file);
  fclose(file);
  prem_diag *diag = prem_diag_new();
  prem_schedule *schedule = NULL;
  ck_assert_int_eq(prem_schedule_load(path, NULL, &schedule, diag), PREM_ERR_PARSE);
  unlink(path);
  ck_assert_uint_eq(prem_diag_count(diag), 1); /* nothing is said of each of them */
  ck_assert_int_eq(prem_diag_at(diag, 0)->code, 20);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason, "65536 arrays, the limit is 65535");
  prem_diag_free(diag);
}
END_TEST

START_TEST(as_many_chains_as_the_limit) {
  for (int count = PREM_MAX_CHAINS; count <= PREM_MAX_CHAINS + 1; ++count) {
    char *source = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&source, &bytes);
    fputs(HEAD "tasks = ( " A C "}, " B C " after = ( { task = \"a\"; } ); } );\n"
               "measure: { chains = (",
          file);
    for (int i = 0; i < count; ++i)
      fprintf(file, "%s{ name = \"c%d\"; tasks = [ \"a\", \"b\" ]; }", i ? "," : "", i);
    fputs("); };\n", file);
    fclose(file);
    ck_assert_str_eq(errors_of(source), count <= PREM_MAX_CHAINS
                                            ? ""
                                            : "3: E020: measure.chains: 257 chains, the limit "
                                              "is 256");
    free(source);
  }
}
END_TEST

/* A task's place in a cycle of any number of them, with a long name. */
static const char *cycle_name(int i) {
  return text("task-%d-in-a-cycle-with-a-name-of-40-byte", i);
}

/* Names as long as there is room for one more and the last: seven of 40 bytes, with what is
 * between.
 */
START_TEST(long_cycles_are_cut_short) {
  enum { MOST = 10, SHOWN = 7 };
  for (int count = 1; count <= MOST; ++count) {
    const char *tasks = "", *shown = "";
    for (int i = 0; i < count; ++i)
      tasks = text("%s%s{ name = \"%s\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; " C
                   " after = ( { task = \"%s\"; } ); }\n",
                   tasks, i ? "," : "", cycle_name(i), cycle_name((i + 1) % count));
    for (int i = 0; i < count && i < SHOWN; ++i)
      shown = text("%s'%s' -> ", shown, cycle_name(count - 1 - i));
    const char *last = cycle_name(count - 1);
    ck_assert_str_eq(errors_of(text(HEAD "tasks = ( %s );", tasks)),
                     text("%d: E026: tasks.%s.after: a cycle of precedence: %s%s'%s'; none of "
                          "them could ever start",
                          count + 1, last, shown, count > SHOWN ? "... -> " : "", last));
  }
}
END_TEST

START_TEST(include_loops) {
  put("task.cfg", "tasks = ( " A C "} );\n");
  const char *good = put("good.cfg", HEAD "@include \"task.cfg\"\n");
  ck_assert_str_eq(errors_in_folder(good), "");
  const char *self = put("self.cfg", HEAD "  @include \"self.cfg\"\n");
  ck_assert_str_eq(errors_in_folder(self), "self.cfg:2: E011: @include: \"self.cfg\": it includes "
                                           "itself, in the end; take this line out");
  put("one.cfg", "@include \"two.cfg\"\n");
  put("two.cfg", "@include \"one.cfg\"\n");
  const char *loop = put("loop.cfg", HEAD "@include \"one.cfg\"\n");
  ck_assert_str_eq(
      errors_in_folder(loop),
      "two.cfg:1: E011: @include: \"one.cfg\": it includes itself, in the end; take this line out");
}
END_TEST

START_TEST(include_depth) {
  for (int i = 1; i <= 11; ++i)
    put(text("%d.cfg", i), i < 10 ? text("@include \"%d.cfg\"\n", i + 1) : "tasks = ( " A C "} );");
  const char *ten = put("ten.cfg", HEAD "@include \"1.cfg\"\n");
  ck_assert_str_eq(errors_in_folder(ten), "");
  put("10.cfg", "@include \"11.cfg\"\n");
  ck_assert_str_eq(errors_in_folder(ten),
                   "10.cfg:1: E011: @include: \"11.cfg\": includes go deeper "
                   "than the limit of 10");
}
END_TEST

/* One file that is included often is read often. */
START_TEST(include_count) {
  static char often[300 * 32] = HEAD;
  put("empty.cfg", "# nothing\n");
  for (int i = 0; i < 256; ++i)
    strcat(often, "@include \"empty.cfg\"\n");
  const char *most = put("most.cfg", text("%stasks = ( " A C "} );\n", often));
  ck_assert_str_eq(errors_in_folder(most), "");
  put("more.cfg", "@include \"empty.cfg\"\n");
  const char *many = put("many.cfg", text("%s@include \"more.cfg\"\n", often));
  ck_assert_ptr_nonnull(strstr(errors_in_folder(many), "E011: @include: \"more.cfg\": more than "
                                                       "the limit of 256 includes in all"));
}
END_TEST

START_TEST(include_bytes) {
  static char comment[(1 << 20) + 1];
  for (int i = 0; i < 1 << 20; ++i)
    comment[i] = i % 64 == 63 ? '\n' : '#';
  put("million.cfg", comment);
  static char often[20 * 32] = HEAD;
  for (int i = 0; i < 16; ++i)
    strcat(often, "@include \"million.cfg\"\n");
  const char *most = put("sixteen.cfg", text("%stasks = ( " A C "} );\n", often));
  ck_assert_str_eq(errors_in_folder(most), "");
  put("byte.cfg", "\n");
  const char *large = put("large.cfg", text("%s@include \"byte.cfg\"\n", often));
  ck_assert_ptr_nonnull(strstr(errors_in_folder(large),
                               "E011: @include: \"byte.cfg\": all included "
                               "text is above the limit of 16 MiB"));
}
END_TEST

START_TEST(errors_name_the_included_file) {
  put("tasks.cfg", "\n\ntasks = ( " A "compute: { wcet_ns = 5000000000; }; copies = 0; } );");
  const char *path = put("main.cfg", HEAD "@include \"tasks.cfg\"\n");
  ck_assert_str_eq(errors_in_folder(path),
                   "tasks.cfg:3: E017: tasks.a.copies: is 0, must be at least 1\n"
                   "tasks.cfg:3: E007: tasks.a.compute.wcet_ns: 5000000000 lacks the suffix of a "
                   "64-bit value; write 5000000000L");
  put("tasks.cfg", "\ntasks = = 1;");
  ck_assert_str_eq(errors_in_folder(path), "tasks.cfg:2: E002: syntax error near '='");
}
END_TEST

#define WITH_PROFILE                                                                               \
  HEAD "tasks = ( " A "profile = \"p\"; compute: { }; } );\nprofiles: { p = \"p.cfg\"; };\n"

START_TEST(broken_profiles) {
  static const struct {
    const char *content, *message;
  } cases[] = {
      {"version = 1; tasks = ( { name = \"a\"; compute: { wcet_ns = 5L; }; } );", ""},
      {"version = 1; tasks = ( { name = \"other\"; compute: { wcet_ns = 5L; }; } );", ""},
      {"version = 1; tasks = ( { name = \"a\"; compute: { wcet_ns = 5; }; } );",
       "p.cfg:1: E007: tasks.a.compute.wcet_ns: 5 lacks the suffix of a 64-bit value; write 5L"},
      {"version = 1;\ntasks = ( { name = \"a\"; compute: { wcet_ns = 5000000000; }; } );",
       "p.cfg:2: E007: tasks.a.compute.wcet_ns: 5000000000 lacks the suffix of a 64-bit value; "
       "write "
       "5000000000L"},
      {"version = 1; tasks = ( { name = \"a\"; compute: { wcet_ns = 5L; busy_ns = 6L; }; } );",
       "p.cfg:1: E023: tasks.a.compute.busy_ns: 6 ns is above the phase's wcet_ns of 5 ns"},
      {"version = 1; tasks = ( { name = \"a\"; compute: { wcet = 5L; }; } );",
       "p.cfg:1: E005: tasks.a.compute.wcet: unknown key 'wcet', did you mean 'wcet_ns'?"},
      {"version = 3; tasks = ( );",
       "p.cfg:1: E004: version: is newer than the 1 that ttprem 0.1.0 reads"},
      {"tasks = ( );", "p.cfg: E003: version: missing; write version = 1;"},
      {"version = 1; tasks = (", "p.cfg:1: E002: syntax error near 'end of file'"},
      {"version = 1;", "p.cfg: E003: tasks: missing; give a list ( )"},
  };
  const char *path = put("main.cfg", WITH_PROFILE);
  ck_assert_str_eq(errors_in_folder(path), ""); /* a profile may be missing */
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    put("p.cfg", cases[i].content);
    ck_assert_str_eq(errors_in_folder(path), cases[i].message);
  }
  ck_assert_int_eq(unlink(text("%s/p.cfg", folder)), 0);
  ck_assert_int_eq(mkdir(text("%s/p.cfg", folder), 0700), 0);
  ck_assert_str_eq(errors_in_folder(path), text("main.cfg:3: E024: profiles.p: cannot read "
                                                "'%s/p.cfg': it is no regular file",
                                                folder));
}
END_TEST

/* Each time is the longest that a profile in use gives, the bandwidth the least; a profile may give
 * none. */
START_TEST(of_several_profiles_the_worst_counts) {
  static const char *const keys[] = {"dispatch_ns", "precedence_ns", "job_turnaround_ns",
                                     "job_prefetch_ns", "bandwidth_bytes_per_s"};
  static const int64_t given[][2] = {{0, 7}, {7, 0}, {7, 9}, {9, 7}, {8, 8}, {0, 0}};
  char path[256]; /* a text is good for 64 more only */
  strcpy(path, put("main.cfg", HEAD "tasks = ( " A "profile = \"p\"; compute: { }; },\n" B
                                    "profile = \"q\"; compute: { }; } );\n"
                                    "profiles: { p = \"p.cfg\"; q = \"q.cfg\"; };\n"));
  for (size_t i = 0; i < sizeof given / sizeof *given; ++i) {
    int64_t most = 0, least = 0;
    for (int p = 0; p < 2; ++p) {
      const int64_t value = given[i][p];
      const char *facts = "";
      for (int k = 0; k < 5 && value; ++k)
        facts = text("%s %s = %dL;", facts, keys[k], (int)value + k);
      put(p ? "q.cfg" : "p.cfg",
          text("version = 1;%s tasks = ( { name = \"%s\"; compute: { wcet_ns = 5L; }; } );\n",
               facts, p ? "b" : "a"));
      most = value > most ? value : most;
      least = value && (!least || value < least) ? value : least;
    }
    prem_schedule *schedule = NULL;
    ck_assert_str_eq(errors_in_folder(path), "");
    ck_assert_int_eq(prem_schedule_load(path, NULL, &schedule, NULL), PREM_OK);
    ck_assert_int_eq(schedule->dispatch_ns, most);
    ck_assert_int_eq(schedule->precedence_ns, most ? most + 1 : 0);
    ck_assert_int_eq(schedule->job_turnaround_ns, most ? most + 2 : 0);
    ck_assert_int_eq(schedule->job_prefetch_ns, most ? most + 3 : 0);
    ck_assert_int_eq(schedule->bandwidth_bytes_per_s, least ? least + 4 : 0);
    prem_schedule_free(schedule);
  }
}
END_TEST

START_TEST(unknown_profile_of_the_caller) {
  const char *path = put("main.cfg", WITH_PROFILE);
  prem_schedule *schedule = NULL;
  prem_diag *diag = prem_diag_new();
  ck_assert_int_eq(prem_schedule_load(path, "q", &schedule, diag), PREM_ERR_PARSE);
  ck_assert_int_eq(prem_diag_at(diag, 0)->code, 24);
  ck_assert_str_eq(
      prem_diag_at(diag, 0)->reason,
      "there is no profile 'q'; the file has: p; add one as profiles: { NAME = \"FILE\"; };");
  prem_diag_free(diag);
  diag = prem_diag_new();
  ck_assert_int_eq(prem_schedule_load(path, "p", &schedule, diag), PREM_OK);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}
END_TEST

START_TEST(base_has_no_error) {
  ck_assert_str_eq(errors_of(base), "");
}
END_TEST

START_TEST(is_refused) {
  const refusal *r = &refusals[_i];
  ck_assert_str_eq(errors_of(replaced(r->piece, r->wrong)), r->message);
}
END_TEST

START_TEST(twin_is_legal) {
  const refusal *r = &refusals[_i];
  ck_assert_str_eq(errors_of(replaced(r->piece, r->right)), "");
}
END_TEST

int main(void) {
  TCase *cases = tcase_create("one piece wrong");
  const int count = (int)(sizeof refusals / sizeof *refusals);
  tcase_add_test(cases, base_has_no_error);
  tcase_add_loop_test(cases, is_refused, 0, count);
  tcase_add_test(cases, all_problems_in_one_go);
  tcase_add_test(cases, zero_byte_is_refused);
  tcase_add_test(cases, unreadable_files);
  TCase *twins = tcase_create("one piece right");
  tcase_add_loop_test(twins, twin_is_legal, 0, count);
  TCase *files = tcase_create("other files");
  const int pairs = (int)(sizeof file_pairs / sizeof *file_pairs);
  tcase_add_loop_test(files, file_is_refused, 0, pairs);
  tcase_add_loop_test(files, twin_of_file_is_legal, 0, pairs);
  TCase *limits = tcase_create("limits");
  tcase_set_timeout(limits, 60);
  tcase_add_test(limits, too_many_tasks_are_refused_by_the_scanner);
  tcase_add_test(limits, too_many_arrays_are_refused);
  tcase_add_test(limits, as_many_chains_as_the_limit);
  tcase_add_test(limits, long_cycles_are_cut_short);
  TCase *folders = tcase_create("several files");
  tcase_add_checked_fixture(folders, make_folder, remove_folder);
  tcase_add_test(folders, include_loops);
  tcase_add_test(folders, include_depth);
  tcase_add_test(folders, include_count);
  tcase_add_test(folders, include_bytes);
  tcase_add_test(folders, errors_name_the_included_file);
  tcase_add_test(folders, broken_profiles);
  tcase_add_test(folders, of_several_profiles_the_worst_counts);
  tcase_add_test(folders, unknown_profile_of_the_caller);
  Suite *suite = suite_create("reader_refusals");
  suite_add_tcase(suite, cases);
  suite_add_tcase(suite, twins);
  suite_add_tcase(suite, files);
  suite_add_tcase(suite, limits);
  suite_add_tcase(suite, folders);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? 1 : 0;
}
