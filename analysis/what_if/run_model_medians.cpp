// RunModel's medians of launches and of messages.
#include <algorithm>
#include <map>

#include "analysis/median.h"
#include "analysis/what_if/run_model.h"

namespace pipetrace {
namespace {

using MedianWork = RerunOrder::Work;
using MedianIndex = RerunOrder::Index;

}  // namespace

bool RunModel::isOfPipeline(int rank) const {
  return ranksInUse_.empty() || std::binary_search(ranksInUse_.begin(), ranksInUse_.end(), rank);
}

void RunModel::findLaunches(const RunAgain& again, const CountedSteps& counted) {
  std::map<std::pair<int, JobKind>, std::vector<Nanoseconds>> found;
  const std::vector<MedianWork>& operations = again.order().operations();
  for (MedianIndex i = 0; i < operations.size(); ++i) {
    const MedianWork& work = operations[i];
    const Event& event = again.work().event(work.id);
    if (again.isMessage(work) || !isCompute(event.kind) || !counted.contains(event.step)) continue;
    if (!isOfPipeline(again.rankOf(work))) continue;
    if (work.launch > 0 && !again.hasLaunch(i)) continue;  // a pause, or a message
    found[{event.stage, event.kind}].push_back(
        std::max<Nanoseconds>(0, static_cast<Nanoseconds>(work.launch)));
  }
  for (auto& [key, launches] : found) launches_[key] = medianOf(launches);
}

/// A message takes from when its data is there, its receive is posted and its lines are free.
void RunModel::findLinks(const RunAgain& again, const CountedSteps& counted) {
  std::map<std::pair<int, int>, std::vector<Nanoseconds>> links;  // of ranks of the plan
  std::vector<Nanoseconds> all;
  std::vector<Nanoseconds> unlogged;
  const std::vector<MedianWork>& operations = again.order().operations();
  for (MedianIndex i = 0; i < operations.size(); ++i) {
    const MedianWork& work = operations[i];
    const Event& event = again.work().event(work.id);
    if (!counted.contains(event.step) || !isOfPipeline(again.rankOf(work))) continue;
    if (!again.isMessage(work)) {
      if (again.waitsForUnlogged(i)) unlogged.push_back(static_cast<Nanoseconds>(work.launch));
      continue;
    }
    const auto time = std::max<Nanoseconds>(
        0, static_cast<Nanoseconds>(work.measured + std::max(0.0, work.launch)));
    all.push_back(time);
    const auto [from, to] = again.ranksOf(work);
    const auto positionOfRank = [&](int rank) {
      const auto at = std::find(rankNumbers_.begin(), rankNumbers_.end(), rank);
      return at == rankNumbers_.end() ? -1 : static_cast<int>(at - rankNumbers_.begin());
    };
    const int a = positionOfRank(from);
    const int b = positionOfRank(to);
    if (a >= 0 && b >= 0) links[std::minmax(a, b)].push_back(time);
  }
  if (all.empty()) {
    if (rankNumbers_.size() < 2) return;
    costs_.transfer = medianOf(unlogged);
    assumptions_.push_back(
        "the logs have no messages: the time between a job and the one on another "
        "rank that waited for it counts as one");
    return;
  }
  costs_.transfer = medianOf(all);
  for (auto& [link, times] : links) {
    costs_.faults.links.push_back({link.first, link.second, medianOf(times)});
  }
}

std::vector<Faults::Link> RunModel::unusualLinks() const {
  std::vector<Faults::Link> links;
  for (const Faults::Link& link : costs_.faults.links) {
    if (link.transfer != costs_.transfer) links.push_back(link);
  }
  return links;
}

Nanoseconds RunModel::usualLaunch() const {
  std::vector<Nanoseconds> launches;
  for (const auto& [key, launch] : launches_) launches.push_back(launch);
  return medianOf(launches);
}

}  // namespace pipetrace
