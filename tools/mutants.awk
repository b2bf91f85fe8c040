# SPDX-License-Identifier: Apache-2.0
# Every place of C sources where a small change would mean something, one a line:
#   FILE:LINE:COLUMN <tab> KIND <tab> OLD <tab> NEW
# Comments, texts, the preprocessor's lines and declarations are left alone. tools/mutants.sh calls it.
BEGIN {
  OFS = "\t"
  n = split("< <= <= < > >= >= > == != != == && || || && + - - + * / / * % / += -= -= += |= &= &= |= << >> >> << & | | &", pair, " ")
  for (i = 1; i < n; i += 2) instead[pair[i]] = pair[i + 1]
  split("< <= > >= == !=", names, " ")
  for (i in names) kind_of[names[i]] = "relation"
  kind_of["&&"] = kind_of["||"] = "logic"
}
FNR == 1 { in_comment = in_macro = 0; before = ";"; waiting = "" }

# The line with comments, texts and characters blanked, each byte at its place.
function masked(line,    out, i, c, two, quote) {
  out = ""
  quote = ""
  for (i = 1; i <= length(line); ++i) {
    c = substr(line, i, 1)
    two = substr(line, i, 2)
    if (in_comment) {
      if (two == "*/") { in_comment = 0; out = out " "; ++i }
      out = out " "
    } else if (quote != "") {
      if (c == "\\") { out = out "_"; ++i } else if (c == quote) quote = ""
      out = out "_"
    } else if (two == "/*") {
      in_comment = 1
      out = out "  "
      ++i
    } else if (two == "//") {
      break
    } else if (c == "\"" || c == "'") {
      quote = c
      out = out "_"
    } else
      out = out c
  }
  sub(/ +$/, "", out)
  return out
}

function site(column, kind, old, new) { print FILENAME ":" FNR ":" column, kind, old, new }

# "return a < b ? -1 : 1;" behind "if (a != b)": "<=" is the same there.
function orders_different(code,    text) {
  text = code
  if (!sub(/^ *return /, "", text) || !sub(/ \? -?1 : -?1;$/, "", text)) return 0
  return sub(/ [<>] /, " != ", text) && index(before, "if (" text ")")
}

# The name at the end of a text, or at its begin: "a->b[i]".
function last_name(text) { return match(text, /[*]?[A-Za-z_][A-Za-z_0-9.>\[\]-]*$/) ? substr(text, RSTART) : "" }
function first_name(text) { return match(text, /^[*]?[A-Za-z_][A-Za-z_0-9.>\[\]-]*/) ? substr(text, 1, RLENGTH) : "" }

# "a > b ? a : b": where both are equal each is the result.
function chooses(left, right,    a, b) {
  a = last_name(left)
  b = first_name(right)
  if (a == "" || b == "") return 0
  right = substr(right, length(b) + 1)
  if (index(right, " ? " a " : " b) != 1 && index(right, " ? " b " : " a) != 1) return 0
  return substr(right, length(a b) + 7) ~ /^([;,)]|$)/
}

# "if (a > b)" before "b = a;": where both are equal nothing changes. The site waits for the next line.
function may_assign(code,    text, a, b) {
  text = code
  if (!sub(/^ *(else )?if \(/, "", text) || !sub(/\)$/, "", text) || !match(text, / [<>]=? /)) return 0
  a = substr(text, 1, RSTART - 1)
  b = substr(text, RSTART + RLENGTH)
  if (a != last_name(a) || b != first_name(b)) return 0
  waits_for = a " = " b ";"
  or_for = b " = " a ";"
  return 1
}

function operators(code,    from, at, op) {
  from = 1
  while (match(substr(code, from), / (<=|>=|==|!=|<<|>>|&&|\|\||\+=|-=|\|=|&=|<|>|\+|-|\*|\/|%|&|\|)( |$)/)) {
    at = from + RSTART
    op = substr(code, at, RLENGTH - 1)
    sub(/ $/, "", op)
    from = at + length(op)
    if (orders_different(code)) continue
    if (op ~ /^[<>]=?$/ && chooses(substr(code, 1, at - 2), substr(code, from + 1))) continue
    if (op ~ /^[<>]=?$/ && may_assign(code))
      waiting = FILENAME ":" FNR ":" at OFS kind_of[op] OFS op OFS instead[op]
    else
      site(at, op in kind_of ? kind_of[op] : "arithmetic", op, instead[op])
  }
}

