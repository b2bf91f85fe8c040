/* SPDX-License-Identifier: Apache-2.0 */
#define PREM_SEPARATE_EXECUTIVE
#include "tests/emulator/executive.cpp"
