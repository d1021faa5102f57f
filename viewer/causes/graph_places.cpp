#include "viewer/causes/graph_places.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/causes/findings.h"
#include "analysis/causes/inside_times.h"
#include "analysis/present/run_report.h"
#include "analysis/run/graph/job_name.h"
#include "trace/text/display_name.h"
#include "viewer/words/job_fields.h"

namespace pipetrace {
namespace {

QString stepText(std::int32_t step) {
  return step >= 0 ? QStringLiteral(", step %1").arg(step) : QString();
}

/// Returns the text that names the place of a piece of evidence.
QString wordsFor(const Evidence& evidence, const Finding& finding, const GraphPlaces& places) {
  const auto onRank = [&](const char* after) {
    return QStringLiteral("%1 on rank %2, %3")
        .arg(QString::fromStdString(displayName(places.model().timeline(), *evidence.event)))
        .arg(evidence.rank)
        .arg(QString::fromLatin1(after));
  };
  switch (evidence.role) {
    case Evidence::Role::kCulprit:
      if (finding.bubbleClass == BubbleClass::kBlocked ||
          finding.culprit.lateMessage != JobGraph::kNone) {
        return (finding.bubbleClass == BubbleClass::kBlocked
                    ? QStringLiteral("message in front: %1 on rank %2%3")
                    : QStringLiteral("late message: %1 on rank %2%3"))
            .arg(QString::fromStdString(messageName(*evidence.event, evidence.event->microBatch)))
            .arg(evidence.rank)
            .arg(stepText(finding.culprit.step));
      }
      return QStringLiteral("culprit %1%2")
          .arg(QString::fromStdString(places.nameOf(finding.culprit.job)),
               stepText(finding.culprit.step));
    case Evidence::Role::kInPause: return onRank("in the pause");
    case Evidence::Role::kAfterPause: return onRank("after the pause");
    case Evidence::Role::kEarlyMessage: return onRank("received before it is sent");
    case Evidence::Role::kBubble: break;
  }
  return QStringLiteral("bubble of %1 on rank %2%3")
      .arg(lengthText(evidence.bubble.end - evidence.bubble.begin))
      .arg(evidence.rank)
      .arg(stepText(evidence.bubble.step));
}

}  // namespace

GraphPlaces::GraphPlaces(const Explanation& explanation, const ChartModel& model)
    : explanation_(explanation), model_(model) {
  const auto& ranks = graph().ranks();
  rows_.resize(ranks.size());
  pipelineOf_.resize(ranks.size());
  std::map<int, std::size_t> indices;
  for (std::size_t r = 0; r < ranks.size(); ++r) indices[ranks[r].number] = r;
  for (std::size_t row = 0; row < model.rows().size(); ++row) {
    const auto index = indices.find(model.rows()[row].rank);
    if (index != indices.end()) rows_[index->second].push_back(row);
  }
  for (std::size_t p = 0; p < graph().pipelines().size(); ++p) {
    for (const std::uint32_t r : graph().pipelines()[p]) pipelineOf_[r] = p;
  }
}

std::optional<std::uint32_t> GraphPlaces::rankOf(std::size_t row) const {
  const int number = model_.rows()[row].rank;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (graph().ranks()[r].number == number) return static_cast<std::uint32_t>(r);
  }
  return std::nullopt;
}

GraphPlaces::Id GraphPlaces::nodeOf(const EventSpot& spot) const {
  const auto rank = rankOf(spot.row);
  if (!rank || spot.event == nullptr) return JobGraph::kNone;
  const Event& event = *spot.event;
  const JobGraph::Rank& of = graph().ranks()[*rank];
  const auto search = [&](Id first, Id end) {
    const auto nodes = graph().nodes().subspan(first, end - first);
    auto node = std::partition_point(nodes.begin(), nodes.end(), [&](const JobGraph::Node& each) {
      return each.begin < event.begin;
    });
    for (; node != nodes.end() && node->begin == event.begin; ++node) {
      if (node->event == &event) return first + static_cast<Id>(node - nodes.begin());
    }
    return JobGraph::kNone;
  };
  if (isComputeLane(event.kind)) return search(of.first, of.end);
  if (isTransfer(event.kind)) return messageOf(event, *rank);
  if (isCollective(event.kind)) {
    for (Id id = of.firstCollective; id < of.endOfCollectives; ++id) {
      if (graph().node(id).event == &event) return id;
    }
  }
  return JobGraph::kNone;
}

/// Looks at the jobs that begin after the message has arrived, at its receiver.
GraphPlaces::Id GraphPlaces::messageOf(const Event& event, std::uint32_t rank) const {
  constexpr Id kMostJobs = 4096;
  for (const std::uint32_t r : graph().pipelines()[pipelineOf_[rank]]) {
    const JobGraph::Rank& of = graph().ranks()[r];
    const bool isReceiver = isRecv(event.kind) ? r == rank
                            : event.peer >= 0  ? of.number == event.peer
                                               : r != rank;
    if (!isReceiver) continue;
    const auto jobs = graph().nodes().subspan(of.first, of.end - of.first);
    const auto from = std::partition_point(
        jobs.begin(), jobs.end(), [&](const auto& job) { return job.begin < event.begin; });
    const Id first = of.first + static_cast<Id>(from - jobs.begin());
    for (Id id = first; id < std::min(of.end, first + kMostJobs); ++id) {
      for (const Id input : graph().node(id).inputs) {
        if (input == JobGraph::kNone || !graph().node(input).isMessage) continue;
        const JobGraph::Message& message = graph().message(input);
        if (message.send == &event || message.receive == &event) return input;
      }
    }
  }
  return JobGraph::kNone;
}

