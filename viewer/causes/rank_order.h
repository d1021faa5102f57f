#pragma once

#include <functional>
#include <map>
#include <string>

#include "viewer/causes/causes.h"

namespace pipetrace {

/// Values of ranks by the keys of their rows ("rank 3"), as withRanksSorted() takes them.
using RankValues = std::map<std::string, double>;

RankValues rankValues(const Explanation& run,
                      const std::function<double(const ExplainedRank&)>& valueOf);

/// Gives the chart the commands that sort its ranks by what the analysis found
/// (CommandMenu::kRowOrder): by idle time, by idle time of a class, by own work. They can be used
/// once causes are known. Both must outlive the window's menus. On the GUI thread.
void addRankOrders(ChartWidget& chart, Causes& causes);

}  // namespace pipetrace
