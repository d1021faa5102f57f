#include "samples/sample_precision.h"

#include <charconv>

#include "trace/error.h"

namespace pipetrace {

LossScale sampleLossScale(const SampleOptions& options) {
  const std::string& text = options.lossScale;
  const bool isFp16 = options.precision == "fp16";
  if (text.empty()) return LossScale::fixed(isFp16 ? kUsualLossScale : 1);
  if (!isFp16) {
    throw Error("--loss-scale is for --precision fp16; small gradients do not vanish in " +
                options.precision);
  }
  if (text == "dynamic") return LossScale::dynamic();
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end) {
    throw Error("--loss-scale " + text + ": give a number, such as 1024, or dynamic");
  }
  return LossScale::fixed(value);
}

}  // namespace pipetrace
