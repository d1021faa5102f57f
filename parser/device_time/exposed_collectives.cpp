#include "parser/device_time/exposed_collectives.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

/// Between the end of a collective and the kernel that waited for it a device takes some
/// microseconds; a host that has not launched the kernel yet takes longer.
constexpr Nanoseconds kLeastPause = 200 * kNsPerUs;
constexpr Nanoseconds kPartOfJob = 20;
/// Traces have begins and lengths in microseconds with three digits: an end is off by up to two.
constexpr Nanoseconds kRounding = 2;

/// Which jobs are alike, and which of their collectives.
using Place =
    std::tuple<std::int32_t, std::int32_t, JobKind, std::pair<StringId, JobKind>, std::size_t>;

/// How the collectives of one place lie beside other work.
struct Use {
  std::int64_t all = 0;
  std::int64_t besideOthers = 0;

  bool holdsUp(std::int64_t jobs) const { return 10 * besideOthers < all && 2 * all >= jobs; }
};

class Exposed {
 public:
  Exposed(std::span<Event> jobs, DeviceWork work, std::span<const MessagesOfJob> messages,
          Timeline& timeline)
      : jobs_(jobs), work_(std::move(work)), messages_(messages), timeline_(timeline) {
    std::sort(work_.begin(), work_.end());
    Nanoseconds end = kNsMin;
    for (const auto& each : work_) ends_.push_back(end = std::max(end, each.second));
    kernels_ = timeline.strings.find(device_arguments::kKernels);
    comm_ = timeline.strings.find(device_arguments::kCommInside);
  }

