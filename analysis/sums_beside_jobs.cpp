#include "analysis/sums_beside_jobs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/event_arguments.h"
#include "trace/kernel_names.h"
#include "trace/threads/in_parallel.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

/// Traces have begins and lengths in microseconds with three digits: an end is off by up to two.
constexpr Nanoseconds kEndsRounded = 2;

/// Sums that are alike: the kind and part of their job, their own kind, and the n-th of it there.
using SumPlace = std::tuple<JobKind, std::int16_t, JobKind, std::size_t>;

/// How the sums of a place lie beside other work.
struct SumUse {
  std::int64_t all = 0;
  std::int64_t besideOthers = 0;

  bool holdsUp() const { return 10 * besideOthers < all; }
};

struct ReplicaSum {
  SumPlace place;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

/// A job, and what it started on its device.
struct JobWithSums {
  Event* event = nullptr;
  Nanoseconds workedUntil = kNsMin;  ///< kernels, and collectives that are no sums of replicas
  Nanoseconds sent = kNsMax;         ///< when its first message began
  std::vector<ReplicaSum> sums;      ///< in the order of their begins
};

class SumsOfRank {
 public:
  SumsOfRank(Timeline& timeline, std::span<Track> tracks) : timeline_(timeline) {
    const auto& strings = timeline.strings;
    kernels_ = strings.find(device_arguments::kKernels);
    comm_ = strings.find(device_arguments::kCommInside);
    use_ = strings.find(collective_arguments::kUse);
    replicas_ = strings.find(axisWords(GroupAxis::kData));
    if (!kernels_ || !use_ || !replicas_) return;
    for (Track& track : tracks) {
      if (track.lane == kComputeLane) addJobs(track);
    }
    if (jobs_.empty()) return;
    for (const Track& track : tracks) {
      if (track.lane != kComputeLane && track.lane != kBubbleLane) addWork(track);
    }
    std::sort(begins_.begin(), begins_.end());
    for (auto& [number, job] : jobs_) {
      std::sort(job.sums.begin(), job.sums.end(),
                [](const ReplicaSum& a, const ReplicaSum& b) { return a.begin < b.begin; });
      std::map<JobKind, std::size_t> counts;
      for (ReplicaSum& sum : job.sums) std::get<3>(sum.place) = counts[std::get<2>(sum.place)]++;
    }
  }

  void count(std::map<SumPlace, SumUse>& uses) const {
    for (const auto& [number, job] : jobs_) {
      for (const ReplicaSum& sum : job.sums) {
        SumUse& use = uses[sum.place];
        ++use.all;
        if (runsBesideOthers(job, sum)) ++use.besideOthers;
      }
    }
  }

  void shorten(const std::map<SumPlace, SumUse>& uses) {
    for (auto& [number, job] : jobs_) {
      Nanoseconds end = job.workedUntil;
      Nanoseconds begin = kNsMax;  // of the sums that hold up nothing
      for (const ReplicaSum& sum : job.sums) {
        if (sum.end > job.event->end || sum.end <= job.workedUntil) continue;
        if (uses.at(sum.place).holdsUp()) {
          end = std::max(end, sum.end);
        } else {
          begin = std::min(begin, sum.begin);
        }
      }
      if (begin == kNsMax || end >= job.event->end || end <= job.event->begin) continue;
      const Nanoseconds covered = job.event->end - std::max(begin, end);
      job.event->end = end;
      for (std::uint32_t a = 0; a < job.event->argumentCount; ++a) {
        Argument& argument = timeline_.arguments[job.event->firstArgument + a];
        if (argument.key == comm_) {
          argument.integer = std::max<std::int64_t>(0, argument.integer - covered);
        }
      }
    }
  }

 private:
  bool has(const Event& event, StringId key) const {
    const auto arguments = timeline_.argumentsOf(event);
    return std::any_of(arguments.begin(), arguments.end(),
                       [&](const Argument& argument) { return argument.key == key; });
  }

  bool isSumOfReplicas(const Event& event) const {
    if (!isReduction(event.kind)) return false;
    const auto arguments = timeline_.argumentsOf(event);
    return std::any_of(arguments.begin(), arguments.end(), [&](const Argument& argument) {
      return argument.key == *use_ && argument.type == ArgumentType::kText &&
             argument.text == *replicas_;
    });
  }

  void addJobs(Track& track) {
    for (Event& event : track.events) {
      if (isCompute(event.kind) && event.job >= 0 && has(event, *kernels_)) {
        jobs_[event.job].event = &event;
      }
    }
  }

  void addWork(const Track& track) {
    for (const Event& event : track.events) {
      const bool isKernel =
          event.kind == JobKind::kCopy ||
          (event.kind == JobKind::kKernel && !isCommunicationKernel(timeline_.strings[event.name]));
      if (isKernel) begins_.push_back(event.begin);
      const auto found = jobs_.find(event.job);
      if (found == jobs_.end()) continue;
      JobWithSums& job = found->second;
      if (isSend(event.kind)) {
        job.sent = std::min(job.sent, event.begin);
      } else if (isCollective(event.kind) && isSumOfReplicas(event)) {
        job.sums.push_back({.place = {job.event->kind, job.event->part, event.kind, 0},
                            .begin = event.begin,
                            .end = event.end});
      } else if (isKernel || (isCollective(event.kind) && event.end <= job.event->end)) {
        job.workedUntil = std::max(job.workedUntil, event.end);
      }
    }
  }

  bool runsBesideOthers(const JobWithSums& job, const ReplicaSum& sum) const {
    if (sum.end <= job.workedUntil) return false;
    if (job.sent < sum.end - kEndsRounded) return true;
    const auto next = std::lower_bound(begins_.begin(), begins_.end(), job.workedUntil);
    return next != begins_.end() && *next < sum.end - kEndsRounded;
  }

  Timeline& timeline_;
  std::optional<StringId> kernels_;
  std::optional<StringId> comm_;
  std::optional<StringId> use_;
  std::optional<StringId> replicas_;
  std::unordered_map<std::int64_t, JobWithSums> jobs_;  // by number
  std::vector<Nanoseconds> begins_;                     // of kernels
};

bool hasSumsOfReplicas(const Timeline& timeline) {
  return timeline.strings.find(device_arguments::kKernels) &&
         timeline.strings.find(collective_arguments::kUse) &&
         timeline.strings.find(axisWords(GroupAxis::kData));
}

}  // namespace

void leaveOutSumsBesideJobs(Timeline& timeline, int threads) {
  if (!hasSumsOfReplicas(timeline)) return;
  std::vector<std::span<Track>> ofRanks;
  for (std::size_t first = 0; first < timeline.tracks.size();) {
    std::size_t end = first;
    while (end < timeline.tracks.size() &&
           timeline.tracks[end].rank == timeline.tracks[first].rank) {
      ++end;
    }
    ofRanks.push_back(std::span(timeline.tracks).subspan(first, end - first));
    first = end;
  }
  std::vector<std::optional<SumsOfRank>> ranks(ofRanks.size());
  inParallel(threads, ranks.size(), [&](std::size_t r) { ranks[r].emplace(timeline, ofRanks[r]); });
  std::map<SumPlace, SumUse> uses;
  for (const auto& rank : ranks) rank->count(uses);
  for (auto& rank : ranks) rank->shorten(uses);
}

}  // namespace pipetrace
