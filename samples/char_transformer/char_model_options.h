#pragma once

#include <cstdint>

namespace pipetrace {

struct CharModelOptions {
  std::int64_t vocabulary = 0;
  std::int64_t context = 64;  ///< characters that the model sees at a time, at most
  std::int64_t width = 128;   ///< of the vectors between layers; a multiple of heads
  std::int64_t heads = 4;
  int layers = 4;
};

}  // namespace pipetrace
