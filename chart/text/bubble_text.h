#pragma once

#include <string>

#include "trace/timeline.h"

namespace pipetrace {

/// The class in words: "warm up", "peer wait"; "" for kNone.
std::string bubbleClassWords(BubbleClass bubbleClass);

/// Returns what the class means: "a stage is slower than the others"; "" for kNone.
const char* bubbleClassMeaning(BubbleClass bubbleClass);

/// Says what is written on a bubble. Refers to timeline and bubble.
class BubbleText {
 public:
  BubbleText(const Timeline& timeline, const Event& bubble)
      : timeline_(timeline), bubble_(bubble) {}

  /// "imbalance"; empty where the class is not known, as that is hatched.
  std::string className() const;
  /// "imbalance, 2F5"; empty without a name of the culprit.
  std::string withJob() const;
  /// "imbalance, 2F5 on rank 2"; empty without a culprit.
  std::string withCulprit() const;
  /// "2F5 on rank 2", "rank 2" where the job has no name; empty without a culprit.
  std::string culprit() const;
  /// The name of the culprit's job; empty where it has none.
  std::string job() const;

 private:
  const Timeline& timeline_;
  const Event& bubble_;
};

}  // namespace pipetrace
