#include "chart/draw/svg_writer.h"

#include "chart/draw/svg_canvas.h"

namespace pipetrace {

std::string renderSvg(const ChartModel& model, const PictureOptions& options) {
  const ChartPicture picture(model, options);
  SvgCanvas canvas(picture.width(), picture.height(),
                   options.title.empty() ? titleOf(model) : options.title);
  picture.draw(canvas);
  return canvas.finish();
}

std::string renderSvg(const Timeline& timeline, const PictureOptions& options, const Theme& theme) {
  return renderSvg(ChartModel(timeline, theme), options);
}

}  // namespace pipetrace
