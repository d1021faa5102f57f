#include <profiler/pipetrace.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pipetrace_recorder* recorder;
static int rank, link_to_peer, compute, sends, receives;
static char message[4096];

static int64_t run(int kind, int micro_batch, int64_t id) {
  const struct timespec work = {0, 2000000};
  pipetrace_job job;
  pipetrace_job_init(&job, kind);
  job.micro_batch = micro_batch;
  job.stage = rank;
  job.id = id;
  id = pipetrace_begin(recorder, compute, &job);
  nanosleep(&work, NULL);
  pipetrace_end(recorder, compute);
  return id;
}

static void begin_transfer(int stream, int kind, int micro_batch, int64_t id) {
  pipetrace_job job;
  pipetrace_job_init(&job, kind);
  job.micro_batch = micro_batch;
  job.stage = rank;
  job.peer = 1 - rank;
  job.bytes = sizeof(message);
  job.id = id; /* of the job that the message comes from, or goes to */
  pipetrace_begin(recorder, stream, &job);
}

static void send_message(int kind, int micro_batch, int64_t id) {
  begin_transfer(sends, kind, micro_batch, id);
  send(link_to_peer, message, sizeof(message), 0);
  pipetrace_end(recorder, sends);
}

static int64_t receive_message(int kind, int micro_batch) {
  const int64_t id = pipetrace_next_job_id(recorder); /* of the job that waits for the message */
  begin_transfer(receives, kind, micro_batch, id);
  recv(link_to_peer, message, sizeof(message), MSG_WAITALL);
  pipetrace_end(recorder, receives);
  return id;
}

int main(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  rank = fork() == 0 ? 1 : 0; /* a launcher starts ranks, and gives each its RANK */
  link_to_peer = ends[rank];

  pipetrace_options options;
  pipetrace_options_init(&options);
  options.rank = rank;
  options.world_size = 2;
  if (pipetrace_open(&options, &recorder) != 0) { /* each rank its own, after fork() */
    fprintf(stderr, "%s\n", pipetrace_error());
    return 1;
  }
  compute = pipetrace_add_stream(recorder, "compute");
  sends = pipetrace_add_stream(recorder, "send");
  receives = pipetrace_add_stream(recorder, "recv");

  for (int step = 0; step < 2; ++step) {
    pipetrace_begin_step(recorder, step);
    run(PIPETRACE_LR, 0, PIPETRACE_NOT_GIVEN);
    for (int i = 0; i < 2; ++i) {
      if (rank == 0) {
        send_message(PIPETRACE_SEND_FORWARD, i, run(PIPETRACE_FORWARD, i, PIPETRACE_NOT_GIVEN));
      } else {
        run(PIPETRACE_FORWARD, i, receive_message(PIPETRACE_RECV_FORWARD, i));
      }
    }
    for (int i = 0; i < 2; ++i) {
      if (rank == 1) {
        send_message(PIPETRACE_SEND_BACKWARD, i, run(PIPETRACE_BACKWARD, i, PIPETRACE_NOT_GIVEN));
      } else {
        run(PIPETRACE_BACKWARD, i, receive_message(PIPETRACE_RECV_BACKWARD, i));
      }
    }
    run(PIPETRACE_OPTIMIZER, 0, PIPETRACE_NOT_GIVEN);
    pipetrace_end_step(recorder, step);
  }
  const int result = pipetrace_close(recorder);
  if (rank == 0) wait(NULL);
  return result == 0 ? 0 : 1;
}
