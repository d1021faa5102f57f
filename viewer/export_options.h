#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pipetrace {

/// Steps by their numbers in the log, both ends included.
struct StepChoice {
  std::int32_t first = 0;
  std::int32_t last = 0;
};

/// The part to export, and the size of the picture.
struct ExportOptions {
  std::string path;                 ///< ends in .png or .svg
  std::optional<int> width;         ///< pixels
  std::optional<int> height;        ///< pixels; not given: as high as the rows need
  std::optional<StepChoice> steps;  ///< not given: a few, so that the micro-batches are legible
  bool isAll = false;               ///< the whole run
};

}  // namespace pipetrace
