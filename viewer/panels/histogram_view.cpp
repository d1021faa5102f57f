#include "viewer/panels/histogram_view.h"

#include <QEvent>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

constexpr int kAround = 8;
constexpr int kBinText = 11;  // pixels

QString edgeText(Nanoseconds duration) { return QString::fromStdString(formatDuration(duration)); }
QString localCount(std::size_t count) { return QLocale().toString(static_cast<qulonglong>(count)); }

}  // namespace

HistogramView::HistogramView() {
  setMouseTracking(true);
  setAccessibleName(tr("Histogram of durations"));
}

void HistogramView::show(const QString& name, const LinePercentiles* line) {
  name_ = name;
  line_.reset();
  if (line != nullptr) line_ = *line;
  setAccessibleDescription(line_ ? tr("%1: median %2, from %3 to %4")
                                       .arg(name_, edgeText(line_->median),
                                            edgeText(line_->histogram.edges.front()),
                                            edgeText(line_->histogram.edges.back() - 1))
                                 : QString());
  update();
}

QRect HistogramView::box() const {
  const int line = QFontMetrics(font()).height();
  return rect().adjusted(kAround, kAround + line, -kAround, -line - kAround / 2);
}

int HistogramView::leftOf(std::size_t bin) const {
  const QRect area = box();
  const auto count = static_cast<qint64>(line_->histogram.counts.size());
  return area.left() + static_cast<int>(static_cast<qint64>(bin) * area.width() / count);
}

int HistogramView::xOf(Nanoseconds duration) const {
  const DurationHistogram& bins = line_->histogram;
  const std::size_t bin = bins.binOf(duration);
  const auto part = static_cast<double>(duration - bins.edges[bin]) /
                    static_cast<double>(bins.edges[bin + 1] - bins.edges[bin]);
  return leftOf(bin) + static_cast<int>(part * (leftOf(bin + 1) - leftOf(bin)));
}

void HistogramView::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  QFont small = font();
  small.setPixelSize(kBinText);
  painter.setFont(small);
  const QFontMetrics metrics(small);
  const QColor ink = palette().color(QPalette::Text);
  painter.setPen(ink);
  if (!line_) {
    const QString words = name_.isEmpty() ? tr("Select a line to see its durations.") : name_;
    painter.drawText(rect().adjusted(kAround, 0, -kAround, 0), Qt::AlignCenter | Qt::TextWordWrap,
                     words);
    return;
  }
  const DurationHistogram& bins = line_->histogram;
  const QRect area = box();
  const QColor accent = palette().color(QPalette::Active, QPalette::Highlight);
  const std::size_t most = *std::max_element(bins.counts.begin(), bins.counts.end());
  const QRect head(area.left(), kAround / 2, area.width(), metrics.height());
  const QString scale = tr("up to %1 in a bin").arg(localCount(most));
  painter.drawText(head, Qt::AlignRight | Qt::AlignVCenter, scale);
  painter.drawText(head, Qt::AlignLeft | Qt::AlignVCenter,
                   metrics.elidedText(name_, Qt::ElideRight,
                                      area.width() - metrics.horizontalAdvance(scale) - kAround));
  for (std::size_t bin = 0; bin < bins.counts.size(); ++bin) {
    if (bins.counts[bin] == 0) continue;
    const int height = std::max(static_cast<int>(static_cast<double>(bins.counts[bin]) /
                                                 static_cast<double>(most) * area.height()),
                                1);
    const int width = leftOf(bin + 1) - leftOf(bin);
    painter.fillRect(leftOf(bin), area.bottom() + 1 - height, width > 3 ? width - 1 : width, height,
                     static_cast<int>(bin) == hovered_ ? accent.darker(140) : accent);
  }
  painter.fillRect(area.left(), area.bottom() + 1, area.width(), 1, ink);
  const QRect foot(area.left(), area.bottom() + 3, area.width(), metrics.height());
  painter.drawText(foot, Qt::AlignLeft | Qt::AlignVCenter, edgeText(bins.edges.front()));
  painter.drawText(foot, Qt::AlignRight | Qt::AlignVCenter, edgeText(bins.edges.back() - 1));
  const QString median = tr("median %1").arg(edgeText(line_->median));
  const int width = metrics.horizontalAdvance(median);
  const int side = std::max(metrics.horizontalAdvance(edgeText(bins.edges.front())),
                            metrics.horizontalAdvance(edgeText(bins.edges.back() - 1))) +
                   kAround;
  const int x = xOf(line_->median);
  painter.setPen(QPen(ink, 1, Qt::DashLine));
  painter.drawLine(x, area.top(), x, area.bottom());
  if (area.width() < width + 2 * side) return;
  const int left = std::clamp(x - width / 2, area.left() + side, area.right() - side - width);
  painter.drawText(QRect(left, foot.top(), width, foot.height()), Qt::AlignCenter, median);
}

std::optional<std::size_t> HistogramView::binAt(int x) const {
  if (!line_ || x < box().left() || x > box().right()) return std::nullopt;
  std::size_t bin = 0;
  while (bin + 1 < line_->histogram.counts.size() && leftOf(bin + 1) <= x) ++bin;
  return bin;
}

QString HistogramView::textAt(int x) const {
  const auto bin = binAt(x);
  if (!bin) return {};
  const DurationHistogram& bins = line_->histogram;
  return tr("%1 to %2: %3")
      .arg(edgeText(bins.edges[*bin]), edgeText(bins.edges[*bin + 1] - 1),
           localCount(bins.counts[*bin]));
}

void HistogramView::mouseMoveEvent(QMouseEvent* event) {
  const int x = static_cast<int>(event->position().x());
  const auto bin = binAt(x);
  const int hovered = bin ? static_cast<int>(*bin) : -1;
  if (hovered != hovered_) update();
  hovered_ = hovered;
  QToolTip::showText(event->globalPosition().toPoint(), textAt(x), this);
}

bool HistogramView::event(QEvent* event) {
  if (event->type() == QEvent::Leave) {
    hovered_ = -1;
    update();
    QToolTip::hideText();
  }
  return QWidget::event(event);
}

}  // namespace pipetrace
