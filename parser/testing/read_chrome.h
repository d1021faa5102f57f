#pragma once

#include <string>

#include "parser/chrome/reader.h"
#include "parser/testing/kineto_text.h"
#include "parser/testing/reading.h"

namespace pipetrace::test {

inline Reading readChrome(const std::string& bytes, const ReadRequest& request = {}) {
  return readWith<ChromeJsonReader>("trace.json", bytes, request);
}

inline Reading readKineto(const KinetoText& trace, JobTime time = JobTime::kAuto) {
  return readChrome(trace.text(), {.jobTime = time});
}

/// A time as microseconds since KinetoText::kBegin.
inline std::string kinetoTime(Nanoseconds time) {
  return std::to_string((time - KinetoText::kBegin) / 1000);
}

/// "100 to 130": the times of an event of a trace by KinetoText.
inline std::string kinetoTimes(const Event& event) {
  return kinetoTime(event.begin) + " to " + kinetoTime(event.end);
}

}  // namespace pipetrace::test