  /// `collectives`: by job, then by begin.
  void add(std::span<const StartedCollective> collectives) {
    if (!kernels_ || !comm_) return;
    for (const Event& job : jobs_) ++jobsOf_[{job.stage, job.part, job.kind}];
    for (const StartedCollective& each : collectives) {
      if (!each.isOfWeights) starts_.push_back(each);
    }
    std::sort(starts_.begin(), starts_.end(),
              [](const auto& a, const auto& b) { return a.begin < b.begin; });
    forEachJob(collectives, [&](std::size_t job, std::span<const StartedCollective> own) {
      for (std::size_t i = 0; i < own.size(); ++i) {
        Use& use = uses_[placeOf(job, own[i])];
        ++use.all;
        if (runsBesideOthers(own[i], job)) ++use.besideOthers;
      }
    });
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (messages_[i].received != kNsMin) receiving_.insert({jobs_[i].stage, jobs_[i].kind});
    }
    begins_.resize(jobs_.size());
    endsOfJobs_.resize(jobs_.size());
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      begins_[i] = jobs_[i].begin;
      endsOfJobs_[i] = jobs_[i].end;
    }
    forEachJob(collectives, [&](std::size_t job, std::span<const StartedCollective> own) {
      extendEnd(job, own);
    });
    std::vector<StartedCollective> sorted(collectives.begin(), collectives.end());
    std::vector<StartedCollective> gathers;
    for (const StartedCollective& each : sorted) {
      if (each.kind == JobKind::kAllGather) gathers.push_back(each);
    }
    std::sort(gathers.begin(), gathers.end(),
              [](const auto& a, const auto& b) { return a.end < b.end; });
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (hasTimesOfWork(jobs_[i])) order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(jobs_[a].begin, a) < std::pair(jobs_[b].begin, b);
    });
    Nanoseconds free = kNsMin;
    for (const std::size_t job : order) {
      const auto first = std::partition_point(
          collectives.begin(), collectives.end(),
          [&](const auto& each) { return static_cast<std::size_t>(each.job) < job; });
      const auto end = std::partition_point(first, collectives.end(), [&](const auto& each) {
        return static_cast<std::size_t>(each.job) <= job;
      });
      extendBegin(job, {first, end}, gathers, free);
      free = std::max(free, endsOfJobs_[job]);
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const auto& a, const auto& b) { return a.begin < b.begin; });
    for (const std::size_t job : order) setTimes(job, sorted);
  }

 private:
  template <typename Visit>
  void forEachJob(std::span<const StartedCollective> all, const Visit& visit) const {
    for (std::size_t i = 0; i < all.size();) {
      std::size_t end = i;
      while (end < all.size() && all[end].job == all[i].job) ++end;
      const auto job = static_cast<std::size_t>(all[i].job);
      if (hasTimesOfWork(jobs_[job])) visit(job, all.subspan(i, end - i));
      i = end;
    }
  }

  bool hasTimesOfWork(const Event& job) const {
    const auto arguments = timeline_.argumentsOf(job);
    return isCompute(job.kind) && std::any_of(arguments.begin(), arguments.end(),
                                              [&](const Argument& a) { return a.key == kernels_; });
  }

  static std::pair<StringId, JobKind> setOf(const StartedCollective& each) {
    return {each.group, each.kind};
  }

  Place placeOf(std::size_t job, const StartedCollective& each) const {
    return {jobs_[job].stage, jobs_[job].part, jobs_[job].kind, setOf(each), each.nth};
  }

  /// Whether work begins after the job's own while the collective runs, or the job's message does,
  /// or a collective of other ranks that a later job started, and not ahead as gathers of weights.
  bool runsBesideOthers(const StartedCollective& each, std::size_t index) const {
    const Event& job = jobs_[index];
    if (each.end <= job.end) return false;
    if (messages_[index].sent < each.end - kRounding) return true;
    const auto next = std::partition_point(work_.begin(), work_.end(),
                                           [&](const auto& work) { return work.first < job.end; });
    if (next != work_.end() && next->first < each.end - kRounding) return true;
    auto start = std::partition_point(starts_.begin(), starts_.end(),
                                      [&](const auto& other) { return other.begin < job.end; });
    for (; start != starts_.end() && start->begin < each.end - kRounding; ++start) {
      const Event& other = jobs_[static_cast<std::size_t>(start->job)];
      if (start->group != each.group && other.begin > job.begin) return true;
    }
    return false;
  }

  /// The end of the last work that began before `time`.
  Nanoseconds workedUntil(Nanoseconds time) const {
    const auto next = std::partition_point(work_.begin(), work_.end(),
                                           [&](const auto& work) { return work.first < time; });
    return next == work_.begin() ? kNsMin
                                 : ends_[static_cast<std::size_t>(next - work_.begin()) - 1];
  }

  /// Gives a job the time of its collectives after its last kernel.
  void extendEnd(std::size_t index, std::span<const StartedCollective> own) {
    Event& job = jobs_[index];
    Nanoseconds end = job.end;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const bool holdsUp =
          uses_.at(placeOf(index, own[i])).holdsUp(jobsOf_.at({job.stage, job.part, job.kind}));
      const bool isForNext = own[i].isOfWeights && own[i].kind == JobKind::kAllGather;
      if (own[i].end <= end || isForNext || !holdsUp || runsBesideOthers(own[i], index)) continue;
      end = own[i].end;
    }
    endsOfJobs_[index] = end;
  }

  /// The same before its first kernel. `gathers`: of all jobs, by end. `free`: the job before ends
  /// then.
  void extendBegin(std::size_t index, std::span<const StartedCollective> own,
                   std::span<const StartedCollective> gathers, Nanoseconds free) {
    const Event& job = jobs_[index];
    const Nanoseconds pause = std::max(kLeastPause, job.duration() / kPartOfJob);
    free = std::max({free, workedUntil(job.begin), messages_[index].received});
    Nanoseconds begin = job.begin;
    for (std::size_t i = own.size(); i-- > 0;) {  // back from the job's first kernel
      const StartedCollective& each = own[i];
      if (each.begin >= begin || each.end > job.begin || each.end <= free) continue;
      // What began before the job could may have been over long before.
      // No job of its stage and kind receives any: first forwards, and last backwards.
      const bool needsNone = job.kind == JobKind::kBackwardWeight ||
                             (job.kind == JobKind::kForward && job.stage == 0) ||
                             (!receiving_.empty() && !receiving_.contains({job.stage, job.kind}));
      const bool isKnown = needsNone || messages_[index].received != kNsMin;
      const bool hadAll = isKnown && each.begin >= free;
      if (!hadAll && begin - each.end > pause) continue;
      begin = std::min(begin, std::max(each.begin, free));
    }
    auto next =
        std::partition_point(gathers.begin(), gathers.end(),
                             [&](const StartedCollective& each) { return each.end <= begin; });
    const Nanoseconds before = begin;
    for (; next != gathers.begin(); --next) {
      const StartedCollective& each = *std::prev(next);
      if (each.end <= free || before - each.end > kLeastPause) break;
      begin = std::min(begin, std::max(each.begin, free));
    }
    begins_[index] = std::min(begin, job.begin);
  }

  /// Sets the job's new times, and what of them collectives take.
  void setTimes(std::size_t index, std::span<const StartedCollective> byBegin) {
    Event& job = jobs_[index];
    Nanoseconds covered = 0;
    for (const auto& [from, to] :
         {std::pair(begins_[index], job.begin), std::pair(job.end, endsOfJobs_[index])}) {
      if (from >= to) continue;
      constexpr Nanoseconds kLongest = 10 * kNsPerSecond;
      Nanoseconds upTo = from;
      auto next = std::partition_point(
          byBegin.begin(), byBegin.end(),
          [&](const StartedCollective& each) { return each.begin < from - kLongest; });
      for (; next != byBegin.end() && next->begin < to; ++next) {
        const Nanoseconds first = std::max(next->begin, upTo);
        const Nanoseconds last = std::min(next->end, to);
        if (first >= last) continue;
        covered += last - first;
        upTo = last;
      }
    }
    job.begin = begins_[index];
    job.end = endsOfJobs_[index];
    for (std::uint32_t a = 0; a < job.argumentCount; ++a) {
      Argument& argument = timeline_.arguments[job.firstArgument + a];
      if (argument.key == comm_) argument.integer += covered;
    }
  }

  std::span<Event> jobs_;
  DeviceWork work_;
  std::span<const MessagesOfJob> messages_;
  Timeline& timeline_;
  std::vector<Nanoseconds> ends_;          // by work: the last end so far
  std::vector<StartedCollective> starts_;  // by begin, those of weights apart
  std::vector<Nanoseconds> begins_;        // by job, as it will be
  std::vector<Nanoseconds> endsOfJobs_;    // the same
  std::optional<StringId> kernels_;
  std::optional<StringId> comm_;
  std::map<std::tuple<std::int32_t, std::int32_t, JobKind>, std::int64_t> jobsOf_;
  std::map<Place, Use> uses_;
  std::set<std::pair<std::int32_t, JobKind>> receiving_;  // stages and kinds
};

}  // namespace

void addExposedCollectives(std::span<Event> jobs, std::vector<StartedCollective> collectives,
                           DeviceWork work, std::span<const MessagesOfJob> messages,
                           Timeline& timeline) {
  if (collectives.empty()) return;
  std::sort(collectives.begin(), collectives.end(),
            [](const StartedCollective& a, const StartedCollective& b) {
              return std::tie(a.job, a.begin, a.end) < std::tie(b.job, b.begin, b.end);
            });
  std::map<std::pair<StringId, JobKind>, std::uint32_t> counts;  // in a job
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    if (i == 0 || collectives[i].job != collectives[i - 1].job) counts.clear();
    collectives[i].nth = counts[{collectives[i].group, collectives[i].kind}]++;
  }
  Exposed(jobs, std::move(work), messages, timeline).add(collectives);
}

}  // namespace pipetrace
