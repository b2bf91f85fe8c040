# SPDX-License-Identifier: Apache-2.0
# Hold pages against results: `tools/evidence.sh check` and `write` say how. Input: a line of docs/numbers.tsv each,
# as number of the line, page, text, file, values; separated by tabs.
#   -v mode=check    complain where a number is not what its file gives
#   -v mode=write    write it into the page instead
#   -v mode=left     show the numbers of `pages` that no line names
#   -v verbose=1     show what was compared

function complain(what) {
  print what >"/dev/stderr"
  bad = 1
}

# Paragraphs are one line each, however they are broken; rows of tables are lines already. Keeps the lines as they
# stand in raw[], and in starts[] where each begins in the joined text.
function read_page(name,    line, all, glue, before, n, indent) {
  if (name in pages) return
  all = ""
  while ((getline line <name) > 0) {
    glue = line ~ /^(\||#|```|$)/ || before ~ /^(\||#|```|$)/ ? "\n" : " "
    raw[name, ++n] = line
    indent = match(line, /[^ ]/) ? RSTART - 1 : length(line)
    starts[name, n] = length(all) + 2
    indents[name, n] = indent
    line = substr(line, indent + 1)
    all = all glue line
    before = line
  }
  close(name)
  if (n == 0) complain(name ": there is no such page")
  lines[name] = n
  pages[name] = all
}

# Does the text stand at `at`? Fills shown[], and where[] with the place of each number as the page is masked now.
function stands_at(page, at, pieces, count,    i) {
  if (substr(page, at, length(pieces[1])) != pieces[1]) return 0
  at += length(pieces[1])
  for (i = 2; i <= count; ++i) {
    # A number is short: a match in the whole rest of the page would take long.
    if (!match(substr(page, at, 40), /^[0-9]+( [0-9][0-9][0-9])*(\.[0-9]+)?/)) return 0
    shown[i - 1] = substr(page, at, RLENGTH)
    where[i - 1] = at
    at += RLENGTH
    if (substr(page, at, length(pieces[i])) != pieces[i]) return 0
    at += length(pieces[i])
  }
  return 1
}

# Each number found becomes a ~. What that took away is kept, to find the place in the file.
function mask(name, count,    page, i, k) {
  page = pages[name]
  for (i = count; i >= 1; --i) {
    places[i] = where[i]
    for (k = 1; k <= masks[name]; ++k)
      if (masked_at[name, k] < where[i]) places[i] += taken[name, k]
  }
  for (i = count; i >= 1; --i) {
    page = substr(page, 1, where[i] - 1) "~" substr(page, where[i] + length(shown[i]))
    for (k = 1; k <= masks[name]; ++k)
      if (masked_at[name, k] > where[i]) masked_at[name, k] -= length(shown[i]) - 1
    ++masks[name]
    masked_at[name, masks[name]] = where[i]
    taken[name, masks[name]] = length(shown[i]) - 1
  }
  pages[name] = page
}

# To nearest; a half may go either way.
function is_rounded(value, number,    digits, apart) {
  digits = match(number, /\./) ? length(number) - RSTART : 0
  apart = value - number
  return (apart < 0 ? -apart : apart) <= 0.5 * 10 ^ -digits + 1e-9 * number
}

# As many digits as the page has there, in groups of three where it has groups.
function written(value, old,    digits, text, rest, head) {
  digits = match(old, /\./) ? length(old) - RSTART : 0
  text = sprintf("%." digits "f", value)
  if (old !~ / /) return text
  rest = ""
  head = text
  if (match(text, /\./)) {
    rest = substr(text, RSTART)
    head = substr(text, 1, RSTART - 1)
  }
  for (text = ""; length(head) > 3; head = substr(head, 1, length(head) - 3)) text = " " substr(head, length(head) - 2) text
  return head text rest
}

# The edits of a page are made at its end, from the last to the first.
function change(name, at, old, new,    n) {
  for (n = lines[name]; n > 1 && starts[name, n] > at; --n) continue
  at += indents[name, n] - starts[name, n] + 1
  if (substr(raw[name, n], at, length(old)) != old) {
    complain(name ":" n ": " old " cannot be written as " new ": it is broken over two lines")
    return
  }
  ++edits[name]
  edit_line[name, edits[name]] = n
  edit_at[name, edits[name]] = at
  edit_old[name, edits[name]] = old
  edit_new[name, edits[name]] = new
  print name ":" n ": " old " becomes " new
}

function write_page(name,    i, k, n, last, best, text) {
  for (i = 1; i <= edits[name]; ++i) {
    best = 0
    for (k = 1; k <= edits[name]; ++k)
      if (!(done[name, k]) && (best == 0 || edit_line[name, k] > edit_line[name, best] ||
          (edit_line[name, k] == edit_line[name, best] && edit_at[name, k] > edit_at[name, best]))) best = k
    done[name, best] = 1
    n = edit_line[name, best]
    text = raw[name, n]
    raw[name, n] = substr(text, 1, edit_at[name, best] - 1) edit_new[name, best] \
      substr(text, edit_at[name, best] + length(edit_old[name, best]))
  }
  last = lines[name]
  printf "" >name
  for (n = 1; n <= last; ++n) print raw[name, n] >name
  close(name)
}

# Numbers that no line of the list names. Links, `code`, headings, names (h200_conv2d, sm_90), dates and list marks are none.
function count_left(name, shows,    rows, row, i, text, total, word, code) {
  read_page(name)
  rows = split(pages[name], row, "\n")
  for (i = 1; i <= rows; ++i) {
    text = row[i]
    if (text ~ /^```/) code = !code
    if (code || text ~ /^(#|```)/) continue
    gsub(/`[^`]*`/, "", text)
    gsub(/\]\([^)]*\)/, "]", text)
    gsub(/[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]/, "", text)
    gsub(/[Vv]ersion [0-9]+/, "", text)
    gsub(/[Vv]ersions [0-9]+((, | and |, and )[0-9]+)*/, "", text)
    gsub(/(Fig|Figs|Table|Section|chapter|CUDA|OpenCV) [0-9.]+/, "", text)
    gsub(/[A-Za-z_%][A-Za-z_]*[0-9]+[A-Za-z0-9_]*/, "", text)
    sub(/^[0-9]+\. /, "", text)
    word = text
    found = gsub(/[0-9]+( [0-9][0-9][0-9])*(\.[0-9]+)?/, "&", word)
    total += found
    if (shows && found > 0) print name ": " found ": " text
  }
  return total + 0
}

# What is left of the results in a Measured table is held against nothing.
function find_unnamed(name,    page, rows, row, cell, i, at) {
  read_page(name)
  page = pages[name]
  at = index(page, "\n## Measured")
  if (at == 0) { complain(name ": no section Measured"); return }
  rows = split(substr(page, at), row, "\n")
  for (i = 3; i <= rows && row[i] !~ /^## /; ++i) {
    split(row[i], cell, / \| /)
    if (row[i] ~ /^\|/ && (cell[2] ~ /[0-9]/)) complain(name ": no line of numbers.tsv for: " cell[2])
  }
}

BEGIN { FS = "\t" }

$4 == "left" { limits[$2] = $5; next }

{
  read_page($2)
  at_line = "numbers.tsv:" $1 ": " $2
  count = split($3, pieces, /\{\}/)
  from = 1
  while ((at = index(substr(pages[$2], from), pieces[1])) > 0 && !stands_at(pages[$2], from + at - 1, pieces, count))
    from += at
  if (at == 0) { complain(at_line ": there is no \"" $3 "\""); next }
  mask($2, count - 1)
  if ($4 == "-") next
  n = split($5, value, " ")
  if (n != count - 1) { complain(at_line ": " n " values for " count - 1 " numbers in \"" $3 "\": " $5); next }
  for (i = 1; i <= n; ++i) {
    ++compared
    plain = shown[i]
    gsub(/ /, "", plain)
    if (verbose) print at_line ": " shown[i] " is " value[i] " in " $4
    if (is_rounded(value[i], plain)) continue
    if (mode == "write") change($2, places[i], shown[i], written(value[i], shown[i]))
    else complain(at_line ": " shown[i] " in \"" $3 "\" is " value[i] " in " $4)
  }
}

END {
  if (mode == "write") {
    for (name in edits) { write_page(name); ++pages_written }
    print "numbers: " compared + 0 " compared, " pages_written + 0 " pages written"
    exit bad
  }
  if (mode == "left") {
    n = split(left_pages, chosen, " ")
    for (i = 1; i <= n; ++i) { total = count_left(chosen[i], 1); print chosen[i] ": " total " left" }
    exit bad
  }
  find_unnamed("README.md")
  find_unnamed("docs/measured.md")
  for (name in limits) {
    total = count_left(name, 0)
    if (total > limits[name])
      complain(name ": " total " numbers that no line of numbers.tsv names, " limits[name] " are allowed: " \
        "add lines for the new ones, `tools/evidence.sh left " name "` shows all")
    if (verbose) print name ": " total " of " limits[name] " left"
  }
  print "numbers: " compared + 0 " compared"
  exit bad
}
