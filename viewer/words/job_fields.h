#pragma once

#include <QString>
#include <vector>

#include "chart/chart_hit.h"

namespace pipetrace {

/// One line about a job: the name of a field and its value.
struct JobField {
  QString name;
  QString value;
  bool isCulprit = false;  ///< of a bubble
};

/// All fields of the event that are known: name, kind, rank and lane, step, micro-batch, stage,
/// start and end (from the model's first event), duration, peer, bytes, arguments. A job in which
/// ranks meet has its four parts (own, waiting, moving, launch-bound). A bubble has its class, with
/// what that means, and its culprit. `more`: what else is known of it, which stands after the
/// parts.
std::vector<JobField> jobFields(const ChartModel& model, const ChartRow& row, const Event& event,
                                const std::vector<JobField>& more = {});

/// The fields as rich text for a tooltip; `more` is of one event. For a pixel with several events:
/// their number, the share of the pixel that they fill, and the longest of them.
QString tooltipText(const ChartModel& model, const ChartHit& hit,
                    const std::vector<JobField>& more = {});

/// The tooltip of the row label under the cursor.
QString tooltipText(const ChartRow& row);

/// A line of the table of a tooltip, in the colours of tooltips.
QString tipLine(const QString& name, const QString& value);

/// A length of time in a few digits: "12.30 ms".
QString lengthText(Nanoseconds time);

/// A time as text, exact to the nanosecond: "123.456789 ms".
QString exactTime(Nanoseconds time);

}  // namespace pipetrace