# "return a < b ? -1 : 1;" tells an order: with 2 the same one.
function is_sign(code) { return code ~ /^ *return .* \? (-1 : 1|1 : -1);$/ }

# "malloc(count + 1)", "malloc(2 * count)", "calloc(1, ...)": with more there is more room, and nobody uses it.
function is_room(so_far) { return so_far ~ /[^a-z_](malloc|calloc|realloc)\([^;]*\+ $/ || so_far ~ /[^a-z_](m|c)alloc\($/ }

# "int64_t first[4]" among the parameters of a function: it is a pointer.
function is_declared(so_far) {
  return so_far ~ /(^|[ (])(int[0-9]*_t|int|char|bool|float|double|size_t|prem_[a-z_]+) \**[a-z_]+\[$/
}

function constants(code,    from, at, old, digits) {
  from = 1
  while (match(substr(code, from), /[^A-Za-z0-9_.][0-9]+[LU]?[^A-Za-z0-9_.]/)) {
    at = from + RSTART
    old = substr(code, at, RLENGTH - 2)
    digits = old
    sub(/[LU]$/, "", digits)
    if (!is_sign(code) && !is_room(substr(code, 1, at - 1)) && !is_declared(substr(code, 1, at - 1))) site(at, "constant", old, (digits + 1) substr(old, length(digits) + 1))
    from = at + length(old)
  }
}

function words(code,    from, at, old, new) {
  from = 1
  while (match(substr(code, from), /[A-Za-z_0-9]+/)) {
    at = from + RSTART - 1
    old = substr(code, at, RLENGTH)
    from = at + RLENGTH
    new = ""
    if (old == "true") new = "false"
    else if (old == "false") new = "true"
    else if (substr(code, from, 1) == "(") {
      if (old ~ /^(f|prem_)?min(_|$)/) { new = old; sub(/min/, "max", new) }
      if (old ~ /^(f|prem_)?max(_|$)/) { new = old; sub(/max/, "min", new) }
    }
    if (new != "") site(at, old ~ /m(in|ax)/ ? "min/max" : "constant", old, new)
  }
}

function negated(code,    at, i, depth, c) {
  if (!match(code, /(^| )if \(/)) return
  at = RSTART + RLENGTH - 1
  depth = 0
  for (i = at; i <= length(code); ++i) {
    c = substr(code, i, 1)
    if (c == "(") ++depth
    else if (c == ")" && --depth == 0) {
      site(at, "negation", substr($0, at, i - at + 1), "(!" substr($0, at, i - at + 1) ")")
      return
    }
  }
}

# A whole statement on a line of its own; what only gives memory back is a sanitizer's business.
function dropped(code,    text, opened, closed) {
  if (before !~ /[;{}):]$/ || code !~ /;$/) return
  text = code
  opened = gsub(/\(/, "(", text)
  closed = gsub(/\)/, ")", text)
  if (opened != closed || code ~ /^ *[a-z_0-9]*(free|close|delete|decref|unlock|destroy)[a-z_]*\(/) return
  if (code ~ /^ +[*(]*[a-z_][A-Za-z0-9_>.()*-]*(\[[^]]*\])?[A-Za-z0-9_>.-]* [-+*\/|&]?= / ||
      (code ~ /^ +[a-z_0-9]+\(/ && code !~ /^ +(return|while|if|for|sizeof|defined)/))
    site(match(code, /[^ ]/), "dropped", substr($0, match($0, /[^ ]/), length(code) - match(code, /[^ ]/) + 1), ";")
}

{
  code = masked($0)
  if (in_macro || code ~ /^ *#/) {
    in_macro = $0 ~ /\\$/
    next
  }
  if (code ~ /^ *$/) next
  if (waiting != "") {
    text = code
    sub(/^ */, "", text)
    if (text != waits_for && text != or_for) print waiting
    waiting = ""
  }
  # At the margin functions and types are declared, and constants; arrays are declared anywhere.
  if (code ~ /^[^ }]/ && code !~ / = /) { before = code; next }
  if (code !~ /^ +(const |static |unsigned |struct )*[a-z_0-9]+ [*a-z_0-9]+\[[^]]*\](;| =)/) {
    operators(code)
    constants(code)
    words(code)
    negated(code)
    dropped(code)
  }
  before = code
}
