#include "analysis/run/doubts.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/ratio.h"
#include "analysis/run/graph/job_name.h"
#include "trace/event_arguments.h"
#include "trace/kernel_names.h"
#include "trace/text/number_text.h"
#include "trace/timeline.h"

namespace pipetrace {
namespace {

// Jobs that touch are no overlap, nor are microseconds of ranks whose times come from a host.
constexpr double kMostOverlap = 0.01;        // of a rank's time in jobs
constexpr double kMeaninglessOverlap = 0.5;  // the same: more than two jobs at a time
constexpr double kMostEfficient = 1.1;       // the median step varies by less
constexpr double kMeaninglessEfficient = 1.5;
constexpr double kMostDeviceTime = 1.001;  // of the run's length
constexpr std::int64_t kMostGrain = 20;    // the least length of a job, in grains of time
constexpr std::int64_t kMostEmpty = 10;    // the share of jobs that may have no length, as 1 in N
constexpr double kMostApart = 50;          // lengths of jobs, to those of the median rank
constexpr double kMostIdle = 0.9;          // bubble ratio of a step in which something was recorded
constexpr std::int32_t kStepsLookedAt = 2;
constexpr Nanoseconds kMostLast = 5;  // times as long as the longest other job of its kind

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
  for (const Track& track : tracksOf(timeline, rank)) {
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
      addCoarseTimes();
      addLastJobLong();
      addLengthsApart();
      addClocks();
      addOverlaps();
      addJobsTwice();
      addEfficiency();
      addDeviceTime();
      addNothingRecorded();
      addSilentRanks();
      addMessagesBetween();
      addStepsInside();
      addMissingJobs();
      addContradictions();
      addHiddenWaits();
      addUnseenPeers();
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

  /// Times that a simulation made are as coarse as its costs.
  bool isSimulated() const {
    return std::all_of(timeline_.ranks.begin(), timeline_.ranks.end(),
                       [](const auto& rank) { return rank.second.clock == "simulated"; });
  }

  /// Measured times have a grain where something rounded them. Jobs of a kind then have lengths
  /// that differ by that; where all are equal, somebody made them up.
  void addCoarseTimes() {
    const JobGraph& graph = run_.graph();
    if (graph.jobCount() == 0 || isSimulated()) return;
    const Nanoseconds first = graph.node(0).begin;
    Nanoseconds grain = 0;
    Nanoseconds length = 0;
    std::int64_t empty = 0;
    bool vary = false;
    std::map<std::pair<std::int32_t, JobKind>, Nanoseconds> last;
    std::int64_t count = 0;
    for (JobGraph::Id id = 0; id < graph.jobCount(); ++id) {
      const JobGraph::Node& job = graph.node(id);
      if (!isAlone(job.kind)) continue;
      ++count;
      const Nanoseconds own = job.end - job.begin;
      length += own;
      empty += own <= 0 ? 1 : 0;
      grain = std::gcd(grain, std::gcd(job.begin - first, own));
      if (!vary) {
        const auto [alike, isNew] = last.try_emplace({job.stage, job.kind}, own);
        vary = !isNew && alike->second != own;
      }
    }
    if (count == 0) return;
    const bool isEmpty = empty * kMostEmpty > count;
    if (!isEmpty && (!vary || grain * kMostGrain <= length / count)) return;
    doubts_.push_back({.kind = DoubtKind::kCoarseTimes,
                       .time = isEmpty ? 0 : grain,
                       .beside = length / count,
                       .count = empty,
                       .all = count});
  }

  /// As where a profiler ends what is open when it stops. Looks at the last job of each rank.
  void addLastJobLong() {
    const JobGraph& graph = run_.graph();
    Doubt doubt{.kind = DoubtKind::kLastJobLong};
    std::vector<JobGraph::Id> lasts;
    for (const JobGraph::Rank& rank : graph.ranks()) {
      JobGraph::Id last = JobGraph::kNone;
      for (JobGraph::Id id = rank.end; id > rank.first && last == JobGraph::kNone; --id) {
        if (isAlone(graph.node(id - 1).kind)) last = id - 1;
      }
      if (last == JobGraph::kNone) continue;
      const JobGraph::Node& job = graph.node(last);
      const Nanoseconds length = job.end - job.begin;
      Nanoseconds longest = 0;
      for (JobGraph::Id id = rank.first; id < last && kMostLast * longest < length; ++id) {
        const JobGraph::Node& other = graph.node(id);
        if (other.kind == job.kind && other.stage == job.stage) {
          longest = std::max(longest, other.end - other.begin);
        }
      }
      if (longest == 0 || length <= kMostLast * longest) continue;
      doubt.ranks.push_back(rank.number);
      if (length <= doubt.time) continue;
      doubt.time = length;
      doubt.beside = longest;
      doubt.made = jobName(timeline_, job);
      doubt.step = job.step;
    }
    if (doubt.ranks.empty()) return;
    std::sort(doubt.ranks.begin(), doubt.ranks.end());
    doubts_.push_back(std::move(doubt));
  }

  /// As where a rank has other units than the others.
  void addLengthsApart() {
    const JobGraph& graph = run_.graph();
    std::vector<std::pair<double, int>> means;  // ns, and the rank
    for (const JobGraph::Rank& rank : graph.ranks()) {
      Nanoseconds length = 0;
      std::int64_t count = 0;
      for (JobGraph::Id id = rank.first; id < rank.end; ++id) {
        const JobGraph::Node& job = graph.node(id);
        if (!isAlone(job.kind)) continue;
        length += job.end - job.begin;
        ++count;
      }
      if (count > 0) {
        means.emplace_back(static_cast<double>(length) / static_cast<double>(count), rank.number);
      }
    }
    if (means.size() < 2) return;
    std::sort(means.begin(), means.end());
    // One of two ranks is as odd as the other: it is the one with the shorter jobs.
    const double middle = means[means.size() / 2].first;
    Doubt doubt{.kind = DoubtKind::kLengthsApart, .beside = static_cast<Nanoseconds>(middle)};
    double most = 0;
    for (const auto& [mean, rank] : means) {
      const double apart =
          mean > middle ? mean / std::max(middle, 1.0) : middle / std::max(mean, 1.0);
      if (apart <= kMostApart) continue;
      doubt.ranks.push_back(rank);
      if (apart <= most) continue;
      most = apart;
      doubt.time = static_cast<Nanoseconds>(mean);
    }
    if (doubt.ranks.empty()) return;
    std::sort(doubt.ranks.begin(), doubt.ranks.end());
    doubts_.push_back(std::move(doubt));
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

  /// Looks at stages that several ranks of a pipeline run, in the first steps.
  void addJobsTwice() {
    const JobGraph& graph = run_.graph();
    const std::int32_t from = run_.summary().steps.front().step;
    Doubt doubt{.kind = DoubtKind::kJobsTwice, .step = kNotGiven};
    std::set<int> ranks;
    using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t, JobKind, std::int32_t>;
    for (const std::vector<std::uint32_t>& pipeline : graph.pipelines()) {
      std::map<Key, std::uint32_t> makers;
      for (const std::uint32_t r : pipeline) {
        const JobGraph::Rank& rank = graph.ranks()[r];
        for (JobGraph::Id id = rank.first; id < rank.end; ++id) {
          const JobGraph::Node& job = graph.node(id);
          if (job.step > from + kStepsLookedAt) break;  // no rank is further behind
          if (!isAlone(job.kind) || job.step < from || job.step >= from + kStepsLookedAt) continue;
          if (job.stage == kNotGiven || job.microBatch == kNotGiven) continue;
          const auto [made, isNew] = makers.try_emplace(
              {job.step, job.stage, job.microBatch, job.kind, job.event->part}, r);
          if (isNew || made->second == r) continue;
          ranks.insert({graph.ranks()[made->second].number, rank.number});
          if (doubt.count++ > 0) continue;
          doubt.made = jobName(timeline_, job);
          doubt.step = job.step;
        }
      }
    }
    if (ranks.empty()) return;
    doubt.ranks.assign(ranks.begin(), ranks.end());
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

  /// Whether on some track the last event that began before that time had not ended yet.
  bool isAnythingAt(Nanoseconds time) const {
    return std::any_of(timeline_.tracks.begin(), timeline_.tracks.end(), [&](const Track& track) {
      if (track.lane == kBubbleLane) return false;
      const auto after =
          std::partition_point(track.events.begin(), track.events.end(),
                               [&](const Event& event) { return event.begin <= time; });
      return after != track.events.begin() && std::prev(after)->end > time;
    });
  }

  /// The longest stretch of the steps that are nearly all idle.
  void addNothingRecorded() {
    Doubt doubt{.kind = DoubtKind::kNothingRecorded};
    std::vector<const StepSummary*> idle;
    for (const StepSummary& step : run_.summary().steps) {
      if (!step.isWholeRun && step.bubbleRatio > kMostIdle) idle.push_back(&step);
    }
    std::ranges::sort(idle, {}, [](const StepSummary* step) { return step->begin; });
    std::vector<std::size_t> next(timeline_.tracks.size(), 0);  // events before it have ended
    for (const StepSummary* const each : idle) {
      const StepSummary& step = *each;
      Nanoseconds busiest = 0;
      for (const RankStep& rank : step.ranks) busiest = std::max(busiest, rank.busy);
      const Timeline::Span window{step.begin, step.windowEnd};
      // A stretch that is longer than half of the window has its middle in it.
      const Nanoseconds middle = window.begin + (window.end - window.begin) / 2;
      if (isAnythingAt(middle)) continue;
      Nanoseconds upTo = window.begin;
      Nanoseconds from = window.end;
      for (std::size_t t = 0; t < timeline_.tracks.size(); ++t) {
        const Track& track = timeline_.tracks[t];
        if (track.lane == kBubbleLane) continue;
        std::size_t& first = next[t];
        while (first < track.events.size() && track.events[first].end <= window.begin) ++first;
        for (std::size_t i = first; i < track.events.size(); ++i) {
          const Event& event = track.events[i];
          if (event.begin >= window.end) break;
          if (event.begin > middle) {
            from = std::min(from, event.begin);
            break;
          }
          upTo = std::max(upTo, event.end);
        }
      }
      const Nanoseconds gap = from < window.end ? from - upTo : 0;
      const bool isLong = 2 * gap > window.end - window.begin && gap > 10 * busiest;
      if (!isLong || gap <= doubt.time) continue;
      doubt.time = gap;
      doubt.beside = window.end - window.begin;
      doubt.step = step.step;
    }
    if (doubt.time > 0) doubts_.push_back(std::move(doubt));
  }

  /// A collective of one rank, or of ranks that are known, waits for nobody unknown.
  bool hasGroupOfOne(const Event& event) const {
    const auto size = timeline_.strings.find("Group size");
    const auto arguments = timeline_.argumentsOf(event);
    return size && std::any_of(arguments.begin(), arguments.end(), [&](const Argument& a) {
             return a.key == *size && a.type == ArgumentType::kInteger && a.integer == 1;
           });
  }

  /// Ranks that share the work of stages wait for each other inside their jobs. A log of jobs alone
  /// does not say how long.
  void addUnseenPeers() {
    const Topology& topology = run_.topology();
    if (topology.tensorRanks < 2 || !run_.graph().inside().empty()) return;
    for (const Track& track : timeline_.tracks) {
      for (const Event& event : track.events) {
        if (event.kind == JobKind::kKernel) return;  // these say what jobs are made of
      }
    }
    Doubt doubt{.kind = DoubtKind::kHiddenWaits};
    for (const auto& [rank, place] : topology.places) doubt.ranks.push_back(rank);
    if (doubt.ranks.size() > 1) doubts_.push_back(std::move(doubt));
  }

  /// Kernels inside jobs in which ranks may have waited for each other: those that are no
  /// collective of NCCL, and those of which the trace does not say which ranks take part.
  void addHiddenWaits() {
    std::vector<char> isOther(timeline_.strings.size());
    bool hasAny = false;
    for (StringId id = 0; id < isOther.size(); ++id) {
      isOther[id] = isOtherCommunicationKernel(timeline_.strings[id]) ? 1 : 0;
      hasAny = hasAny || isOther[id] != 0 || isCommunicationKernel(timeline_.strings[id]);
    }
    if (!hasAny) return;
    const auto group = timeline_.strings.find(collective_arguments::kGroup);
    struct Times {
      std::map<StringId, Nanoseconds> byName;
      Nanoseconds ofOthers = 0;  // no collectives of NCCL
      Nanoseconds withoutGroup = 0;
    };
    std::map<int, Times> times;
    for (const Track& track : timeline_.tracks) {
      if (track.lane == kComputeLane || isSendLane(track.lane) || isRecvLane(track.lane)) continue;
      for (const Event& event : track.events) {
        const bool isKernel = event.kind == JobKind::kKernel || isCollective(event.kind);
        if (!isKernel || event.job < 0) continue;
        if (isOther[event.name] == 0) {
          if (!isCommunicationKernel(timeline_.strings[event.name])) continue;
          const auto arguments = timeline_.argumentsOf(event);
          const bool isKnown =
              group && std::any_of(arguments.begin(), arguments.end(),
                                   [&](const Argument& a) { return a.key == *group; });
          if (isKnown || hasGroupOfOne(event)) continue;
        }
        Times& of = times[track.rank];
        of.byName[event.name] += event.duration();
        (isOther[event.name] != 0 ? of.ofOthers : of.withoutGroup) += event.duration();
      }
    }
    if (times.empty()) return;
    // Behind compute a collective holds up nobody.
    std::map<int, Nanoseconds> exposed;
    for (const StageDeviceWork& work : run_.summary().deviceWork) {
      exposed[work.rank] += work.commInside;
    }
    Doubt doubt{.kind = DoubtKind::kHiddenWaits};
    const JobGraph& graph = run_.graph();
    for (const JobGraph::Rank& rank : graph.ranks()) {
      const auto found = times.find(rank.number);
      if (found == times.end()) continue;
      Nanoseconds jobs = 0;
      for (JobGraph::Id id = rank.first; id < rank.end; ++id) {
        if (!isCompute(graph.node(id).kind)) continue;
        const InsideJobs::Parts parts = graph.inside().partsOf(id);
        jobs += graph.node(id).end - graph.node(id).begin;
        exposed[rank.number] -= parts.waiting + parts.moving;
      }
      const Times& of = found->second;
      const Nanoseconds time =
          of.ofOthers + std::clamp<Nanoseconds>(exposed[rank.number], 0, of.withoutGroup);
      const auto longest =
          std::max_element(of.byName.begin(), of.byName.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      if (100 * time <= jobs) continue;
      doubt.ranks.push_back(rank.number);
      if (time <= doubt.time) continue;
      doubt.time = time;
      doubt.beside = jobs;
      doubt.made = timeline_.strings[longest->first];
    }
    if (doubt.ranks.empty()) return;
    std::sort(doubt.ranks.begin(), doubt.ranks.end());
    doubts_.push_back(std::move(doubt));
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

  void addStepsInside() {
    std::map<int, Nanoseconds> laterEnds;  // by pipeline
    Doubt doubt{.kind = DoubtKind::kStepsInside};
    const std::vector<StepSummary>& steps = run_.summary().steps;
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      if (step->isWholeRun) return;
      const auto [later, isLast] = laterEnds.try_emplace(step->replica, step->end);
      if (!isLast && step->end > later->second && step->end - later->second > doubt.time) {
        doubt.time = step->end - later->second;
        doubt.step = step->step;
      }
      later->second = std::max(later->second, step->end);
    }
    if (doubt.time > 0) doubts_.push_back(std::move(doubt));
  }

  /// In a step every micro-batch goes through all stages, forwards and, if it does so anywhere,
  /// back. Steps that are incomplete by what their ranks usually have are said as such.
  void addMissingJobs() {
    const bool isSaid = std::any_of(doubts_.begin(), doubts_.end(), [](const Doubt& each) {
      return each.kind == DoubtKind::kIncompleteSteps;
    });
    if (isSaid) return;
    const JobGraph& graph = run_.graph();
    Doubt doubt{.kind = DoubtKind::kMissingJobs};
    for (const PipelineBasis& pipeline : run_.basis().pipelines()) {
      for (const BubbleWindow& window : pipeline.windows) {
        if (window.isWholeRun) return;
      }
    }
    for (const std::vector<std::uint32_t>& pipeline : graph.pipelines()) {
      // By step: of each stage its forwards and its backwards or input halves.
      std::map<std::int32_t, std::map<std::int32_t, std::array<std::int64_t, 2>>> counts;
      bool hasBackwards = false;
      for (const std::uint32_t r : pipeline) {
        const JobGraph::Rank& rank = graph.ranks()[r];
        std::array<std::int64_t, 2>* ofStage = nullptr;
        std::int32_t step = kNotGiven;
        std::int32_t stage = kNotGiven;
        for (JobGraph::Id id = rank.first; id < rank.end; ++id) {
          const JobGraph::Node& job = graph.node(id);
          const bool isForward = job.kind == JobKind::kForward;
          const bool isBackward =
              job.kind == JobKind::kBackward || job.kind == JobKind::kBackwardInput;
          if (job.kind == JobKind::kForwardBackward || job.event->part != kNotGiven) return;
          if ((!isForward && !isBackward) || job.stage == kNotGiven) continue;
          if (ofStage == nullptr || job.step != step || job.stage != stage) {
            step = job.step;
            stage = job.stage;
            ofStage = &counts[step][stage];
          }
          ++(*ofStage)[isBackward ? 1 : 0];
          hasBackwards |= isBackward;
        }
      }
      for (const auto& [step, stages] : counts) {
        std::int64_t most = 0;
        for (const auto& [stage, jobs] : stages) most = std::max({most, jobs[0], jobs[1]});
        std::int64_t missing = 0;
        for (const auto& [stage, jobs] : stages) {
          missing += most - jobs[0] + (hasBackwards ? most - jobs[1] : 0);
        }
        if (missing > 0 && doubt.count == 0) doubt.step = step;
        doubt.count += missing;
      }
    }
    if (doubt.count > 0) doubts_.push_back(std::move(doubt));
  }

  /// Where a rank's messages go: its pipeline's replica and its place there, which tensor-parallel
  /// peers share.
  std::pair<int, int> placeOf(int rank) const {
    const auto place = run_.topology().places.find(rank);
    if (place == run_.topology().places.end() || place->second.position < 0) return {-1, rank};
    return {run_.topology().dataParallelIndex(place->second.replica), place->second.position};
  }

  /// Where a rank sends to one that receives from others only, numbers are not those of the ranks.
  void addContradictions() {
    using Ends = std::pair<int, std::pair<int, int>>;
    std::map<std::pair<int, int>, std::int64_t> sends;  // by sender and receiver
    std::set<Ends> receives;                            // by sender and the receiver's place
    std::map<int, std::int64_t> received;               // by receiver
    std::set<int> unknown;                              // ranks with receives of unknown senders
    for (const Track& track : timeline_.tracks) {
      const std::pair<int, int> place = placeOf(track.rank);
      for (const Event& event : track.events) {
        if (!isTransfer(event.kind)) continue;
        if (event.peer == kNotGiven) {
          if (isRecv(event.kind)) unknown.insert(track.rank);
        } else if (isSend(event.kind)) {
          ++sends[{track.rank, event.peer}];
        } else {
          receives.insert({event.peer, place});
          ++received[track.rank];
        }
      }
    }
    Doubt doubt{.kind = DoubtKind::kRanksContradict};
    for (const auto& [ends, count] : sends) {
      const auto& [sender, receiver] = ends;
      const auto all = received.find(receiver);
      if (all == received.end() || unknown.contains(receiver)) continue;
      if (receives.contains({sender, placeOf(receiver)})) continue;
      if (!doubt.ranks.empty()) {
        ++doubt.morePairs;
        continue;
      }
      doubt.ranks = {sender, receiver};
      doubt.count = count;
      doubt.all = all->second;
    }
    if (!doubt.ranks.empty()) doubts_.push_back(std::move(doubt));
  }

  bool hasBackwards(int rank) const {
    const Track* const lane = timeline_.findTrack(rank, kComputeLane);
    return lane != nullptr &&
           std::any_of(lane->events.begin(), lane->events.end(),
                       [](const Event& event) { return event.kind == JobKind::kBackward; });
  }

  void addFoundJobs() {
    Doubt doubt{.kind = DoubtKind::kFoundJobs};
    for (const auto& [rank, info] : timeline_.ranks) {
      if (info.jobsFound == 0 && info.runsUnplaced == 0) continue;
      doubt.ranks.push_back(rank);
      doubt.count += info.jobsFound;
      doubt.byOrder += info.jobsByOrder;
      doubt.unplaced += info.runsUnplaced;
      doubt.time += info.unplacedTime;
      if (info.jobsInPairs > 0)
        (hasBackwards(rank) ? doubt.parted : doubt.unparted).push_back(rank);
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
