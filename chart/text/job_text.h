#pragma once

#include <map>
#include <string>
#include <utility>

#include "trace/timeline.h"

namespace pipetrace {

/// What is written on the jobs of one timeline where there are only characters: "F3", "B3", "I3",
/// "W3", of a fused pair both halves ("F7+B3"), else a short name ("opt"). Letters of odd chunks
/// are lower case; where a rank has more than two chunks the stage comes first ("5f3"). ASCII.
/// Refers to the timeline.
class JobText {
 public:
  explicit JobText(const Timeline& timeline);

  /// The longest form, as above.
  std::string whole(int rank, const Event& job) const;
  /// The longest form of at most `width` characters (at least 1): in the end the letter alone.
  std::string fitting(int rank, const Event& job, int width) const;
  /// Whether what is fitting() in that many characters shows the job's micro-batches, all of them.
  /// So it does for a job that has none.
  bool hasNumberIn(int rank, const Event& job, int width) const;
  /// The letter alone; '&' for a fused pair.
  char letter(const Event& job) const;

  /// Most chunks of a rank; 1 where no job names a chunk.
  int chunks() const { return chunks_; }

 private:
  std::string numbered(char letter, int stage, int chunk, int microBatch) const;
  /// The shortest text with all micro-batches of a job that has any.
  std::string shortest(int rank, const Event& job) const;
  std::string fused(int rank, const Event& job, const char* between) const;

  const Timeline& timeline_;
  int chunks_ = 1;
  std::map<std::pair<int, int>, int> chunkOf_;  // by rank and stage
};

}  // namespace pipetrace