std::optional<EventSpot> GraphPlaces::spotIn(std::size_t row, const Event* event) const {
  for (const LaneIndex& lane : model_.rows()[row].lanes) {
    if (holds(lane, event)) return EventSpot{row, event};
  }
  return std::nullopt;
}

std::optional<EventSpot> GraphPlaces::spotIn(std::size_t row, const Bubble& bubble) const {
  for (const LaneIndex& lane : model_.rows()[row].bubbles) {
    // A profile may have bubbles that are cut in another way: the one that begins there.
    const std::size_t at = lane.firstEndingAfter(bubble.begin);
    if (at < lane.size() && lane[at].begin < bubble.end) return EventSpot{row, &lane[at]};
  }
  return std::nullopt;
}

std::optional<EventSpot> GraphPlaces::spotOf(const Event* event, std::uint32_t rank) const {
  if (event == nullptr) return std::nullopt;
  for (const std::size_t row : rows_[rank]) {
    if (const auto spot = spotIn(row, event)) return spot;
  }
  return std::nullopt;
}

std::optional<EventSpot> GraphPlaces::spotOf(Id node) const {
  if (node == JobGraph::kNone) return std::nullopt;
  const JobGraph::Node& of = graph().node(node);
  if (!of.isMessage) return spotOf(of.event, of.rank);
  const JobGraph::Message& message = graph().message(node);
  if (const auto spot = spotOf(message.receive, of.rank)) return spot;
  for (const std::uint32_t r : graph().pipelines()[pipelineOf_[of.rank]]) {
    if (const auto spot = spotOf(message.send, r)) return spot;
  }
  return std::nullopt;
}

const Bubble* GraphPlaces::bubbleOf(const EventSpot& spot) const {
  const auto rank = rankOf(spot.row);
  if (!rank || spot.event->kind != JobKind::kBubble) return nullptr;
  const std::vector<Bubble>& bubbles = explanation_.bubbles.byRank[*rank];
  const auto bubble = std::partition_point(
      bubbles.begin(), bubbles.end(), [&](const Bubble& b) { return b.begin < spot.event->begin; });
  const bool isIt = bubble != bubbles.end() && bubble->begin == spot.event->begin &&
                    bubble->end == spot.event->end;
  return isIt ? &*bubble : nullptr;
}

std::optional<EventSpot> GraphPlaces::culpritOf(const Bubble& bubble) const {
  if (bubble.culprit == JobGraph::kNone) return std::nullopt;
  return spotOf(&culpritEventOf(graph(), bubble), culpritRankOf(graph(), bubble));
}

std::optional<EventSpot> GraphPlaces::spotOf(const Evidence& evidence) const {
  for (std::size_t row = 0; row < model_.rows().size(); ++row) {
    if (model_.rows()[row].rank != evidence.rank) continue;
    const auto spot =
        evidence.event != nullptr ? spotIn(row, evidence.event) : spotIn(row, evidence.bubble);
    if (spot) return spot;
  }
  return std::nullopt;
}

const BubbleWindow* GraphPlaces::windowOf(Id job) const {
  const JobGraph::Node& node = graph().node(job);
  const PipelineBasis& pipeline = explanation_.basis->pipelines()[pipelineOf_[node.rank]];
  const auto& windows = pipeline.windows;
  // Windows do not overlap, but a rank may be in the next step already.
  const std::int32_t step = pipeline.jobs.stepOf(job);
  for (const BubbleWindow& window : windows) {
    if (window.step == step) return &window;
  }
  return nullptr;
}

std::string GraphPlaces::nameOf(Id node) const {
  const JobGraph::Node& of = graph().node(node);
  return jobName(model_.timeline(), of) + " on rank " +
         std::to_string(graph().ranks()[of.rank].number);
}

std::vector<JobField> groupFields(const GraphPlaces& places, const EventSpot& spot) {
  std::vector<JobField> fields;
  if (places.graph().inside().empty() || spot.event == nullptr || !isCompute(spot.event->kind)) {
    return fields;
  }
  const JobGraph::Id job = places.nodeOf(spot);
  if (job == JobGraph::kNone) return fields;
  const InsideTimes times = insideTimesOfJob(places.graph(), job);
  const auto add = [&](const char* name, Nanoseconds InsideTimes::OfGroups::*part) {
    QString first = QString::fromLatin1(name);
    for (const InsideTimes::OfGroups& each : times.groups) {
      if (each.*part == 0) continue;
      const QString group = QString::fromStdString(groupText(each.use, each.kind));
      fields.push_back({std::exchange(first, {}), lengthText(each.*part) + ' ' + group});
    }
  };
  add("Waiting in", &InsideTimes::OfGroups::waiting);
  add("Moving in", &InsideTimes::OfGroups::moving);
  return fields;
}

std::vector<FindingPlace> placesOfFinding(const Finding& finding, const GraphPlaces& places) {
  std::vector<FindingPlace> found;
  for (const Evidence& evidence : finding.evidence) {
    const auto spot = places.spotOf(evidence);
    if (spot) found.push_back({*spot, wordsFor(evidence, finding, places)});
  }
  return found;
}

std::shared_ptr<const JobOwnTimes> ownTimesOf(const GraphPlaces& places) {
  const JobGraph& graph = places.graph();
  if (graph.inside().empty()) return nullptr;
  auto own = std::make_shared<JobOwnTimes>();
  for (const JobGraph::Rank& rank : graph.ranks()) {
    for (JobGraph::Id id = rank.first; id < rank.end; ++id) {
      if (!isCompute(graph.node(id).kind)) continue;
      if (const auto spot = places.spotOf(id)) (*own)[spot->event] = graph.ownTimeOf(id);
    }
  }
  return own;
}

}  // namespace pipetrace
