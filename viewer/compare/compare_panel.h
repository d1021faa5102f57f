#pragma once

#include <QLabel>
#include <QListWidget>
#include <QToolButton>
#include <QWidget>

#include "viewer/compare/compare_pane.h"

namespace pipetrace {

/// What is known of two runs: at the left the sentences of `pipe-trace diff`, and what cannot be
/// compared job by job; at the right the jobs of both steps that differ most. A click or Enter on a
/// job goes there; buttons lead to the next and the previous one.
class ComparePanel : public QWidget {
  Q_OBJECT

 public:
  static constexpr std::size_t kMostJobs = 500;

  /// `pane` must outlive it.
  explicit ComparePanel(ComparePane& pane);

 private:
  void update();
  void fillSentences();
  void fillJobs();

  ComparePane& pane_;
  QListWidget* sentences_;
  QListWidget* jobs_;
  QLabel* place_;
  QToolButton* previous_;
  QToolButton* next_;
  const ComparedRuns* shownResult_ = nullptr;
  const JobTwins* shownTwins_ = nullptr;
  bool isFilled_ = false;
};

}  // namespace pipetrace
