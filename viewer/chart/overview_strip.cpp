#include "viewer/chart/overview_strip.h"

#include <QApplication>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "viewer/chart/chart_widget.h"
#include "viewer/words/job_fields.h"

namespace pipetrace {
namespace {

constexpr int kAbove = 5;
constexpr int kBelow = 5;
constexpr int kHandle = 5;       // pixels on each side of a bracket's end
constexpr int kCutOff = 4;       // medians: longer bars are cut off
constexpr int kScaleText = 11;   // pixels
constexpr int kHandleWidth = 5;  // as it is drawn

QColor blend(const QColor& a, const QColor& b, double share) {
  const auto part = [&](int x, int y) { return static_cast<int>(x + (y - x) * share); };
  return {part(a.red(), b.red()), part(a.green(), b.green()), part(a.blue(), b.blue())};
}

}  // namespace

OverviewStrip::OverviewStrip(ChartWidget& chart) : QWidget(&chart), chart_(chart) {
  setMouseTracking(true);
  setAccessibleName(tr("Overview of the run"));
  setAccessibleDescription(tr("A bar for each step, as high as the step is long"));
  connect(&chart, &ChartWidget::modelChanged, this, &OverviewStrip::updateSteps);
  connect(&chart, &ChartWidget::viewChanged, this, qOverload<>(&QWidget::update));
  hide();
}

QRect OverviewStrip::bars() const {
  const PixelRect rows = chart_.view().area;
  return {rows.x, kAbove, rows.width, height() - kAbove - kBelow};
}

TimeAxis OverviewStrip::axis() const {
  const Timeline::Span run = chart_.model()->span();
  return {run.begin, run.end, bars().width()};
}

void OverviewStrip::updateSteps() {
  columnsWidth_ = -1;
  update();
}

const std::vector<StepColumn>& OverviewStrip::columns() const {
  const TimeAxis whole = axis();
  if (columnsWidth_ != whole.width()) {
    columns_ = stepColumns(chart_.model()->steps(), chart_.bubbleRatios(), whole);
    columnsWidth_ = whole.width();
  }
  return columns_;
}

Nanoseconds OverviewStrip::fullHeight(const std::vector<StepColumn>& columns) const {
  Nanoseconds longest = 1;
  for (const StepColumn& column : columns) {
    const StepSpan& step = chart_.model()->steps()[column.longest];
    longest = std::max(longest, step.end - step.begin);
  }
  const Nanoseconds median = std::max<Nanoseconds>(chart_.model()->medianStep(), 1);
  return longest / kCutOff > median ? median * kCutOff : longest;
}

void OverviewStrip::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  if (chart_.model() == nullptr) return;
  paintBars(painter);
  paintBracket(painter);
}

void OverviewStrip::paintBars(QPainter& painter) const {
  const QRect box = bars();
  const QColor paper = palette().color(QPalette::Base);
  const QColor accent = palette().color(QPalette::Active, QPalette::Highlight);
  const QColor busy = blend(paper, accent, 0.85);
  const QColor idle = blend(paper, accent, 0.4);
  const QColor above = blend(paper, accent, 0.2);
  const std::vector<StepColumn>& all = columns();
  const Nanoseconds full = fullHeight(all);
  const auto pixels = [&](double duration) {
    const double share = std::min(duration / static_cast<double>(full), 1.0);
    return std::max(static_cast<int>(std::lround(share * box.height())), 1);
  };
  const int bottom = box.bottom() + 1;
  for (const StepColumn& column : all) {
    const int left = box.x() + std::max(column.left, 0);
    int width = box.x() + std::min(column.right, box.width()) - left;
    if (width <= 0) continue;
    if (width >= kMinStepWidth) --width;
    const StepSpan& longest = chart_.model()->steps()[column.longest];
    const int most = pixels(static_cast<double>(longest.end - longest.begin));
    const int mean = pixels(static_cast<double>(column.mean));
    const int work =
        column.bubbleRatio ? static_cast<int>(std::lround((1 - *column.bubbleRatio) * mean)) : mean;
    painter.fillRect(left, bottom - most, width, most - mean, above);
    painter.fillRect(left, bottom - mean, width, mean - work, idle);
    painter.fillRect(left, bottom - work, width, work, busy);
    if (longest.end - longest.begin > full) {  // cut off
      painter.fillRect(left, box.y() + 3, width, 2, paper);
    }
  }
  QFont font = this->font();
  font.setPixelSize(kScaleText);
  painter.setFont(font);
  painter.setPen(blend(paper, palette().color(QPalette::Text), 0.65));
  const QRect label(8, 0, box.x() - 16, height() / 2);
  const QFontMetrics metrics(font);
  const QString count = tr("%1 steps").arg(chart_.model()->steps().size());
  const QString scale = lengthText(full);  // of the highest bar
  painter.drawText(label.translated(0, 2), Qt::AlignRight | Qt::AlignVCenter,
                   metrics.elidedText(scale, Qt::ElideRight, label.width()));
  painter.drawText(label.translated(0, height() / 2 - 3), Qt::AlignRight | Qt::AlignVCenter,
                   metrics.elidedText(count, Qt::ElideRight, label.width()));
}

