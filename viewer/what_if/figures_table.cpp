#include "viewer/what_if/figures_table.h"

#include <QHeaderView>
#include <algorithm>
#include <cmath>

#include "chart/text/bubble_text.h"
#include "trace/bubble_class.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

QString durationText(double time) {
  return QString::fromStdString(formatDuration(std::llround(std::max(time, 0.0))));
}

QString signedDurationText(double time) {
  if (std::llround(time) == 0) return QStringLiteral("0");
  return (time > 0 ? QStringLiteral("+") : QString::fromUtf8("−")) + durationText(std::abs(time));
}

QString fixed(double value, int digits) { return QString::fromStdString(fixedText(value, digits)); }

double mostOf(const std::vector<double>& peaks) {
  return peaks.empty() ? 0 : *std::max_element(peaks.begin(), peaks.end());
}

}  // namespace

QString changeText(double share) {
  const QString text = fixed(std::abs(100 * share), 2);
  if (text == QStringLiteral("0.00")) return QStringLiteral("0.00 %");
  return (share > 0 ? QStringLiteral("+") : QString::fromUtf8("−")) + text + QStringLiteral(" %");
}

FiguresTable::FiguresTable() : QTableWidget(0, 4) {
  setAccessibleName(tr("Figures of the prediction"));
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setSelectionMode(QAbstractItemView::NoSelection);
  setTabKeyNavigation(false);
  setShowGrid(false);
  setFrameShape(QFrame::NoFrame);
  setWordWrap(false);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  verticalHeader()->hide();
  verticalHeader()->setMinimumSectionSize(fontMetrics().height() + 2);
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 4);
  horizontalHeader()->setSectionsClickable(false);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setMinimumSectionSize(40);
  horizontalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
  horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  for (int column = 1; column < 4; ++column) {
    horizontalHeader()->setSectionResizeMode(column, QHeaderView::ResizeToContents);
  }
}

void FiguresTable::setRow(int row, const QString& name, const QString& before, const QString& after,
                          const QString& change) {
  if (row >= rowCount()) setRowCount(row + 1);
  const QString texts[] = {name, before, after, change};
  for (int column = 0; column < 4; ++column) {
    QTableWidgetItem* cell = item(row, column);
    if (cell == nullptr) {
      cell = new QTableWidgetItem;
      cell->setFlags(Qt::ItemIsEnabled);
      if (column > 0) cell->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
      setItem(row, column, cell);
    }
    cell->setText(texts[column]);
    if (column == 0) cell->setToolTip(name);
  }
}

void FiguresTable::show(const QString& beforeName, const Figures& before, const Figures* after,
                        bool isOfWall, bool isInTokens) {
  setHorizontalHeaderLabels({QString(), beforeName, tr("predicted"), tr("change")});
  int row = 0;
  const auto share = [](double was, double is) {
    return was > 0 ? changeText(is / was - 1) : QString();
  };
  const auto addTime = [&](const QString& name, double was, double is) {
    setRow(row++, name, durationText(was), after ? durationText(is) : QString(),
           after ? share(was, is) : QString());
  };
  addTime(tr("step"), static_cast<double>(before.of.step),
          after ? static_cast<double>(after->of.step) : 0);
  if (isOfWall && before.of.wall) {
    addTime(tr("wall time"), static_cast<double>(*before.of.wall),
            after ? static_cast<double>(after->of.wall.value_or(after->of.step)) : 0);
  }
  setRow(row++, tr("bubble ratio"), fixed(before.of.bubbleRatio, 4),
         after ? fixed(after->of.bubbleRatio, 4) : QString(),
         after ? share(before.of.bubbleRatio, after->of.bubbleRatio) : QString());
  setRow(row++, isInTokens ? tr("tokens/s") : tr("steps/s"), fixed(before.of.perSecond, 2),
         after ? fixed(after->of.perSecond, 2) : QString(),
         after ? share(before.of.perSecond, after->of.perSecond) : QString());
  if (!before.peaks.empty()) {
    const double was = mostOf(before.peaks);
    const double is = after ? mostOf(after->peaks) : 0;
    setRow(row++, tr("peak activations"), fixed(was, 2), after ? fixed(is, 2) : QString(),
           after ? share(was, is) : QString());
  }
  for (const BubbleClass each : kReportedClasses) {
    const double was = before.of.ofClass(each);
    const double is = after ? after->of.ofClass(each) : 0;
    if (std::llround(was) == 0 && std::llround(is) == 0) continue;
    const bool isKnown = after && after->hasClasses;
    const QString later = after ? QString::fromUtf8("…") : QString();
    setRow(row++, tr("idle: %1").arg(QString::fromStdString(bubbleClassWords(each))),
           durationText(was), isKnown ? durationText(is) : later,
           isKnown ? signedDurationText(is - was) : QString());
  }
  setRowCount(row);
  setFixedHeight(horizontalHeader()->sizeHint().height() +
                 row * verticalHeader()->defaultSectionSize() + 4);
}

}  // namespace pipetrace
