// What recording costs a program whose eight threads do jobs of 100 us, measured in two ways, and
// beside them what `Profiler End:` says:
//
// - By turns: the same work with recording on and off in turn, by the processor time of the
// process,
//   the log thread's included. What the pairs of turns scatter by is the machine's noise: where it
//   is larger than what they differ by, this says nothing.
// - By blocks: every thread records a few jobs and not the next few, by its own processor time, so
//   that both meet the same machine; the log thread's processor time, by the kernel's account of
//   it, comes on top.
//
//   recording_overhead [turns [jobs of each thread in a turn]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
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

Nanoseconds read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}
Nanoseconds processTime() { return read(CLOCK_PROCESS_CPUTIME_ID); }
Nanoseconds threadTime() { return read(CLOCK_THREAD_CPUTIME_ID); }

/// Processor time of this process's only log thread, as the kernel counts it; 0: it does not tell.
Nanoseconds logThreadTime() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    Nanoseconds time = 0;
    if (name == "pipetrace-log" && std::ifstream(task.path() / "schedstat") >> time) return time;
  }
  return 0;
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

void doJobs(Recorder& recorder, StreamId stream, int jobs, Work& work, int rounds) {
  for (int i = 0; i < jobs; ++i) {
    recorder.begin(stream, {.kind = JobKind::kForward, .microBatch = i, .action = "0F0"});
    work.run(rounds);
    recorder.end(stream);
  }
}

template <typename Body>
void onAllThreads(const Body& body) {
  std::vector<std::thread> threads;
  for (StreamId stream = 0; stream < kThreads; ++stream) threads.emplace_back(body, stream);
  for (std::thread& thread : threads) thread.join();
}

Nanoseconds turn(Recorder& recorder, int jobs, int rounds) {
  const Nanoseconds start = processTime();
  onAllThreads([&](StreamId stream) {
    Work work;
    doJobs(recorder, stream, jobs, work, rounds);
  });
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

/// A recorder with a stream for each thread, and its log.
struct Recording {
  Recording() {
    for (int i = 0; i < kThreads; ++i) {
      on.addStream(i == 0 ? "compute" : "s" + std::to_string(i), std::make_unique<CpuStream>());
    }
  }
  /// What `Profiler End:` says, beside what was measured: ns a job.
  void compare(double measured, double jobs, double base) {
    on.close();
    const auto end = [&](const char* key) {
      return static_cast<double>(log.number("Profiler End: ", key));
    };
    const double own = end("own_cost_ns") / jobs;
    const double logThread = end("log_thread_ns") / jobs;
    std::printf(
        "  Profiler End: %.3f %%, %.0f ns a job (%.0f recording, %.0f log thread), %.0f "
        "dropped; %.2f of what was measured\n",
        100 * (own + logThread) / base, own + logThread, own, logThread, end("dropped"),
        (own + logThread) / measured);
  }

  RecordedLog log;
  Recorder on{{.logDirectory = log.folder()}};
};

void measureByTurns(Recorder& off, int turns, int jobs, int rounds) {
  Recording recording;
  std::vector<double> differences;
  std::vector<double> without;
  for (int i = 0; i < turns; ++i) {
    // Which one comes first changes, so that a machine that slows down favours neither.
    const Nanoseconds first = turn(i % 2 == 0 ? recording.on : off, jobs, rounds);
    const Nanoseconds second = turn(i % 2 == 0 ? off : recording.on, jobs, rounds);
    differences.push_back(static_cast<double>(i % 2 == 0 ? first - second : second - first));
    without.push_back(static_cast<double>(i % 2 == 0 ? second : first));
  }
  const double each = static_cast<double>(kThreads) * jobs;
  const double base = median(without) / each;
  std::printf(
      "by turns: %.0f jobs of %.0f us, processor time up by %.3f %% (half of the pairs say "
      "%.3f to %.3f %%)\n",
      each * turns, base / 1e3, 100 * median(differences) / each / base,
      100 * quantile(differences, 0.25) / each / base,
      100 * quantile(differences, 0.75) / each / base);
  recording.compare(median(differences) / each, each * turns, base);
}

/// Of one thread: processor time of blocks of jobs, each with and without recording.
struct Blocks {
  std::vector<double> differences;
  std::vector<double> without;
};

void measureByBlocks(Recorder& off, int turns, int jobs, int rounds) {
  constexpr int kBlock = 8;
  Recording recording;
  const int blocks = std::max(1, turns * jobs / kBlock);
  std::vector<Blocks> ofThreads(kThreads);
  const Nanoseconds start = logThreadTime();
  onAllThreads([&](StreamId stream) {
    Work work;
    Blocks& mine = ofThreads[static_cast<std::size_t>(stream)];
    const auto block = [&](Recorder& recorder) {
      const Nanoseconds before = threadTime();
      doJobs(recorder, stream, kBlock, work, rounds);
      return static_cast<double>(threadTime() - before);
    };
    for (int i = 0; i < blocks; ++i) {
      const double first = block(i % 2 == 0 ? recording.on : off);
      const double second = block(i % 2 == 0 ? off : recording.on);
      mine.differences.push_back(i % 2 == 0 ? first - second : second - first);
      mine.without.push_back(i % 2 == 0 ? second : first);
    }
  });
  recording.on.flush();
  Blocks all;
  for (const Blocks& of : ofThreads) {
    all.differences.insert(all.differences.end(), of.differences.begin(), of.differences.end());
    all.without.insert(all.without.end(), of.without.begin(), of.without.end());
  }
  const double recorded = static_cast<double>(kThreads) * blocks * kBlock;
  const double base = median(all.without) / kBlock;
  const double own = median(all.differences) / kBlock;
  const double logThread = static_cast<double>(logThreadTime() - start) / recorded;
  std::printf(
      "by blocks: %.0f jobs of %.0f us, processor time up by %.3f %%, %.0f ns a job (%.0f "
      "recording, %.0f log thread)\n",
      recorded, base / 1e3, 100 * (own + logThread) / base, own + logThread, own, logThread);
  recording.compare(own + logThread, recorded, base);
}

int measure(int turns, int jobs) {
  Recorder off({.isOn = false});
  const int rounds = roundsOfAJob(off, jobs);
  measureByTurns(off, turns, jobs, rounds);
  measureByBlocks(off, turns, jobs, rounds);
  return 0;
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  const int turns = argc > 1 ? std::atoi(argv[1]) : 20;
  const int jobs = argc > 2 ? std::atoi(argv[2]) : 500;
  return pipetrace::measure(std::max(turns, 1), std::max(jobs, 1));
}
