# SPDX-License-Identifier: Apache-2.0
# Documents as they are installed, from `documents` to `installed`: what leads out of their folder, to
# sources that are not installed, becomes text. Two may install at the same time: a page is there whole.
file(GLOB pages RELATIVE ${documents} ${documents}/*.md)
foreach(page IN LISTS pages)
  file(READ ${documents}/${page} text)
  string(REGEX REPLACE "\\[([^]]*)\\]\\(\\.\\./[^)]*\\)" "\\1" text "${text}")
  string(RANDOM LENGTH 16 name)
  file(WRITE ${installed}/${name} "${text}")
  file(RENAME ${installed}/${name} ${installed}/${page})
endforeach()
