#include "analysis/causes/slow_reductions.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "analysis/event_bytes.h"
#include "analysis/median.h"
#include "trace/job_kind.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// A collective: its members.
struct Meeting {
  std::vector<Id> members;
  std::vector<int> ranks;  // ascending
  Nanoseconds begin = 0;   // of the last member
  Nanoseconds end = 0;
  std::int64_t bytes = 0;
  std::int32_t step = kNotGiven;
  Nanoseconds moving() const { return end - begin; }
};

/// Sums over the same ranks, of one size.
struct Sums {
  std::vector<const Meeting*> meetings;
  Nanoseconds moving = 0;  // the median
  double figure = 0;       // that of a byte
};

class Reductions {
 public:
  Reductions(const Timeline& timeline, const JobGraph& graph, const CountedSteps& counted)
      : graph_(graph) {
    std::map<std::uint32_t, Meeting> byGroup;
    for (auto id = static_cast<Id>(graph.messageEnd()); id < graph.nodes().size(); ++id) {
      const JobGraph::Node& node = graph.node(id);
      if (!isReduction(node.kind) || !counted.contains(node.step) || node.lacksInput) continue;
      Meeting& meeting = byGroup[graph.collective(id).group];
      meeting.members.push_back(id);
      meeting.ranks.push_back(graph.ranks()[node.rank].number);
      meeting.begin = node.begin;
      meeting.end = std::max(meeting.end, node.end);
      meeting.bytes = std::max(meeting.bytes, bytesOf(timeline, *node.event).value_or(0));
      meeting.step = node.step;
    }
    for (const JobGraph::Node& job : graph.nodes().first(byGroup.empty() ? 0 : graph.jobCount())) {
      if (!counted.contains(job.step) || savesState(job.kind)) continue;
      Nanoseconds& end =
          ends_[job.step].try_emplace(graph.ranks()[job.rank].number, job.end).first->second;
      end = std::max(end, job.end);
    }
    for (auto& [group, meeting] : byGroup) {
      if (meeting.members.size() < 2) continue;
      std::ranges::sort(meeting.ranks);
      meetings_.push_back(std::move(meeting));
    }
  }

  std::vector<SlowReduction> slowOnes() const {
    std::map<std::size_t, std::map<std::vector<int>, Sums>> bySize;
    std::map<std::size_t, bool> haveSizes;
    for (const Meeting& meeting : meetings_) {
      if (isOfOneStage(meeting)) haveSizes[meeting.ranks.size()] |= meeting.bytes > 0;
    }
    for (const Meeting& meeting : meetings_) {
      const bool counts =
          isOfOneStage(meeting) && (meeting.bytes > 0 || !haveSizes.at(meeting.ranks.size()));
      if (counts) bySize[meeting.ranks.size()][meeting.ranks].meetings.push_back(&meeting);
    }
    std::vector<SlowReduction> found;
    for (auto& [size, groups] : bySize) addSlowOnes(groups, haveSizes.at(size), found);
    std::ranges::stable_sort(found, std::ranges::greater(), &SlowReduction::time);
    return found;
  }

 private:
  /// The ranks of one place in their pipelines: replicas of each other.
  bool isOfOneStage(const Meeting& meeting) const {
    const int position = graph_.ranks()[graph_.node(meeting.members.front()).rank].position;
    return std::ranges::all_of(meeting.members, [&](Id id) {
      return graph_.ranks()[graph_.node(id).rank].position == position;
    });
  }

