#include "analysis/present/page/steps_chart.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "analysis/present/page/page.h"
#include "analysis/run/steps/median_step.h"
#include "chart/colors/heat_color.h"
#include "chart/draw/text_width.h"
#include "chart/script/script_drawing.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

constexpr int kStepsWidth = 1200;  // pixels of the drawing, which the script stretches
constexpr std::size_t kMostStepColumns = 240;
constexpr std::size_t kMostRankLines = 128;
constexpr int kTrendHeight = 96;
constexpr int kStripGap = 12;
constexpr int kHeatHeight = 480;  // of all lines, where they are low
constexpr int kHighestLine = 20;
constexpr int kLowestLine = 3;
constexpr int kAxisHeight = 20;
constexpr int kTextHeight = 14;
constexpr double kLeastRange = 0.05;  // between the palest and the strongest colour
constexpr double kPalest = 1.0 / 16;  // of the strongest
constexpr Color kSlow{240, 160, 50};
constexpr double kSlowFrom = 1.1;  // times the median, as on the charts' axes
constexpr TextStyle kSmallStyle{10, false, {}, TextAlign::kCenter};

struct Ratio {
  Nanoseconds busy = 0;
  Nanoseconds all = 0;
  double value() const {
    return all > 0 ? 1 - static_cast<double>(busy) / static_cast<double>(all) : 0;
  }
};

/// Some steps that follow each other.
struct StepsColumn {
  std::int32_t first = 0;
  std::int32_t last = 0;
  double length = 0;  ///< mean, nanoseconds
  Nanoseconds longest = 0;
  bool isCounted = true;
  std::vector<Ratio> lines;
};

std::string rangeText(const char* one, const char* many, int first, int last) {
  return first == last ? one + std::to_string(first)
                       : many + std::to_string(first) + " to " + std::to_string(last);
}

std::string percent(double share) {
  return shareCell(share).text == "-" ? "0 %" : shareCell(share).text;
}

/// The figures of all columns and lines.
struct StepsFigures {
  std::vector<int> ranks;
  std::size_t stepsAColumn = 1;
  std::size_t ranksALine = 1;
  std::vector<StepsColumn> columns;
  double longest = 0;  ///< of the lengths
  double median = 0;   ///< MedianStep::window
  // The scales.
  double least = 1;  ///< ratio with the palest colour
  double most = 0;
  double highest = 0;  ///< length of the highest bar

  std::size_t lines() const { return (ranks.size() + ranksALine - 1) / ranksALine; }
  std::string lineText(std::size_t line) const {
    const std::size_t last = std::min((line + 1) * ranksALine, ranks.size()) - 1;
    return rangeText("rank ", "ranks ", ranks[line * ranksALine], ranks[last]);
  }
};

/// Steps by number, over the pipelines.
struct OneStep {
  Nanoseconds length = 0;
  bool isCounted = true;
  std::map<int, Ratio> ranks;
};

std::map<std::int32_t, OneStep> stepsOf(const Explanation& run) {
  std::map<std::int32_t, OneStep> steps;
  for (const ExplainedStep& each : run.steps) {
    OneStep& step = steps[each.summary.step];
    step.length = std::max(step.length, each.summary.window());
    step.isCounted = step.isCounted && each.isCounted;
    for (const RankStep& rank : each.summary.ranks) {
      Ratio& ratio = step.ranks[rank.rank];
      ratio.busy += rank.busy;
      ratio.all += rank.busy + rank.idle;
    }
  }
  return steps;
}

