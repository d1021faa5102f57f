#pragma once

#include <string>
#include <vector>

#include "analysis/what_if/advice.h"

namespace pipetrace {

/// The advice as text. Ends with a newline.
std::string adviceText(const AdviceList& list);

/// The best of it in one sentence, without a full stop: "take ZB-H1 in place of 1F1B: the step
/// takes 290.0 ms, 12.1 % less". Where there is none, says so.
std::string firstAdvice(const AdviceList& list);

/// A piece of advice for people.
struct AdviceSentence {
  std::string text;                  ///< without a full stop
  std::string command;               ///< that shows it; may be empty
  std::vector<std::string> notes{};  ///< what it rests on: sentences without a full stop
  bool isNone = false;               ///< it says that there is no advice
};

/// The advice, the best first, or the sentence that there is none. It leaves out AdviceList::notes.
std::vector<AdviceSentence> adviceSentences(const AdviceList& list);

/// The advice as one JSON object (docs/advice.md). Times are in ns. Ends with a newline.
std::string adviceJson(const AdviceList& list);

}  // namespace pipetrace
