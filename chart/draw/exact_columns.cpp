#include "chart/draw/exact_columns.h"

#include <algorithm>

namespace pipetrace {
namespace {

constexpr int kSeparatorPaper = 170;     // of 256
constexpr double kLeastWeight = 1.0e-6;  // of events without a length

}  // namespace

void ExactColumns::add(int x, double height, Color color) {
  if (isOpen_ && x != x_) finish();
  isOpen_ = true;
  x_ = x;
  height_ += height;
  const double weight = std::max(height, kLeastWeight);
  red_ += weight * color.red;
  green_ += weight * color.green;
  blue_ += weight * color.blue;
  weight_ += weight;
}

void ExactColumns::separate(int x, Color paper) {
  separator_ = x;
  paper_ = paper;
}

void ExactColumns::finish() {
  if (isOpen_) {
    const auto mean = [&](double sum) { return static_cast<std::uint8_t>(sum / weight_ + 0.5); };
    const Color color{mean(red_), mean(green_), mean(blue_)};
    const int height = std::clamp(static_cast<int>(height_ + 0.5), std::min(1, full_), full_);
    columns_.push_back(
        {x_, height, separator_ == x_ ? mix(color, paper_, kSeparatorPaper) : color});
  }
  isOpen_ = false;
  height_ = red_ = green_ = blue_ = weight_ = 0;
}

}  // namespace pipetrace
