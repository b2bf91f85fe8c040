/* SPDX-License-Identifier: Apache-2.0 */
/** Files that the build has taken in, those of shipped.def: nothing to find once installed. */
#pragma once

/** The text of a file, by its name without folders; NULL: there is none. */
const char *prem_shipped_text(const char *name);
