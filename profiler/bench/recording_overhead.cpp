// Measures in two ways what recording costs a program whose eight threads do jobs of 100 us, and
// prints what `Profiler End:` says beside them:
//
// - By turns: the same work with recording on and off in turn, by the processor time of the
//   process, the log thread's included. The pairs of turns scatter by the machine's noise. Where
//   that is larger than their difference, the result says nothing.
//
// - By jobs: every thread records each second job, by its own processor time, so that both kinds
//   meet the same machine. The log thread's processor time, as the kernel counts it, is added.
//   Pairs of which neither job is recorded show the error of the method itself.
//
//   recording_overhead [turns [jobs of each thread in a turn]]
#include <algorithm>
#include <cmath>
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
#include "profiler/recorder.h"
#include "profiler/testing/recorded_log.h"

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

/// Processor time of this process's only log thread, as the kernel counts it; 0: not known.
Nanoseconds logThreadTime() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    Nanoseconds time = 0;
    if (name == "pipetrace-log" && std::ifstream(task.path() / "schedstat") >> time) return time;
  }
  return 0;
}

/// Always the same work, in the caches that a job would use. Each step waits for the one before, so
/// its length hardly depends on other users of the processor core.
class Work {
 public:
  Work() : numbers_(4096, 1.0F) {}
  void run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      float sum = 1.0F;
      for (float& number : numbers_) {
        sum = (sum + number) * 0.5F;
        number = sum;
      }
      asm volatile("" : : "r"(numbers_.data()) : "memory");
    }
  }
  /// The number of rounds that take as long as a job.
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

/// The rounds of work that make a job, corrected by how long the last ones took: a shared machine
/// is not always as fast.
class JobSize {
 public:
  int rounds() const { return rounds_; }
  void correct(double took) {
    rounds_ = std::max(1, static_cast<int>(rounds_ * static_cast<double>(kJob) / took));
  }

 private:
  int rounds_ = Work().calibrate();
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

/// The value that `part` of all values are below: 0.5 gives the median.
double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}
double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

/// A mean, and its standard error from the scatter of its values.
struct Estimate {
  explicit Estimate(const std::vector<double>& values) {
    const auto count = static_cast<double>(values.size());
    for (const double value : values) mean += value / count;
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    error = values.size() < 2 ? NAN : std::sqrt(squares / (count - 1) / count);
  }
  double mean = 0;
  double error = 0;
};

/// A recorder with a stream for each thread, and its log.
struct Recording {
  Recording() {
    for (int i = 0; i < kThreads; ++i) {
      on.addStream(i == 0 ? "compute" : "s" + std::to_string(i), std::make_unique<CpuStream>());
    }
  }
  /// The figures of `Profiler End:`, to print beside the measured ones: ns a job.
  void compare(double measured, double jobs, double base) {
    on.close();
    const auto end = [&](const char* key) {
      return static_cast<double>(log.number("Profiler End: ", key));
    };
    const double own = end("own_cost_ns") / jobs;
    const double logThread = end("log_thread_ns") / jobs;
    std::printf(
        "  Profiler End: %.3f %%, %.0f ns a job (%.0f recording, %.0f log thread), %.0f "
        "dropped; %.2f of the measured cost\n",
        100 * (own + logThread) / base, own + logThread, own, logThread, end("dropped"),
        (own + logThread) / measured);
  }

  RecordedLog log;
  Recorder on{{.logDirectory = log.folder()}};
};

/// Processor time of the process for each job.
double turn(Recorder& recorder, int jobs, int rounds) {
  const Nanoseconds start = processTime();
  onAllThreads([&](StreamId stream) {
    Work work;
    doJobs(recorder, stream, jobs, work, rounds);
  });
  recorder.flush();
  return static_cast<double>(processTime() - start) / kThreads / jobs;
}

void measureByTurns(Recorder& off, int turns, int jobs, JobSize& size) {
  Recording recording;
  std::vector<double> differences;
  std::vector<double> without;
  for (int i = 0; i < turns; ++i) {
    // The two take turns in coming first, so that a machine that slows down favours neither.
    const double first = turn(i % 2 == 0 ? recording.on : off, jobs, size.rounds());
    const double second = turn(i % 2 == 0 ? off : recording.on, jobs, size.rounds());
    differences.push_back(i % 2 == 0 ? first - second : second - first);
    without.push_back(i % 2 == 0 ? second : first);
    size.correct(without.back());
  }
  const double base = median(without);
  const Estimate more(differences);
  const double recorded = static_cast<double>(kThreads) * turns * jobs;
  std::printf(
      "by turns: %.0f jobs of %.0f us, processor time up by %.3f +- %.3f %% (half of the pairs of "
      "turns say %.3f to %.3f %%)\n",
      recorded, base / 1e3, 100 * more.mean / base, 100 * more.error / base,
      100 * quantile(differences, 0.25) / base, 100 * quantile(differences, 0.75) / base);
  recording.compare(more.mean, recorded, base);
}

