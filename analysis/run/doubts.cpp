#include "analysis/run/doubts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "analysis/graph/job_name.h"
#include "analysis/ratio.h"
#include "trace/text/count_text.h"

namespace pipetrace {
namespace {

// Jobs that touch are no overlap, nor are microseconds of ranks whose times come from a host.
constexpr double kMostOverlap = 0.01;        // of a rank's time in jobs
constexpr double kMeaninglessOverlap = 0.5;  // the same: more than two jobs at a time
constexpr double kMostEfficient = 1.1;       // the median step varies by less
constexpr double kMeaninglessEfficient = 1.5;
constexpr double kMostDeviceTime = 1.001;  // of the run's length

/// The length of jobs that come in the order of their begins, and how much of it lies under others.
class Overlap {
 public:
  void add(const Event& job) {
    const Nanoseconds length = job.duration();
    if (length <= 0) return;
    all_ += length;
    if (upTo_ > job.begin) hidden_ += std::min(upTo_, job.end) - job.begin;
    upTo_ = std::max(upTo_, job.end);
  }
  Nanoseconds all() const { return all_; }
  Nanoseconds hidden() const { return hidden_; }

 private:
  Nanoseconds all_ = 0;
  Nanoseconds hidden_ = 0;
  Nanoseconds upTo_ = kNsMin;
};

/// A recomputation may be a part of its backward pass.
bool isAlone(JobKind kind) { return isCompute(kind) && kind != JobKind::kRecompute; }

/// The lanes of a rank with compute jobs that do not overlap on their lane; 0 if some do.
std::int64_t lanesAlone(const Timeline& timeline, int rank) {
  std::int64_t lanes = 0;
  for (const Track& track : timeline.tracks) {
    if (track.rank != rank) continue;
    Overlap overlap;
    for (const Event& event : track.events) {
      if (isAlone(event.kind)) overlap.add(event);
    }
    if (overlap.all() == 0) continue;
    if (ratio(overlap.hidden(), overlap.all()) > kMostOverlap) return 0;
    ++lanes;
  }
  return lanes > 1 ? lanes : 0;
}

class Doubting {
 public:
  Doubting(const Run& run, const Diagnostics& diagnostics)
      : run_(run), timeline_(run.timeline()), diagnostics_(diagnostics) {}

  std::vector<Doubt> all() {
    addSaid();
    addChangedTimes();
    if (!run_.summary().steps.empty()) {
      addClocks();
      addOverlaps();
      addEfficiency();
      addDeviceTime();
      addSilentRanks();
      addMessagesBetween();
      addFoundJobs();
    }
    std::stable_sort(doubts_.begin(), doubts_.end(), [](const Doubt& a, const Doubt& b) {
      if (a.isMeaningless != b.isMeaningless) return a.isMeaningless;
      return a.kind < b.kind;
    });
    return std::move(doubts_);
  }

 private:
  /// Adds those that were said while the run was read. Several files that share one make one doubt.
  void addSaid() {
    std::map<std::pair<DoubtKind, std::string>, std::vector<const Diagnostic*>> alike;
    for (const Diagnostic& each : diagnostics_.list()) {
      if (each.doubt != DoubtKind::kNone) alike[{each.doubt, each.message}].push_back(&each);
    }
    for (const auto& [kind, said] : alike) {
      // Jobs of the same ranks say it with their ranks and times.
      if (kind.first == DoubtKind::kClocksApart && !run_.graph().clocksApart().empty()) continue;
      Doubt doubt{.kind = kind.first, .said = kind.second, .advice = said.front()->advice};
      for (const Diagnostic* const each : said) doubt.count += each->count;
      const std::string& file = said.front()->file;
      if (!file.empty()) {
        const std::int64_t line = said.front()->line;
        doubt.said = file + (line > 0 ? ":" + std::to_string(line) : "") + ": " + doubt.said;
        if (said.size() > 1) doubt.said += ", as in " + countText(said.size() - 1, "more file");
      }
      doubts_.push_back(std::move(doubt));
    }
  }

