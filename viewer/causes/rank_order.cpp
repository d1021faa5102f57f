#include "viewer/causes/rank_order.h"

#include <QAction>
#include <QCoreApplication>
#include <QScrollBar>

#include "chart/rows/row_edits.h"
#include "chart/text/bubble_text.h"
#include "trace/bubble_class.h"
#include "viewer/chart/chart_commands.h"

namespace pipetrace {
namespace {

using ValueOf = std::function<double(const ExplainedRank&)>;

void addOrder(ChartWidget& chart, Causes& causes, const QString& name, const QString& words,
              ValueOf valueOf) {
  auto* action = new QAction(words, &chart);
  action->setObjectName(name);
  action->setData(static_cast<int>(CommandMenu::kRowOrder));
  chart.addAction(action);
  const auto update = [action, &causes] { action->setEnabled(causes.places() != nullptr); };
  QObject::connect(&causes, &Causes::changed, action, update);
  update();
  QObject::connect(action, &QAction::triggered, &chart, [&chart, &causes, valueOf] {
    if (causes.places() == nullptr || chart.model() == nullptr) return;
    const RowState& state = chart.rowState();
    chart.setRowState(withRanksSorted(state, chart.model()->rowTree(state.grouping),
                                      rankValues(causes.places()->explanation(), valueOf)));
    chart.verticalScrollBar()->setValue(0);
  });
}

QString orderText(const char* words) { return QCoreApplication::translate("RankOrder", words); }

}  // namespace

RankValues rankValues(const Explanation& run, const ValueOf& valueOf) {
  RankValues values;
  for (const ExplainedRank& rank : run.ranks) {
    values["rank " + std::to_string(rank.rank)] = valueOf(rank);
  }
  return values;
}

void addRankOrders(ChartWidget& chart, Causes& causes) {
  addOrder(chart, causes, QStringLiteral("sort-by-idle"), orderText("Idle time, the longest first"),
           [](const ExplainedRank& rank) { return static_cast<double>(rank.idle); });
  addOrder(chart, causes, QStringLiteral("sort-by-work"), orderText("Own work, the slowest first"),
           [](const ExplainedRank& rank) { return rank.work; });
  for (int i = static_cast<int>(BubbleClass::kWarmUp); i < kBubbleClassCount; ++i) {
    const auto of = static_cast<BubbleClass>(i);
    const QString words = QString::fromStdString(bubbleClassWords(of));
    addOrder(chart, causes, "sort-by-" + QString(words).replace(' ', '-'),
             orderText("Idle time: %1").arg(words), [i](const ExplainedRank& rank) {
               return static_cast<double>(rank.bubbles[static_cast<std::size_t>(i)]);
             });
  }
}

}  // namespace pipetrace
