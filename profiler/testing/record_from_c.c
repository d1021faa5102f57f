#include "profiler/testing/record_from_c.h"

#include "profiler/pipetrace.h"

static double depth(void* context) { return *(const double*)context; }

int recordFromC(const char* folder) {
  static const double kDepth = 4;
  pipetrace_options options;
  pipetrace_recorder* recorder = NULL;
  pipetrace_job job;
  int64_t id = 0;
  int compute = -1;
  int send = -1;
  int recv = -1;
  int step = 0;

  pipetrace_options_init(&options);
  options.enabled = PIPETRACE_ON;
  options.rank = 1;
  options.world_size = 2;
  options.schedule = "1F1B";
  options.blocks = "3,2";
  options.log_directory = folder;
  if (pipetrace_open(&options, &recorder) != 0 || recorder == NULL) return 1;
  compute = pipetrace_add_stream(recorder, "compute");
  send = pipetrace_add_stream(recorder, "send");
  recv = pipetrace_add_stream(recorder, "recv");
  if (compute < 0 || send < 0 || recv < 0) return 2;
  if (pipetrace_next_job_id(NULL) != PIPETRACE_NOT_GIVEN) return 8;
  if (pipetrace_add_cuda_stream(NULL, "copy", NULL, 0) != 0) return 7;
  if (pipetrace_add_counter(recorder, "depth", "jobs", depth, (void*)&kDepth) != 0) return 3;

  for (step = 0; step < 2; ++step) {
    pipetrace_begin_step(recorder, step);
    id = pipetrace_next_job_id(recorder); /* of the forward job, which begins later */
    pipetrace_job_init(&job, PIPETRACE_RECV_FORWARD);
    job.peer = 0;
    job.bytes = 2048;
    job.id = id;
    pipetrace_begin(recorder, recv, &job);
    pipetrace_end(recorder, recv);

    pipetrace_job_init(&job, PIPETRACE_FORWARD);
    job.stage = 1;
    job.id = id;
    job.action = "1F0";
    if (pipetrace_begin(recorder, compute, &job) != id) return 4;
    pipetrace_end(recorder, compute);

    pipetrace_job_init(&job, PIPETRACE_BACKWARD); /* which the recorder numbers */
    job.stage = 1;
    id = pipetrace_begin(recorder, compute, &job);
    pipetrace_end(recorder, compute);
    if (id < 0) return 4;

    pipetrace_job_init(&job, PIPETRACE_SEND_BACKWARD);
    job.peer = 0;
    job.bytes = 4096;
    job.id = id;
    pipetrace_begin(recorder, send, &job);
    pipetrace_end(recorder, send);

    pipetrace_job_init(&job, PIPETRACE_OPTIMIZER);
    pipetrace_begin(recorder, compute, &job);
    pipetrace_end(recorder, compute);
    pipetrace_counter(recorder, "loss", 2.5, NULL);
    pipetrace_end_step(recorder, step);
  }
  if (pipetrace_flush(recorder) != 0) return 5;
  return pipetrace_close(recorder) != 0 ? 6 : 0;
}
