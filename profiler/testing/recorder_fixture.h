#pragma once

#include <functional>
#include <string>

#include "profiler/recorder.h"
#include "profiler/testing/recorded_log.h"
#include "trace/error.h"

namespace pipetrace {

// Tests of recorders: marks of lines, and short forms.

inline const char* const kInfo = "Profiler Info: ";
inline const char* const kEnd = "Profiler End: ";

inline RecorderOptions optionsFor(const RecordedLog& log) {
  RecorderOptions options;
  options.logDirectory = log.folder();
  return options;
}

/// The message of the Error that `action` throws; empty: it throws none.
inline std::string messageOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace pipetrace
