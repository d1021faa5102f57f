#include "viewer/chart/chart_stack.h"

#include <QScopedValueRollback>
#include <QScrollBar>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "chart/rows/row_edits.h"

namespace pipetrace {

ChartStack::ChartStack(ChartWidget& main) : QSplitter(Qt::Vertical), main_(main) {
  setChildrenCollapsible(false);
  auto* top = new QWidget;
  auto* column = new QVBoxLayout(top);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(&main_, 1);
  addWidget(top);
  setStretchFactor(0, 1);
  setFocusProxy(&main_);
  connect(&main_, &ChartWidget::viewChanged, this, &ChartStack::follow);
  connect(&main_, &ChartWidget::rowsChanged, this, [this] { takeRowsOf(main_); });
}

ChartStack::~ChartStack() {
  // The charts go after its own members.
  main_.disconnect(this);
  for (const Under& under : under_) under.chart->disconnect(this);
}

void ChartStack::setHead(QWidget& head) {
  static_cast<QVBoxLayout*>(widget(0)->layout())->insertWidget(0, &head);
}

void ChartStack::add(QWidget& pane) {
  addWidget(&pane);
  pane.hide();
}

void ChartStack::show(ChartWidget& under, const ChartModel& model, Offset offset) {
  const bool isNew = find(under) == nullptr;
  if (isNew) under_.push_back({&under, nullptr});
  find(under)->offset = std::move(offset);
  {
    const QScopedValueRollback moving(isMoving_, true);
    under.setModel(&model);
    if (isNew) {
      under.setFocusProxy(&main_);  // it has the keys for all
      connect(&under, &ChartWidget::viewChanged, this, [this, &under] { moveLike(under); });
      connect(&under, &ChartWidget::rowsChanged, this, [this, &under] { takeRowsOf(under); });
      connect(&under, &QObject::destroyed, this, [this, &under] { forget(under); });
      for (ChartWidget* const chart : {&main_, &under}) {
        chart->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);  // so that all are as wide
      }
    }
  }
  takeRowsOf(main_);
  if (isNew) shareHeight();
}

void ChartStack::clear(ChartWidget& under) {
  if (find(under) == nullptr) return;
  under.disconnect(this);
  under.setModel(nullptr);
  forget(under);
}

void ChartStack::forget(const ChartWidget& chart) {
  std::erase_if(under_, [&](const Under& each) { return each.chart == &chart; });
  if (isAlone()) main_.setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
  shareLabelWidth();
}

ChartStack::Under* ChartStack::find(const ChartWidget& chart) {
  const auto found = std::find_if(under_.begin(), under_.end(),
                                  [&](const Under& each) { return each.chart == &chart; });
  return found == under_.end() ? nullptr : &*found;
}

void ChartStack::moveLike(ChartWidget& from) {
  if (isMoving_ || main_.model() == nullptr || from.model() == nullptr) return;
  const QScopedValueRollback moving(isMoving_, true);
  const Under* const leader = find(from);
  // Where it leads, it stays under what it was under, though another step may be there by now.
  const Nanoseconds ofLeader = leader == nullptr ? 0 : leader->offset();
  if (leader != nullptr) {
    const TimeAxis wanted = from.view().axis;
    const TimeAxis seen = main_.view().axis;
    if (wanted.begin() - ofLeader != seen.begin() || wanted.span() != seen.span()) {
      main_.showSpan(wanted.begin() - ofLeader, wanted.end() - ofLeader);
    }
    main_.verticalScrollBar()->setValue(from.verticalScrollBar()->value());
  }
  const TimeAxis axis = main_.view().axis;
  const Timeline::Span reach = main_.reach();
  for (const Under& under : under_) {
    ChartWidget& chart = *under.chart;
    const Nanoseconds offset = &under == leader ? ofLeader : under.offset();
    chart.widenTime(Timeline::Span{reach.begin + offset, reach.end + offset});
    const TimeAxis seen = chart.view().axis;
    if (seen.begin() != axis.begin() + offset || seen.span() != axis.span()) {
      chart.showSpan(axis.begin() + offset, axis.end() + offset);
    }
    if (&under == leader) continue;  // it may have more rows
    chart.verticalScrollBar()->setValue(main_.verticalScrollBar()->value());
  }
}

void ChartStack::takeRowsOf(ChartWidget& from) {
  if (isMoving_ || main_.model() == nullptr || from.model() == nullptr) return;
  {
    const QScopedValueRollback moving(isMoving_, true);
    const RowState state = from.rowState();
    const RowTree& tree = from.model()->rowTree(state.grouping);
    const auto give = [&](ChartWidget& to) {
      if (&to == &from) return;
      to.setRowState(withSameFolds(state, tree, to.model()->rowTree(state.grouping)));
    };
    give(main_);
    for (const Under& under : under_) give(*under.chart);
    shareLabelWidth();
  }
  follow();
}

void ChartStack::bringRowIntoView(ChartWidget& under, std::size_t row) {
  const QScopedValueRollback moving(isMoving_, true);
  under.bringRowIntoView(under.view().layout[row]);
}

/// All labels are as wide as the widest needs.
void ChartStack::shareLabelWidth() {
  int width = 0;  // as wide as its own
  if (!isAlone()) width = main_.neededLabelWidth();
  for (const Under& under : under_) width = std::max(width, under.chart->neededLabelWidth());
  const QScopedValueRollback moving(isMoving_, true);
  main_.setLeastLabelWidth(width);
  for (const Under& under : under_) under.chart->setLeastLabelWidth(width);
}

/// All charts get the same height, and the main one more for its strip and its legend.
void ChartStack::shareHeight() {
  QList<int> heights = sizes();
  int rest = height();
  int charts = 0;
  const auto hasChart = [&](int index) {
    return index == 0 || std::any_of(under_.begin(), under_.end(), [&](const Under& under) {
             return widget(index)->isAncestorOf(under.chart);
           });
  };
  for (int i = 0; i < count(); ++i) hasChart(i) ? void(++charts) : void(rest -= heights[i]);
  const int more = std::min(height() / 12, 45);
  for (int i = 0; i < count(); ++i) {
    if (hasChart(i)) heights[i] = (rest - 2 * more) / charts + (i == 0 ? 2 * more : 0);
  }
  setSizes(heights);
}

}  // namespace pipetrace
