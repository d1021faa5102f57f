#include "viewer/export/export_picture.h"

#include <QBuffer>
#include <QImage>
#include <QPainter>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "chart/draw/svg_writer.h"
#include "chart/steps/legible_steps.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/text/decimal_time.h"
#include "viewer/chart/qt_canvas.h"

namespace pipetrace {
namespace {

std::string endingOf(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

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

std::string percent(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", share * 100);
  return text.data();
}

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
  text += ", " + formatDuration(span.end - span.begin);
  return text + ", times from the start of the run";
}

QByteArray pngOf(const ChartModel& model, const PictureOptions& options) {
  const ChartPicture picture(model, options);
  QImage image(picture.width(), picture.height(), QImage::Format_RGB32);
  if (image.isNull()) throw Error("not enough memory for the picture; choose a smaller --size");
  FontCache fonts;
  QPainter painter(&image);
  QtCanvas canvas(painter, fonts);
  picture.draw(canvas);
  painter.end();
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  if (!image.save(&buffer, "PNG")) throw Error("Qt could not write a PNG; try .svg");
  return bytes;
}

/// The bytes of the file `path`.
std::string fileOf(const ChartModel& model, const PictureOptions& picture,
                   const std::string& path) {
  return endingOf(path) == ".svg" ? renderSvg(model, picture) : pngOf(model, picture).toStdString();
}

}  // namespace

void checkExportName(const std::string& path) {
  const std::string ending = endingOf(path);
  if (ending == ".png" || ending == ".svg") return;
  throw Error("cannot export to " + path + ": the name has to end in .png or .svg");
}

PictureOptions pictureOf(const LoadedProfile& profile, const ExportOptions& options) {
  const ChartModel& model = profile.model();
  PictureOptions picture;
  if (options.width) picture.width = *options.width;
  picture.height = options.height;
  picture.title = titleOf(model);
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
  return picture;
}

void addPicture(const LoadedProfile& profile, const ExportOptions& options, OutputSet& files) {
  checkExportName(options.path);
  files.add(options.path, fileOf(profile.model(), pictureOf(profile, options), options.path));
}

void exportPicture(const LoadedProfile& profile, const ExportOptions& options) {
  OutputSet files;
  addPicture(profile, options, files);
  files.commit();
}

void exportView(const LoadedProfile& profile, const ChartView& view, const std::string& path) {
  checkExportName(path);
  const Nanoseconds origin = profile.model().span().begin;
  PictureOptions picture;
  picture.range = Timeline::Span{view.axis.begin(), view.axis.end()};
  picture.title = titleOf(profile.model());
  picture.caption = "from " + formatDuration(view.axis.begin() - origin) + " to " +
                    formatDuration(view.axis.end() - origin) + " after the start of the run";
  writeWholeFile(path, fileOf(profile.model(), picture, path));
}

}  // namespace pipetrace
