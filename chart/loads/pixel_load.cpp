#include "chart/loads/pixel_load.h"

#include <algorithm>

namespace pipetrace {
namespace {

void add(PixelLoad& pixel, Nanoseconds busy, Color color) {
  const auto time = static_cast<double>(busy);
  pixel.busy += time;
  pixel.red += time * color.red;
  pixel.green += time * color.green;
  pixel.blue += time * color.blue;
  pixel.isEmpty = false;
}

}  // namespace

Color PixelLoad::color() const {
  if (busy <= 0) return {};
  const auto mean = [this](double sum) { return static_cast<std::uint8_t>(sum / busy + 0.5); };
  return {mean(red), mean(green), mean(blue)};
}

PixelTime pixelTime(const TimeAxis& axis, int x) {
  const PixelTime time{axis.timeAt(x), axis.timeAt(x + 1)};
  return time.begin < time.end ? time : PixelTime{time.end - 1, time.end};
}

void addLoad(const LaneIndex& lane, const TimeAxis& axis, std::vector<PixelLoad>& pixels) {
  std::size_t i = lane.firstEndingAfter(axis.begin() - 1);
  int x = 0;
  while (i < lane.size() && x < axis.width() && lane[i].begin < axis.end()) {
    const Event& event = lane[i];
    x = std::max(x, axis.xOf(event.begin));
    PixelTime time = pixelTime(axis, x);
    if (event.begin <= time.begin && event.end >= time.end && event.duration() > 0) {
      // It fills its pixels.
      const Color color = lane.load(i, i + 1, event.begin, event.end).color;
      while (x < axis.width() && event.end >= time.end) {
        add(pixels[static_cast<std::size_t>(x)], time.span(), color);
        time = pixelTime(axis, ++x);
      }
      if (event.end <= time.begin) ++i;
      continue;
    }
    const std::size_t stop = lane.firstBeginningAt(time.end, i);
    const LaneLoad load = lane.load(i, stop, time.begin, time.end);
    add(pixels[static_cast<std::size_t>(x)], load.busy, load.color);
    i = lane[stop - 1].end > time.end ? stop - 1 : stop;
    ++x;
  }
}

}  // namespace pipetrace
