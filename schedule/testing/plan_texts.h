#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "trace/error.h"

namespace pipetrace::test {

/// The message with which a plan's text is refused; "" if it is read.
inline std::string errorOf(std::string_view csv) {
  try {
    readPlan(csv, "plan.csv");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline std::vector<std::string> textsOf(const std::vector<Problem>& problems) {
  std::vector<std::string> texts;
  for (const Problem& problem : problems) texts.push_back(toText(problem));
  return texts;
}

inline std::vector<std::string> problemsOf(const Plan& plan) { return textsOf(check(plan)); }

inline std::vector<std::string> problemsOf(std::string_view csv) {
  return problemsOf(readPlan(csv, "plan.csv"));
}

}  // namespace pipetrace::test
