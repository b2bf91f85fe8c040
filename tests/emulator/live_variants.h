/* SPDX-License-Identifier: Apache-2.0 */
/* Behind an executive of live sessions: its variants are emulated. */

namespace {

thread_local unsigned char scratch[232448] __attribute__((aligned(128)));

constexpr bool HAS_INTERVALS = PREM_EXECUTIVE_FAMILY == PREM_FAMILY_separate;
const bool are_emulated = emulated(executive_live<384, 2, HAS_INTERVALS>) &&
                          emulated(executive_live<1024, 1, HAS_INTERVALS>) &&
                          emulated(executive_live<288, 4, HAS_INTERVALS>);

} // namespace
