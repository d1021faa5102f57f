#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "profiler/cpu_stream.h"
#include "profiler/recorder.h"
#include "profiler/switches.h"

using namespace pipetrace;

int main() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  const int rank = fork() == 0 ? 1 : 0;  // a launcher starts ranks, and gives each its RANK

  const Switches switches = Switches::fromEnvironment();
  RecorderOptions options{.logDirectory = switches.logDirectory};
  options.isOn = switches.isOn;
  options.steps = switches.steps;
  options.info.rank = rank;
  options.info.worldSize = 2;
  Recorder recorder(options);  // each rank opens its own, after fork()
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  const StreamId sends = recorder.addStream("send", std::make_unique<CpuStream>());
  const StreamId receives = recorder.addStream("recv", std::make_unique<CpuStream>());

  std::vector<char> message(4096);
  const auto run = [&](JobKind kind, int microBatch, std::int64_t id = kNotGiven) {
    id = recorder.begin(compute, {.kind = kind, .microBatch = microBatch, .stage = rank, .id = id});
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the work
    recorder.end(compute);
    return id;
  };
  const auto beginTransfer = [&](StreamId stream, JobKind kind, int microBatch, std::int64_t id) {
    recorder.begin(stream, {.kind = kind,
                            .microBatch = microBatch,
                            .stage = rank,
                            .peer = 1 - rank,
                            .bytes = static_cast<std::int64_t>(message.size()),
                            .id = id});  // of the job that the message comes from, or goes to
  };
  const auto send = [&](JobKind kind, int microBatch, std::int64_t id) {
    beginTransfer(sends, kind, microBatch, id);
    ::send(ends[rank], message.data(), message.size(), 0);
    recorder.end(sends);
  };
  const auto receive = [&](JobKind kind, int microBatch) {
    const std::int64_t id = recorder.nextJobId();  // of the job that waits for the message
    beginTransfer(receives, kind, microBatch, id);
    ::recv(ends[rank], message.data(), message.size(), MSG_WAITALL);
    recorder.end(receives);
    return id;
  };

  for (int step = 0; step < 2; ++step) {
    recorder.beginStep(step);
    run(JobKind::kLr, 0);
    for (int i = 0; i < 2; ++i) {
      if (rank == 0) {
        send(JobKind::kSendForward, i, run(JobKind::kForward, i));
      } else {
        run(JobKind::kForward, i, receive(JobKind::kRecvForward, i));
      }
    }
    for (int i = 0; i < 2; ++i) {
      if (rank == 1) {
        send(JobKind::kSendBackward, i, run(JobKind::kBackward, i));
      } else {
        run(JobKind::kBackward, i, receive(JobKind::kRecvBackward, i));
      }
    }
    run(JobKind::kOptimizer, 0);
    recorder.endStep(step);
  }
  recorder.close();
  if (rank == 0) wait(nullptr);
}
