/* SPDX-License-Identifier: Apache-2.0 */
/* Copies memory as fast as it can until it is killed: company for a tracker.  hostile [THREADS
 * [MIB]] */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_THREADS = 256, MOST_MIB = 4096 };

static size_t bytes;

static void *copy(void *unused) {
  uint8_t *from = malloc(bytes), *to = malloc(bytes);
  (void)unused;
  if (from && to)
    for (memset(from, 1, bytes);; from[0] = to[bytes - 1])
      memcpy(to, from, bytes);
  free(from);
  free(to);
  return NULL;
}

int main(int argc, char **argv) {
  const long threads = argc > 1 ? strtol(argv[1], NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);
  const long mib = argc > 2 ? strtol(argv[2], NULL, 10) : 64;
  if (argc > 3 || threads < 1 || threads > MOST_THREADS || mib < 1 || mib > MOST_MIB) {
    fprintf(stderr, "usage: hostile [THREADS [MIB]]: 1 to %d threads copy 1 to %d MiB each\n",
            MOST_THREADS, MOST_MIB);
    return 2;
  }
  bytes = (size_t)mib << 20;
  for (long i = 1; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, copy, NULL) != 0) {
      fprintf(stderr, "hostile: no thread %ld\n", i);
      return 1;
    }
  }
  copy(NULL);
  fprintf(stderr, "hostile: no memory for two times %ld MiB\n", mib);
  return 1;
}
