#pragma once

#include <QCoreApplication>
#include <memory>

#include "analysis/causes/explanation.h"
#include "analysis/testing/run_of_timeline.h"
#include "viewer/causes/causes.h"
#include "viewer/testing/shown_chart.h"

namespace pipetrace {

/// The run with the bubbles that the analysis finds, with classes and culprits.
inline Timeline withBubbles(Timeline timeline) {
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  addBubbles(timeline);
  return timeline;
}

/// A chart of a run with its causes.
class ExplainedChart : public ShownChart {
 public:
  explicit ExplainedChart(Timeline timeline, QSize size = {1200, 640})
      : ShownChart(withBubbles(std::move(timeline)), size), causes_(widget()) {
    causes_.show(std::make_shared<const Explanation>(run(), ExplainOptions{}), nullptr);
  }

  Causes& causes() { return causes_; }
  const Explanation& explanation() const { return causes_.places()->explanation(); }

  void click(int rank, const Event& event) {
    QTest::mouseClick(widget().viewport(), Qt::LeftButton, {}, middleOf(rank, event));
  }
  /// Selects the compute job of that name: "2F5".
  void select(int rank, JobKind kind, int microBatch, int step = 0) {
    click(rank, job(rank, kind, microBatch, step));
  }
  /// "2F5" for the selected job; "-" without a selection.
  std::string selected() {
    const auto& hit = widget().selection();
    return hit ? nameOf({hit->row, hit->event}) : "-";
  }
  std::string nameOf(const EventSpot& spot) const {
    const GraphPlaces& places = *causes_.places();
    const JobGraph::Id node = places.nodeOf(spot);
    const std::string name = node == JobGraph::kNone ? "?" : places.nameOf(node);
    return name.substr(0, name.find(" on rank"));
  }

 private:
  Causes causes_;
};

}  // namespace pipetrace
