#pragma once

#include <QObject>
#include <memory>
#include <optional>
#include <vector>

#include "viewer/chart/chart_widget.h"
#include "viewer/panels/area_statistics.h"
#include "viewer/plan/planned_steps.h"
#include "viewer/run/loaded_profile.h"

namespace pipetrace {

/// The plan of a run under the rows of its chart: under each rank its step as planned, from the
/// start of the step on, with marks at what is not as planned. It is made on a thread when it is
/// first shown. Used on the GUI thread.
class PlanGhost : public QObject {
  Q_OBJECT

 public:
  static constexpr int kHeight = 16;            ///< pixels of a rank's plan
  static constexpr std::size_t kMostSteps = 8;  ///< at once that have marks and twins

  /// The chart must outlive it.
  explicit PlanGhost(ChartWidget& chart);
  ~PlanGhost() override;

  /// The run that the chart shows, once all its parts are there; null: there is none.
  void setRun(std::shared_ptr<const LoadedProfile> run);
  bool hasRun() const { return run_ != nullptr; }
  bool isShown() const { return isShown_; }
  /// Null while it is made, and before it is first shown.
  const PlannedSteps* plan() const { return plan_.get(); }
  /// The steps in view beside the plan, by begin; none where there are too many.
  const std::vector<StepBesidePlan>& steps() const { return *steps_; }
  /// The step whose deviations are listed, of `steps()`: that in the middle of the view.
  const StepBesidePlan* listedStep() const;
  /// The job under the cursor, or else the selected one, where it has a twin in `steps()`.
  struct Twin {
    EventSpot job;
    PlannedJob planned;
    Nanoseconds begin = 0;  ///< of the planned job, in the time of the chart
  };
  std::optional<Twin> twin() const;
  /// "2F5 is planned from 12.30 ms to 22.30 ms of its step: begins 1.20 ms later, …".
  QString textOf(const Twin& twin) const;
  const ChartModel* model() const { return chart_.model(); }

 public slots:
  void setShown(bool isShown);
  void goTo(const pipetrace::EventSpot& job);

 signals:
  /// The plan, or the steps beside it, are others; or it is shown or no longer.
  void changed();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void makePlan();
  void findSteps();
  std::vector<StepWindow> stepsInView() const;

  using Steps = std::shared_ptr<const std::vector<StepBesidePlan>>;

  ChartWidget& chart_;
  std::shared_ptr<const LoadedProfile> run_;
  std::shared_ptr<const PlannedSteps> plan_;
  Steps steps_;
  std::vector<StepWindow> wanted_;  // steps_ is of these, or will be
  std::optional<EventSpot> hovered_;
  bool isShown_ = false;
  std::uint64_t asked_ = 0;
  std::uint64_t askedSteps_ = 0;
  LatestWork stepsWork_;  // the last members, so that they stop first
  LatestWork planWork_;
};

}  // namespace pipetrace
