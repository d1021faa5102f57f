#include "viewer/chart/row_labels.h"

#include <QAccessible>
#include <QApplication>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

#include "chart/draw/draw_chart.h"
#include "chart/rows/row_edits.h"
#include "viewer/chart/chart_accessible.h"
#include "viewer/chart/chart_commands.h"
#include "viewer/chart/chart_widget.h"
#include "viewer/paint/qt_canvas.h"
#include "viewer/words/row_words.h"

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
  makeRowsAccessible();  // before anybody asks
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
  if (shown && hasFocus()) {
    QAccessibleEvent focused(this, QAccessible::Focus);
    focused.setChild(static_cast<int>(*shown));
    QAccessible::updateAccessibility(&focused);
  }
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

// The answers of the row labels to mouse and keys.

namespace {

constexpr int kScrollEdge = 16;  // pixels at the ends of the labels where a drag scrolls

bool isKeyOfLabels(const QKeyEvent& event) {
  if (event.modifiers() != Qt::NoModifier && event.modifiers() != Qt::KeypadModifier) return false;
  switch (event.key()) {
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Home:
    case Qt::Key_End:
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space: return true;
    default: return false;
  }
}

}  // namespace

bool RowLabels::event(QEvent* event) {
  // These keys are commands of the chart, too.
  if (event->type() == QEvent::ShortcutOverride && isKeyOfLabels(*static_cast<QKeyEvent*>(event))) {
    event->accept();
    return true;
  }
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    showTip(help->pos(), help->globalPos());
    return true;
  }
  return QWidget::event(event);
}

void RowLabels::showTip(QPoint position, QPoint globalPosition) {
  const auto shown = shownAt(position.y());
  if (!shown) return QToolTip::hideText();
  const ChartView view = chart_.view();
  QToolTip::showText(globalPosition, labelTip(view, view.layout.shown()[*shown]), this);
}

void RowLabels::mousePressEvent(QMouseEvent* event) {
  const QPoint position = event->position().toPoint();
  const auto shown = shownAt(position.y());
  QToolTip::hideText();
  if (!shown) return;
  const ShownRow row = chart_.view().layout.shown()[*shown];
  mark(row.node);  // a row that is partly in view stays under the pointer
  if (event->button() != Qt::LeftButton) return;
  if (isOnTriangle(row, position.x())) return fold(row.node, !row.isFolded);
  pressedAt_ = position;
  isDragging_ = false;
}

void RowLabels::mouseMoveEvent(QMouseEvent* event) {
  const QPoint position = event->position().toPoint();
  if (pressedAt_ && (event->buttons() & Qt::LeftButton) != 0) {
    const int distance = (position - *pressedAt_).manhattanLength();
    if (!isDragging_ && distance < QApplication::startDragDistance()) return;
    isDragging_ = true;
    setCursor(Qt::ClosedHandCursor);
    QScrollBar* bar = chart_.verticalScrollBar();
    if (position.y() < kScrollEdge) bar->setValue(bar->value() - kScrollEdge);
    if (position.y() > height() - kScrollEdge) bar->setValue(bar->value() + kScrollEdge);
    drop_ = dropAt(position.y());
    return update();
  }
  const auto shown = shownAt(position.y());
  std::optional<std::size_t> node;
  if (shown) node = chart_.view().layout.shown()[*shown].node;
  if (node != hovered_) update();
  hovered_ = node;
  showTip(position, event->globalPosition().toPoint());
}

void RowLabels::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !pressedAt_) return;
  const bool wasDragging = isDragging_;
  const std::optional<Drop> drop = drop_;
  const int pressed = pressedAt_->y();
  pressedAt_.reset();
  drop_.reset();
  isDragging_ = false;
  unsetCursor();
  update();
  if (tree() == nullptr) return;
  if (wasDragging) {
    if (!drop) return;
    chart_.setRowState(
        withMovedNextTo(chart_.rowState(), *tree(), current(), drop->node, drop->isAfter));
    return;
  }
  const auto shown = shownAt(pressed);
  if (!shown) return;
  const ShownRow row = chart_.view().layout.shown()[*shown];
  const bool isHeader = holdsRanks(row.kind) || row.kind == RowKind::kOtherLanes;
  if (isHeader && row.canFold) fold(row.node, !row.isFolded);
}

void RowLabels::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto shown = shownAt(event->position().toPoint().y());
  if (!shown || event->button() != Qt::LeftButton) return;
  const ShownRow row = chart_.view().layout.shown()[*shown];
  // The single clicks of a header and of a triangle have folded it.
  const bool isHeader = holdsRanks(row.kind) || row.kind == RowKind::kOtherLanes;
  const bool isClickable = isHeader || isOnTriangle(row, event->position().toPoint().x());
  if (isClickable) return mousePressEvent(event);
  if (row.canFold) fold(row.node, !row.isFolded);
}

