#include "chart/colors/job_colors.h"

#include <algorithm>

namespace pipetrace {
namespace {

constexpr int kMostChunks = 32;  // later ones have the colour of the last

}  // namespace

JobColors::JobColors(const Theme& theme, int chunks)
    : theme_(theme), chunks_(std::clamp(chunks, 1, kMostChunks)) {
  slots_.assign(theme.tints.begin(), theme.tints.end());
  for (int kind = 0; kind < kJobKindCount; ++kind) {
    const Color color = theme.jobs[static_cast<std::size_t>(kind)];
    const bool isShaded = isCompute(static_cast<JobKind>(kind));
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      slots_.push_back(isShaded ? shadeOfChunk(theme, color, chunk, chunks_) : color);
    }
  }
}

}  // namespace pipetrace
