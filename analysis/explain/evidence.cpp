#include "analysis/explain/evidence.h"

namespace pipetrace {
namespace {

/// A job or a message of the graph. A message is where its receive is, else where its send is.
void addNode(const JobGraph& graph, JobGraph::Id id, Evidence::Role role,
             std::vector<Evidence>& found) {
  if (id == JobGraph::kNone) return;
  const JobGraph::Node& node = graph.node(id);
  if (node.event == nullptr) return;
  const bool isSend = node.isMessage && graph.message(id).receive == nullptr;
  const bool hasSender = isSend && node.inputs[0] != JobGraph::kNone;
  const std::uint32_t rank = hasSender ? graph.node(node.inputs[0]).rank : node.rank;
  found.push_back({.role = role, .rank = graph.ranks()[rank].number, .event = node.event});
}

void addPause(const Pauses& pauses, std::vector<Evidence>& found) {
  if (pauses.longestWork != nullptr) {
    found.push_back(
        {.role = Evidence::Role::kInPause, .rank = pauses.rank, .event = pauses.longestWork});
  }
  if (pauses.next != nullptr) {
    found.push_back(
        {.role = Evidence::Role::kAfterPause, .rank = pauses.rankOfNext, .event = pauses.next});
  }
}

}  // namespace

std::vector<Evidence> evidenceOf(const Explanation& run, const Finding& finding) {
  const JobGraph& graph = *run.graph;
  std::vector<Evidence> found;
  for (const auto& [rank, bubble] : finding.examples) {
    found.push_back({.rank = graph.ranks()[rank].number, .bubble = bubble});
  }
  if (finding.bubbleClass == BubbleClass::kBlocked && finding.culprit.isAtSender) {
    found.push_back({.role = Evidence::Role::kCulprit,
                     .rank = finding.culprit.rank,
                     .event = graph.message(finding.culprit.job).send});
  } else {
    addNode(graph, finding.culprit.job, Evidence::Role::kCulprit, found);
  }
  addNode(graph, finding.earliestMessage, Evidence::Role::kEarlyMessage, found);
  if (finding.pauses) addPause(*finding.pauses, found);
  return found;
}

}  // namespace pipetrace
