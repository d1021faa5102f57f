#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "analysis/run/found_jobs/number_found_jobs.h"
#include "analysis/run/steps/incomplete_steps.h"
#include "analysis/run/steps/step_cut.h"
#include "analysis/run/topology/message_ends.h"
#include "analysis/run/topology/rank_agreement.h"
#include "analysis/run_summary.h"
#include "analysis/sums_beside_jobs.h"
#include "trace/run_parts.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"
#include "trace/threads/in_parallel.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

/// Collects what was inferred, for one note.
class Inferred {
 public:
  void add(const std::string& what) { text_ += (text_.empty() ? "" : "; ") + what; }

  void addTo(Diagnostics& diagnostics) const {
    if (text_.empty()) return;
    diagnostics.add(
        {.severity = Severity::kNote, .message = "inferred, as the logs do not say it: " + text_});
  }

 private:
  std::string text_;
};

/// Finds the job of a rank that an event on another of its lanes belongs to.
class JobsOfRank {
 public:
  /// `partBegins`: of the rank.
  JobsOfRank(const Track* compute, std::span<const Nanoseconds> partBegins)
      : partBegins_(partBegins) {
    if (compute == nullptr) return;
    jobs_ = &compute->events;
    isById_ = std::adjacent_find(jobs_->begin(), jobs_->end(), [](const Event& a, const Event& b) {
                return a.job >= b.job;
              }) == jobs_->end();
    if (isById_) return;
    for (const Event& job : *jobs_) {
      if (job.job != kNotGiven) byId_.emplace_back(job.job, &job);
    }
    std::sort(byId_.begin(), byId_.end());
  }

  const Event* withId(std::int64_t id) const {
    if (id == kNotGiven || jobs_ == nullptr) return nullptr;
    if (isById_) {
      // Most ranks number their jobs one after the other.
      const auto guess = static_cast<std::uint64_t>(id) -
                         static_cast<std::uint64_t>(jobs_->empty() ? 0 : jobs_->front().job);
      if (guess < jobs_->size() && (*jobs_)[guess].job == id) return &(*jobs_)[guess];
      const auto found = std::partition_point(jobs_->begin(), jobs_->end(),
                                              [&](const Event& job) { return job.job < id; });
      return found != jobs_->end() && found->job == id ? &*found : nullptr;
    }
    const auto found =
        std::partition_point(byId_.begin(), byId_.end(), [&](auto& p) { return p.first < id; });
    return found != byId_.end() && found->first == id ? found->second : nullptr;
  }

  /// In the part of the run that `time` is in, the last job that began at `time` or earlier; the
  /// first of that part if there is none.
  const Event* at(Nanoseconds time) const {
    if (jobs_ == nullptr || jobs_->empty()) return nullptr;
    const auto isHere = [&](const Event& job) {
      return partBegins_.empty() || partAt(partBegins_, job.begin) == partAt(partBegins_, time);
    };
    const auto next = std::partition_point(jobs_->begin(), jobs_->end(),
                                           [&](const Event& e) { return e.begin <= time; });
    if (next != jobs_->begin() && isHere(*std::prev(next))) return &*std::prev(next);
    return next != jobs_->end() && isHere(*next) ? &*next : nullptr;
  }

 private:
  std::span<const Nanoseconds> partBegins_;
  const std::vector<Event>* jobs_ = nullptr;
  bool isById_ = false;  // the jobs are in the order of their ids, as in most logs
  std::vector<std::pair<std::int64_t, const Event*>> byId_;  // empty if isById_
};

/// The ranks that have a lane of that name.
std::set<int> ranksWithComputeLane(const Timeline& timeline) {
  std::set<int> ranks;
  for (const Track& track : timeline.tracks) {
    if (track.lane == kComputeLane) ranks.insert(track.rank);
  }
  return ranks;
}

/// Whether it is the rank's compute lane. In a rank without a lane of that name, lanes with compute
/// jobs are.
bool holdsTheJobs(const std::set<int>& withComputeLane, const Track& track) {
  if (track.lane == kComputeLane) return true;
  return !withComputeLane.contains(track.rank) &&
         std::any_of(track.events.begin(), track.events.end(),
                     [](const Event& e) { return isCompute(e.kind); });
}

