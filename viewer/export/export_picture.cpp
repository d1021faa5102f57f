#include "viewer/export/export_picture.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "chart/steps/legible_steps.h"
#include "chart/steps/run_picture.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"
#include "viewer/causes/chart_paths.h"

namespace pipetrace {
namespace {

std::optional<double> bubbleRatioOf(const RunSummary& summary, const StepChoice& steps) {
  // Doubles, as in summarize(): the sums of times of many ranks may not fit 64 bits.
  double busy = 0;
  double idle = 0;
  for (const StepSummary& step : summary.steps) {
    if (step.step < steps.first || step.step > steps.last) continue;
    for (const RankStep& rank : step.ranks) {
      busy += static_cast<double>(rank.busy);
      idle += static_cast<double>(rank.idle);
    }
  }
  if (busy + idle <= 0) return std::nullopt;
  return idle / (busy + idle);
}

std::string percent(double share) { return fixedText(share * 100, 1) + " %"; }

std::string stepsText(const StepChoice& chosen) {
  if (chosen.first == chosen.last) return "step " + std::to_string(chosen.first);
  const bool isOpen = chosen.last == std::numeric_limits<std::int32_t>::max();
  if (isOpen) return "steps " + std::to_string(chosen.first) + " and up";
  return "steps " + std::to_string(chosen.first) + " to " + std::to_string(chosen.last);
}

std::string captionOf(const LoadedProfile& profile, const StepChoice& chosen,
                      const StepChoice& whole, const Timeline::Span& span) {
  std::string text;
  if (chosen.first == whole.first && chosen.last == whole.last) {
    text = stepsText(chosen);
  } else {
    text = stepsText(chosen) + " of " + std::to_string(whole.first) + " to " +
           std::to_string(whole.last) + " (bubble ratio of the whole run " +
           percent(profile.summary().bubbleRatio) + ")";
  }
  return text + ", " + formatDuration(span.end - span.begin);
}

/// Whether the picture has a column for each step, rather than an axis of time.
bool isStepByStep(const LoadedProfile& profile, const ExportOptions& options) {
  const int width = options.width.value_or(PictureOptions().width);
  return options.isAll && !options.time && RunPicture::isBetterFor(profile.model(), width);
}

/// The caption of a stretch of time that is not cut at steps.
std::string captionOf(const LoadedProfile& profile, const Timeline::Span& time) {
  const Nanoseconds origin = profile.model().span().begin;
  return "from " + formatDuration(std::max<Nanoseconds>(time.begin - origin, 0)) + " to " +
         formatDuration(std::min(time.end, profile.model().span().end) - origin) +
         " after the start of the run";
}

/// Has the picture show critical paths.
void addCriticalPath(const LoadedProfile& profile, std::shared_ptr<const Explanation> explanation,
                     PictureOptions& picture) {
  if (!explanation) {
    explanation = std::make_shared<const Explanation>(profile.run(), ExplainOptions{});
  }
  const Timeline::Span range = picture.range.value_or(profile.model().span());
  if (!stepsIn(*explanation, range.begin, range.end, kMostSteps)) {
    throw Error("critical paths of more than " + std::to_string(kMostSteps) +
                " steps could not be read; choose fewer steps");
  }
  picture.overRows = [explanation](Canvas& canvas, const ChartView& view) {
    drawCriticalPath(canvas, view, *explanation);
  };
  picture.caption += ", the critical path has outlines";
}

/// The part of the run, title and caption.
PictureOptions partOf(const LoadedProfile& profile, const ExportOptions& options) {
  const ChartModel& model = profile.model();
  PictureOptions picture;
  if (options.width) picture.width = *options.width;
  picture.height = options.height;
  picture.showsClasses = options.showsClasses;
  picture.rows = options.rows;
  picture.title = titleOf(model);
  if (options.time) {
    picture.range = options.time;
    picture.caption = captionOf(profile, *options.time);
    return picture;
  }
  if (model.steps().empty()) {
    if (options.steps) throw Error(profile.name() + " has no steps; leave out --step");
    return picture;
  }
  const StepChoice whole = allSteps(model);
  const StepChoice asked = options.steps.value_or(legibleSteps(model, picture.width));
  const std::optional<StepChoice> found = options.isAll ? whole : stepsIn(model, asked);
  if (!found) {
    throw Error(profile.name() + " has no " + stepsText(asked) + "; it holds " + stepsText(whole));
  }
  const StepChoice& chosen = *found;
  picture.range = timeOf(model, chosen);
  if (const auto ratio = bubbleRatioOf(profile.summary(), chosen)) {
    picture.title += ", bubble ratio " + percent(*ratio);
  }
  picture.caption = captionOf(profile, chosen, whole, *picture.range);
  if (!isStepByStep(profile, options)) picture.caption += ", times from the start of the run";
  return picture;
}

}  // namespace

ColoursForExport::ColoursForExport(const LoadedProfile& profile, const ExportOptions& options)
    : profile_(profile), own_(profile.model().theme()) {
  const Theme& wanted = themeOf(options.theme, options.isDark);
  if (!(wanted == own_)) profile.setTheme(wanted);
}

ColoursForExport::~ColoursForExport() {
  if (!(profile_.model().theme() == own_)) profile_.setTheme(own_);
}

PictureOptions pictureOf(const LoadedProfile& profile, const ExportOptions& options) {
  PictureOptions picture = partOf(profile, options);
  if (!options.showsCriticalPath) return picture;
  if (isStepByStep(profile, options)) {
    throw Error("a picture with a column for each step has no critical paths; choose fewer steps");
  }
  addCriticalPath(profile, options.explanation, picture);
  return picture;
}

std::unique_ptr<Drawing> drawingOf(const LoadedProfile& profile, const ExportOptions& options) {
  PictureOptions picture = pictureOf(profile, options);
  if (isStepByStep(profile, options)) {
    return std::make_unique<RunPicture>(profile.model(), std::move(picture));
  }
  return std::make_unique<ChartPicture>(profile.model(), std::move(picture));
}

void addPicture(const LoadedProfile& profile, const ExportOptions& options, OutputSet& files) {
  checkExportName(options.path);
  profile.checkOutput(options.path);
  const ColoursForExport colours(profile, options);
  files.add(options.path,
            pictureFile(*drawingOf(profile, options), pictureOf(profile, options).title,
                        options.path, options.scale));
}

void exportPicture(const LoadedProfile& profile, const ExportOptions& options) {
  OutputSet files;
  addPicture(profile, options, files);
  files.commit();
}

}  // namespace pipetrace
