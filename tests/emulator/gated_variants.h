/* SPDX-License-Identifier: Apache-2.0 */
/* Behind an executive of best-effort tasks: its variants are emulated. */

namespace {

thread_local unsigned char scratch[232448] __attribute__((aligned(128)));

const bool are_emulated = emulated(executive_gated<384, 2, false>) &&
                          emulated(executive_gated<1024, 1, false>) &&
                          emulated(executive_gated<288, 4, false>);

} // namespace