/// The jobs of one part of the run on a compute lane.
std::span<Event> jobsOfPart(Track& track, const Timeline& timeline, std::size_t part) {
  const auto info = timeline.ranks.find(track.rank);
  const std::span<Event> jobs(track.events);
  if (info == timeline.ranks.end() || info->second.partBegins.empty()) {
    return part == 0 ? jobs : std::span<Event>();
  }
  const auto isBefore = [&](std::size_t upTo) {
    return std::partition_point(jobs.begin(), jobs.end(), [&](const Event& job) {
      return partAt(info->second.partBegins, job.begin) < upTo;
    });
  };
  return {isBefore(part), isBefore(part + 1)};
}

std::int32_t lastStep(std::span<const Event> jobs) {
  std::int32_t last = kNotGiven;
  for (const Event& job : jobs) last = std::max(last, job.step);
  return last;
}

void completeSteps(Timeline& timeline, int threads, Inferred& inferred) {
  // All ranks have the same first step, even where only one log gives it. PaddlePaddle's script
  // takes the highest.
  std::int32_t first = 0;
  for (const auto& [rank, info] : timeline.ranks) {
    first = std::max(first, info.firstStep.value_or(0));
  }
  const std::set<int> withComputeLane = ranksWithComputeLane(timeline);
  std::vector<char> isCut(timeline.tracks.size());
  std::vector<std::int32_t> lastSteps(timeline.tracks.size(), kNotGiven);
  const std::size_t parts = partBeginsOf(timeline).size() + 1;
  for (std::size_t part = 0; part < parts; ++part) {
    inParallel(threads, isCut.size(), [&](std::size_t i) {
      Track& track = timeline.tracks[i];
      if (!holdsTheJobs(withComputeLane, track)) return;
      const std::span<Event> jobs = jobsOfPart(track, timeline, part);
      if (giveSteps(jobs, first)) isCut[i] = 1;
      if (parts > 1) lastSteps[i] = std::max(lastSteps[i], lastStep(jobs));
    });
    // The next part counts on, with one number for all ranks.
    if (parts > 1)
      first = std::max(first, *std::max_element(lastSteps.begin(), lastSteps.end()) + 1);
  }
  std::vector<int> cut;
  for (std::size_t i = 0; i < isCut.size(); ++i) {
    if (isCut[i] != 0) cut.push_back(timeline.tracks[i].rank);
  }
  if (!cut.empty()) {
    inferred.add(
        "steps of " + ranksText(cut) +
        " (a step begins where the first job's type comes again with its first micro-batch)");
  }
}

void completeOtherLane(Track& track, const JobsOfRank& jobs) {
  for (Event& event : track.events) {
    if (event.kind == JobKind::kBubble) continue;  // its job may be one of another rank
    const Event* owner = jobs.withId(event.job);
    if (owner != nullptr) {
      if (event.stage == kNotGiven) event.stage = owner->stage;
      if (event.chunk == kNotGiven) event.chunk = owner->chunk;
    }
    const bool hasStep = event.step != kNotGiven;
    if (!hasStep && owner == nullptr) owner = jobs.at(event.begin);
    if (owner == nullptr) continue;
    if (!hasStep) event.step = owner->step;
    if (event.phase == Phase::kTraining && event.step == owner->step) event.phase = owner->phase;
  }
}

using Tracks = std::vector<Track*>;

/// The tracks of each rank.
std::map<int, Tracks> tracksByRank(Timeline& timeline) {
  std::map<int, Tracks> ranks;
  for (Track& track : timeline.tracks) ranks[track.rank].push_back(&track);
  return ranks;
}

void completeOtherLanes(const Tracks& tracks, const RankInfo& info) {
  const auto compute = std::find_if(tracks.begin(), tracks.end(),
                                    [](const Track* track) { return track->lane == kComputeLane; });
  if (tracks.size() == (compute == tracks.end() ? 0 : 1)) return;
  const JobsOfRank jobs(compute == tracks.end() ? nullptr : *compute, info.partBegins);
  for (Track* const track : tracks) {
    if (track->lane != kComputeLane) completeOtherLane(*track, jobs);
  }
}

