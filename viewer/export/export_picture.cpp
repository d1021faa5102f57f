#include "viewer/export/export_picture.h"

#include <QBuffer>
#include <QLineF>
#include <QList>
#include <QPainter>
#include <QPdfWriter>
#include <QPen>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <utility>

#include "chart/draw/hatch_lines.h"
#include "chart/draw/svg_canvas.h"
#include "chart/steps/legible_steps.h"
#include "chart/steps/run_picture.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"
#include "viewer/causes/chart_paths.h"
#include "viewer/export/two_runs_picture.h"
#include "viewer/paint/qt_canvas.h"

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

/// Has the picture show marks, over all else that it shows.
void addMarks(std::vector<ChartMark> marks, PictureOptions& picture) {
  picture.overRows = [marks = std::move(marks), below = std::move(picture.overRows)](
                         Canvas& canvas, const ChartView& view) {
    if (below) below(canvas, view);
    drawMarks(canvas, view, marks);
  };
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

bool isStepByStep(const LoadedProfile& profile, const ExportOptions& options) {
  const int width = options.width.value_or(PictureOptions().width);
  return options.isAll && !options.time && RunPicture::isBetterFor(profile.model(), width);
}

ColoursForExport::ColoursForExport(const LoadedProfile& profile, const ExportOptions& options)
    : profile_(profile), second_(options.second.profile), own_(profile.model().theme()) {
  const Theme& wanted = themeOf(options.theme, options.isDark);
  if (!(wanted == own_)) profile.setTheme(wanted);
  if (second_ && !(second_->model().theme() == wanted)) second_->setTheme(wanted);
}

ColoursForExport::~ColoursForExport() {
  if (!(profile_.model().theme() == own_)) profile_.setTheme(own_);
  if (second_ && !(second_->model().theme() == own_)) second_->setTheme(own_);
}

PictureOptions pictureOf(const LoadedProfile& profile, const ExportOptions& options) {
  PictureOptions picture = partOf(profile, options);
  const bool isByStep = isStepByStep(profile, options);
  if (options.showsCriticalPath) {
    if (isByStep) {
      throw Error(
          "a picture with a column for each step has no critical paths; choose fewer steps");
    }
    addCriticalPath(profile, options.explanation, picture);
  }
  if (!options.marks.empty() && !isByStep) addMarks(options.marks, picture);
  return picture;
}

std::unique_ptr<Drawing> drawingOf(const LoadedProfile& profile, const ExportOptions& options) {
  if (options.second.profile) return bothRuns(profile, options);
  PictureOptions picture = pictureOf(profile, options);
  if (isStepByStep(profile, options)) {
    return std::make_unique<RunPicture>(profile.model(), std::move(picture));
  }
  return std::make_unique<ChartPicture>(profile.model(), std::move(picture));
}

void addPicture(const LoadedProfile& profile, const ExportOptions& options, OutputSet& files) {
  checkExportName(options.path);
  profile.checkOutput(options.path);
  if (options.second.profile) options.second.profile->checkOutput(options.path);
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

namespace {

/// Draws with lines and areas only, where QtCanvas sets pixels: for files of vectors. The painter
/// must be active; painter and fonts must outlive the canvas.
class PdfCanvas final : public Canvas {
 public:
  PdfCanvas(QPainter& painter, FontCache& fonts) : painter_(painter), areas_(painter, fonts) {}

  void fill(PixelRect rect, Color color) override { areas_.fill(rect, color); }
  void hatch(PixelRect rect, const Hatching& hatching) override;
  void columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) override;
  void text(PixelRect box, std::string_view text, const TextStyle& style) override {
    areas_.text(box, text, style);
  }
  int textWidth(std::string_view text, const TextStyle& style) override {
    return areas_.textWidth(text, style);
  }
  void line(std::span<const PixelPoint> points, const Stroke& stroke) override {
    areas_.line(points, stroke);
  }
  void curve(const std::array<PixelPoint, 4>& points, const Stroke& stroke) override {
    areas_.curve(points, stroke);
  }
  void polygon(std::span<const PixelPoint> corners, Color color) override {
    areas_.polygon(corners, color);
  }
  void veil(PixelRect rect, Color color, double opacity) override {
    areas_.veil(rect, color, opacity);
  }
  void pushClip(PixelRect rect) override { areas_.pushClip(rect); }
  void popClip() override { areas_.popClip(); }

 private:
  QPainter& painter_;
  QtCanvas areas_;
};

void PdfCanvas::hatch(PixelRect rect, const Hatching& hatching) {
  if (rect.width <= 0 || rect.height <= 0) return;
  areas_.fill(rect, hatching.ground);
  painter_.save();
  for (const HatchLines& each : linesOf(hatching.pattern)) {
    QList<QLineF> lines;
    for (const auto& [from, to] : linesIn(rect, each.direction)) {
      lines.push_back({from.x, from.y, to.x, to.y});
    }
    painter_.setPen(hatchPen(hatching.stroke, each));
    painter_.drawLines(lines);
  }
  painter_.restore();
}

void PdfCanvas::columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) {
  for (std::size_t i = 0; i < columns.size();) {
    std::size_t next = i + 1;  // equal neighbours become one area
    while (next < columns.size() && columns[next].x == columns[next - 1].x + 1 &&
           columns[next].height == columns[i].height && columns[next].color == columns[i].color) {
      ++next;
    }
    const int y = edge == ColumnEdge::kTop ? top : top + height - columns[i].height;
    areas_.fill({columns[i].x, y, static_cast<int>(next - i), columns[i].height}, columns[i].color);
    i = next;
  }
}

constexpr int kPixelsPerInch = 96;  // as in CSS and SVG
constexpr double kPointsPerInch = 72;

QByteArray pngOf(const Drawing& drawing, double scale) {
  const QImage image = imageOf(drawing, scale);
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  if (!image.save(&buffer, "PNG")) throw Error("Qt could not write a PNG; try .svg");
  return bytes;
}

QByteArray pdfOf(const Drawing& drawing, const std::string& title) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QPdfWriter writer(&buffer);
  writer.setTitle(QString::fromStdString(title));
  writer.setCreator(QStringLiteral("pipe-view"));
  writer.setResolution(kPixelsPerInch);
  writer.setPageMargins({0, 0, 0, 0});
  const QSizeF points = QSizeF(drawing.width(), drawing.height()) * kPointsPerInch / kPixelsPerInch;
  writer.setPageSize(QPageSize(points, QPageSize::Point, {}, QPageSize::ExactMatch));
  QPainter painter;
  if (!painter.begin(&writer)) throw Error("Qt could not write a PDF; try .svg");
  FontCache fonts;
  PdfCanvas canvas(painter, fonts);
  drawing.draw(canvas);
  painter.end();
  return bytes;
}

}  // namespace

