#include "tests/bench/goals.h"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace pipetrace::bench {
namespace {

constexpr double kMiB = 1024.0 * 1024;

class GoalTable {
 public:
  explicit GoalTable(const Measurements& rows) : rows_(rows) {}

  void print() {
    std::printf("\n%-58s %9s %7s %7s  %s\n", "goal", "measured", "must", "beyond", "");
    ofBare("dense, jobs only, 1 thread", 1.5, 1.1);
    ofBare("dense, everything on, 2 threads", 2, 1.3);
    ofBare("mixed, jobs only, 1 thread", 1.5, 1.1);
    ofBare("dense to pftrace, jobs only, 1 thread", 1, 0.5);
    ofBare("dense to pftrace, everything on, 2 threads", 1, 0.5);
    bytesPerJob("dense, jobs only, 1 thread");
    bytesPerJob("large, jobs only, 1 thread");
    if (const Measured* trace = row("Chrome JSON in, 1 thread")) {
      goal("Chrome JSON in: peak memory / file", trace->ours.peakMiB * kMiB / trace->inputBytes,
           1.5);
    }
    if (const Measured* trace = row("Chrome JSON in, 2 threads")) {
      goal("Chrome JSON in, 2 threads: seconds", trace->ours.seconds, 0.4, 0.25);
    }
    tenfold("jobs only, 1 thread");
    tenfold("everything on, 2 threads");
    tenfold("everything on, 2 threads, nowhere");
  }

 private:
  const Measured* row(const std::string& name) const {
    const auto found = rows_.find(name);
    return found == rows_.end() ? nullptr : &found->second;
  }

  static void goal(const std::string& name, double measured, double must,
                   std::optional<double> beyond = std::nullopt, const std::string& note = {}) {
    std::printf("%-58s %9.2f %7.2f ", name.c_str(), measured, must);
    if (beyond) {
      std::printf("%7.2f", *beyond);
    } else {
      std::printf("%7s", "");
    }
    const char* const verdict = measured > must                 ? "MISSED"
                                : beyond && measured <= *beyond ? "beyond"
                                                                : "reached";
    std::printf("  %s%s\n", verdict, note.c_str());
  }

  void ofBare(const std::string& name, double must, double beyond) const {
    const Measured* const m = row(name);
    if (m == nullptr) return;
    char note[64];
    std::snprintf(note, sizeof note, " (of processor time %.2f)",
                  m->ours.cpuSeconds / m->bare.cpuSeconds);
    const char* const of =
        name.find("pftrace") == std::string::npos ? ": times the bare loop" : ": times as to JSON";
    goal(name + of, m->ours.seconds / m->bare.seconds, must, beyond, note);
  }

  void bytesPerJob(const std::string& name) const {
    const Measured* const m = row(name);
    if (m == nullptr) return;
    constexpr double kFixedMiB = 64;
    const double perJob = std::max(0.0, m->ours.peakMiB - kFixedMiB) * kMiB / m->jobs;
    goal(name + ": bytes a job above 64 MiB", perJob, 64);
  }

  void tenfold(const std::string& what) const {
    const Measured* const one = row("dense, " + what);
    const Measured* const ten = row("large, " + what);
    if (one == nullptr || ten == nullptr) return;
    char note[128];
    std::snprintf(note, sizeof note, " (of processor time %.1f; the bare loop %.1f, of that %.1f)",
                  ten->ours.cpuSeconds / one->ours.cpuSeconds,
                  ten->bare.seconds / one->bare.seconds,
                  ten->bare.cpuSeconds / one->bare.cpuSeconds);
    goal("ten times as many jobs, " + what + ": times as long",
         ten->ours.seconds / one->ours.seconds, 10.5, std::nullopt, note);
  }

  const Measurements& rows_;
};

}  // namespace

void printGoals(const Measurements& rows) { GoalTable(rows).print(); }

}  // namespace pipetrace::bench
