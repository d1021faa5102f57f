#include "chart/text/job_text.h"

#include <algorithm>
#include <optional>

#include "trace/log/fused_pair.h"

namespace pipetrace {
namespace {

/// The text that stands for a kind.
std::string_view briefOf(JobKind kind) {
  const std::string_view brief = rowOf(kind).brief;
  return brief.empty() ? "?" : brief;
}

}  // namespace

char lowerCase(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

char letterOf(JobKind kind) {
  const char first = briefOf(kind).front();
  return first >= 'a' && first <= 'z' ? static_cast<char>(first - 'a' + 'A') : first;
}

JobText::JobText(const Timeline& timeline) : timeline_(timeline) {
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (!isCompute(event.kind) || event.stage < 0 || event.chunk < 0) continue;
      chunkOf_[{track.rank, event.stage}] = event.chunk;
      chunks_ = std::max(chunks_, event.chunk + 1);
    }
  }
}

std::string JobText::numbered(char letter, int stage, int chunk, int microBatch) const {
  std::string text;
  if (chunks_ > 2 && stage >= 0) text += std::to_string(stage);
  text += chunk > 0 && chunk % 2 == 1 ? lowerCase(letter) : letter;
  if (microBatch >= 0) text += std::to_string(microBatch);
  return text;
}

std::string JobText::fused(int rank, const Event& job, const char* between) const {
  const std::optional<FusedPair> pair = fusedPairOf(timeline_, job);
  if (!pair) return numbered('&', job.stage, job.chunk, job.microBatch);
  const auto chunkOf = [&](int stage) {
    const auto found = chunkOf_.find({rank, stage});
    return found == chunkOf_.end() ? 0 : found->second;
  };
  return numbered('F', pair->forwardStage, chunkOf(pair->forwardStage), pair->forwardMicroBatch) +
         between +
         numbered('B', pair->backwardStage, chunkOf(pair->backwardStage), pair->backwardMicroBatch);
}

std::string JobText::whole(int rank, const Event& job) const {
  if (job.kind == JobKind::kForwardBackward) return fused(rank, job, "+");
  if (!isCompute(job.kind)) return std::string(briefOf(job.kind));
  return numbered(letterOf(job.kind), job.stage, job.chunk, job.microBatch);
}

std::string JobText::fitting(int rank, const Event& job, int width) const {
  const auto fits = [width](const std::string& text) {
    return static_cast<int>(text.size()) <= width;
  };
  if (std::string text = whole(rank, job); fits(text)) return text;
  if (std::string text = shortest(rank, job); fits(text)) return text;
  return std::string(1, letter(job));
}

std::string JobText::shortest(int rank, const Event& job) const {
  if (job.kind == JobKind::kForwardBackward) return fused(rank, job, "");
  std::string text(1, letter(job));
  if (isCompute(job.kind) && job.microBatch >= 0) text += std::to_string(job.microBatch);
  return text;
}

bool JobText::hasNumberIn(int rank, const Event& job, int width) const {
  return !isCompute(job.kind) || job.microBatch < 0 ||
         static_cast<int>(shortest(rank, job).size()) <= width;
}

char JobText::letter(const Event& job) const {
  const char letter = letterOf(job.kind);
  const bool isOdd = isCompute(job.kind) && job.chunk > 0 && job.chunk % 2 == 1;
  return isOdd ? lowerCase(letter) : letter;
}

}  // namespace pipetrace
