#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "viewer/causes/causes.h"

namespace pipetrace {

/// A line about the selection, and where it leads to.
struct DetailRow {
  QString name;
  QString value;
  std::optional<EventSpot> link;
  QString tooltip{};      ///< empty: the value
  bool isStrong = false;  ///< of what a job waited for: the last
};

/// Returns all that is known about the selected job or bubble of the chart. Its fields come first.
/// Once causes are known, a job has its slack, whether it is on the critical path, what it waited
/// for and what waited for it. A bubble leads to its culprit and to the message that it waited for.
/// `hit` is the selection.
std::vector<DetailRow> detailRows(const ChartWidget& chart, Causes& causes, const ChartHit& hit);

}  // namespace pipetrace