std::string pictureEnding(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

void checkExportName(const std::string& path) {
  const std::string ending = pictureEnding(path);
  if (ending == ".png" || ending == ".pdf" || ending == ".svg") return;
  throw Error("cannot export to " + path + ": the name has to end in " + kPictureEndings);
}

QImage imageOf(const Drawing& drawing, double scale) {
  const QSize size(static_cast<int>(std::lround(drawing.width() * scale)),
                   static_cast<int>(std::lround(drawing.height() * scale)));
  QImage image(size, QImage::Format_RGB32);
  if (image.isNull()) {
    throw Error("not enough memory for the picture; choose a smaller --size or --scale");
  }
  const int dots = static_cast<int>(std::lround(scale * kPixelsPerInch / 0.0254));  // in a metre
  image.setDotsPerMeterX(dots);
  image.setDotsPerMeterY(dots);
  image.fill(Qt::white);
  FontCache fonts;
  QPainter painter(&image);
  painter.scale(scale, scale);
  QtCanvas canvas(painter, fonts);
  drawing.draw(canvas);
  painter.end();
  return image;
}

std::string pictureFile(const Drawing& drawing, const std::string& title, const std::string& path,
                        double scale) {
  checkExportName(path);
  const std::string ending = pictureEnding(path);
  if (ending == ".svg") return renderSvg(drawing, title);
  return (ending == ".pdf" ? pdfOf(drawing, title) : pngOf(drawing, scale)).toStdString();
}

}  // namespace pipetrace
