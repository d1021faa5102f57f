#include "viewer/chart/row_commands.h"

#include <QAction>
#include <QCoreApplication>
#include <functional>
#include <utility>

#include "chart/rows/row_edits.h"
#include "viewer/chart/chart_commands.h"
#include "viewer/chart/chart_widget.h"
#include "viewer/chart/row_filter.h"
#include "viewer/chart/row_labels.h"

namespace pipetrace {
namespace {

QAction* add(ChartWidget& chart, const char* name, const char* words, const QKeySequence& key,
             const std::function<void()>& what) {
  auto* action = new QAction(QCoreApplication::translate("RowCommands", words), &chart);
  action->setObjectName(QString::fromLatin1(name));
  action->setData(static_cast<int>(CommandMenu::kRows));
  action->setShortcut(key);
  action->setShortcutContext(Qt::WindowShortcut);
  QObject::connect(action, &QAction::triggered, &chart, what);
  chart.addAction(action);
  return action;
}

void group(ChartWidget& chart, RowGrouping grouping) {
  RowState state = chart.rowState();
  state.grouping = grouping;
  chart.setRowState(std::move(state));
}

}  // namespace

void addRowCommands(ChartWidget& chart) {
  ChartWidget* c = &chart;
  add(chart, "filter-rows", "Filter rows", Qt::CTRL | Qt::SHIFT | Qt::Key_F,
      [c] { c->rowFilter()->setFocus(); });
  add(chart, "row-labels", "Go to the row labels", Qt::CTRL | Qt::SHIFT | Qt::Key_L,
      [c] { c->rowLabels()->setFocus(); });
  add(chart, "fold-row", "Fold or unfold the row", {}, [c] { c->rowLabels()->foldOrUnfold(); });
  add(chart, "fold-all", "Fold all rows", {}, [c] { c->foldAllRows(true); });
  add(chart, "unfold-all", "Unfold all rows", {}, [c] { c->foldAllRows(false); });
  add(chart, "pin-row", "Pin the row on top, or put it back", {},
      [c] { c->rowLabels()->pinOrUnpin(); });
  add(chart, "row-up", "Move the row up", Qt::ALT | Qt::Key_Up,
      [c] { c->rowLabels()->moveCurrent(-1); });
  add(chart, "row-down", "Move the row down", Qt::ALT | Qt::Key_Down,
      [c] { c->rowLabels()->moveCurrent(1); });
  add(chart, "hide-row", "Hide the row", {}, [c] { c->rowLabels()->hideCurrent(); });
  add(chart, "show-all-rows", "Show all rows", {},
      [c] { c->setRowState(withAllShown(c->rowState())); });
  add(chart, "rows-by-rank", "Rows by rank", {}, [c] { group(*c, RowGrouping::kByRank); });
  add(chart, "rows-by-stage", "Rows by stage", {}, [c] { group(*c, RowGrouping::kByStage); });
  add(chart, "rows-as-opened", "Rows as they were opened", {}, [c] { c->setRowState({}); });
}

}  // namespace pipetrace