StepsFigures figuresOf(const Explanation& run) {
  StepsFigures figures;
  for (const ExplainedRank& rank : run.ranks) figures.ranks.push_back(rank.rank);
  std::sort(figures.ranks.begin(), figures.ranks.end());
  const std::map<std::int32_t, OneStep> steps = stepsOf(run);
  const auto shared = [](std::size_t count, std::size_t most) { return (count + most - 1) / most; };
  figures.stepsAColumn = std::max<std::size_t>(shared(steps.size(), kMostStepColumns), 1);
  figures.ranksALine = std::max<std::size_t>(shared(figures.ranks.size(), kMostRankLines), 1);
  std::map<int, std::size_t> lineOf;
  for (std::size_t i = 0; i < figures.ranks.size(); ++i) {
    lineOf[figures.ranks[i]] = i / figures.ranksALine;
  }
  std::size_t inColumn = 0;
  for (const auto& [number, step] : steps) {
    if (inColumn == 0) {
      figures.columns.push_back({.first = number});
      figures.columns.back().lines.resize(figures.lines());
    }
    StepsColumn& column = figures.columns.back();
    column.last = number;
    column.length += static_cast<double>(step.length);
    column.longest = std::max(column.longest, step.length);
    column.isCounted = column.isCounted && step.isCounted;
    for (const auto& [rank, ratio] : step.ranks) {
      const auto line = lineOf.find(rank);
      if (line == lineOf.end()) continue;
      column.lines[line->second].busy += ratio.busy;
      column.lines[line->second].all += ratio.all;
    }
    inColumn = (inColumn + 1) % figures.stepsAColumn;
  }
  for (std::size_t i = 0; i < figures.columns.size(); ++i) {
    StepsColumn& column = figures.columns[i];
    const std::size_t left = steps.size() - i * figures.stepsAColumn;
    column.length /= static_cast<double>(std::min(figures.stepsAColumn, left));
    figures.longest = std::max(figures.longest, column.length);
    for (const Ratio& ratio : column.lines) {
      if (ratio.all == 0 || !column.isCounted) continue;
      figures.least = std::min(figures.least, ratio.value());
      figures.most = std::max(figures.most, ratio.value());
    }
  }
  figures.highest = figures.longest;
  figures.median = static_cast<double>(medianStepOf(run.summary, run.counted).window);
  return figures;
}

/// Makes the scales fit for both.
void joinScales(StepsFigures& figures, const StepsFigures& other) {
  figures.least = std::min(figures.least, other.least);
  figures.most = std::max(figures.most, other.most);
  figures.highest = std::max(figures.highest, other.highest);
}

void widenScale(StepsFigures& figures) {
  if (figures.most < figures.least) figures.least = figures.most = 0;
  if (figures.most - figures.least < kLeastRange) {
    figures.least = std::max(0.0, (figures.least + figures.most - kLeastRange) / 2);
    figures.most = figures.least + kLeastRange;
  }
}

Color heatColor(const Theme& theme, const StepsFigures& figures, double ratio) {
  const double share = (ratio - figures.least) / (figures.most - figures.least);
  return heatColor(theme, kPalest + std::clamp(share, 0.0, 1.0) * (1 - kPalest));
}

/// Draws trend, heat map and the numbers of the steps, one below the other.
class StepsDrawing {
 public:
  explicit StepsDrawing(const StepsFigures& figures)
      : figures_(figures),
        lineHeight_(std::clamp(kHeatHeight / static_cast<int>(figures.lines()), kLowestLine,
                               kHighestLine)) {}

  int heatTop() const { return kTrendHeight + kStripGap; }
  int lineHeight() const { return lineHeight_; }
  int heatBottom() const { return heatTop() + lineHeight_ * static_cast<int>(figures_.lines()); }
  int height() const { return heatBottom() + kAxisHeight; }

  int labelWidth() const {
    int width = estimatedTextWidth("longest 888.8 ms", kSmallStyle);
    for (std::size_t i = 0; i < figures_.lines(); ++i) {
      width = std::max(width, estimatedTextWidth(figures_.lineText(i), kSmallStyle));
    }
    return width + 12;
  }

