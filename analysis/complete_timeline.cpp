#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "analysis/incomplete_steps.h"
#include "analysis/rank_agreement.h"
#include "analysis/ranks_text.h"
#include "analysis/run_summary.h"
#include "analysis/step_cut.h"
#include "analysis/topology.h"

namespace pipetrace {
namespace {

void note(Diagnostics& diagnostics, std::string message, std::string advice = {}) {
  diagnostics.add(
      {.severity = Severity::kNote, .message = std::move(message), .advice = std::move(advice)});
}

/// What the jobs of one rank say of the events on its other lanes.
class JobsOfRank {
 public:
  explicit JobsOfRank(const Track* compute) {
    if (compute == nullptr) return;
    jobs_ = &compute->events;
    for (const Event& job : *jobs_) {
      if (job.job != kNotGiven) byId_.emplace_back(job.job, &job);
    }
    std::sort(byId_.begin(), byId_.end());
  }

  const Event* withId(std::int64_t id) const {
    if (id == kNotGiven) return nullptr;
    const auto found =
        std::partition_point(byId_.begin(), byId_.end(), [&](auto& p) { return p.first < id; });
    return found != byId_.end() && found->first == id ? found->second : nullptr;
  }

  /// The last job that began by then, or the first of all.
  const Event* at(Nanoseconds time) const {
    if (jobs_ == nullptr || jobs_->empty()) return nullptr;
    const auto next = std::partition_point(jobs_->begin(), jobs_->end(),
                                           [&](const Event& e) { return e.begin <= time; });
    return next == jobs_->begin() ? &*next : &*std::prev(next);
  }

 private:
  const std::vector<Event>* jobs_ = nullptr;
  std::vector<std::pair<std::int64_t, const Event*>> byId_;
};

/// The compute lane, or, of a rank that has none of that name, a lane with compute jobs.
bool holdsTheJobs(const Timeline& timeline, const Track& track) {
  if (track.lane == kComputeLane) return true;
  return timeline.findTrack(track.rank, kComputeLane) == nullptr &&
         std::any_of(track.events.begin(), track.events.end(),
                     [](const Event& e) { return isCompute(e.kind); });
}

void completeSteps(Timeline& timeline, Diagnostics& diagnostics) {
  std::vector<int> cut;
  for (Track& track : timeline.tracks) {
    if (holdsTheJobs(timeline, track) && giveSteps(track)) cut.push_back(track.rank);
  }
  if (!cut.empty()) {
    note(diagnostics, "the log of " + ranksText(cut) +
                          " names no steps; one begins where the first job's type comes again "
                          "with micro-batch 0");
  }
}

void completeOtherLanes(Timeline& timeline, Track& track) {
  const JobsOfRank jobs(timeline.findTrack(track.rank, kComputeLane));
  for (Event& event : track.events) {
    const Event* owner = jobs.withId(event.job);
    if (owner != nullptr) {
      if (event.stage == kNotGiven) event.stage = owner->stage;
      if (event.chunk == kNotGiven) event.chunk = owner->chunk;
    }
    if (event.step != kNotGiven) continue;
    if (owner == nullptr) owner = jobs.at(event.begin);
    if (owner != nullptr) event.step = owner->step;
  }
}

/// The stages that the jobs of a rank name, ascending.
std::vector<std::int32_t> stagesOf(const Timeline& timeline, int rank) {
  std::set<std::int32_t> stages;
  for (const Track& track : timeline.tracks) {
    if (track.rank != rank) continue;
    for (const Event& event : track.events) {
      if (isCompute(event.kind) && event.stage != kNotGiven) stages.insert(event.stage);
    }
  }
  return {stages.begin(), stages.end()};
}

/// Returns whether a stage was inferred for a rank that has several.
bool completeStages(Track& track, const Topology::Place& place,
                    const std::vector<std::int32_t>& stages) {
  bool looped = false;
  for (Event& event : track.events) {
    if (!isCompute(event.kind) && !isTransfer(event.kind)) continue;
    if (event.chunk == kNotGiven) {
      const auto found = std::lower_bound(stages.begin(), stages.end(), event.stage);
      if (event.stage != kNotGiven && found != stages.end() && *found == event.stage) {
        event.chunk = static_cast<std::int16_t>(found - stages.begin());
      } else if (event.stage == kNotGiven && place.chunks == 1) {
        event.chunk = 0;
      }
    }
    if (event.stage == kNotGiven && event.chunk != kNotGiven && event.chunk < place.chunks &&
        place.position >= 0) {
      event.stage = event.chunk * place.depth + place.position;
      looped = looped || place.chunks > 1;
    }
  }
  return looped;
}

}  // namespace

void completeTimeline(Timeline& timeline, Diagnostics& diagnostics) {
  checkRankAgreement(timeline, diagnostics);
  completeSteps(timeline, diagnostics);
  for (Track& track : timeline.tracks) {
    if (track.lane != kComputeLane) completeOtherLanes(timeline, track);
  }
  const Topology topology = topologyOf(timeline);
  bool looped = false;
  std::vector<int> unplaced;
  for (const auto& [rank, place] : topology.places) {
    const std::vector<std::int32_t> stages = stagesOf(timeline, rank);
    if (place.position < 0 && stages.empty()) unplaced.push_back(rank);
    for (Track& track : timeline.tracks) {
      if (track.rank == rank) looped = completeStages(track, place, stages) || looped;
    }
  }
  if (topology.inferred) {
    const auto replicas = topology.replicas();
    note(diagnostics, "the logs do not say how the ranks are arranged; taken as " +
                          std::to_string(replicas.size()) +
                          (replicas.size() == 1 ? " pipeline of " : " pipelines, the first of ") +
                          ranksText(replicas.begin()->second) + " in this order");
  }
  if (looped) {
    note(diagnostics,
         "the logs name chunks but no stages; chunk c of pipeline rank r of p is taken as stage "
         "c * p + r");
  }
  if (!unplaced.empty()) {
    note(diagnostics,
         "the stages of " + ranksText(unplaced) +
             " are not known, as logs of their pipeline are "
             "missing",
         "read the logs of all ranks together");
  }
  findIncompleteSteps(timeline, topology, diagnostics);
}

}  // namespace pipetrace
