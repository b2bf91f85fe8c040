# SPDX-License-Identifier: Apache-2.0
# docs/schedule-format.md and docs/errors.md as a page for scdoc: the format is written down once.

# Markdown within a line: code and stress are bold, links are their text. What scdoc would take for
# its own is escaped. A span may go on in the next line.
function inline(text,    out, i, c, end, link) {
  out = ""
  for (i = 1; i <= length(text); ++i) {
    c = substr(text, i, 1)
    if (c == "`" || (substr(text, i, 2) == "**" && !in_code)) {
      if (c == "`")
        in_code = !in_code
      else
        ++i
      out = out "*"
    } else if (c == "[" && !in_code && match(substr(text, i), /^\[[^]]*\]\([^)]*\)/)) {
      link = substr(text, i + 1, RLENGTH - 2)
      end = index(link, "](")
      out = out inline(substr(link, 1, end - 1))
      if (substr(link, end + 2) ~ /^https:/)
        out = out " (" inline(substr(link, end + 2)) ")"
      i += RLENGTH - 1
    } else if (c ~ /[_*\\]/) {
      out = out "\\" c
    } else {
      out = out c
    }
  }
  return out
}

# A line of a paragraph must not begin like another element.
function paragraph(text) {
  text = inline(text)
  return text ~ /^[.#|:;\[\]]/ ? "\\" text : text
}

# A row of a table becomes a definition.
function row(cell, count,    facts) {
  if (heading == "key") {
    facts = cell[2]
    if (cell[3] != "")
      facts = (facts == "" ? "" : facts "; ") (cell[3] ~ /^required/ ? "" : "default: ") cell[3]
    printf "%s%s\n", inline(cell[1]), facts == "" ? "" : " (" inline(facts) ")"
    printf "%s\n", cell[4] == "" ? "" : "\t" paragraph(cell[4]) "\n"
  } else {
    printf "*%s*\n\t%s\n", cell[1], paragraph(cell[2])
    if (count > 2 && cell[3] != "")
      printf "\n\tRefused: %s\n\n\tInstead: %s\n", inline(cell[3]), inline(cell[4])
    print ""
  }
}

BEGIN {
  print "ttprem-schedule(5) \"ttprem\" \"File formats\"\n"
  print "# NAME\n\nttprem-schedule - the schedule file of ttprem(1)\n\n# DESCRIPTION"
}

/^```/ { literal = !literal; if (literal && !blank) print ""; print "```"; if (!literal) print ""; blank = !literal; next }
literal { print; next }
/^# |^<!--/ { next }
/^###/ {
  gsub(/`|^#+ /, "")
  printf "%s## %s\n\n", blank ? "" : "\n", $0
  blank = 1
  next
}
/^## / {
  gsub(/`/, "")
  printf "%s# %s\n\n", blank ? "" : "\n", toupper(substr($0, 4))
  blank = 1
  next
}
/^\|/ {
  count = split($0, part, / *\| */)
  for (i = 2; i < count; ++i)
    cell[i - 1] = part[i]
  if (!table)
    heading = cell[1]
  else if (cell[1] !~ /^-+$/)
    row(cell, count - 2)
  if (!table++ && !blank)
    print ""
  blank = 1
  next
}
{ table = 0 }
/^$/ { if (!blank) print ""; blank = 1; next }
{ print paragraph($0); blank = 0 }

END {
  print "\n# SEE ALSO\n\n*ttprem*(1), *ttprem-plan*(1), *ttprem-check*(1)"
}
