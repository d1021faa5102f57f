#pragma once

#include <optional>
#include <vector>

#include "chart/draw/canvas.h"
#include "viewer/causes/graph_places.h"

namespace pipetrace {

/// A stretch of a compute job in which it waits for others, or moves data, inside.
struct InsidePiece {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  bool isWaiting = false;
};

/// The waits and moves inside a job, in the order in which they begin: each from where its
/// collective begins, as long as that held up the job. In sum they are its parts
/// (InsideJobs::Parts), apart from what is cut off at its ends. All else is own and launch-bound
/// time. None where nobody meets inside it.
std::vector<InsidePiece> piecesOf(const GraphPlaces& places, JobGraph::Id job);

/// The longest wait inside a job for the last member of a collective.
struct LongestWait {
  InsidePiece wait;
  EventSpot last;        ///< the job of the member that came last
  Nanoseconds came = 0;  ///< when that came
};

/// Nothing where the job waits for nobody, or the last member is not known or not in the chart.
std::optional<LongestWait> longestWaitOf(const GraphPlaces& places, JobGraph::Id job);

/// Draws the pieces of all jobs in view that are wide enough, as a band at their upper edge.
void drawInside(Canvas& canvas, const ChartView& view, const GraphPlaces& places);

/// Draws an arrow from the longest wait inside the job to the member that came last.
void drawLongestWait(Canvas& canvas, const ChartView& view, const GraphPlaces& places,
                     const EventSpot& job);

}  // namespace pipetrace
