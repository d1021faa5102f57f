#include "trace/text/millisecond_printer.h"

#include <algorithm>

#include "trace/text/decimal_time.h"

namespace pipetrace {

char* MillisecondPrinter::printAnew(char* to, Nanoseconds time) {
  // Such a time has no leading zeros in its milliseconds.
  if (time < kNsPerSecond) return printMilliseconds(to, time);
  const Nanoseconds seconds = time / kNsPerSecond;
  second_ = static_cast<std::uint64_t>(seconds * kNsPerSecond);
  // The last second ends early, where the first negative time would follow.
  secondLength_ =
      std::min<std::uint64_t>(kNsPerSecond, static_cast<std::uint64_t>(kNsMax) + 1 - second_);
  secondSize_ = static_cast<std::size_t>(printNumber(digits_.data(), seconds) - digits_.data());
  size_ = secondSize_ + 4;
  length_ = 0;
  return print(to, time);
}

}  // namespace pipetrace
