# SPDX-License-Identifier: Apache-2.0
# Faults that are planted in runtime/core/courier_warps.h: each a copy of its functions in warp_mutants.h, with one
# text replaced. test_ahead.c and test_listener.c want each to be found.
set(warps ${PROJECT_SOURCE_DIR}/runtime/core/courier_warps.h)
file(READ ${warps} warps_text)
string(FIND "${warps_text}" "/* ---- what is heard of the host" warps_begin)
string(SUBSTRING "${warps_text}" ${warps_begin} -1 warps_text)
string(REPLACE "\n#endif" "" warps_text "${warps_text}")
set(warps_copies "")
set(heard_list "")
set(ahead_list "")

function(plant_in of name from to)
  string(REPLACE "${from}" "${to}" text "${warps_text}")
  if(text STREQUAL warps_text)
    message(FATAL_ERROR "tests/warp_mutants.cmake: ${name}: runtime/core/courier_warps.h has no such text: ${from}")
  endif()
  string(REGEX REPLACE "prem_(heard|ahead)_([a-z_]+)\\(" "${name}_\\1_\\2(" text "${text}")
  set(warps_copies "${warps_copies}${text}\n" PARENT_SCOPE)
  set(${of}_list "${${of}_list} \\\n  WARPS(${name})," PARENT_SCOPE)
endfunction()

plant_in(heard said_backward [[rank = 0; rank < PREM_SAID_RANKS; ++rank]] [[rank = PREM_SAID_RANKS - 1; rank >= 0; --rank]])
plant_in(heard heard_forward [[rank = PREM_SAID_RANKS - 1; rank >= 0; --rank]] [[rank = 0; rank < PREM_SAID_RANKS; ++rank]])
plant_in(heard old_looks_trusted [[const bool is_answered = prem_heard_is_answered(heard);]] [[const bool is_answered = true;]])
plant_in(heard answered_unasked [[prem_word_set_inner(&heard->answered, question);]]
  [[prem_word_set_inner(&heard->answered, prem_word_inner(&heard->asked) + 0 * question);]])

plant_in(ahead any_word_begins [[return prem_ahead_is_expected(ahead, at, word);]] [[return at == 0 && word > 0;]])
plant_in(ahead begins_at_any_time [[if (prem_ahead_look(ahead) != PREM_AHEAD_PREPARED)
    return false;
  prem_fence_inner(); /* what]] [[prem_fence_inner(); /* what]])
plant_in(ahead word_read_first [[if (prem_ahead_look(ahead) != PREM_AHEAD_PREPARED)
    return false;
  prem_fence_inner(); /* what the decider wrote before is there */
  return prem_ahead_is_expected(ahead, at, word);]] [[const bool is_it = prem_ahead_is_expected(ahead, at, word);
  return is_it && prem_ahead_look(ahead) == PREM_AHEAD_PREPARED;]])
plant_in(ahead wish_not_compared [[!(ahead->compared >> at & 1)]] [[at == 1]])
plant_in(ahead sample_not_compared [[!(ahead->compared >> at & 1)]] [[at == 2]])
plant_in(ahead given_back_blindly [[if (prem_ahead_look(ahead) != PREM_AHEAD_PREPARED)
    return;]] [[]])
plant_in(ahead recall_not_awaited [[prem_word_inner_awaited(&ahead->state) == PREM_AHEAD_PREPARED]] [[false]])
plant_in(ahead recall_not_seen [[return prem_ahead_has_begun(ahead);]] [[return false;]])
plant_in(ahead begin_not_told [[prem_word_set_inner(&ahead->state, PREM_AHEAD_BEGUN);]] [[]])
plant_in(ahead decider_overtaken [[before == (uint8_t)(sink->put - sink->shown)]] [[sink->put >= sink->shown]])
plant_in(ahead result_left_behind [[prem_word_set_inner(--sink->put & 1 ? second : first, 0);]] [[--sink->put, (void)first, (void)second;]])
plant_in(ahead result_not_awaited [[prem_word_inner_awaited(begun) != 0]] [[begun == NULL]])
plant_in(ahead result_shown_unbegun [[of <= until]] [[until <= 255]])

file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/warp_mutants.h CONTENT
  "${warps_copies}\n#define HEARD_MUTANTS${heard_list}\n#define AHEAD_MUTANTS${ahead_list}\n" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${warps})
foreach(test test_ahead test_listener)
  if(TARGET ${test})
    target_include_directories(${test} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
  endif()
endforeach()
