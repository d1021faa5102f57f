#include "viewer/chart/row_labels.h"

#include <QAccessible>
#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>

#include "chart/draw/draw_chart.h"
#include "chart/rows/row_edits.h"
#include "viewer/chart/chart_widget.h"
#include "viewer/paint/qt_canvas.h"

namespace pipetrace {
namespace {

constexpr int kTriangle = 8;        // pixels, its longer side
constexpr int kLowestTriangle = 7;  // height of a row

QColor shade(const ChartView& view, int alpha) {
  QColor color = toQColor(view.model.theme().ink);
  color.setAlpha(alpha);
  return color;
}

}  // namespace

RowLabels::RowLabels(ChartWidget& chart) : QWidget(chart.viewport()), chart_(chart) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName(tr("Row labels"));
  setObjectName(QStringLiteral("row-labels"));
}

const RowTree* RowLabels::tree() const {
  return chart_.model() == nullptr ? nullptr : chart_.view().layout.tree();
}

std::size_t RowLabels::current() const {
  return tree() == nullptr ? RowNode::kNone : tree()->find(current_);
}

std::optional<std::size_t> RowLabels::shownIndexOf(std::size_t node) const {
  if (tree() == nullptr || node == RowNode::kNone) return std::nullopt;
  const ChartView view = chart_.view();
  const auto& rows = view.layout.shown();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [node](const ShownRow& row) { return row.node == node; });
  if (found == rows.end()) return std::nullopt;
  return static_cast<std::size_t>(found - rows.begin());
}

void RowLabels::setCurrent(std::size_t node) {
  if (tree() == nullptr || node == RowNode::kNone) return;
  mark(node);
  const auto shown = shownIndexOf(node);
  if (shown) chart_.bringRowIntoView(chart_.view().layout.placeOf(*shown));
}

void RowLabels::mark(std::size_t node) {
  const RowNode& at = (*tree())[node];
  current_ = at.key;
  const auto shown = shownIndexOf(node);
  QString text = QString::fromStdString(at.label + (at.detail.empty() ? "" : ", " + at.detail));
  if (shown && chart_.view().layout.shown()[*shown].isFolded) text += tr(", folded");
  setAccessibleDescription(text);
  QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
  QAccessible::updateAccessibility(&changed);
  update();
}

void RowLabels::refresh() {
  hovered_.reset();
  drop_.reset();
  isDragging_ = false;
  pressedAt_.reset();
  update();
}

std::optional<std::size_t> RowLabels::shownAt(int y) const {
  if (chart_.model() == nullptr) return std::nullopt;
  const ChartView view = chart_.view();
  return view.layout.shownAt(view.layoutYAt(y + view.area.y));
}

bool RowLabels::isOnTriangle(const ShownRow& row, int x) const {
  const int right = rowLabelX(row.depth, kGutter);
  return row.canFold && x >= right - kGutter - 2 && x < right;
}

void RowLabels::fold(std::size_t node, bool isFolded) {
  chart_.setRowState(withFold(chart_.rowState(), *tree(), node, isFolded));
}

void RowLabels::foldOrUnfold() {
  const auto shown = shownIndexOf(current());
  if (!shown) return;
  const ShownRow row = chart_.view().layout.shown()[*shown];
  if (row.canFold) fold(row.node, !row.isFolded);
}

void RowLabels::pinOrUnpin() {
  const std::size_t node = current();
  if (node == RowNode::kNone) return;
  const bool wasPinned = isPinned(*tree(), chart_.rowState(), node);
  chart_.setRowState(withPin(chart_.rowState(), *tree(), node, !wasPinned));
}

void RowLabels::moveCurrent(int places) {
  const std::size_t node = current();
  if (node == RowNode::kNone) return;
  chart_.setRowState(withMoved(chart_.rowState(), *tree(), node, places));
  setCurrent(node);
}

void RowLabels::hideCurrent() {
  const std::size_t node = current();
  const auto shown = shownIndexOf(node);
  if (!shown) return;
  chart_.setRowState(withHidden(chart_.rowState(), *tree(), node));
  moveTo(static_cast<std::ptrdiff_t>(*shown));
}

/// Makes the shown row with that index the current one; the nearest if there is none.
void RowLabels::moveTo(std::ptrdiff_t shown) {
  if (tree() == nullptr) return;
  const ChartView view = chart_.view();
  const auto& rows = view.layout.shown();
  if (rows.empty()) return;
  const auto last = static_cast<std::ptrdiff_t>(rows.size()) - 1;
  setCurrent(rows[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(shown, 0, last))].node);
}

void RowLabels::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  painter.setClipRect(event->rect());
  if (tree() == nullptr) return painter.fillRect(event->rect(), palette().base());
  painter.fillRect(event->rect(), toQColor(chart_.model()->theme().paper));
  const ChartView view = chart_.view();
  {
    QtCanvas canvas(painter, fonts_);
    drawRowLabels(canvas, view, {0, 0, width(), height()}, kGutter);
  }
  painter.setClipRect(event->rect());
  paintMarks(painter, view);
}

void RowLabels::paintMarks(QPainter& painter, const ChartView& view) const {
  const int pinned = view.layout.pinnedHeight();
  const std::size_t marked = current();
  painter.setRenderHint(QPainter::Antialiasing);
  for (const RowInView& each : view.rowsInView()) {
    const int top = each.place.top - view.area.y;
    painter.setClipRect(each.isPinned ? QRect(0, 0, width(), pinned)
                                      : QRect(0, pinned, width(), height() - pinned));
    const QRect box(0, top, width(), each.place.height);
    if (each.row->node == hovered_) painter.fillRect(box, shade(view, 18));
    if (each.row->node == marked && hasFocus()) {
      painter.fillRect(box, shade(view, 28));
      painter.fillRect(QRect(0, top, 3, each.place.height), palette().color(QPalette::Highlight));
    } else if (each.row->node == marked) {
      painter.fillRect(QRect(0, top, 3, each.place.height), shade(view, 60));
    }
    if (each.row->canFold) paintTriangle(painter, each);
  }
  painter.setClipping(false);
  if (pinned > 0)
    painter.fillRect(0, pinned - 1, width(), 1, toQColor(view.model.theme().stepLine));
  if (drop_) painter.fillRect(0, drop_->y - 1, width(), 2, palette().color(QPalette::Highlight));
}

void RowLabels::paintTriangle(QPainter& painter, const RowInView& row) const {
  if (row.place.height < kLowestTriangle) return;
  const double x = rowLabelX(row.row->depth, kGutter) - kGutter + kTriangle / 2.0;
  const double y = row.place.top - chart_.view().area.y + row.place.height / 2.0;
  const double half = kTriangle / 2.0;
  const double third = kTriangle / 3.0;
  QPolygonF triangle;
  if (row.row->isFolded) {
    triangle << QPointF(x - third, y - half) << QPointF(x - third, y + half)
             << QPointF(x + third, y);
  } else {
    triangle << QPointF(x - half, y - third) << QPointF(x + half, y - third)
             << QPointF(x, y + third);
  }
  painter.setPen(Qt::NoPen);
  const bool isHovered = row.row->node == hovered_;
  const Theme& theme = chart_.model()->theme();
  painter.setBrush(toQColor(isHovered ? theme.ink : theme.faintInk));
  painter.drawPolygon(triangle);
}

}  // namespace pipetrace