/// The stages that the jobs of a rank name, ascending.
std::vector<std::int32_t> stagesOf(const Tracks& tracks) {
  std::set<std::int32_t> stages;
  std::int32_t latest = kNotGiven;
  for (const Track* const track : tracks) {
    for (const Event& event : track->events) {
      if (event.stage == latest || event.stage == kNotGiven || !isCompute(event.kind)) continue;
      latest = event.stage;
      stages.insert(latest);
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

/// The inferences about stages to report.
struct StageFindings {
  bool looped = false;
  std::vector<int> unplaced;
};

StageFindings completeStages(const Topology& topology, const std::map<int, Tracks>& ranks,
                             int threads) {
  struct Rank {
    int number = 0;
    const Topology::Place* place = nullptr;
    bool looped = false;
    bool unplaced = false;
  };
  std::vector<Rank> places;
  for (const auto& [number, place] : topology.places) places.push_back({number, &place});
  inParallel(threads, places.size(), [&](std::size_t i) {
    Rank& rank = places[i];
    const Tracks& tracks = ranks.at(rank.number);
    const std::vector<std::int32_t> stages = stagesOf(tracks);
    rank.unplaced = rank.place->position < 0 && stages.empty();
    for (Track* const track : tracks) {
      rank.looped = completeStages(*track, *rank.place, stages) || rank.looped;
    }
  });
  StageFindings findings;
  for (const Rank& rank : places) {
    findings.looped = findings.looped || rank.looped;
    if (rank.unplaced) findings.unplaced.push_back(rank.number);
  }
  return findings;
}

void reportLeftOut(LeftOutJobs left, Diagnostics& diagnostics) {
  std::sort(left.unparted.begin(), left.unparted.end());
  std::sort(left.lackNeighbours.begin(), left.lackNeighbours.end());
  if (!left.unparted.empty()) {
    diagnostics.add({.message = "the CUDA graphs of " + ranksText(left.unparted) +
                                " do not tell where backwards of the last stage begin, so none of"
                                " their jobs was taken",
                     .advice = "annotate the kernels while the graph is captured, or record a few"
                               " steps without graphs (docs/inputs/torch.md)"});
  }
  if (!left.lackNeighbours.empty()) {
    diagnostics.add({.message = "the CUDA graphs of " + ranksText(left.lackNeighbours) +
                                " do not say whom they wait for, and other ranks have no file, so"
                                " none of their jobs was taken",
                     .advice = "give the files of all ranks"});
  }
  std::sort(left.takeTurns.begin(), left.takeTurns.end());
  if (!left.takeTurns.empty()) {
    diagnostics.add({.message = "forwards and backwards of " + ranksText(left.takeTurns) +
                                " take turns in an order that no known schedule has, so " +
                                countText(left.jobsInTurns, "job was", "jobs were") + " not taken",
                     .advice = "annotate the jobs (docs/inputs/megatron.md), and give the files of"
                               " all ranks"});
  }
}

}  // namespace

void completeTimeline(Timeline& timeline, Diagnostics& diagnostics, int threads) {
  checkRankAgreement(timeline, diagnostics);
  Inferred inferred;
  completeSteps(timeline, threads, inferred);
  leaveOutSumsBesideJobs(timeline, threads);
  const std::map<int, Tracks> ranks = tracksByRank(timeline);
  std::vector<std::pair<const Tracks*, const RankInfo*>> each;
  for (const auto& [rank, tracks] : ranks) each.emplace_back(&tracks, &timeline.ranks.at(rank));
  inParallel(threads, each.size(),
             [&](std::size_t i) { completeOtherLanes(*each[i].first, *each[i].second); });
  reportLeftOut(numberFoundJobs(timeline, threads), diagnostics);
  givePeers(timeline);  // between stages that jobs name: they show which ranks make up a pipeline
  const Topology topology = topologyOf(timeline, threads);
  const auto [looped, unplaced] = completeStages(topology, ranks, threads);
  givePeers(timeline);  // between stages that follow from the pipelines
  endSendsWithReceives(timeline);
  pairMessages(timeline);
  const auto isPlaced = [&](const auto& place) {
    return !timeline.ranks.at(place.first).pipelineRanks.empty();
  };
  if (topology.inferred && std::all_of(topology.places.begin(), topology.places.end(), isPlaced)) {
    inferred.add(countText(topology.places.begin()->second.chunks, "stage", "stages") +
                 " on each rank");
  } else if (topology.inferred) {
    const auto replicas = topology.replicas();
    inferred.add(countText(replicas.size(), "pipeline of ", "pipelines, the first of ") +
                 ranksText(replicas.begin()->second) + " in this order");
  }
  if (looped) inferred.add("stages (chunk c of pipeline rank r of p is stage c * p + r)");
  inferred.addTo(diagnostics);
  if (!unplaced.empty()) {
    diagnostics.add({.severity = Severity::kNote,
                     .message = "the stages of " + ranksText(unplaced) +
                                " are not known, as logs of their pipeline are missing",
                     .advice = "read the logs of all ranks together"});
  }
  findIncompleteSteps(timeline, topology, threads, diagnostics);
}

}  // namespace pipetrace
