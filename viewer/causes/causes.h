#pragma once

#include <QObject>
#include <memory>
#include <optional>
#include <vector>

#include "chart/links/draw_links.h"
#include "viewer/causes/job_relations.h"
#include "viewer/causes/path_cache.h"
#include "viewer/chart/chart_widget.h"

namespace pipetrace {

/// The causes in a chart: arrows of the selected job and bubble, the critical path, and the ways
/// along dependencies. Answers the chart's commands about them. On the GUI thread.
class Causes : public QObject {
  Q_OBJECT

 public:
  /// Draws on the chart from now on. The chart must outlive it.
  explicit Causes(ChartWidget& chart);
  ~Causes() override;

  /// Takes the explanation of the timeline that the chart shows. `timelineOwner` keeps that and the
  /// chart's model.
  void show(std::shared_ptr<const Explanation> explanation,
            std::shared_ptr<const void> timelineOwner);
  /// Forgets the explanation. Call it before the chart gets another model.
  void clear();
  /// Null while there is no explanation.
  const GraphPlaces* places() const { return places_.get(); }

  bool isPathShown() const { return isPathShown_; }
  /// Whether the selected job is on its step's critical path; nothing while that is not known.
  std::optional<bool> isOnPath(const EventSpot& spot);
  /// The arrows of the selection.
  const std::vector<JobLink>& links() const { return links_; }
  /// The paths of the steps in the view, as far as they are computed; none where there are too many
  /// steps.
  std::vector<const ChartPath*> pathsIn(const ChartView& view);
  /// Whether pathsIn() leaves out paths as there are too many steps in view.
  bool areTooMany(const ChartView& view) const;

 public slots:
  /// Selects what the selected job waited for last; of a bubble, its culprit.
  void goToWaitedFor();
  /// Selects what waited for the selected job first; after a bubble, the job that ends it.
  void goToWaiting();
  void showCriticalPath(bool isShown);
  void goTo(const pipetrace::EventSpot& spot);

 signals:
  /// There is something new to say about the selection or the run.
  void changed();

 private:
  void findLinks();
  void addBubbleLinks(const EventSpot& bubble);
  JobGraph::Id selectedNode() const;
  void goToNode(JobGraph::Id node);

  ChartWidget& chart_;
  std::shared_ptr<const GraphPlaces> places_;
  PathCache paths_;
  std::vector<JobLink> links_;
  bool isPathShown_ = false;
};

}  // namespace pipetrace
