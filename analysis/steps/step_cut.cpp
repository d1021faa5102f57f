#include "analysis/steps/step_cut.h"

#include <algorithm>

namespace pipetrace {
namespace {

bool isIgnored(JobKind kind) {
  return kind == JobKind::kRecvForward || kind == JobKind::kSendBackward;
}

/// Whether both have the same `type` in the log. Chunk and sub-job are part of the type.
bool isOfType(const Event& a, const Event& b) {
  return a.kind == b.kind && a.chunk == b.chunk && a.part == b.part &&
         (a.kind != JobKind::kOther || a.name == b.name);
}

void fillBetween(std::span<Event> jobs) {
  const auto firstGiven =
      std::find_if(jobs.begin(), jobs.end(), [](const Event& e) { return e.step != kNotGiven; });
  std::int32_t step = firstGiven->step;
  for (Event& job : jobs) {
    if (job.step == kNotGiven) {
      job.step = step;
    } else {
      step = job.step;
    }
  }
}

void cut(std::span<Event> jobs, std::int32_t first) {
  const auto opener = std::find_if(jobs.begin(), jobs.end(), [](const Event& e) {
    return e.kind != JobKind::kDefault && !isIgnored(e.kind);
  });
  std::int32_t step = first;
  bool open = false;
  for (Event& job : jobs) {
    if (opener != jobs.end() && isOfType(job, *opener) && job.microBatch == 0) {
      if (open) ++step;
      open = true;
    }
    job.step = step;
  }
}

}  // namespace

bool giveSteps(std::span<Event> jobs, std::int32_t first) {
  const auto isGiven = [](const Event& e) { return e.step != kNotGiven; };
  if (std::all_of(jobs.begin(), jobs.end(), isGiven)) return false;
  if (std::any_of(jobs.begin(), jobs.end(), isGiven)) {
    fillBetween(jobs);
    return false;
  }
  cut(jobs, first);
  return true;
}

}  // namespace pipetrace
