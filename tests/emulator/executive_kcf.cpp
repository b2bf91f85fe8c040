/* SPDX-License-Identifier: Apache-2.0 */
#define PREM_EXECUTIVE_FAMILY    PREM_FAMILY_kcf
#define PREM_EXECUTIVE_OF_FAMILY prem_executive_kcf
#include "tests/emulator/executive.cpp"