  void drawLabels(Canvas& canvas, const Theme& theme) const {
    TextStyle style = kSmallStyle.in(theme.faintInk);
    style.align = TextAlign::kRight;
    const int width = labelWidth() - 8;
    const auto label = [&](int y, int height, const std::string& text) {
      canvas.text({0, y, width, height}, text, style);
    };
    const auto time = [](double ns) { return formatDuration(static_cast<Nanoseconds>(ns)); };
    const int longest = std::max(yOf(figures_.longest) - kTextHeight / 2, 0);
    label(longest, kTextHeight, "longest " + time(figures_.longest));
    const int median = yOf(figures_.median);
    if (figures_.median > 0 && median > longest + kTextHeight + kTextHeight / 2) {
      label(median - kTextHeight / 2, kTextHeight, "median " + time(figures_.median));
    }
    int freeFrom = heatTop();
    for (std::size_t i = 0; i < figures_.lines(); ++i) {
      const int middle = heatTop() + static_cast<int>(i) * lineHeight_ + lineHeight_ / 2;
      if (middle - kTextHeight / 2 < freeFrom - kTextHeight / 2) continue;
      label(middle - kTextHeight / 2, kTextHeight, figures_.lineText(i));
      freeFrom = middle + kTextHeight;
    }
    label(heatBottom(), kAxisHeight, "step");
  }

  void draw(Canvas& canvas, const Theme& theme) const {
    drawTrend(canvas, theme);
    for (std::size_t line = 0; line < figures_.lines(); ++line) {
      const int y = heatTop() + static_cast<int>(line) * lineHeight_;
      const int height = lineHeight_ - (lineHeight_ > 8 ? 1 : 0);
      for (std::size_t i = 0; i < figures_.columns.size(); ++i) {
        const Ratio& ratio = figures_.columns[i].lines[line];
        canvas.fill({left(i), y, widthOf(i), height},
                    ratio.all > 0 ? heatColor(theme, figures_, ratio.value()) : theme.rowShade);
      }
    }
    drawNumbers(canvas, theme);
  }

 private:
  int left(std::size_t column) const {
    return static_cast<int>(column * kStepsWidth / figures_.columns.size());
  }
  int widthOf(std::size_t column) const {
    const int width = left(column + 1) - left(column);
    return width - (width > 8 ? 1 : 0);
  }
  int yOf(double length) const {
    const double share = figures_.highest > 0 ? length / figures_.highest : 0;
    return kTrendHeight - static_cast<int>(std::lround(share * (kTrendHeight - 4)));
  }

  void drawTrend(Canvas& canvas, const Theme& theme) const {
    canvas.fill({0, 0, kStepsWidth, kTrendHeight}, theme.rowShade);
    const Color usual = theme.jobs[static_cast<std::size_t>(JobKind::kForward)];
    for (std::size_t i = 0; i < figures_.columns.size(); ++i) {
      const StepsColumn& column = figures_.columns[i];
      const int top = yOf(column.length);
      const bool isSlow = column.length > kSlowFrom * figures_.median;
      const Color color = !column.isCounted ? theme.stepLine : isSlow ? kSlow : usual;
      canvas.fill({left(i), top, widthOf(i), kTrendHeight - top}, color);
    }
    const PixelPoint ends[] = {{0, static_cast<double>(yOf(figures_.median))},
                               {kStepsWidth, static_cast<double>(yOf(figures_.median))}};
    canvas.line(ends, {.color = theme.ink, .width = 1, .isDashed = true});
  }

  /// Numbers at round steps, as far apart as they need.
  void drawNumbers(Canvas& canvas, const Theme& theme) const {
    const int needed =
        estimatedTextWidth(std::to_string(figures_.columns.back().first), kSmallStyle) + 16;
    const std::size_t count = figures_.columns.size();
    std::size_t every = 1;
    for (int i = 0; every * kStepsWidth < static_cast<std::size_t>(needed) * count; ++i) {
      every = i % 3 == 1 ? every / 2 * 5 : every * 2;
    }
    for (std::size_t i = 0; i < count; i += every) {
      const int middle = left(i) + widthOf(i) / 2;
      canvas.text({middle - needed / 2, heatBottom(), needed, kAxisHeight},
                  std::to_string(figures_.columns[i].first), kSmallStyle.in(theme.faintInk));
    }
  }

  const StepsFigures& figures_;
  int lineHeight_;
};

