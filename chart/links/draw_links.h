#pragma once

#include <span>

#include "chart/draw/canvas.h"
#include "chart/links/event_box.h"

namespace pipetrace {

/// Says what an arrow between two events means.
enum class LinkKind : std::uint8_t {
  kChain,   ///< the second job needed data of the first
  kDirect,  ///< the same, at the selected job
  kCulprit  ///< the second is to blame for the first, a bubble
};

/// An arrow between two events of the chart.
struct JobLink {
  EventSpot from;
  EventSpot to;
  LinkKind kind = LinkKind::kChain;
};

/// Draws the arrows in view.area, those of LinkKind::kChain below the others. An arrow leads from
/// where a job ends to where the next one begins. If an end of a direct or a culprit's arrow is out
/// of view, the arrow ends at the edge, where a note names the job. If its row is not shown, the
/// arrow ends where the row would be.
void drawLinks(Canvas& canvas, const ChartView& view, std::span<const JobLink> links);

}  // namespace pipetrace
