#include "viewer/causes/finding_places.h"

#include "analysis/explain/findings.h"
#include "analysis/graph/job_name.h"
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

std::vector<FindingPlace> placesOfFinding(const Finding& finding, const GraphPlaces& places) {
  std::vector<FindingPlace> found;
  for (const Evidence& evidence : finding.evidence) {
    const auto spot = places.spotOf(evidence);
    if (spot) found.push_back({*spot, wordsFor(evidence, finding, places)});
  }
  return found;
}

}  // namespace pipetrace
