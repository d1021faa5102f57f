// Clocks of ranks that the order of their jobs contradicts.
#include <algorithm>
#include <map>

#include "analysis/graph/job_graph_builder.h"

namespace pipetrace {
namespace {

/// Whether its data are made, or needed, at a moment that its times do not say.
bool isInPieces(const JobGraph::Node& job) {
  return job.kind == JobKind::kForwardBackward || job.event->part != kNotGiven;
}

/// The order of JobGraph::clocksApart().
struct ByRanks {
  bool operator()(const JobGraph::ClocksApart& a, const JobGraph::ClocksApart& b) const {
    return a.maker != b.maker ? a.maker < b.maker : a.user < b.user;
  }
};

/// a - b; where that does not fit 64 bits, the nearest number that does.
Nanoseconds timeBetween(Nanoseconds a, Nanoseconds b) {
  Nanoseconds result = 0;
  if (__builtin_sub_overflow(a, b, &result)) result = a < b ? kNsMin : kNsMax;
  return result;
}

}  // namespace

void JobGraphBuilder::compareClocks() {
  std::vector<std::vector<JobGraph::ClocksApart>> ofRanks(graph_.ranks_.size());
  forRanks([&](std::uint32_t r, RankEvents&) { ofRanks[r] = clocksApartFrom(r); });
  for (const std::vector<JobGraph::ClocksApart>& each : ofRanks) {
    graph_.clocksApart_.insert(graph_.clocksApart_.end(), each.begin(), each.end());
  }
  std::sort(graph_.clocksApart_.begin(), graph_.clocksApart_.end(), ByRanks());
}

/// Those whose data jobs of rank `r` need. One job among many that begins early says something of
/// that job, and not of the clocks.
std::vector<JobGraph::ClocksApart> JobGraphBuilder::clocksApartFrom(std::uint32_t r) const {
  constexpr std::int64_t kLeastShare = 50;  // one in 50
  const JobGraph::Rank& rank = graph_.ranks_[r];
  std::map<std::uint32_t, JobGraph::ClocksApart> makers;
  for (Id id = rank.first; id < rank.end; ++id) {
    const JobGraph::Node& used = graph_.nodes_[id];
    if (!isCompute(used.kind) || used.kind == JobKind::kRecompute) continue;
    if (used.event->microBatch == kNotGiven) continue;
    for (int i = 0; i < 2; ++i) {
      const Id maker = graph_.producer(id, i);
      if (maker == JobGraph::kNone || graph_.nodes_[maker].rank == r) continue;
      const JobGraph::Node& made = graph_.nodes_[maker];
      if (!isCompute(made.kind) || made.event->microBatch == kNotGiven) continue;
      const JobGraph::Rank& other = graph_.ranks_[made.rank];
      JobGraph::ClocksApart& apart = makers[made.rank];
      ++apart.all;
      const Nanoseconds since = isInPieces(made) ? made.begin : made.end;
      const Nanoseconds until = isInPieces(used) ? used.end : used.begin;
      Nanoseconds allowed = JobGraph::kEarlyJob;
      if (other.clock != rank.clock) allowed += other.clockBound + rank.clockBound;
      const Nanoseconds early = timeBetween(since, until);
      if (early <= allowed) continue;
      ++apart.count;
      if (early <= apart.by) continue;
      apart = {.maker = made.rank,
               .user = r,
               .by = early,
               .count = apart.count,
               .all = apart.all,
               .made = maker,
               .used = id};
    }
  }
  std::vector<JobGraph::ClocksApart> list;
  for (const auto& [maker, apart] : makers) {
    if (apart.count > 0 && kLeastShare * apart.count >= apart.all) list.push_back(apart);
  }
  return list;
}

bool JobGraph::areClocksApart(std::uint32_t a, std::uint32_t b) const {
  const auto has = [&](std::uint32_t maker, std::uint32_t user) {
    return std::binary_search(clocksApart_.begin(), clocksApart_.end(),
                              ClocksApart{.maker = maker, .user = user}, ByRanks());
  };
  return has(a, b) || has(b, a);
}

}  // namespace pipetrace
