#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "analysis/diff/diff_report.h"
#include "analysis/diff/diff_words.h"
#include "analysis/diff/exact_means.h"
#include "analysis/diff/reasons.h"
#include "analysis/ratio.h"
#include "analysis/report/text_table.h"
#include "trace/text/decimal_time.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

constexpr std::size_t kMostDiffRows = 12;
/// Parts whose difference is less than a thousandth of A's step are not listed.
constexpr Nanoseconds kPartsOfStep = 1000;

std::string countText(std::size_t count, const char* one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

Nanoseconds meanStepOf(const MeasuredRun& run) {
  Nanoseconds windows = 0;
  std::int64_t ranks = 0;
  for (const MeasuredRun::Step& step : run.steps) {
    windows += step.window;
    ranks += step.ranks;
  }
  return roundedMean(windows, ranks);
}

std::string runLine(const char* name, const std::string& input, const MeasuredRun& run,
                    Nanoseconds length, const RunDiff& diff) {
  std::string text =
      std::string(name) + "  " + input + ": " + countText(run.shape.places.size(), "rank");
  if (run.shape.pipelines > 1) {
    text += " in " + countText(static_cast<std::size_t>(run.shape.pipelines), "pipeline");
  }
  text += ", " + countText(run.steps.size(), run.isAsynchronous ? "stretch" : "step");
  if (run.isAsynchronous && run.steps.size() != 1) text.insert(text.size() - 1, "e");
  if (run.microBatches > 0) {
    text += " of " + countText(static_cast<std::size_t>(run.microBatches), "micro-batch");
    if (run.microBatches != 1) text.insert(text.size() - 1, "e");
  }
  text += ", " + run.schedule;
  if (diff.how.refusal.empty() && diff.how.isPerMicroBatch) {
    text += ", " + formatDuration(length) + " a micro-batch";
  }
  if (!run.isAsynchronous && !run.steps.empty()) {
    text += ", " + formatDuration(meanStepOf(run)) + " a step";
  }
  return text + "\n";
}

std::vector<std::string> row(const std::string& name, Nanoseconds a, Nanoseconds b,
                             Nanoseconds whole) {
  return {name, formatDuration(a), formatDuration(b), signedTime(b - a),
          signedShare(ratio(static_cast<double>(b - a), static_cast<double>(whole)))};
}

/// Busy time by kind and idle time by class; they add up to the step.
std::string sumsTable(const RunDiff& diff) {
  TextTable table({"", "A", "B", "difference",
                   "of A's " + std::string(diff.how.isPerMicroBatch ? "micro-batch" : "step")});
  std::vector<std::pair<std::string, std::pair<Nanoseconds, Nanoseconds>>> rows;
  for (const DiffPart& part : diff.parts) {
    const std::string name =
        part.isBusy ? jobsText(part.kind) : std::string(bubbleClassName(part.bubbleClass));
    if (rows.empty() || rows.back().first != name) rows.push_back({name, {0, 0}});
    rows.back().second.first += part.a;
    rows.back().second.second += part.b;
  }
  for (const auto& [name, times] : rows) {
    if (times.first == 0 && times.second == 0) continue;
    table.addRow(row(name, times.first, times.second, diff.step.a));
  }
  table.addRow(row(diff.how.isPerMicroBatch ? "micro-batch" : "step", diff.step.a, diff.step.b,
                   diff.step.a));
  std::string text =
      "\nwhat " + std::string(diff.how.isPerMicroBatch ? "the time of a micro-batch" : "a step") +
      " consists of, in the mean over ranks and steps: jobs, then idle time by cause\n" +
      table.toText();
  if (diff.between) {
    text += "between two steps pass " + formatDuration(diff.between->a) + " in A and " +
            formatDuration(diff.between->b) + " in B\n";
  }
  return text;
}

/// "stage 2 forwards", "imbalance: stage 2", "transfer: ranks 1 and 2".
std::string partName(const DiffPart& part) {
  const std::string place = placeText(part.stage, part.position);
  if (part.isBusy) return jobsText(part.kind) + (place.empty() ? "" : " of " + place);
  std::string who = place;
  if (part.peer >= 0) {
    who = ranksText({part.rank, part.peer});
  } else if (part.rank >= 0) {
    who = "rank " + std::to_string(part.rank);
  }
  return std::string(bubbleClassName(part.bubbleClass)) + (who.empty() ? "" : " (" + who + ")");
}

std::string partsTable(const RunDiff& diff) {
  std::vector<const DiffPart*> parts;
  for (const DiffPart& part : diff.parts) {
    const bool isLarge = std::abs(part.difference()) * kPartsOfStep >= diff.step.a;
    const bool isBeyond = !part.sure || part.sure->isBeyondNoise();
    if (part.difference() != 0 && isLarge && isBeyond) parts.push_back(&part);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto* x, const auto* y) {
    return std::abs(x->difference()) > std::abs(y->difference());
  });
  if (parts.empty()) return {};
  const std::size_t shown = std::min(parts.size(), kMostDiffRows);
  TextTable table({"", "A", "B", "difference", "95 % of it"});
  for (std::size_t i = 0; i < shown; ++i) {
    const DiffPart& part = *parts[i];
    std::string interval = "-";
    if (part.sure) {
      interval = signedTime(std::llround(part.sure->low)) + " to " +
                 signedTime(std::llround(part.sure->high));
    }
    table.addRow({partName(part), formatDuration(part.a), formatDuration(part.b),
                  signedTime(part.difference()), interval});
  }
  std::string text =
      "\nparts of it that differ beyond noise, the largest first; in brackets: who is to blame\n" +
      table.toText();
  if (shown < parts.size()) {
    text += "and " + countText(parts.size() - shown, "smaller one") + "; --json has all\n";
  }
  return text;
}

