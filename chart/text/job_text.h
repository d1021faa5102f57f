#pragma once

#include <map>
#include <string>
#include <utility>

#include "trace/timeline.h"

namespace pipetrace {

/// The letter of a kind in a chart of characters: '&' for a fused pair, '?' for a kind without one.
char letterOf(JobKind kind);
/// The letter of the same kind for odd chunks of a rank.
char lowerCase(char letter);

/// The texts of jobs in a chart of characters: "F3", "B3", "I3", "W3", both halves of a fused pair
/// ("F7+B3"), or a short name ("opt"). Letters of odd chunks are lower case. Where a rank has more
/// than two chunks the stage comes first ("5f3"). ASCII. Refers to the timeline.
class JobText {
 public:
  explicit JobText(const Timeline& timeline);

  /// The longest form, as described above.
  std::string whole(int rank, const Event& job) const;
  /// The longest form of at most `width` characters, which is at least 1. The shortest is the
  /// letter.
  std::string fitting(int rank, const Event& job, int width) const;
  /// Whether fitting() shows all micro-batches of the job in that many characters. True for a job
  /// without any.
  bool hasNumberIn(int rank, const Event& job, int width) const;
  /// The letter of the job's kind; '&' for a fused pair.
  char letter(const Event& job) const;

  /// The largest number of chunks of a rank; 1 if no job names a chunk.
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
