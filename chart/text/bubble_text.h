#pragma once

#include <string>

#include "trace/timeline.h"

namespace pipetrace {

/// The class in words: "warm up", "peer wait"; "" for kNone.
std::string bubbleClassWords(BubbleClass bubbleClass);

/// Says what is written on a bubble. Refers to timeline and bubble.
class BubbleText {
 public:
  BubbleText(const Timeline& timeline, const Event& bubble)
      : timeline_(timeline), bubble_(bubble) {}

  /// "imbalance", "unknown"; empty for a bubble without a class.
  std::string className() const { return bubbleClassWords(bubble_.bubbleClass); }
  /// "imbalance 3.2 ms"; empty without a class.
  std::string withLength() const;
  /// "imbalance 3.2 ms, 2F5 on rank 2"; empty without a culprit.
  std::string withLengthAndCulprit() const;
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
