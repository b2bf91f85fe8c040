# SPDX-License-Identifier: Apache-2.0
# Job shops as schedule files: awk -v folder=OUT -f job_shops.awk INSTANCES_JSON
#
# Reads the list of a folder of classic job shops (name, jobs, machines, optimum, path), and from the
# same folder each instance of at most 100 operations: lines of machine and length, a job each. Every
# operation is a prefetch on its machine's block, as many operators as machines; one of length 0 is left
# out. Writes the files and an index.csv for bench_instances.
function value(line) {
  sub(/^[^:]*: */, "", line)
  gsub(/[",]/, "", line)
  return line
}

function convert(name, path, machines,    file, line, row, column, before, count, part) {
  file = folder "/" name ".cfg"
  printf "version = 1; name = \"%s\"; platform: { blocks = %d; resources = ( { name = \"memory\"; " \
         "capacity = %d; } ); };\ntasks = (\n", name, machines, machines > file
  row = -1
  while ((getline line < path) > 0) {
    if (line ~ /^#/ || line ~ /^[ \t]*$/)
      continue
    if (row >= 0) {
      count = split(line, part)
      before = ""
      for (column = 0; column < count / 2; ++column) {
        if (part[2 * column + 2] == 0)
          continue
        printf "%s{ name = \"j%dk%d\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1; " \
               "prefetch: { wcet_ns = %dL; };%s }", row + column ? ",\n" : "", row, column, \
               part[2 * column + 1], part[2 * column + 2], \
               before != "" ? " after = ( { task = \"" before "\"; } );" : "" > file
        before = "j" row "k" column
      }
    }
    ++row
  }
  close(path)
  print "\n);" > file
  close(file)
}

BEGIN { print "file,kind,optimum,proven" > (folder "/index.csv") }
/"name"/ { name = value($0) }
/"jobs"/ { jobs = value($0) }
/"machines"/ { machines = value($0) }
/"optimum"/ { optimum = value($0) }
/"path"/ {
  if (jobs * machines > 100 || optimum == "null")
    next
  base = FILENAME
  sub(/[^\/]*$/, "", base)
  convert(name, base value($0), machines)
  printf "%s.cfg,classic job shop %d x %d,%d,yes\n", name, jobs, machines, optimum > (folder "/index.csv")
}