/// Lists what is under the pointer: a lane for the bars, and one for each line.
std::string lanesText(const StepsFigures& figures, const StepsDrawing& drawing) {
  std::string trend;
  for (const StepsColumn& column : figures.columns) {
    std::string text = formatDuration(static_cast<Nanoseconds>(column.length));
    if (column.first != column.last)
      text += " in the mean, at most " + formatDuration(column.longest);
    if (!column.isCounted)
      text += column.first == column.last ? "; it does not count" : "; some do not count";
    trend += trend.empty() ? "" : ",";
    appendScriptString(trend, text);
  }
  std::string out = "[{\"y\":0,\"h\":" + std::to_string(kTrendHeight) + ",\"name\":\"length\"," +
                    "\"cells\":[" + trend + "]}";
  for (std::size_t line = 0; line < figures.lines(); ++line) {
    std::string cells;
    for (const StepsColumn& column : figures.columns) {
      const Ratio& ratio = column.lines[line];
      cells += cells.empty() ? "" : ",";
      cells += ratio.all > 0 ? std::to_string(std::lround(ratio.value() * 1000)) : "-1";
    }
    out += ",{\"y\":" +
           std::to_string(drawing.heatTop() + static_cast<int>(line) * drawing.lineHeight()) +
           ",\"h\":" + std::to_string(drawing.lineHeight()) + ",\"name\":\"" +
           figures.lineText(line) + "\",\"cells\":[" + cells + "]}";
  }
  return out + "]";
}

std::string columnsText(const StepsFigures& figures) {
  std::string names;
  for (const StepsColumn& column : figures.columns) {
    names += (names.empty() ? "\"" : ",\"") +
             rangeText("step ", "steps ", column.first, column.last) + "\"";
  }
  return "[" + names + "]";
}

std::string scaleText(const StepsFigures& figures) {
  const Theme& light = themeOf(ThemeName::kPaper);
  const Theme& dark = themeOf(ThemeName::kPaper, true);
  const auto color = [&](double ratio) {
    return bothColors(heatColor(light, figures, ratio), heatColor(dark, figures, ratio));
  };
  return "<div class=\"legend\"><span>bubble ratio</span><span>" + percent(figures.least) +
         "</span><i class=\"scale\" style=\"background:linear-gradient(to right," +
         color(figures.least) + "," + color(figures.most) + ")\"></i><span>" +
         percent(figures.most) +
         "</span><span class=\"entry\"><i style=\"background:" + bothColors(kSlow, kSlow) +
         "\"></i>step of more than 1.1 times the median</span>" + "</div>\n";
}

}  // namespace

StepsChart stepsChart(const Explanation& run, const Explanation* beside) {
  StepsFigures figures = figuresOf(run);
  if (beside != nullptr) joinScales(figures, figuresOf(*beside));
  widenScale(figures);
  const StepsDrawing drawing(figures);
  ScriptDrawing texts;
  const auto both = [&](const auto& draw) {
    RecordedCanvas light;
    draw(light, themeOf(ThemeName::kPaper));
    RecordedCanvas dark;
    draw(dark, themeOf(ThemeName::kPaper, true));
    return texts.commands(light.commands(), dark.commands());
  };
  const std::string labels =
      both([&](Canvas& canvas, const Theme& theme) { drawing.drawLabels(canvas, theme); });
  const std::string rows =
      both([&](Canvas& canvas, const Theme& theme) { drawing.draw(canvas, theme); });
  StepsChart chart;
  chart.json = "{\"kind\":\"steps\",\"head\":0,\"height\":" + std::to_string(drawing.height()) +
               ",\"labels\":{\"width\":" + std::to_string(drawing.labelWidth()) +
               ",\"draw\":" + labels + "},\"levels\":[{\"width\":" + std::to_string(kStepsWidth) +
               ",\"head\":\"\",\"rows\":" + rows + "}],\"columns\":" + columnsText(figures) +
               ",\"lanes\":" + lanesText(figures, drawing) + "," + texts.tables() + "}";
  chart.scale = scaleText(figures);
  if (figures.stepsAColumn > 1) {
    chart.note = "A column stands for " + std::to_string(figures.stepsAColumn) + " steps.";
  }
  if (figures.ranksALine > 1) {
    chart.note += (chart.note.empty() ? "" : " ") + std::string("A line stands for ") +
                  std::to_string(figures.ranksALine) + " ranks.";
  }
  return chart;
}

}  // namespace pipetrace