  /// Adds those about times that were impossible in the input, and were changed.
  void addChangedTimes() {
    Doubt withoutTime{.kind = DoubtKind::kNoTime};
    Doubt overruns{.kind = DoubtKind::kOverruns};
    Doubt moved{.kind = DoubtKind::kClocksMoved};
    for (const auto& [rank, info] : timeline_.ranks) {
      if (info.eventsWithoutTime > 0) {
        withoutTime.ranks.push_back(rank);
        withoutTime.count += info.eventsWithoutTime;
      }
      if (info.overruns > 0) {
        overruns.ranks.push_back(rank);
        overruns.count += info.overruns;
        overruns.time += info.overrunTime;
      }
      if (info.clockApart > 0) {
        moved.ranks.push_back(rank);
        moved.time = std::max(moved.time, info.clockApart);
        for (const ClockReading& reading : info.clockReadings) {
          moved.beside = std::max(moved.beside, reading.bound);
        }
      }
    }
    for (Doubt* const doubt : {&withoutTime, &overruns, &moved}) {
      if (!doubt->ranks.empty()) doubts_.push_back(std::move(*doubt));
    }
  }

  /// The pair that is farthest apart stands for all.
  void addClocks() {
    const JobGraph& graph = run_.graph();
    const std::vector<JobGraph::ClocksApart>& pairs = graph.clocksApart();
    const auto worst = std::max_element(pairs.begin(), pairs.end(),
                                        [](const auto& a, const auto& b) { return a.by < b.by; });
    if (worst == pairs.end()) return;
    const JobGraph::Node& used = graph.node(worst->used);
    doubts_.push_back(
        {.kind = DoubtKind::kClocksApart,
         .ranks = {graph.ranks()[worst->maker].number, graph.ranks()[worst->user].number},
         .time = worst->by,
         .count = worst->count,
         .all = worst->all,
         .morePairs = static_cast<std::int64_t>(pairs.size()) - 1,
         .made = jobName(timeline_, graph.node(worst->made)),
         .used = jobName(timeline_, used),
         .step = used.step});
  }

  void addOverlaps() {
    Doubt doubt{.kind = DoubtKind::kOverlappingJobs};
    double most = 0;
    const JobGraph& graph = run_.graph();
    for (const JobGraph::Rank& rank : graph.ranks()) {
      Overlap overlap;
      for (JobGraph::Id id = rank.first; id < rank.end; ++id) {
        if (isAlone(graph.node(id).kind)) overlap.add(*graph.node(id).event);
      }
      const double share = ratio(overlap.hidden(), overlap.all());
      if (share <= kMostOverlap) continue;
      doubt.ranks.push_back(rank.number);
      if (share <= most) continue;
      most = share;
      doubt.time = overlap.hidden();
      doubt.beside = overlap.all();
      doubt.count = lanesAlone(timeline_, rank.number);
    }
    if (doubt.ranks.empty()) return;
    std::sort(doubt.ranks.begin(), doubt.ranks.end());
    doubt.isMeaningless = most > kMeaninglessOverlap;
    doubts_.push_back(std::move(doubt));
  }

  /// A step cannot be shorter than its own order of jobs, at their medians, without messages.
  void addEfficiency() {
    std::vector<double> ratios;
    for (const PipelineBasis& pipeline : run_.basis().pipelines()) {
      for (const BubbleWindow& window : pipeline.windows) {
        if (!window.isWhole || window.lacksRanks || window.isWholeRun) continue;
        ratios.push_back(ratio(window.ownLength, window.span.end - window.span.begin));
      }
    }
    if (ratios.empty()) return;
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::nth_element(ratios.begin(), middle, ratios.end());
    if (*middle <= kMostEfficient) return;
    doubts_.push_back({.kind = DoubtKind::kTooEfficient,
                       .ratio = *middle,
                       .isMeaningless = *middle > kMeaninglessEfficient});
  }

  void addDeviceTime() {
    std::map<int, Nanoseconds> busy;
    for (const StageDeviceWork& work : run_.summary().deviceWork) busy[work.rank] += work.busy;
    if (busy.empty()) return;
    std::map<int, Timeline::Span> spans;
    for (const Track& track : timeline_.tracks) {
      Timeline::Span& span =
          spans.try_emplace(track.rank, Timeline::Span{kNsMax, kNsMin}).first->second;
      for (const Event& event : track.events) {
        span = {std::min(span.begin, event.begin), std::max(span.end, event.end)};
      }
    }
    Doubt doubt{.kind = DoubtKind::kDeviceBeyondRun};
    for (const auto& [rank, time] : busy) {
      const Timeline::Span& span = spans.at(rank);
      const Nanoseconds length = span.end - span.begin;
      if (ratio(time, length) <= kMostDeviceTime) continue;
      doubt.ranks.push_back(rank);
      if (doubt.beside > 0 && ratio(time, length) <= ratio(doubt.time, doubt.beside)) continue;
      doubt.time = time;
      doubt.beside = length;
    }
    if (!doubt.ranks.empty()) doubts_.push_back(std::move(doubt));
  }

