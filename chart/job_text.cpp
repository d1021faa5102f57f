#include "chart/job_text.h"

#include <algorithm>
#include <cstdio>

#include "trace/log_format.h"

namespace pipetrace {
namespace {

struct Name {
  const char* text;
  char letter;
};

Name nameOf(JobKind kind) {
  switch (kind) {
    case JobKind::kForward: return {"F", 'F'};
    case JobKind::kBackward: return {"B", 'B'};
    case JobKind::kBackwardInput: return {"I", 'I'};
    case JobKind::kBackwardWeight: return {"W", 'W'};
    case JobKind::kRecompute: return {"R", 'R'};
    case JobKind::kForwardBackward: return {"&", '&'};
    case JobKind::kLr: return {"lr", 'L'};
    case JobKind::kOptimizer: return {"opt", 'O'};
    case JobKind::kData: return {"data", 'D'};
    default: return {"?", '?'};
  }
}

char lowerCase(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

}  // namespace

JobText::JobText(const Timeline& timeline) : timeline_(timeline) {
  for (StringId id = 1; id < timeline.strings.size(); ++id) {
    if (timeline.strings[id] == log_format::kAction) actionKey_ = id;
  }
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

/// The halves stand in the job's action only, "(0F7;7B3)OVERLAP_F_B".
std::string JobText::fused(int rank, const Event& job, const char* between) const {
  for (const Argument& argument : timeline_.argumentsOf(job)) {
    if (argument.key != actionKey_ || argument.type != ArgumentType::kText) continue;
    const std::string action(timeline_.strings[argument.text]);
    int stages[2];
    int microBatches[2];
    if (std::sscanf(action.c_str(), "(%9dF%9d;%9dB%9d)", &stages[0], &microBatches[0], &stages[1],
                    &microBatches[1]) != 4) {
      continue;
    }
    const auto chunkOf = [&](int stage) {
      const auto found = chunkOf_.find({rank, stage});
      return found == chunkOf_.end() ? 0 : found->second;
    };
    return numbered('F', stages[0], chunkOf(stages[0]), microBatches[0]) + between +
           numbered('B', stages[1], chunkOf(stages[1]), microBatches[1]);
  }
  return numbered('&', job.stage, job.chunk, job.microBatch);
}

std::string JobText::whole(int rank, const Event& job) const {
  if (job.kind == JobKind::kForwardBackward) return fused(rank, job, "+");
  if (!isCompute(job.kind)) return nameOf(job.kind).text;
  return numbered(nameOf(job.kind).letter, job.stage, job.chunk, job.microBatch);
}

std::string JobText::fitting(int rank, const Event& job, int width) const {
  const auto fits = [width](const std::string& text) {
    return static_cast<int>(text.size()) <= width;
  };
  if (std::string text = whole(rank, job); fits(text)) return text;
  if (job.kind == JobKind::kForwardBackward) {
    if (std::string text = fused(rank, job, ""); fits(text)) return text;
  } else if (isCompute(job.kind) && job.microBatch >= 0) {
    const std::string text = letter(job) + std::to_string(job.microBatch);
    if (fits(text)) return text;
  }
  return std::string(1, letter(job));
}

char JobText::letter(const Event& job) const {
  const char letter = nameOf(job.kind).letter;
  const bool isOdd = isCompute(job.kind) && job.chunk > 0 && job.chunk % 2 == 1;
  return isOdd ? lowerCase(letter) : letter;
}

}  // namespace pipetrace
