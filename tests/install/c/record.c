#include <profiler/pipetrace.h>
#include <stdio.h>
#include <time.h>

int main(void) {
  static const int32_t kinds[] = {PIPETRACE_LR, PIPETRACE_FORWARD, PIPETRACE_BACKWARD,
                                  PIPETRACE_OPTIMIZER};
  const struct timespec work = {0, 2000000};
  pipetrace_options options;
  pipetrace_options_init(&options); /* PIPETRACE=1 records */
  options.world_size = 1;
  pipetrace_recorder* recorder = NULL;
  if (pipetrace_open(&options, &recorder) != 0) {
    fprintf(stderr, "%s\n", pipetrace_error());
    return 1;
  }
  const int compute = pipetrace_add_stream(recorder, "compute");
  for (int step = 0; step < 3; ++step) {
    pipetrace_begin_step(recorder, step);
    for (int i = 0; i < 4; ++i) {
      pipetrace_job job;
      pipetrace_job_init(&job, kinds[i]);
      job.stage = 0;
      pipetrace_begin(recorder, compute, &job);
      nanosleep(&work, NULL);
      pipetrace_end(recorder, compute);
    }
    pipetrace_counter(recorder, "loss", 1.0 / (step + 1), NULL);
    pipetrace_end_step(recorder, step);
  }
  return pipetrace_close(recorder) == 0 ? 0 : 1;
}
