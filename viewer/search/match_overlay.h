#pragma once

#include "chart/search/match_list.h"
#include "viewer/chart/chart_overlay.h"

namespace pipetrace {

class ChartSearch;

/// Marks the matches of a search. Its cost depends on the pixels, not on the matches.
class MatchOverlay : public ChartOverlay {
 public:
  /// `search` must live as long as the overlay paints.
  explicit MatchOverlay(const ChartSearch& search) : search_(search) {}

  void paint(QPainter& painter, const ChartView& view) override;

 private:
  static void paintLane(QPainter& painter, const ChartView& view, const MatchList::Lane& lane,
                        const RowPlace& place);

  const ChartSearch& search_;
};

}  // namespace pipetrace
