# SPDX-License-Identifier: Apache-2.0
# Documents as they are installed, from `documents` to `installed`: what leads out of their folder, to
# sources that are not installed, becomes text.
file(GLOB pages RELATIVE ${documents} ${documents}/*.md)
foreach(page IN LISTS pages)
  file(READ ${documents}/${page} text)
  string(REGEX REPLACE "\\[([^]]*)\\]\\(\\.\\./[^)]*\\)" "\\1" text "${text}")
  file(WRITE ${installed}/${page} "${text}")
endforeach()
