#pragma once

#include <QAction>
#include <QObject>

#include "viewer/search/chart_search.h"

namespace pipetrace {

/// The switch "Only rows with a match" of a chart: while it is on and there is a search, the chart
/// shows the rows that have a match (RowState::only). A child of the chart; on the GUI thread.
class OnlyMatches : public QObject {
  Q_OBJECT

 public:
  /// Adds the switch to the chart's commands (CommandMenu::kRows). Both must outlive it.
  OnlyMatches(ChartWidget& chart, ChartSearch& search);

 private:
  void update();

  ChartWidget& chart_;
  ChartSearch& search_;
  QAction* isOn_;
};

}  // namespace pipetrace
