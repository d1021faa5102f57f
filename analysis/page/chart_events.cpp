#include "analysis/page/chart_events.h"

#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chart/draw/draw_chart.h"
#include "chart/script/script_numbers.h"
#include "chart/text/bubble_text.h"
#include "trace/text/display_name.h"

namespace pipetrace {
namespace {

/// A sub-lane of a row, in its place.
struct ShownLane {
  const ChartRow* row = nullptr;
  const LaneIndex* lane = nullptr;
  bool isFirst = false;  ///< has the bubbles of the row
  RowPlace place;
};

std::vector<ShownLane> lanesShown(const ChartModel& model, const RowLayout& layout) {
  std::vector<ShownLane> lanes;
  for (std::size_t i = 0; i < layout.shown().size(); ++i) {
    const ShownRow& shown = layout.shown()[i];
    if (!shown.showsLanes()) continue;
    const ChartRow& row = model.rows()[shown.row];
    const RowPlace place = layout.placeOf(i);
    if (place.height <= 0) continue;
    for (std::size_t k = 0; k < row.lanes.size(); ++k) {
      lanes.push_back(
          {&row, &row.lanes[k], k == 0, RowLayout::subLane(place, k, row.lanes.size())});
    }
  }
  return lanes;
}

/// Writes lanes one after the other.
class LaneWriter {
 public:
  LaneWriter(const StepTimeline& step, const Timeline& whole, const Explanation& run,
             Nanoseconds begin, ScriptDrawing& texts)
      : step_(step), whole_(whole), run_(run), begin_(begin), texts_(texts) {}

  void place(const std::vector<ShownLane>& lanes) {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      for (std::size_t i = 0; i < lanes[lane].lane->size(); ++i) {
        places_[&(*lanes[lane].lane)[i]] = {static_cast<int>(lane), static_cast<int>(i)};
      }
    }
  }

  void add(const ShownLane& shown) {
    const std::string rank = "rank " + std::to_string(shown.row->rank);
    out_ += out_.empty() ? "[{" : ",{";
    out_ += "\"y\":" + std::to_string(kTimeAxisHeight + shown.place.top) +
            ",\"h\":" + std::to_string(shown.place.height) + ",\"name\":";
    appendScriptString(out_, shown.row->isCompute ? rank : rank + ", " + shown.row->lane);
    list_ = {};
    last_ = begin_;
    for (std::size_t i = 0; i < shown.lane->size(); ++i) addJob((*shown.lane)[i]);
    out_ += ",\"jobs\":" + list_.json();
    list_ = {};
    last_ = begin_;
    for (const LaneIndex& bubbles : shown.row->bubbles) {
      for (std::size_t i = 0; i < bubbles.size() && shown.isFirst; ++i) addBubble(bubbles[i]);
    }
    out_ += ",\"idle\":" + list_.json() + "}";
  }

  std::string finish() { return out_.empty() ? "[]" : out_ + "]"; }

 private:
  void times(Nanoseconds begin, Nanoseconds length) {
    list_.add({begin - last_, length});
    last_ = begin;
  }

  void addJob(const Event& job) {
    const auto found = step_.originals.find(&job);
    const Event& event = found == step_.originals.end() ? job : *found->second;
    times(event.begin, event.duration());
    list_.add({texts_.textNumber(displayName(whole_, event)),
               texts_.textNumber(logName(event.kind)), event.stage, event.peer, event.step});
  }

  void addBubble(const Event& bubble) {
    const BubbleText text(step_.timeline, bubble);
    const std::pair<int, int> place = placeOfCulprit(bubble);
    times(bubble.begin, bubble.duration());
    list_.add({texts_.textNumber(text.className() + ": " + rowOf(bubble.bubbleClass).meaning),
               texts_.textNumber(text.culprit()), place.first, place.second});
  }

  std::pair<int, int> placeOfCulprit(const Event& bubble) const {
    const std::pair<int, int> none{-1, -1};
    const auto source = step_.bubbles.find(&bubble);
    if (source == step_.bubbles.end() || source->second->culprit == JobGraph::kNone) return none;
    const auto copy = step_.copies.find(&culpritEventOf(*run_.graph, *source->second));
    if (copy == step_.copies.end()) return none;
    const auto place = places_.find(copy->second);
    return place == places_.end() ? none : place->second;
  }

  const StepTimeline& step_;
  const Timeline& whole_;
  const Explanation& run_;
  Nanoseconds begin_;
  ScriptDrawing& texts_;
  std::unordered_map<const Event*, std::pair<int, int>> places_;
  ScriptNumbers list_;
  Nanoseconds last_ = 0;
  std::string out_;
};

}  // namespace

std::string chartLanes(const StepTimeline& step, const Timeline& whole, const Explanation& run,
                       const ChartModel& model, const RowLayout& layout, Nanoseconds begin,
                       ScriptDrawing& texts) {
  const std::vector<ShownLane> lanes = lanesShown(model, layout);
  LaneWriter writer(step, whole, run, begin, texts);
  writer.place(lanes);
  for (const ShownLane& lane : lanes) writer.add(lane);
  return writer.finish();
}

}  // namespace pipetrace
