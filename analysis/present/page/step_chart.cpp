#include "analysis/present/page/step_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/present/page/page.h"
#include "analysis/run/steps/median_step.h"
#include "chart/chart_model.h"
#include "chart/draw/draw_chart.h"
#include "chart/draw/text_width.h"
#include "chart/row_layout.h"
#include "chart/script/script_drawing.h"
#include "chart/steps/step_span.h"
#include "chart/text/bubble_text.h"
#include "trace/text/decimal_time.h"
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
  NumberList list_;
  Nanoseconds last_ = 0;
  std::string out_;
};

/// The lanes that a page's chart shows, with what is under the pointer: a JSON array of objects.
/// Each has "y" and "h" (pixels of the rows' drawing) and "name". Its "jobs" and "idle" are lists
/// of whole numbers, seven and six for each event:
///
///     jobs  begin after the one before, length, name, kind, stage, peer, step
///     idle  begin after the one before, length, class, culprit, its lane, its place there
///
/// Times are nanoseconds; the first begin counts from `begin`, and may be negative. Names, kinds,
/// classes and culprits are texts of `texts`. The culprit's lane and place are those of its job in
/// the array, -1 where the chart has none. `whole` and `run` are what `step` was made of.
std::string chartLanes(const StepTimeline& step, const Timeline& whole, const Explanation& run,
                       const ChartModel& model, const RowLayout& layout, Nanoseconds begin,
                       ScriptDrawing& texts) {
  const std::vector<ShownLane> lanes = lanesShown(model, layout);
  LaneWriter writer(step, whole, run, begin, texts);
  writer.place(lanes);
  for (const ShownLane& lane : lanes) writer.add(lane);
  return writer.finish();
}

constexpr int kLeastWidth = 1000;       // pixels of the first level
constexpr int kJobWidth = 56;           // pixels that a short job has at the last level, at least
constexpr int kLargestWidth = 1 << 18;  // pixels of any level
constexpr std::size_t kMostText = 2'200'000;  // bytes of all levels; the first is always there
constexpr std::size_t kMostChartRows = 256;
constexpr std::size_t kMostUnfolded = 64;  // ranks
constexpr int kHighChart = 900;            // pixels: in higher charts, rows are lower
constexpr RowHeights kLowHeights{20, 0, 0, 4};

/// The rows as the window opens with, but with all ranks where these are not many.
ShownRows allRowsOf(const ChartModel& model) {
  const RowTree& tree = model.rowTree(RowGrouping::kByRank);
  RowState state;
  for (std::size_t node = 0; node < tree.size() && model.rankCount() <= kMostUnfolded; ++node) {
    if (holdsRanks(tree[node].kind)) state.folded[tree[node].key] = false;
  }
  return shownRows(tree, state);
}

/// The first ones of these.
ShownRows rowsOf(const ChartModel& model) {
  ShownRows shown = allRowsOf(model);
  if (shown.rows.size() <= kMostChartRows) return shown;
  shown.rows.resize(kMostChartRows);
  for (std::size_t& row : shown.shownAs) {
    if (row >= kMostChartRows) row = RowNode::kNone;
  }
  return shown;
}

RowHeights heightsOf(const ChartModel& model, const ShownRows& shown) {
  if (RowLayout(model.rows(), shown, {}).height() <= kHighChart) return {};
  const auto fitting = fittingHeights(model.rows(), shown, kHighChart);
  return fitting && fitting->lane > 0 ? *fitting : kLowHeights;
}

/// Records the same drawing in the light and in the dark theme.
template <typename Draw>
std::string inBothThemes(ChartModel& model, ScriptDrawing& drawing, const Draw& draw) {
  RecordedCanvas light;
  model.setTheme(themeOf(ThemeName::kPaper, false));
  draw(light);
  RecordedCanvas dark;
  model.setTheme(themeOf(ThemeName::kPaper, true));
  draw(dark);
  return drawing.commands(light.commands(), dark.commands());
}

