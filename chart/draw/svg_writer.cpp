#include "chart/draw/svg_writer.h"

#include "chart/draw/svg_canvas.h"

namespace pipetrace {

std::string renderSvg(const Drawing& drawing, const std::string& title) {
  SvgCanvas canvas(drawing.width(), drawing.height(), title);
  drawing.draw(canvas);
  return canvas.finish();
}

std::string renderSvg(const ChartModel& model, const PictureOptions& options) {
  return renderSvg(ChartPicture(model, options),
                   options.title.empty() ? titleOf(model) : options.title);
}

std::string renderSvg(const Timeline& timeline, const PictureOptions& options, const Theme& theme) {
  return renderSvg(ChartModel(timeline, theme), options);
}

}  // namespace pipetrace