  void addSlowOnes(std::map<std::vector<int>, Sums>& groups, bool haveSizes,
                   std::vector<SlowReduction>& found) const {
    if (groups.size() < 2) return;
    for (auto& [ranks, sums] : groups) {
      std::vector<Nanoseconds> times;
      std::vector<double> figures;
      for (const Meeting* const each : sums.meetings) {
        times.push_back(each->moving());
        figures.push_back(static_cast<double>(each->moving()) /
                          static_cast<double>(haveSizes ? each->bytes : 1));
      }
      sums.moving = lowerMedianOf(times);
      sums.figure = lowerMedianOf(figures);
    }
    for (const auto& [ranks, sums] : groups) {
      std::vector<double> others;
      for (const auto& [each, of] : groups) {
        if (each != ranks) others.push_back(of.figure);
      }
      const double usual = lowerMedianOf(others);
      const double least = haveSizes ? kSlowReduction : kSlowWithoutSizes;
      if (usual <= 0 || sums.figure < least * usual) continue;
      SlowReduction slow{.ranks = ranks,
                         .moving = sums.moving,
                         .factor = sums.figure / usual,
                         .hasSizes = haveSizes};
      slow.others = static_cast<Nanoseconds>(static_cast<double>(slow.moving) / slow.factor);
      for (const Meeting* const each : sums.meetings) slow.time += costOf(*each, slow.factor);
      found.push_back(std::move(slow));
    }
  }

  Nanoseconds costOf(const Meeting& sum, double factor) const {
    const auto excess =
        static_cast<Nanoseconds>(static_cast<double>(sum.moving()) * (1 - 1 / factor));
    Nanoseconds time = 0;
    for (const Id id : sum.members) {
      const Nanoseconds exposed = sum.end - std::max(sum.begin, lastWorkOf(id));
      time += std::clamp<Nanoseconds>(exposed, 0, excess);
    }
    for (const Meeting& later : meetings_) {
      if (later.step != sum.step || later.ranks.size() <= sum.ranks.size()) continue;
      if (later.begin < sum.end || !std::ranges::includes(later.ranks, sum.ranks)) continue;
      return time + costInside(sum, later, excess);
    }
    return time + costAtEnd(sum, excess);
  }

  /// What ranks that are no members wait for these at the end of the step.
  Nanoseconds costAtEnd(const Meeting& sum, Nanoseconds excess) const {
    const auto ends = ends_.find(sum.step);
    if (ends == ends_.end()) return 0;
    Nanoseconds ours = kNsMin;
    Nanoseconds others = kNsMin;
    std::int64_t count = 0;
    for (const auto& [rank, end] : ends->second) {
      const bool isOurs = std::ranges::binary_search(sum.ranks, rank);
      (isOurs ? ours : others) = std::max(isOurs ? ours : others, end);
      if (!isOurs) ++count;
    }
    if (count == 0 || ours == kNsMin) return 0;
    return count * std::clamp<Nanoseconds>(ours - others, 0, excess);
  }

  /// What ranks that are no members wait in a later collective for those that are.
  Nanoseconds costInside(const Meeting& sum, const Meeting& later, Nanoseconds excess) const {
    Nanoseconds othersCame = kNsMin;
    std::int64_t others = 0;
    for (const Id id : later.members) {
      const JobGraph::Node& node = graph_.node(id);
      if (std::ranges::binary_search(sum.ranks, graph_.ranks()[node.rank].number)) continue;
      othersCame = std::max(othersCame, node.event->begin);
      ++others;
    }
    if (others == 0) return 0;
    return others * std::clamp<Nanoseconds>(later.begin - othersCame, 0, excess);
  }

  /// The end of the last compute job of its rank that had begun before the collective ended.
  Nanoseconds lastWorkOf(Id id) const {
    const JobGraph::Node& node = graph_.node(id);
    const JobGraph::Rank& rank = graph_.ranks()[node.rank];
    const auto jobs = graph_.nodes().subspan(rank.first, rank.end - rank.first);
    auto at = std::partition_point(jobs.begin(), jobs.end(),
                                   [&](const JobGraph::Node& job) { return job.begin < node.end; });
    while (at != jobs.begin()) {
      if (isCompute((--at)->kind)) return at->end;
    }
    return kNsMin;
  }

  const JobGraph& graph_;
  std::vector<Meeting> meetings_;
  std::map<std::int32_t, std::map<int, Nanoseconds>> ends_;  // of the last job, by step and rank
};

}  // namespace

std::vector<SlowReduction> slowReductionsOf(const Timeline& timeline, const JobGraph& graph,
                                            const CountedSteps& counted) {
  return Reductions(timeline, graph, counted).slowOnes();
}

}  // namespace pipetrace