/// The place for the dragged row at `y` of the widget: between two of its neighbours, each of which
/// reaches over all rows below it.
std::optional<RowLabels::Drop> RowLabels::dropAt(int y) const {
  const std::size_t dragged = current();
  if (dragged == RowNode::kNone) return std::nullopt;
  const ChartView view = chart_.view();
  const RowLayout& layout = view.layout;
  const auto& rows = layout.shown();
  const RowState& state = chart_.rowState();
  const bool amongPinned = isPinned(*tree(), state, dragged);
  const auto isNeighbour = [&](const ShownRow& row) {
    if (isPinned(*tree(), state, row.node) != amongPinned) return false;
    return amongPinned || (*tree())[row.node].parent == (*tree())[dragged].parent;
  };
  std::optional<Drop> drop;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!isNeighbour(rows[i])) continue;
    std::size_t last = i;
    while (last + 1 < rows.size() && rows[last + 1].depth > rows[i].depth) ++last;
    const int top = view.yOf(layout.placeOf(i).top) - view.area.y;
    const int bottom = view.yOf(layout.placeOf(last).bottom() - 1) + 1 - view.area.y;
    if (y < (top + bottom) / 2) return Drop{rows[i].node, false, top - 1};
    drop = Drop{rows[i].node, true, bottom + 1};
  }
  return drop;
}

void RowLabels::leaveEvent(QEvent* event) {
  hovered_.reset();
  QToolTip::hideText();
  update();
  QWidget::leaveEvent(event);
}

void RowLabels::focusInEvent(QFocusEvent* event) {
  const bool isClick = event->reason() == Qt::MouseFocusReason;  // which chooses a row
  if (!isClick && !shownIndexOf(current())) {
    const auto first = shownAt(chart_.view().layout.pinnedHeight() + kScrollEdge);
    moveTo(static_cast<std::ptrdiff_t>(first.value_or(0)));
  }
  QWidget::focusInEvent(event);
}

void RowLabels::keyPressEvent(QKeyEvent* event) {
  if (tree() == nullptr || !isKeyOfLabels(*event)) return QWidget::keyPressEvent(event);
  const ChartView view = chart_.view();
  const auto& rows = view.layout.shown();
  const auto index = shownIndexOf(current());
  if (!index) return moveTo(0);
  const auto at = static_cast<std::ptrdiff_t>(*index);
  const ShownRow row = rows[*index];
  const std::ptrdiff_t page = std::max<std::ptrdiff_t>(
      static_cast<std::ptrdiff_t>(view.rowsInView().size() - view.layout.pinnedCount()) - 1, 1);
  switch (event->key()) {
    case Qt::Key_Up: return moveTo(at - 1);
    case Qt::Key_Down: return moveTo(at + 1);
    case Qt::Key_PageUp: return moveTo(at - page);
    case Qt::Key_PageDown: return moveTo(at + page);
    case Qt::Key_Home: return moveTo(0);
    case Qt::Key_End: return moveTo(static_cast<std::ptrdiff_t>(rows.size()) - 1);
    case Qt::Key_Left:
      if (row.canFold && !row.isFolded) return fold(row.node, true);
      if ((*tree())[row.node].parent != RowNode::kNone) setCurrent((*tree())[row.node].parent);
      return;
    case Qt::Key_Right:
      if (row.canFold && row.isFolded) return fold(row.node, false);
      if (*index + 1 < rows.size() && rows[*index + 1].depth > row.depth) moveTo(at + 1);
      return;
    default: return foldOrUnfold();
  }
}

void RowLabels::contextMenuEvent(QContextMenuEvent* event) {
  QPoint place = event->globalPos();
  if (event->reason() != QContextMenuEvent::Mouse) {
    const auto shown = shownIndexOf(current());
    if (!shown) return;
    const ChartView view = chart_.view();
    const RowPlace at = view.layout.placeOf(*shown);
    place = mapToGlobal(
        QPoint(kGutter, std::clamp(view.yOf(at.bottom() - 1) - view.area.y, 0, height())));
  }
  if (current() == RowNode::kNone) return;
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->addSection(QString::fromStdString((*tree())[current()].key));
  addRowCommandsTo(*menu, chart_);
  menu->popup(place);
}

RowFilter::RowFilter(ChartWidget& chart) : QLineEdit(chart.viewport()), chart_(chart) {
  setPlaceholderText(tr("filter rows"));
  setClearButtonEnabled(true);
  setAccessibleName(tr("Filter rows"));
  setObjectName(QStringLiteral("row-filter"));
  setToolTip(
      tr("Shows the rows with this text in their names, such as rank 3, stage 1 or send.\n"
         "A comma separates texts of which one is enough."));
  QFont small = font();
  small.setPixelSize(11);
  setFont(small);
  connect(this, &QLineEdit::textChanged, this, [this](const QString& text) {
    RowState state = chart_.rowState();
    state.filter = text.toStdString();
    chart_.setRowState(std::move(state));
  });
}

void RowFilter::refresh() {
  const QString wanted = QString::fromStdString(chart_.rowState().filter);
  if (text() != wanted) setText(wanted);
}

bool RowFilter::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride &&
      static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
    event->accept();  // else it is the chart's
    return true;
  }
  return QLineEdit::event(event);
}

void RowFilter::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Escape:
      clear();
      chart_.setFocus();
      return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Down: chart_.rowLabels()->setFocus(); return;
    default: QLineEdit::keyPressEvent(event);
  }
}

}  // namespace pipetrace