/// The chart of one stretch.
class StepChartMaker {
 public:
  StepChartMaker(StepTimeline step, const ShownStretch& stretch, Nanoseconds longest)
      : step_(std::move(step)),
        stretch_(stretch),
        longest_(std::max(longest, stretch.time.end - stretch.time.begin)),
        model_(step_.timeline),
        shown_(rowsOf(model_)),
        heights_(heightsOf(model_, shown_)),
        layout_(model_.rows(), shown_, heights_),
        axis_(stretch.time.begin, stretch.time.end, kLeastWidth) {}

  StepChart make(const Timeline& whole, const Explanation& run) {
    const std::string labels = labelsText();
    const std::string levels = levelsText();
    const std::string lanes = chartLanes(step_, whole, run, model_, layout_, axis_.begin(), texts_);
    StepChart chart;
    chart.json =
        "{\"kind\":\"step\",\"before\":" + std::to_string(stretch_.time.begin - axis_.begin()) +
        ",\"since\":" + std::to_string(stretch_.time.begin - whole.span().begin) +
        ",\"length\":" + std::to_string(axis_.span()) +
        ",\"head\":" + std::to_string(kTimeAxisHeight) + ",\"height\":" + std::to_string(height()) +
        ",\"labels\":" + labels + ",\"levels\":[" + levels + "],\"lanes\":" + lanes + "," +
        texts_.tables() + "}";
    chart.legend = legendText();
    chart.note = noteText();
    return chart;
  }

 private:
  int height() const { return layout_.height() + 4; }

  std::string labelsText() {
    const int width = rowLabelWidth(estimatedTextWidth, shown_);
    const ChartView view{model_, layout_, axis_, {0, kTimeAxisHeight, kLeastWidth, height()}};
    const std::string commands = inBothThemes(model_, texts_, [&](Canvas& canvas) {
      drawRowLabels(canvas, view, {0, kTimeAxisHeight, width, height()});
    });
    return "{\"width\":" + std::to_string(width) + ",\"draw\":" + commands + "}";
  }

  struct Level {
    int width = 0;
    std::string json;
  };

  Level levelOf(int width) {
    const TimeAxis axis(stretch_.time.begin, stretch_.time.end, width);
    const ChartView view{model_, layout_, axis, {0, kTimeAxisHeight, width, height()}};
    const std::string head = inBothThemes(model_, texts_, [&](Canvas& canvas) {
      drawTimeAxis(canvas, view, {0, 0, width, kTimeAxisHeight});
    });
    const std::string rows =
        inBothThemes(model_, texts_, [&](Canvas& canvas) { drawRows(canvas, view); });
    return {width, "{\"width\":" + std::to_string(width) + ",\"head\":" + head +
                       ",\"rows\":" + rows + "}"};
  }

  std::string levelsText() {
    const double length = static_cast<double>(stretch_.time.end - stretch_.time.begin);
    const double job = static_cast<double>(std::max<Nanoseconds>(model_.typicalJob(), 1));
    std::vector<Level> levels;
    const double part = length / static_cast<double>(longest_);
    for (int whole = kLeastWidth; whole <= kLargestWidth; whole *= 2) {
      const int width = std::max(static_cast<int>(std::lround(whole * part)), 1);
      levels.push_back(levelOf(width));
      if (job / length * width >= kJobWidth) break;
    }
    leaveOutLevels(levels);
    std::string text;
    for (const Level& level : levels) text += (text.empty() ? "" : ",") + level.json;
    return text;
  }

