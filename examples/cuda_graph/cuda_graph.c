/* SPDX-License-Identifier: Apache-2.0 */
/* A product by cuBLAS, captured into a CUDA graph, as best effort beside a convolution that is due
 * every 300 us: alone, with the gate, and without one. cuda_graph FILE [SIZE]. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include <ttprem/ttprem.h>

enum { JOBS = 20000, DEPTH = 32, ROOM = 32 << 20, SOME = 0x3f /* bytes of 0.75 */ };

/* n columns times n rows, so that most of it is storing. With room of its own the product allocates
 * none, which no graph may do here. What its nodes point to is there until the program ends. */
static const char *capture(int n, cudaGraph_t *out) {
  const size_t sizes[] = {(size_t)n * DEPTH, (size_t)n * DEPTH, (size_t)n * (size_t)n};
  const float one = 1, zero = 0;
  cublasHandle_t handle;
  cudaStream_t stream;
  float *of[3];
  void *room;
  for (int i = 0; i < 3; ++i)
    if (cudaMalloc((void **)&of[i], sizes[i] * sizeof(float)) ||
        cudaMemset(of[i], SOME, sizes[i] * sizeof(float)))
      return "no memory for the matrices";
  if (cudaStreamCreate(&stream) || cudaMalloc(&room, ROOM) || cublasCreate(&handle) ||
      cublasSetStream(handle, stream) || cublasSetWorkspace(handle, room, ROOM))
    return "cuBLAS does not begin";
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) ||
      cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, DEPTH, &one, of[0], n, of[1], DEPTH,
                  &zero, of[2], n) ||
      cudaStreamEndCapture(stream, out))
    return "the product cannot be captured";
  return NULL;
}

/* Of the convolution, which has one job a hyperperiod. */
static void tell(const char *name, const prem_trace *trace, const char *note) {
  const prem_best_effort_trace *load = trace->best_effort;
  int64_t sum_ns = 0, longest_ns = 0;
  for (int64_t h = 0; h < JOBS; ++h) {
    const int64_t took_ns = trace->job_end_ns[h * trace->job_count] - trace->epoch_ns[h];
    sum_ns += took_ns;
    longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
  }
  printf("%s: convolution %.3f us, at most %.3f us", name, 1e-3 * (double)sum_ns / JOBS,
         1e-3 * (double)longest_ns);
  if (load)
    printf("; %.0f products a second, %lld overran; %s",
           1e9 * (double)load->counts[0].jobs / (double)load->length_ns,
           (long long)load->counts[0].overruns, note ? note : "");
  puts("");
}

/* false: `diag` says why. */
static bool run(const char *name, const prem_schedule *schedule, cudaGraph_t graph,
                prem_diag *diag) {
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = JOBS};
  prem_session *session = NULL;
  prem_trace *trace = NULL;
  const bool ran =
      prem_session_open(prem_backend_find("cuda"), schedule, &session, diag) == PREM_OK &&
      (!prem_session_best_effort(session) ||
       prem_session_attach_graph(session, "product", graph, diag) == PREM_OK) &&
      prem_session_trace_new(session, JOBS, 0, &trace) == PREM_OK &&
      prem_session_run(session, &request, trace, diag) == PREM_OK;
  if (ran)
    tell(name, trace, prem_session_mode_note(session, PREM_MODE_TT));
  prem_trace_free(trace);
  prem_session_close(session);
  return ran;
}

int main(int argc, char **argv) {
  const prem_backend *cuda = prem_backend_find("cuda");
  prem_diag *diag = prem_diag_new();
  prem_schedule *schedule = NULL, *alone = NULL;
  prem_machine machine;
  cudaGraph_t graph = NULL;
  if (argc < 2 || !cuda)
    return puts("usage: cuda_graph FILE [SIZE], of a ttprem with backend cuda"), 2;
  bool done = prem_schedule_load(argv[1], NULL, &schedule, diag) == PREM_OK &&
              prem_backend_probe(cuda, &machine, diag) == PREM_OK &&
              prem_prepare(schedule, prem_registry_builtin(), &machine, NULL, diag) == PREM_OK &&
              prem_schedule_critical(schedule, &alone, NULL) == PREM_OK;
  const char *reason = done ? capture(argc > 2 ? atoi(argv[2]) : 4096, &graph) : NULL;
  if (reason)
    return fprintf(stderr, "%s\n", reason), 1;
  done = done && run("alone", alone, graph, diag) && run("gate", schedule, graph, diag);
  if (done)
    schedule->plan->closed_count = 0; /* the same instants, and no gate */
  done = done && run("no gate", schedule, graph, diag);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    fprintf(stderr, "%s: %s\n", prem_diag_at(diag, i)->key, prem_diag_at(diag, i)->reason);
  prem_schedule_free(alone);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
  return done ? 0 : 1;
}
