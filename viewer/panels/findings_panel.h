#pragma once

#include <QLabel>
#include <QListWidget>
#include <QToolButton>
#include <QWidget>
#include <optional>
#include <vector>

#include "viewer/causes/causes.h"
#include "viewer/causes/graph_places.h"
#include "viewer/what_if/changes.h"

namespace pipetrace {

/// The findings about a run, in the words of `pipe-trace report`. A click or Enter on one goes to
/// its evidence in the chart; buttons lead to the next and the previous place.
class FindingsPanel : public QWidget {
  Q_OBJECT

 public:
  /// `causes` must outlive it.
  explicit FindingsPanel(Causes& causes);

  /// These say that causes are looked for (`isLive`: once the run has ended), and that none can be
  /// found.
  void showWaiting(bool isLive = false);
  void showFailure();
  /// Lists the findings of causes.places().
  void showFindings();

 signals:
  /// The user wants to see what the run would be without the finding that is shown.
  void changeWanted(const pipetrace::WhatIfChanges& change);

 private:
  void showText(const QString& text);
  void addLine(const QString& text);  // no finding; nothing if it is empty
  void choose(int line);
  void listFindings();
  void showPlace(int place);
  void updateButtons();

  Causes& causes_;
  QListWidget* list_;
  QLabel* place_;
  QToolButton* previous_;
  QToolButton* next_;
  QToolButton* whatIf_;
  std::vector<std::vector<FindingPlace>> evidence_;     // by finding
  std::vector<std::optional<WhatIfChanges>> removals_;  // by finding: what removes it
  int finding_ = -1;                                    // whose evidence is shown
  int moreLine_ = -1;  // the line that unfolds minor findings, or folds them
  bool areMinorShown_ = false;
  int at_ = 0;  // in its evidence
};

}  // namespace pipetrace