  void addSilentRanks() {
    const JobGraph& graph = run_.graph();
    const bool talkSome = std::any_of(graph.ranks().begin(), graph.ranks().end(),
                                      [](const JobGraph::Rank& rank) { return rank.logsMessages; });
    if (!talkSome) return;
    std::vector<int> silent;
    for (const std::vector<std::uint32_t>& ranks : graph.pipelines()) {
      if (ranks.size() < 2) continue;
      for (const std::uint32_t rank : ranks) {
        if (!graph.ranks()[rank].logsMessages) silent.push_back(graph.ranks()[rank].number);
      }
    }
    if (silent.empty()) return;
    std::sort(silent.begin(), silent.end());
    doubts_.push_back({.kind = DoubtKind::kSilentRanks, .ranks = std::move(silent)});
  }

  /// The replica of a rank's pipeline; nothing where the rank has no job. Tensor-parallel peers of
  /// a stage may get what one of the stage before has sent, so they count as one.
  std::optional<int> replicaOf(int rank) const {
    const Topology& topology = run_.topology();
    const auto place = topology.places.find(rank);
    if (place == topology.places.end()) return std::nullopt;
    return topology.dataParallelIndex(place->second.replica);
  }

  void addMessagesBetween() {
    if (run_.graph().pipelines().size() < 2) return;
    std::set<int> ranks;
    std::int64_t sends = 0;
    std::int64_t receives = 0;
    for (const Track& track : timeline_.tracks) {
      const std::optional<int> own = replicaOf(track.rank);
      if (!own || track.lane == kComputeLane) continue;
      for (const Event& event : track.events) {
        if (!isTransfer(event.kind) || event.peer == kNotGiven) continue;
        const std::optional<int> other = replicaOf(event.peer);
        if (!other || other == own) continue;
        ++(isSend(event.kind) ? sends : receives);
        ranks.insert({track.rank, event.peer});
      }
    }
    if (ranks.empty()) return;
    doubts_.push_back({.kind = DoubtKind::kMessagesBetween,
                       .ranks = {ranks.begin(), ranks.end()},
                       .count = std::max(sends, receives)});
  }

  void addFoundJobs() {
    Doubt doubt{.kind = DoubtKind::kFoundJobs};
    for (const auto& [rank, info] : timeline_.ranks) {
      if (info.jobsFound == 0) continue;
      doubt.ranks.push_back(rank);
      doubt.count += info.jobsFound;
      doubt.byOrder += info.jobsByOrder;
      doubt.unplaced += info.runsUnplaced;
      doubt.time += info.unplacedTime;
    }
    if (doubt.ranks.empty()) return;
    const Topology& topology = run_.topology();
    doubt.isWithoutPipeline = std::all_of(doubt.ranks.begin(), doubt.ranks.end(), [&](int rank) {
      const auto place = topology.places.find(rank);
      return place != topology.places.end() && place->second.depth == 1;
    });
    const FollowedSchedule& followed = run_.schedule();
    if (!doubt.isWithoutPipeline && !followed.recognised.names.empty()) {
      doubt.schedule = toText(followed.recognised);
      doubt.all = doubt.count;
      doubt.fitting = std::max<std::int64_t>(doubt.count - followed.deviationCount, 0);
    }
    doubts_.push_back(std::move(doubt));
  }

  const Run& run_;
  const Timeline& timeline_;
  const Diagnostics& diagnostics_;
  std::vector<Doubt> doubts_;
};

}  // namespace

std::vector<Doubt> doubtsOf(const Run& run, const Diagnostics& diagnostics) {
  return Doubting(run, diagnostics).all();
}

bool areMeaningless(const std::vector<Doubt>& doubts) {
  return std::any_of(doubts.begin(), doubts.end(),
                     [](const Doubt& doubt) { return doubt.isMeaningless; });
}

}  // namespace pipetrace
