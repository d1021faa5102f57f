#pragma once

#include <string>

#include "analysis/diff/run_diff.h"

namespace pipetrace {

/// Two compared runs to report on.
struct DiffReport {
  const RunDiff& diff;
  std::string inputOfA;  ///< as the user named it
  std::string inputOfB;
};

/// The answer in one sentence, without a full stop: by how much B's steps take longer, how sure
/// that is, and why.
std::string diffAnswer(const RunDiff& diff);

/// The runs: "after: 4 ranks, 8 steps of 8 micro-batches, 1F1B, 185.5 ms a step".
std::string diffTextOfA(const DiffReport& report);
std::string diffTextOfB(const DiffReport& report);

/// The report as text; its first line is the answer. Ends with a newline.
std::string diffText(const DiffReport& report);

/// The report as one JSON object, as docs/diff.schema.json describes it. Ends with a newline.
std::string diffJson(const DiffReport& report);

/// The answer in one word. B is "slower" or "faster" beyond noise, or "equal" as far as noise
/// shows. It is "unknown" where a run has one step only and the steps differ, else
/// "not_comparable".
std::string diffVerdict(const RunDiff& diff);

/// They say what the comparison rests on: Comparison::notes and more. Sentences without a full
/// stop.
std::vector<std::string> diffNotes(const RunDiff& diff);

}  // namespace pipetrace
