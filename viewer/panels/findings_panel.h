#pragma once

#include <QLabel>
#include <QListWidget>
#include <QToolButton>
#include <QWidget>
#include <vector>

#include "viewer/causes/causes.h"
#include "viewer/causes/graph_places.h"

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

 private:
  void showText(const QString& text);
  void addLine(const QString& text);  // no finding; nothing if it is empty
  void choose(int finding);
  void showPlace(int place);
  void updateButtons();

  Causes& causes_;
  QListWidget* list_;
  QLabel* place_;
  QToolButton* previous_;
  QToolButton* next_;
  std::vector<std::vector<FindingPlace>> evidence_;  // by finding
  int finding_ = -1;                                 // whose evidence is shown
  int at_ = 0;                                       // in its evidence
};

}  // namespace pipetrace