void OverviewStrip::paintBracket(QPainter& painter) const {
  const QRect box = bars().adjusted(0, -kAbove + 1, 0, kBelow - 1);
  const QRect seen = bracket();
  QColor veil = palette().color(QPalette::Base);
  veil.setAlpha(120);
  painter.fillRect(QRect(QPoint(box.left(), box.top()), QPoint(seen.left() - 1, box.bottom())),
                   veil);
  painter.fillRect(QRect(QPoint(seen.right() + 1, box.top()), box.bottomRight()), veil);
  const QColor line = palette().color(QPalette::Text);
  painter.setPen(blend(palette().color(QPalette::Base), line, 0.6));
  painter.drawRect(seen.adjusted(0, 0, -1, -1));
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(blend(palette().color(QPalette::Base), line, 0.7));
  // The handles of a narrow bracket stand outside of it.
  const int apart = seen.width() < 4 * kHandleWidth ? kHandleWidth / 2 : 0;
  for (const int x : {seen.left() - apart, seen.right() + apart}) {
    painter.drawRoundedRect(
        QRectF(x - kHandleWidth / 2.0 + 0.5, seen.center().y() - 8, kHandleWidth, 17), 2, 2);
  }
}

QRect OverviewStrip::bracket() const {
  const QRect box = bars();
  const TimeAxis whole = axis();
  const TimeAxis& seen = chart_.view().axis;
  const int left = std::clamp(whole.xOf(seen.begin()), 0, box.width() - 1);
  const int right = std::clamp(whole.xOf(seen.end()), left + 1, box.width());
  return {box.x() + left, 1, std::max(right - left, 2), height() - 2};
}

OverviewStrip::Grip OverviewStrip::gripAt(QPoint position) const {
  const QRect seen = bracket();
  const QRect box = bars();
  if (position.x() < box.left() - kHandle || position.x() > box.right() + kHandle) {
    return Grip::kNone;
  }
  // A narrow bracket can still be held in its middle.
  const int inside = std::min(kHandle, seen.width() / 4);
  const auto isAt = [&](int x, int before, int after) {
    return position.x() >= x - before && position.x() <= x + after;
  };
  if (isAt(seen.left(), kHandle, inside)) return Grip::kBegin;
  if (isAt(seen.right(), inside, kHandle)) return Grip::kEnd;
  const bool isWhole = seen.width() >= box.width() - 2;
  if (seen.contains(position) && !isWhole) return Grip::kBracket;
  return Grip::kElsewhere;
}

void OverviewStrip::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || chart_.model() == nullptr) return;
  pressedAt_ = event->position().toPoint();
  grip_ = gripAt(pressedAt_);
  isDragging_ = false;
  const TimeAxis& seen = chart_.view().axis;
  held_ = {seen.begin(), seen.end()};
}