/// Processor time of pairs of jobs; one of a pair may be recorded.
struct Pairs {
  std::vector<double> differences;
  std::vector<double> without;

  void add(const Pairs& others) {
    differences.insert(differences.end(), others.differences.begin(), others.differences.end());
    without.insert(without.end(), others.without.begin(), others.without.end());
  }
};

/// One turn of pairs on all threads. `one` records the first job of a pair and the second in turn.
Pairs turnOfPairs(Recorder& one, Recorder& other, int jobs, int rounds) {
  std::vector<Pairs> ofThreads(kThreads);
  onAllThreads([&](StreamId stream) {
    Work work;
    Pairs& mine = ofThreads[static_cast<std::size_t>(stream)];
    mine.differences.reserve(static_cast<std::size_t>(jobs));
    mine.without.reserve(static_cast<std::size_t>(jobs));
    const auto timed = [&](Recorder& recorder) {
      const Nanoseconds before = threadTime();
      doJobs(recorder, stream, 1, work, rounds);
      return static_cast<double>(threadTime() - before);
    };
    for (int i = 0; i < jobs; ++i) {
      const double first = timed(i % 2 == 0 ? one : other);
      const double second = timed(i % 2 == 0 ? other : one);
      mine.differences.push_back(i % 2 == 0 ? first - second : second - first);
      mine.without.push_back(i % 2 == 0 ? second : first);
    }
  });
  Pairs all;
  for (const Pairs& pairs : ofThreads) all.add(pairs);
  return all;
}

/// The part of a turn's pairs that is cut at either end: those scatter most, by interrupts and
/// other programs. The cut leaves out some of the recording's costs, too.
constexpr double kCut = 0.05;

/// How much longer the recorded job of a pair took on average, without the part `cutPart` at either
/// end.
double meanDifference(Pairs pairs, double cutPart) {
  std::vector<double>& all = pairs.differences;
  std::sort(all.begin(), all.end());
  const auto cut = static_cast<std::ptrdiff_t>(cutPart * static_cast<double>(all.size()));
  return Estimate({all.begin() + cut, all.end() - cut}).mean;
}

void measureByJobs(Recorder& off, int turns, int jobs, JobSize& size) {
  Recording recording;
  std::vector<double> differences;
  std::vector<double> uncut;
  std::vector<double> nothing;
  Pairs all;
  const Nanoseconds start = logThreadTime();
  for (int i = 0; i < turns; ++i) {
    const Pairs pairs = turnOfPairs(recording.on, off, jobs, size.rounds());
    differences.push_back(meanDifference(pairs, kCut));
    uncut.push_back(meanDifference(pairs, 0));
    size.correct(median(pairs.without));
    all.add(pairs);
  }
  recording.on.flush();
  const double recorded = static_cast<double>(kThreads) * turns * jobs;
  const double logThread = static_cast<double>(logThreadTime() - start) / recorded;
  const double base = median(all.without);
  const Estimate own(differences);
  const double more = own.mean + logThread;
  std::printf(
      "by jobs: %.0f jobs of %.0f us, processor time up by %.3f +- %.3f %%, %.0f +- %.0f ns a job "
      "(%.0f recording, its median %.0f; %.0f log thread)\n",
      recorded, base / 1e3, 100 * more / base, 100 * own.error / base, more, own.error, own.mean,
      median(all.differences), logThread);
  const Estimate whole(uncut);
  std::printf("  without leaving out the %.0f %% at either end: %.0f +- %.0f ns recording\n",
              100 * kCut, whole.mean, whole.error);
  recording.compare(more, recorded, base);
  for (int i = 0; i < turns; ++i) {
    nothing.push_back(meanDifference(turnOfPairs(off, off, jobs, size.rounds()), kCut));
  }
  const Estimate itself(nothing);
  std::printf("  the same where neither is recorded: %.0f +- %.0f ns a job\n", itself.mean,
              itself.error);
}

int measure(int turns, int jobs) {
  Recorder off({.isOn = false});
  JobSize size;
  size.correct(turn(off, jobs, size.rounds()));  // among the others, not alone in the best case
  measureByTurns(off, turns, jobs, size);
  measureByJobs(off, turns, jobs, size);
  return 0;
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  const int turns = argc > 1 ? std::atoi(argv[1]) : 20;
  const int jobs = argc > 2 ? std::atoi(argv[2]) : 1000;
  return pipetrace::measure(std::max(turns, 1), std::max(jobs, 1));
}
