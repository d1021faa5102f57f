#include "viewer/words/row_words.h"

#include <algorithm>

#include "chart/draw/draw_folded.h"
#include "chart/loads/load_cache.h"
#include "trace/text/number_text.h"
#include "viewer/words/job_fields.h"

namespace pipetrace {
namespace {

QString tip(const QString& heading, const QString& lines) {
  return "<b>" + heading.toHtmlEscaped() + "</b><table cellspacing=0 cellpadding=1>" + lines +
         "</table>";
}

}  // namespace

QString labelTip(const ChartView& view, const ShownRow& row) {
  if (row.row != RowNode::kNone) return tooltipText(view.model.rows()[row.row]);
  if (row.node == RowNode::kNone) return {};
  const RowNode& node = (*view.layout.tree())[row.node];
  return tip(
      QString::fromStdString(node.key),
      tipLine("Holds", QString::fromStdString(node.detail.empty() ? node.label : node.detail)));
}

QString rowTip(const ChartView& view, const ShownRow& row, int x) {
  const bool hasLanes = row.row != RowNode::kNone && !row.isLoad;
  if (row.node == RowNode::kNone || hasLanes) return {};
  const RowNode& node = (*view.layout.tree())[row.node];
  const int column = std::clamp(x - view.area.x, 0, view.area.width - 1);
  if (node.counter != RowNode::kNone) {
    const CounterIndex& counter = view.model.counters()[node.counter];
    const PixelTime time = pixelTime(view.axis, column);
    const auto range = counter.in(time.begin, time.end);
    if (!range) return {};
    QString text = QString::fromStdString(counterText(range->least, counter.unit()));
    if (range->greatest != range->least) {
      text += QStringLiteral(" to ") +
              QString::fromStdString(counterText(range->greatest, counter.unit()));
    }
    return tip(
        QString::fromStdString(counter.name()),
        tipLine("Value", text) + tipLine("Time", exactTime(time.begin - view.model.span().begin)));
  }
  if (!row.isLoad) return {};
  const QString share = QString::number(100 * foldedShare(view, node, column), 'f', 1) + " %";
  const QString of =
      QString::fromStdString(countText(node.loadOf, holdsRanks(node.kind) ? "rank" : "lane"));
  return tip(QString::fromStdString(node.label), tipLine("Busy", share + " of " + of)) +
         "<i>unfold the row to see them</i>";
}

}  // namespace pipetrace
