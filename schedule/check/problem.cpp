#include "schedule/check/problem.h"

#include <algorithm>
#include <string>
#include <utility>

namespace pipetrace {

std::string toText(const Problem& problem) {
  std::string text;
  if (problem.rank >= 0) text += "rank " + std::to_string(problem.rank);
  if (problem.cell >= 0) text += ", cell " + std::to_string(problem.cell);
  return text.empty() ? problem.message : text + ": " + problem.message;
}

void ProblemList::add(Problem problem) {
  if (++count_ <= static_cast<std::int64_t>(kMost)) list_.push_back(std::move(problem));
}

void ProblemList::append(const ProblemList& other) {
  append(other.list_);
  count_ += other.count_ - static_cast<std::int64_t>(other.list_.size());
}

void ProblemList::append(const std::vector<Problem>& other) {
  for (const Problem& problem : other) add(problem);
}

std::vector<Problem> ProblemList::toVector(std::size_t most) const {
  std::vector<Problem> shown(
      list_.begin(), list_.begin() + static_cast<std::ptrdiff_t>(std::min(most, list_.size())));
  const std::int64_t more = count_ - static_cast<std::int64_t>(shown.size());
  if (more > 0) shown.push_back({.message = "and " + std::to_string(more) + " more"});
  return shown;
}

}  // namespace pipetrace
