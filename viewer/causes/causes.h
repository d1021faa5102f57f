#pragma once

#include <QObject>
#include <memory>
#include <optional>
#include <vector>

#include "chart/links/draw_links.h"
#include "viewer/causes/chart_paths.h"
#include "viewer/causes/graph_places.h"
#include "viewer/chart/chart_widget.h"

namespace pipetrace {

/// A job that another one waited for, or that waited for it.
struct Relation {
  enum class Kind : std::uint8_t {
    kLane,       ///< the two are next to each other on a rank
    kData,       ///< the second needs what the first made
    kCollective  ///< they are members of a collective, or wait for it
  };
  JobGraph::Id job = JobGraph::kNone;
  JobGraph::Id message = JobGraph::kNone;  ///< that brought the data, if it is logged
  Kind kind = Kind::kLane;
  /// The second job waited for the first one last.
  bool isLast = false;
};

/// A step from job to job on the way of a micro-batch.
struct ChainLink {
  JobGraph::Id from = JobGraph::kNone;
  JobGraph::Id to = JobGraph::kNone;
  JobGraph::Id message = JobGraph::kNone;
};

/// Finds what jobs of a graph waited for. Looks at no more than kMostJobs jobs around
/// a job: in huge steps some that waited for it may be missing. Several threads may use it.
class JobRelations {
 public:
  using Id = JobGraph::Id;
  static constexpr std::size_t kMostJobs = 200'000;

  /// Must outlive it.
  explicit JobRelations(const GraphPlaces& places) : places_(places), graph_(places.graph()) {}

  /// Returns what a job or message waited for. The job before it on its rank comes first.
  std::vector<Relation> waitedFor(Id node) const;
  /// Returns the jobs that waited for a job or message, in the order of their begins.
  std::vector<Relation> waiting(Id node) const;
  /// The job that it waited for last; messages and collectives on the way are skipped. kNone: none.
  Id waitedForLast(Id node) const;
  /// Returns the job that waited for it last and began first. Where there is none, it is the first
  /// of all that waited. kNone: none.
  Id waitingFirst(Id node) const;
  /// The way of the job's micro-batches through all stages, forward and back; of a fused pair both.
  std::vector<ChainLink> chainOf(Id job) const;

 private:
  /// A job and the data that it makes.
  struct Made {
    Id job = JobGraph::kNone;
    std::int32_t stage = kNotGiven;
    std::int32_t microBatch = kNotGiven;
    bool isForward = true;
  };

  std::vector<Made> madeBy(Id job) const;
  std::vector<Made> madeAround(Id job) const;
  template <typename Visit>
  void visitStep(Id job, const Visit& visit) const;

  const GraphPlaces& places_;
  const JobGraph& graph_;
};

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
  /// The same for other threads: it keeps the explanation and the timeline.
  std::shared_ptr<const GraphPlaces> sharedPlaces() const { return places_; }

  /// The event that is selected in the chart.
  std::optional<EventSpot> selectedJob() const;
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