/// The lengths of jobs and messages that changed.
std::string changesTable(const RunDiff& diff) {
  struct Row {
    double share;
    std::vector<std::string> cells;
  };
  std::vector<Row> rows;
  const auto add = [&](const std::string& name, const auto& change) {
    if (!change.isClear) return;
    const double share = ratio(change.b - change.a, change.a);
    const std::string interval = intervalText(change.sure, change.a);
    rows.push_back(
        {std::abs(share),
         {name, formatDuration(std::llround(change.a)), formatDuration(std::llround(change.b)),
          change.a > 0 ? signedShare(share) : std::string("-"),
          interval.empty() ? std::string("-") : interval}});
  };
  for (const JobChange& job : diff.jobs) {
    const std::string place = placeText(job.stage, job.position);
    add(jobsText(job.kind) + (place.empty() ? "" : " of " + place), job);
  }
  for (const LinkChange& link : diff.links) {
    add("messages, " + ranksText({link.link.first, link.link.second}), link);
  }
  const std::size_t compared = diff.jobs.size() + diff.links.size();
  if (rows.empty()) {
    return "\nno jobs and no messages take longer or less time beyond noise (" +
           countText(diff.jobs.size(), "kind") + " of jobs by place, " +
           countText(diff.links.size(), "link") + " compared)\n";
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& x, const Row& y) { return x.share > y.share; });
  TextTable table({"mean length", "A", "B", "change", "95 % of it"});
  for (std::size_t i = 0; i < std::min(rows.size(), kMostDiffRows); ++i)
    table.addRow(rows[i].cells);
  std::string text = "\nwhat takes longer or less time, of " + std::to_string(compared) +
                     " compared\n" + table.toText();
  if (rows.size() > kMostDiffRows) {
    text += "and " + std::to_string(rows.size() - kMostDiffRows) + " more; --json has all\n";
  }
  return text;
}

}  // namespace

std::string diffText(const DiffReport& report) {
  const RunDiff& diff = report.diff;
  std::string text = diffAnswer(diff) + "\n\n";
  text += runLine("A", report.inputOfA, diff.a, diff.step.a, diff);
  text += runLine("B", report.inputOfB, diff.b, diff.step.b, diff);
  for (const std::string& note : diffNotes(diff)) text += "   " + note + "\n";
  if (diff.how.refusal.empty()) text += sumsTable(diff) + partsTable(diff);
  return text + changesTable(diff);
}

}  // namespace pipetrace
