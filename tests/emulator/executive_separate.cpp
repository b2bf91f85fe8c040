/* SPDX-License-Identifier: Apache-2.0 */
#define PREM_EXECUTIVE_FAMILY    PREM_FAMILY_separate
#define PREM_EXECUTIVE_OF_FAMILY prem_executive_separate
#include "tests/emulator/executive.cpp"
