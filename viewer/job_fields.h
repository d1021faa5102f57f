#pragma once

#include <QString>
#include <vector>

#include "chart/chart_hit.h"

namespace pipetrace {

/// One line of what is known about a job.
struct JobField {
  QString name;
  QString value;
};

/// All that the timeline says of the event: name, kind, rank and lane, step, micro-batch, stage,
/// start and end (from the model's first event), duration, peer, bytes, arguments. What is not
/// known is left out.
std::vector<JobField> jobFields(const ChartModel& model, const ChartRow& row, const Event& event);

/// The same as rich text for a tooltip; for a pixel that several events share, how many they are,
/// what share of it they fill and which is the longest.
QString tooltipText(const ChartModel& model, const ChartHit& hit);

/// The same for the row label under the cursor.
QString tooltipText(const ChartRow& row);

/// "123.456789 ms": exact.
QString exactTime(Nanoseconds time);

}  // namespace pipetrace
