#include "analysis/explain/alike_jobs.h"

#include <unordered_map>

#include "trace/threads/in_parallel.h"

namespace pipetrace {
std::uint64_t AlikeJobs::whatOf(const JobGraph::Node& node) {
  constexpr std::uint64_t kNumbers = (std::uint64_t{1} << 24U) - 1;
  constexpr std::uint64_t kParts = (std::uint64_t{1} << 8U) - 1;
  const int part = node.isMessage ? 0 : node.event->part + 1;
  return (static_cast<std::uint64_t>(node.kind) << kKindShift) |
         ((static_cast<std::uint32_t>(node.stage) & kNumbers) << 32U) |
         ((static_cast<std::uint32_t>(node.microBatch) & kNumbers) << 8U) |
         (static_cast<std::uint32_t>(part) & kParts);
}

AlikeJobs::AlikeJobs(const JobGraph& graph, int threads)
    : jobs_(static_cast<Id>(graph.jobCount())),
      collectives_(static_cast<Id>(graph.messageEnd())),
      numbers_(jobs_ + (graph.nodes().size() - graph.messageEnd())) {
  std::vector<std::vector<First>> ofRanks(graph.ranks().size());
  const auto visit = [&](std::size_t r, const auto& number) {
    const JobGraph::Rank& rank = graph.ranks()[r];
    for (Id id = rank.first; id < rank.end; ++id) number(id, numbers_[id]);
    for (Id id = rank.firstCollective; id < rank.endOfCollectives; ++id) {
      number(id, numbers_[id - collectives_ + jobs_]);
    }
  };
  inParallel(threads, ofRanks.size(), [&](std::size_t r) {
    std::vector<First>& firsts = ofRanks[r];
    std::unordered_map<std::uint64_t, Number> known;
    std::vector<Number> next;  // the job that came after each of them the last time
    Number latest = 0;
    visit(r, [&](Id id, Number& number) {
      const JobGraph::Node& node = graph.node(id);
      const std::uint64_t what = whatOf(node);
      // Most steps have the order of the step before.
      if (!next.empty() && firsts[next[latest]].what == what) {
        number = next[latest];
      } else {
        const auto [found, isNew] = known.try_emplace(what, static_cast<Number>(firsts.size()));
        number = found->second;
        if (isNew) {
          firsts.push_back({what, static_cast<std::uint32_t>(r), node.stage});
          next.push_back(0);
        }
        next[latest] = number;
      }
      latest = number;
    });
  });
  std::vector<Number> offsets;
  for (const std::vector<First>& firsts : ofRanks) {
    offsets.push_back(static_cast<Number>(firsts_.size()));
    firsts_.insert(firsts_.end(), firsts.begin(), firsts.end());
  }
  inParallel(threads, ofRanks.size(),
             [&](std::size_t r) { visit(r, [&](Id, Number& number) { number += offsets[r]; }); });
  firstEnd_ = static_cast<Number>(firsts_.size());
  if (graph.hasLines()) numberEnds(graph);
}

void AlikeJobs::numberEnds(const JobGraph& graph) {
  std::vector<std::unordered_map<std::uint64_t, Number>> known(graph.ranks().size());
  endNumbers_.resize(2 * (graph.messageEnd() - graph.jobCount()));
  for (Id end = 0; end < endNumbers_.size(); ++end) {
    const JobGraph::LineEnd& place = graph.lineEnd(end);
    if (!place.isOnLine) continue;
    JobGraph::Node node = graph.node(graph.messageOf(end));
    node.kind = graph.eventOf(end).kind;
    node.stage = graph.eventOf(end).stage;
    const std::uint64_t what = whatOf(node);
    const auto [found, isNew] =
        known[place.rank].try_emplace(what, static_cast<Number>(firsts_.size()));
    endNumbers_[end] = found->second;
    if (!isNew) continue;
    firsts_.push_back({what, place.rank, node.stage});
    ends_.push_back(end);
  }
}

}  // namespace pipetrace
