/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside the search: a tabu search on the graph of what waits for what.
 *
 * A renewable of capacity c is c servers, each with a chain of the uses that it serves one after
 * the other. Chains and arcs make a graph; its longest paths are a schedule. A move lets two
 * neighbours of a chain on a longest path change places; what it is worth is estimated from the two
 * alone, the best is made, and not taken back for a while (Nowicki and Smutnicki 1996, A fast taboo
 * search algorithm for the job shop problem; Policella, Smith, Cesta and Oddi 2004, Generating
 * robust schedules through temporal flexibility, for the chains).
 *
 * Served are models without pools, deadlines and gangs, in which every use takes one server.
 */
#pragma once

#include "schedules/planner/search/model.h"

typedef struct prem_graph prem_graph;

/** NULL in *out: it does not serve this model. */
prem_status prem_graph_new(const prem_model *model, prem_graph **out);
void prem_graph_free(prem_graph *graph);

/** Begin with a schedule. */
void prem_graph_begin(prem_graph *graph, const int64_t *start);
/** Make one move; false: there is none. `random` is the next number of the search's chance. */
bool prem_graph_move(prem_graph *graph, uint64_t random);
/** The end of the schedule in hand, in steps of the grid. */
int64_t prem_graph_value(const prem_graph *graph);
/** [count], in steps of the grid. */
const int64_t *prem_graph_starts(const prem_graph *graph);
