// What recording costs a program whose eight threads do jobs of 100 us: the same work with
// recording on and off in turn, by the processor time of the process, the log thread's included.
// Beside it what `Profiler End:` says. What the pairs of turns scatter by is the machine's noise:
// where it is larger than what they differ by, only the latter line means something.
//   recording_overhead [turns [jobs of each thread in a turn]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "profiler/cpu_stream.h"
#include "profiler/recorded_log.h"
#include "profiler/recorder.h"

namespace pipetrace {
namespace {

constexpr int kThreads = 8;
constexpr Nanoseconds kJob = 100 * kNsPerUs;

Nanoseconds processTime() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

/// Always the same work, in the caches that a job would use.
class Work {
 public:
  Work() : numbers_(4096, 1.0F) {}
  void run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (float& number : numbers_) number = number * 0.999F + 0.001F;
      asm volatile("" : : "r"(numbers_.data()) : "memory");
    }
  }
  /// Rounds that take as long as a job.
  int calibrate() {
    int rounds = 16;
    for (;;) {
      Nanoseconds best = kNsMax;
      for (int i = 0; i < 50; ++i) {
        const Nanoseconds start = processTime();
        run(rounds);
        best = std::min(best, processTime() - start);
      }
      if (best >= kJob / 2) return static_cast<int>(rounds * kJob / best);
      rounds *= 2;
    }
  }

 private:
  std::vector<float> numbers_;
};

Nanoseconds turn(Recorder& recorder, int jobs, int rounds) {
  const Nanoseconds start = processTime();
  std::vector<std::thread> threads;
  for (StreamId stream = 0; stream < kThreads; ++stream) {
    threads.emplace_back([&recorder, jobs, rounds, stream] {
      Work work;
      for (int i = 0; i < jobs; ++i) {
        recorder.begin(stream, {.kind = JobKind::kForward, .microBatch = i, .action = "0F0"});
        work.run(rounds);
        recorder.end(stream);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  recorder.flush();
  return processTime() - start;
}

/// The value that `part` of all are below: 0.5 is the median.
double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}
double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

/// What takes as long as a job where it is done: among the others, and not alone in the best case.
int roundsOfAJob(Recorder& off, int jobs) {
  const int alone = Work().calibrate();
  const Nanoseconds took = turn(off, jobs, alone) / kThreads / jobs;
  return std::max<int>(1, static_cast<int>(alone * kJob / took));
}

int measure(int turns, int jobs) {
  RecordedLog log;
  Recorder on({.logDirectory = log.folder()});
  Recorder off({.isOn = false});
  for (int i = 0; i < kThreads; ++i) {
    on.addStream(i == 0 ? "compute" : "s" + std::to_string(i), std::make_unique<CpuStream>());
  }
  const int rounds = roundsOfAJob(off, jobs);
  std::vector<double> differences;
  std::vector<double> without;
  for (int i = 0; i < turns; ++i) {
    // Which one comes first changes, so that a machine that slows down favours neither.
    const Nanoseconds first = turn(i % 2 == 0 ? on : off, jobs, rounds);
    const Nanoseconds second = turn(i % 2 == 0 ? off : on, jobs, rounds);
    differences.push_back(static_cast<double>(i % 2 == 0 ? first - second : second - first));
    without.push_back(static_cast<double>(i % 2 == 0 ? second : first));
  }
  on.close();
  const auto end = [&](const char* key) {
    return static_cast<double>(log.number("Profiler End: ", key));
  };
  const double all = static_cast<double>(turns) * kThreads * jobs;
  const double base = median(without);
  const double measured = median(differences) * turns / all;
  std::printf("%.0f jobs of %.0f us, %.0f dropped\n", all, base / kThreads / jobs / 1e3,
              end("dropped"));
  std::printf("measured: processor time up by %.3f %%, %.0f ns a job\n",
              100 * median(differences) / base, measured);
  std::printf("          half of the pairs of turns say %.3f to %.3f %%\n",
              100 * quantile(differences, 0.25) / base, 100 * quantile(differences, 0.75) / base);
  const double said = (end("own_cost_ns") + end("log_thread_ns")) / all;
  std::printf("Profiler End: %.3f %%, %.0f ns a job (%.0f recording, %.0f log thread)\n",
              100 * said * kThreads * jobs / base, said, end("own_cost_ns") / all,
              end("log_thread_ns") / all);
  return 0;
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  const int turns = argc > 1 ? std::atoi(argv[1]) : 20;
  const int jobs = argc > 2 ? std::atoi(argv[2]) : 500;
  return pipetrace::measure(std::max(turns, 1), std::max(jobs, 1));
}
