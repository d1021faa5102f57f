#pragma once

#include <string>
#include <vector>

#include "analysis/present/finding_sentences.h"
#include "analysis/testing/explained_run.h"

namespace pipetrace::test {

/// The texts of the findings of a completed run, in their order.
inline std::vector<std::string> sentencesOf(const Timeline& timeline) {
  std::vector<std::string> texts;
  for (const Finding& finding : explainRun(timeline, {}).findings)
    texts.push_back(findingText(finding));
  return texts;
}

}  // namespace pipetrace::test
