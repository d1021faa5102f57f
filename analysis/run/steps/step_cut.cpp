#include "analysis/run/steps/step_cut.h"

#include <algorithm>
#include <optional>

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
  const Event* before = &*firstGiven;
  for (Event& job : jobs) {
    if (job.step == kNotGiven) {
      job.step = before->step;
      if (job.phase == Phase::kTraining) job.phase = before->phase;
    } else {
      before = &job;
    }
  }
}

/// The jobs that open steps.
struct Opener {
  Event job;
  std::int32_t microBatch = 0;
  bool isOfStage = false;  // the stage counts as well

  bool isMet(const Event& event) const {
    return event.microBatch == microBatch && isOfType(event, job) &&
           (!isOfStage || event.stage == job.stage);
  }
};

/// For jobs that name their stages and no chunks, as those of traces: the rank's first forward.
std::optional<Opener> openerByStage(std::span<const Event> jobs) {
  const auto first = std::find_if(jobs.begin(), jobs.end(), [](const Event& e) {
    return e.kind == JobKind::kForward && e.stage != kNotGiven && e.chunk == kNotGiven &&
           e.microBatch != kNotGiven;
  });
  if (first == jobs.end()) return std::nullopt;
  Opener opener{*first, first->microBatch, true};
  for (const Event& job : jobs) {
    const bool isLike = isOfType(job, *first) && job.stage == first->stage;
    if (isLike && job.microBatch != kNotGiven) {
      opener.microBatch = std::min(opener.microBatch, job.microBatch);
    }
  }
  return opener;
}

std::optional<Opener> openerByType(std::span<const Event> jobs) {
  const auto first = std::find_if(jobs.begin(), jobs.end(), [](const Event& e) {
    return e.kind != JobKind::kDefault && !savesState(e.kind) && !isIgnored(e.kind);
  });
  if (first == jobs.end()) return std::nullopt;
  return Opener{*first};
}

void cut(std::span<Event> jobs, std::int32_t first) {
  std::optional<Opener> opener = openerByType(jobs);
  const bool mayBeOfStage = !opener || isCompute(opener->job.kind) ||
                            opener->job.microBatch == kNotGiven;  // it opens no step
  if (mayBeOfStage) {
    if (const auto byStage = openerByStage(jobs)) opener = byStage;
  }
  std::int32_t step = first;
  bool open = false;
  for (Event& job : jobs) {
    if (opener && opener->isMet(job)) {
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
