#pragma once

#include <QLabel>
#include <QListWidget>
#include <QWidget>
#include <vector>

#include "viewer/plan/plan_ghost.h"

namespace pipetrace {

/// What is not as planned in the step in view: which jobs stand elsewhere, begin late or last long.
/// A click or Enter on one goes to the job. Below the list is what the job under the cursor, or the
/// selected one, has beside its plan.
class PlanPanel : public QWidget {
  Q_OBJECT

 public:
  static constexpr std::size_t kMostLines = 500;

  /// `ghost` must outlive it.
  explicit PlanPanel(PlanGhost& ghost);

 private:
  void update();
  void fill(const StepBesidePlan& step);
  void addLine(const QString& text);

  PlanGhost& ghost_;
  QListWidget* list_;
  QLabel* twin_;
  std::vector<EventSpot> jobs_;  // by line; without an event: none
  const StepBesidePlan* shown_ = nullptr;
  const PlannedSteps* shownPlan_ = nullptr;
  bool wasShown_ = false;
};

}  // namespace pipetrace
