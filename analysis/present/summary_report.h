#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/run/doubts.h"
#include "analysis/run_summary.h"

namespace pipetrace {

/// The steps of a phase that figures leave out.
struct OtherPhase {
  Phase phase = Phase::kEvaluate;
  std::vector<int> steps;  ///< their numbers, ascending
  Nanoseconds time = 0;    ///< the sum of their windows; of several pipelines the longest
};

/// One for each other phase that the run has.
std::vector<OtherPhase> otherPhasesOf(const RunSummary& summary);

/// Lines about phases, for the head of a report: which one the figures are about, if that is not
/// training, and which steps they leave out. Before them one that says that the run is
/// asynchronous, if it is. None for a run of training steps alone.
std::vector<std::string> phaseLines(const RunSummary& summary);

/// The same for a JSON object: "phase" where it is not training, "other_phases" where there are
/// some.
template <typename Json>
void addPhases(const RunSummary& summary, Json& object) {
  if (summary.phase != Phase::kTraining) object["phase"] = logName(summary.phase);
  for (const OtherPhase& other : otherPhasesOf(summary)) {
    object["other_phases"].push_back(
        {{"phase", logName(other.phase)}, {"steps", other.steps}, {"time_ns", other.time}});
  }
}

/// The summary as text: a line for each doubt, a line about the run, busy time, idle time and
/// bubble ratio of each rank, and the length of each step. A run of more than 16 steps has its
/// first and its last 8 listed. Ends with a newline.
std::string textReport(const Timeline& timeline, const RunSummary& summary, int threads = 1,
                       const std::vector<Doubt>& doubts = {});

/// The lines as text: each ends with a newline.
std::string textOfLines(const std::vector<std::string>& lines);

/// A ratio as the reports write it, rounded to four digits: "0.2727".
std::string ratioText(double ratio);

/// The summary as one JSON object with the keys of docs/metrics.md. Times are whole nanoseconds.
/// `timeline` is what the summary is about; its bubbles and its jobs count, too. Ends with a
/// newline.
std::string jsonReport(const Timeline& timeline, const RunSummary& summary, int threads = 1,
                       const std::vector<Doubt>& doubts = {});

}  // namespace pipetrace