  /// Leaves out levels until the others are not too long: those in between first, where their
  /// neighbours are closest, and the widest last.
  static void leaveOutLevels(std::vector<Level>& levels) {
    std::size_t size = 0;
    for (const Level& level : levels) size += level.json.size();
    while (size > kMostText && levels.size() > 1) {
      std::size_t least = levels.size() - 1;
      int ratio = std::numeric_limits<int>::max();
      for (std::size_t i = levels.size() - 2; i > 0; --i) {
        if (levels[i + 1].width / levels[i - 1].width >= ratio) continue;
        ratio = levels[i + 1].width / levels[i - 1].width;
        least = i;
      }
      size -= levels[least].json.size();
      levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(least));
    }
  }

  std::string legendText() {
    const bool hasLanes = heights_.lane > 0;
    std::string html;
    for (const LegendEntry& entry : model_.legend()) {
      if (!hasLanes && !isComputeLane(entry.kind) && entry.kind != JobKind::kBubble) continue;
      if (entry.isHeading) {
        html += "<span class=\"heading\">" + htmlText(entry.label) + "</span>";
        continue;
      }
      html += "<span class=\"entry\"><i style=\"" + swatchStyle(entry) + "\"></i>" +
              htmlText(entry.label) + "</span>";
    }
    return "<div class=\"legend\">" + html + "</div>";
  }

  std::string swatchStyle(const LegendEntry& entry) const {
    if (entry.kind == JobKind::kBubble) return hatchingStyle(entry.bubbleClass);
    const int chunks = chunksOf(model_.legend());
    const Event job{.chunk = static_cast<std::int16_t>(entry.chunk), .kind = entry.kind};
    return "background:" + bothColors(JobColors(themeOf(ThemeName::kPaper), chunks).of(job),
                                      JobColors(themeOf(ThemeName::kPaper, true), chunks).of(job));
  }

  std::string noteText() const {
    std::string text;
    const std::size_t all = allRowsOf(model_).rows.size();
    const bool leavesLanesOut =
        heights_.lane == 0 &&
        std::any_of(shown_.rows.begin(), shown_.rows.end(),
                    [](const ShownRow& row) { return row.kind >= RowKind::kLane; });
    if (leavesLanesOut) text = "The chart has the compute lanes only.";
    if (all > shown_.rows.size()) {
      text += (text.empty() ? "" : " ") + std::string("It has the first ") +
              std::to_string(shown_.rows.size()) + " of " + std::to_string(all) +
              " rows; pipe-view shows all.";
    }
    return text;
  }

  StepTimeline step_;
  const ShownStretch& stretch_;
  Nanoseconds longest_;  // of the stretches that have the same levels
  ChartModel model_;
  ShownRows shown_;
  RowHeights heights_;
  RowLayout layout_;
  TimeAxis axis_;  // that of the first level; those of all levels show the same time
  ScriptDrawing texts_;
};

}  // namespace

StepChart stepChart(const Timeline& timeline, const Explanation& run, const ShownStretch& stretch,
                    Nanoseconds longest) {
  StepChartMaker maker(stepTimeline(timeline, run, stretch.time), stretch, longest);
  return maker.make(timeline, run);
}

