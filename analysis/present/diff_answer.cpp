#include <cstdint>
#include <cstdlib>

#include "analysis/present/diff_reasons.h"
#include "analysis/present/diff_report.h"
#include "analysis/present/diff_words.h"
#include "trace/text/decimal_time.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

/// Reasons with a smaller share of the difference are not in the answer.
constexpr int kLeastShare = 10;
constexpr std::size_t kMostReasons = 3;

bool isPerMicroBatch(const RunDiff& diff) { return diff.how.isPerMicroBatch; }

std::string stepsOfB(const RunDiff& diff) {
  return isPerMicroBatch(diff) ? "a micro-batch of B takes " : "B's steps take ";
}

/// "12.30 ms more (+4.1 %, 95 % 3.8 to 4.4 %)".
std::string moreWithNoise(const DiffFigure& figure) {
  const auto whole = static_cast<double>(figure.a);
  const double share = whole > 0 ? static_cast<double>(figure.difference()) / whole : 0;
  const std::string interval = intervalText(figure.sure, whole);
  return moreText(figure.difference()) + " (" + signedShare(share) +
         (interval.empty() ? "; a run has one step only, so nobody knows how sure that is"
                           : ", 95 % " + interval) +
         ")";
}

std::string listed(const std::vector<DiffReason>& reasons, bool withTimes) {
  std::string text;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (i > 0) text += i + 1 == reasons.size() ? " and " : ", ";
    text += reasons[i].text;
    if (withTimes) text += " (" + signedTime(reasons[i].time) + ")";
  }
  return text;
}

/// First those that make the difference, then those that make up for a part of it.
std::string bothWays(const std::vector<DiffReason>& reasons, bool isLonger) {
  std::vector<DiffReason> makes;
  std::vector<DiffReason> makesUp;
  for (const DiffReason& each : reasons) {
    ((each.time > 0) == isLonger ? makes : makesUp).push_back(each);
  }
  const std::string text = listed(makes, true);
  if (makesUp.empty()) return text;
  return text + (text.empty() ? "" : ", while ") + listed(makesUp, true);
}

std::string whyText(const RunDiff& diff) {
  std::vector<DiffReason> reasons;
  for (DiffReason& each : reasonsOf(diff)) {
    const bool isLarge =
        kLeastShare * std::abs(each.time) >= std::abs(diff.unit().difference()) && each.time != 0;
    if (isLarge && reasons.size() < kMostReasons) reasons.push_back(std::move(each));
  }
  return reasons.empty() ? "" : ": " + bothWays(reasons, diff.unit().difference() > 0);
}

/// The schedules, if they differ and no reason names them.
std::string schedulesText(const RunDiff& diff) {
  if (diff.a.schedule == diff.b.schedule) return {};
  for (const DiffReason& each : reasonsOf(diff)) {
    if (each.namesSchedules &&
        kLeastShare * std::abs(each.time) >= std::abs(diff.unit().difference()))
      return {};
  }
  return "; A follows " + diff.a.schedule + ", B " + diff.b.schedule;
}

/// Changes of jobs and messages that do not change the step.
std::string changesText(const RunDiff& diff) {
  std::vector<DiffReason> reasons = changeReasons(diff);
  if (reasons.size() > kMostReasons) reasons.resize(kMostReasons);
  return listed(reasons, false);
}

/// "a step of B, of 16 micro-batches in place of 8, takes ".
std::string wholeStepsOfB(const RunDiff& diff) {
  std::string of;
  std::int64_t a = diff.a.microBatches;
  std::int64_t b = diff.b.microBatches;
  if (diff.a.shape.replicas() != diff.b.shape.replicas()) {  // those of all replicas then
    a *= diff.a.shape.replicas();
    b *= diff.b.shape.replicas();
  }
  if (a > 0 && b > 0 && a != b) {
    of = "of " + std::to_string(b) + " micro-batches in place of " + std::to_string(a);
  }
  if (diff.how.hasSameTokens) of += std::string(of.empty() ? "of" : " and") + " as many tokens";
  return "a step of B" + (of.empty() ? " takes " : ", " + of + ", takes ");
}

/// Whether the figure is longer or shorter beyond noise, as the verdict says.
std::string figureAnswer(const RunDiff& diff, const DiffFigure& figure,
                         const std::string& subject) {
  const bool isSure = figure.sure && figure.sure->isBeyondNoise();
  if (figure.sure && !isSure)
    return "no difference beyond noise: " + subject + moreWithNoise(figure);
  std::string text = subject + moreWithNoise(figure);
  if (isSure && std::abs(RunDiff::sureChange(figure)) <= diff.tolerance) {
    text += ", within the tolerance of " + shareOf(diff.tolerance);
  }
  return text;
}

/// That of what is compared, and why.
std::string unitAnswer(const RunDiff& diff) {
  const bool isSure = diff.unit().sure && diff.unit().sure->isBeyondNoise();
  const bool isEqual = diff.unit().difference() == 0 || (diff.unit().sure && !isSure);
  if (!isEqual) return figureAnswer(diff, diff.unit(), stepsOfB(diff)) + whyText(diff);
  const std::string changes = changesText(diff);
  std::string text;
  if (diff.unit().difference() == 0) {
    text = (isPerMicroBatch(diff) ? "a micro-batch of B takes as long as one of A, "
                                  : "B's steps take as long as A's, ") +
           formatDuration(diff.unit().b);
  } else {
    text = figureAnswer(diff, diff.unit(), stepsOfB(diff));
  }
  return text + (changes.empty() ? "" : ", though " + changes);
}

/// The answer begins with what is judged.
std::string stepAnswer(const RunDiff& diff) {
  std::string text = unitAnswer(diff);
  if (diff.wholeStep) {
    const std::string whole = figureAnswer(diff, *diff.wholeStep, wholeStepsOfB(diff));
    text = &diff.judged() == &diff.unit() ? text + "; " + whole : whole + "; " + text;
  }
  return diffVerdict(diff) == "equal" ? text : text + schedulesText(diff);
}

}  // namespace

std::string diffVerdict(const RunDiff& diff) {
  if (!diff.how.refusal.empty()) return "not_comparable";
  const DiffFigure& judged = diff.judged();
  if (!judged.sure) return judged.difference() == 0 ? "equal" : "unknown";
  if (!judged.sure->isBeyondNoise()) return "equal";
  return judged.difference() > 0 ? "slower" : "faster";
}

std::string diffAnswer(const RunDiff& diff) {
  if (diff.how.refusal.empty()) return stepAnswer(diff);
  const std::string changes = changesText(diff);
  return "steps cannot be compared: " + diff.how.refusal +
         (diff.jobs.empty() ? "; no job is in both runs"
          : changes.empty() ? "; the jobs that both runs have take as long"
                            : "; of what both runs have, " + changes);
}

std::vector<std::string> diffNotes(const RunDiff& diff) {
  std::vector<std::string> notes = diff.how.notes;
  if (!diff.onlyRanks.empty()) {
    notes.push_back("other ranks have no log in one of the runs: both are compared as if only " +
                    ranksText(diff.onlyRanks) + " were there");
  }
  if (diff.isPaired) {
    notes.emplace_back(
        "steps at the same places of both runs are alike, so they are compared in "
        "pairs");
  }
  return notes;
}

}  // namespace pipetrace
