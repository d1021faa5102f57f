#include "viewer/search/only_matches.h"

#include <set>
#include <string>
#include <utility>

#include "viewer/chart/chart_commands.h"

namespace pipetrace {

OnlyMatches::OnlyMatches(ChartWidget& chart, ChartSearch& search)
    : QObject(&chart),
      chart_(chart),
      search_(search),
      isOn_(new QAction(tr("Only rows with a match"), &chart)) {
  isOn_->setObjectName(QStringLiteral("only-matches"));
  isOn_->setData(static_cast<int>(CommandMenu::kRows));
  isOn_->setCheckable(true);
  chart.addAction(isOn_);
  connect(isOn_, &QAction::toggled, this, &OnlyMatches::update);
  connect(&search, &ChartSearch::changed, this, &OnlyMatches::update);
}

void OnlyMatches::update() {
  if (chart_.model() == nullptr || chart_.model() != search_.model()) return;
  RowState state = chart_.rowState();
  if (!isOn_->isChecked() || search_.matches() == nullptr) {
    state.only.reset();
  } else if (search_.isBusy()) {
    return;  // rows that come and go while a search goes on would be hard to look at
  } else {
    const RowTree& tree = chart_.model()->rowTree(state.grouping);
    std::set<std::string> rows;
    for (const MatchList::Lane& lane : search_.matches()->lanes()) {
      rows.insert(tree[tree.nodeOf(lane.row)].key);
    }
    state.only = std::move(rows);
  }
  chart_.setRowState(std::move(state));
}

}  // namespace pipetrace