namespace {

/// "step 3, the median of 5 that count". It may also be the nearest to it, as no step is the median
/// of an even count.
std::string wordsOf(const StepSpan& step, const MedianStep& median) {
  std::string text = "step " + numberText(step);
  if (median.count == 1) return text + ", the only one that counts";
  const std::string count = std::to_string(median.count) + " that count";
  if (step.end - step.begin == median.window) return text + ", the median of " + count;
  return text + ", the nearest to the median of " + count + " (" + formatDuration(median.window) +
         ")";
}

/// The middle of an asynchronous run, which is one step from end to end.
std::optional<ShownStretch> middleOf(const Explanation& run) {
  for (const ExplainedStep& step : run.steps) {
    const StepSummary& all = step.summary;
    if (!all.isWholeRun || !step.isCounted) continue;
    const std::int32_t count = all.last() - all.step + 1;
    if (count == 1) {
      return ShownStretch{
          {all.begin, all.windowEnd}, "The run", "the run, while its pipeline is full"};
    }
    const Nanoseconds length = std::max<Nanoseconds>(all.window() / count, 1);
    const Nanoseconds begin = all.begin + (all.window() - length) / 2;
    return ShownStretch{{begin, begin + length},
                        "A part of the run",
                        "a stretch from the middle of the run, as long as one of its " +
                            std::to_string(count) + " steps"};
  }
  return std::nullopt;
}

/// An event of a stretch, and the one of the run.
using Copied = std::pair<Event, const Event*>;

/// The events of a sorted track that reach into the stretch, in their order there. Long events may
/// begin well before it.
std::vector<Copied> eventsIn(const Track& track, const Timeline::Span& stretch) {
  std::vector<Copied> copied;
  for (const Event& event : track.events) {
    if (event.begin >= stretch.end) break;
    if (event.end <= stretch.begin && event.begin < stretch.begin) continue;
    copied.emplace_back(event, &event);
    copied.back().first.begin = std::max(event.begin, stretch.begin);
  }
  std::stable_sort(copied.begin(), copied.end(),
                   [](const Copied& a, const Copied& b) { return startsBefore(a.first, b.first); });
  return copied;
}

void addBubblesTo(StepTimeline& step, const Timeline& timeline, const Explanation& run,
                  const Timeline::Span& stretch) {
  const JobGraph& graph = *run.graph;
  Bubbles shown;
  shown.byRank.resize(run.bubbles.byRank.size());
  std::vector<std::vector<const Bubble*>> sources(shown.byRank.size());
  for (std::size_t r = 0; r < shown.byRank.size(); ++r) {
    for (const Bubble& bubble : run.bubbles.byRank[r]) {
      if (bubble.begin >= stretch.end || bubble.end <= stretch.begin) continue;
      shown.byRank[r].push_back(bubble);
      shown.byRank[r].back().begin = std::max(bubble.begin, stretch.begin);
      sources[r].push_back(&bubble);
    }
  }
  BubbleLanes lanes = bubbleLanes(timeline, graph, shown);
  const auto moved = static_cast<std::int64_t>(step.timeline.arguments.size()) -
                     static_cast<std::int64_t>(lanes.firstArgument);
  for (Track& track : lanes.tracks) {
    for (Event& event : track.events) {
      if (event.argumentCount > 0) {
        event.firstArgument = static_cast<std::uint32_t>(event.firstArgument + moved);
      }
    }
  }
  lanes.firstArgument = step.timeline.arguments.size();
  joinBubbles(step.timeline, std::move(lanes));
  for (std::size_t r = 0; r < sources.size(); ++r) {
    const Track* const track = step.timeline.findTrack(graph.ranks()[r].number, kBubbleLane);
    for (std::size_t i = 0; i < sources[r].size(); ++i) {
      step.bubbles[&track->events[i]] = sources[r][i];
    }
  }
}

}  // namespace

ShownStretch medianStretch(const Explanation& run) {
  if (auto middle = middleOf(run)) return *std::move(middle);
  const MedianStep median = medianStepOf(run.summary, run.counted);
  std::vector<StepWindow> windows;
  for (const StepSummary& step : run.summary.steps) {
    if (step.step == median.step) windows.push_back(step);
  }
  const StepSpan shown = stepSpans(windows).at(0);
  return {{shown.begin, shown.end}, "The median step", wordsOf(shown, median)};
}

StepTimeline stepTimeline(const Timeline& timeline, const Explanation& run,
                          const Timeline::Span& stretch) {
  StepTimeline step;
  step.timeline.strings = timeline.strings;
  step.timeline.ranks = timeline.ranks;
  for (const Track& track : timeline.tracks) {
    if (track.lane == kBubbleLane) continue;
    const std::vector<Copied> copied = eventsIn(track, stretch);
    if (copied.empty() && track.lane != kComputeLane) continue;
    Track& made = step.timeline.tracks.emplace_back();
    made.rank = track.rank;
    made.lane = track.lane;
    std::vector<Event>& events = made.events;
    events.reserve(copied.size());
    for (const auto& [event, original] : copied) {
      events.push_back(event);
      step.timeline.setArguments(events.back(), timeline.argumentsOf(*original));
      step.originals[&events.back()] = original;
      step.copies[original] = &events.back();
    }
  }
  addBubblesTo(step, timeline, run, stretch);
  return step;
}

}  // namespace pipetrace
