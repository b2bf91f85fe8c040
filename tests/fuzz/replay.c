/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a fuzz target the files of a corpus, one after the other: for compilers without libFuzzer.
 *   fuzz_NAME FOLDER */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return -1;
  uint8_t *bytes = NULL;
  size_t size = 0, room = 0;
  do {
    if (size == room) {
      room = room ? 2 * room : 65536;
      uint8_t *grown = realloc(bytes, room);
      if (!grown)
        abort();
      bytes = grown;
    }
    size += fread(bytes + size, 1, room - size, file);
  } while (!feof(file) && !ferror(file));
  int failed = ferror(file) ? -1 : 0;
  fclose(file);
  if (!failed)
    LLVMFuzzerTestOneInput(bytes, size);
  free(bytes);
  return failed;
}

int main(int argc, char **argv) {
  DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
  if (!folder) {
    fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  int count = 0;
  for (const struct dirent *entry; (entry = readdir(folder));) {
    if (entry->d_name[0] == '.')
      continue;
    char *path = NULL;
    if (asprintf(&path, "%s/%s", argv[1], entry->d_name) < 0)
      abort();
    if (replay(path)) {
      perror(path);
      return 1;
    }
    free(path);
    ++count;
  }
  closedir(folder);
  printf("%d files\n", count);
  return count ? 0 : 1;
}