void OverviewStrip::mouseMoveEvent(QMouseEvent* event) {
  if (chart_.model() == nullptr) return;
  const QPoint position = event->position().toPoint();
  if (grip_ != Grip::kNone && (event->buttons() & Qt::LeftButton) != 0) return drag(position);
  const Grip grip = gripAt(position);
  const bool isSide = grip == Grip::kBegin || grip == Grip::kEnd;
  setCursor(isSide                   ? Qt::SizeHorCursor
            : grip == Grip::kBracket ? Qt::OpenHandCursor
                                     : Qt::ArrowCursor);
  const auto& all = columns();
  const StepColumn* const column = columnAt(all, position);
  QToolTip::showText(event->globalPosition().toPoint(), column == nullptr ? "" : textOf(*column),
                     this);
}

void OverviewStrip::drag(QPoint position) {
  const bool isFar = std::abs(position.x() - pressedAt_.x()) >= QApplication::startDragDistance();
  if (!isDragging_ && !isFar && grip_ != Grip::kBegin && grip_ != Grip::kEnd) return;
  isDragging_ = true;
  QToolTip::hideText();
  const TimeAxis whole = axis();
  const int offset = bars().x();
  const Timeline::Span run = chart_.model()->span();
  const auto timeAt = [&](int x) {
    return std::clamp(whole.timeAt(std::clamp(x - offset, 0, whole.width())), run.begin, run.end);
  };
  const Nanoseconds here = timeAt(position.x());
  Timeline::Span shown = held_;
  switch (grip_) {
    case Grip::kBegin: shown.begin = std::min(here, held_.end - TimeAxis::kMinSpan); break;
    case Grip::kEnd: shown.end = std::max(here, held_.begin + TimeAxis::kMinSpan); break;
    case Grip::kBracket: {
      const Nanoseconds moved = here - timeAt(pressedAt_.x());
      shown = {held_.begin + moved, held_.end + moved};
      setCursor(Qt::ClosedHandCursor);
      break;
    }
    default:
      shown = {std::min(here, timeAt(pressedAt_.x())), std::max(here, timeAt(pressedAt_.x()))};
  }
  chart_.showSpan(shown.begin, shown.end);
}

void OverviewStrip::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || chart_.model() == nullptr) return;
  if (!isDragging_ && grip_ != Grip::kNone) {
    const auto& all = columns();
    const StepColumn* const column = columnAt(all, event->position().toPoint());
    if (column != nullptr) chart_.showStep(chart_.model()->steps()[column->longest].step);
  }
  grip_ = Grip::kNone;
  isDragging_ = false;
}

/// The bar at that x; of a gap between bars the one before it.
const StepColumn* OverviewStrip::columnAt(const std::vector<StepColumn>& columns,
                                          QPoint position) const {
  const int x = position.x() - bars().x();
  if (x < 0 || x >= bars().width()) return nullptr;
  const auto after = std::partition_point(columns.begin(), columns.end(),
                                          [x](const StepColumn& c) { return c.left <= x; });
  return after == columns.begin() ? nullptr : &*(after - 1);
}

QString OverviewStrip::textOf(const StepColumn& column) const {
  const auto& steps = chart_.model()->steps();
  if (column.count == 1) return chart_.stepText(steps[column.first]);
  const StepSpan& longest = steps[column.longest];
  QString words = tr("%1 steps from step %2 on, mean %3, longest step %4 with %5")
                      .arg(column.count)
                      .arg(steps[column.first].step)
                      .arg(lengthText(column.mean))
                      .arg(longest.step)
                      .arg(lengthText(longest.end - longest.begin));
  if (column.bubbleRatio) {
    words += tr(", bubble ratio %1 %").arg(100 * *column.bubbleRatio, 0, 'f', 1);
  }
  return words;
}

bool OverviewStrip::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) return true;  // shown as the mouse moves
  if (event->type() == QEvent::Leave) QToolTip::hideText();
  return QWidget::event(event);
}

}  // namespace pipetrace
