#include "analysis/run/clocks/job_crossings.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/run/clocks/move_times.h"
#include "analysis/run/steps/rank_jobs.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

/// Data that a job makes, of one pipeline.
struct DataKey {
  std::int32_t replica = 0;
  std::int32_t step = 0;
  std::int32_t stage = 0;
  std::int32_t microBatch = 0;
  bool isForward = false;
  auto operator<=>(const DataKey&) const = default;
};

struct JobOfRank {
  DataKey key;
  const Event* job = nullptr;
  int rank = 0;
};

bool makesData(JobKind kind) {
  return kind == JobKind::kForward || kind == JobKind::kBackward || kind == JobKind::kBackwardInput;
}

/// The jobs of all ranks that say what they made, in the order of their keys.
std::vector<JobOfRank> jobsByKey(const Timeline& timeline, std::size_t mostJobs, int threads) {
  std::vector<JobOfRank> jobs;
  for (const auto& [rank, info] : timeline.ranks) {
    RankJobs ofRank(timeline, rank, makesData);
    for (std::size_t i = 0; i < mostJobs; ++i) {
      const Event* const job = ofRank.next();
      if (job == nullptr) break;
      const bool isNamed = job->step != kNotGiven && job->stage != kNotGiven &&
                           job->microBatch != kNotGiven && job->part == kNotGiven &&
                           job->phase == Phase::kTraining;
      if (!isNamed) continue;
      jobs.push_back({.key = {.step = job->step,
                              .stage = job->stage,
                              .microBatch = job->microBatch,
                              .isForward = job->kind == JobKind::kForward},
                      .job = job,
                      .rank = rank});
    }
  }
  const auto comesBefore = [](const JobOfRank& a, const JobOfRank& b) { return a.key < b.key; };
  const auto isSame = [](const JobOfRank& a, const JobOfRank& b) { return a.key == b.key; };
  std::stable_sort(jobs.begin(), jobs.end(), comesBefore);
  if (std::adjacent_find(jobs.begin(), jobs.end(), isSame) == jobs.end()) return jobs;
  // Several ranks have a stage: these may be of several pipelines.
  const Topology topology = topologyOf(timeline, threads);
  for (JobOfRank& job : jobs) {
    const auto place = topology.places.find(job.rank);
    if (place != topology.places.end()) job.key.replica = place->second.replica;
  }
  std::stable_sort(jobs.begin(), jobs.end(), comesBefore);
  // Data that is there twice even so says nothing.
  std::vector<JobOfRank> once;
  for (auto job = jobs.begin(); job != jobs.end();) {
    const auto next =
        std::find_if(job, jobs.end(), [&](const JobOfRank& each) { return !isSame(*job, each); });
    if (next - job == 1) once.push_back(*job);
    job = next;
  }
  return once;
}

/// Nanoseconds by which data is used before it is made; negative: after that.
Nanoseconds earlyBy(const Crossing& crossing) {
  Nanoseconds result = 0;
  if (__builtin_sub_overflow(crossing.sent, crossing.received, &result)) {
    result = crossing.sent < crossing.received ? kNsMin : kNsMax;
  }
  return result;
}

}  // namespace

std::vector<Crossing> jobCrossings(const Timeline& timeline, const std::vector<ClockHost>& hosts,
                                   std::size_t mostJobs, int threads) {
  std::unordered_map<int, std::size_t> hostOf;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    for (const int rank : hosts[i].ranks) hostOf[rank] = i;
  }
  std::vector<Crossing> crossings;
  if (hosts.size() < 2) return crossings;
  const std::vector<JobOfRank> jobs = jobsByKey(timeline, mostJobs, threads);
  // Keys that are all moved by one stage keep their order: so does what is looked for.
  std::array from = {jobs.begin(), jobs.begin()};  // of backwards, of forwards
  for (const JobOfRank& used : jobs) {
    DataKey source = used.key;
    source.stage += source.isForward ? -1 : 1;
    auto& made = from[source.isForward ? 1 : 0];
    while (made != jobs.end() && made->key < source) ++made;
    if (made == jobs.end() || made->key != source || made->rank == used.rank) continue;
    const auto maker = hostOf.find(made->rank);
    const auto user = hostOf.find(used.rank);
    if (maker == hostOf.end() || user == hostOf.end() || maker->second == user->second) continue;
    crossings.push_back({.from = maker->second,
                         .to = user->second,
                         .sent = made->job->end,
                         .received = used.job->begin,
                         .sender = made->rank,
                         .receiver = used.rank,
                         .event = made->job});
  }
  return crossings;
}

PlainlyApart plainlyApart(const Timeline& timeline, int threads) {
  // Of all ranks together a million jobs tell enough.
  const std::size_t mostJobs = std::clamp<std::size_t>(
      1'000'000 / std::max<std::size_t>(timeline.ranks.size(), 1), 256, 4096);
  constexpr std::int64_t kLeastCount = 3;
  std::vector<ClockHost> ranks;
  for (const auto& [rank, info] : timeline.ranks) ranks.push_back({info.host, {rank}, {}});
  struct Seen {
    std::int64_t early = 0;
    std::int64_t all = 0;
    Nanoseconds by = 0;
  };
  std::map<std::pair<std::size_t, std::size_t>, Seen> pairs;
  for (const Crossing& each : jobCrossings(timeline, ranks, mostJobs, threads)) {
    Seen& seen = pairs[{each.from, each.to}];
    ++seen.all;
    const Nanoseconds early = earlyBy(each);
    if (early < kPlainlyEarly) continue;
    ++seen.early;
    seen.by = std::max(seen.by, early);
  }
  const auto isPlain = [&](const Seen& seen) {
    return seen.early >= kLeastCount || (seen.early > 0 && seen.early == seen.all);
  };
  std::erase_if(pairs, [&](const auto& each) { return !isPlain(each.second); });
  PlainlyApart apart;
  if (pairs.empty()) return apart;
  const std::map<int, Timeline::Span> spans = spansOfRanks(timeline, threads);
  for (const auto& [pair, seen] : pairs) {
    const ClockHost& maker = ranks[pair.first];
    const ClockHost& user = ranks[pair.second];
    const Timeline::Span& ofMaker = spans.at(maker.ranks.front());
    const Timeline::Span& ofUser = spans.at(user.ranks.front());
    if (ofMaker.begin >= ofUser.end || ofUser.begin >= ofMaker.end) continue;
    apart.pairs.push_back({maker.ranks.front(), user.ranks.front(), seen.by});
    apart.areOnOneHost = apart.areOnOneHost || (!maker.name.empty() && maker.name == user.name);
  }
  return apart;
}

}  // namespace pipetrace
