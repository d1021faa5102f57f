#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "analysis/present/diff_reasons.h"
#include "analysis/present/diff_report.h"
#include "analysis/present/diff_words.h"
#include "analysis/present/text_table.h"
#include "analysis/ratio.h"
#include "trace/text/decimal_time.h"
#include "trace/text/fit_to_print.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

constexpr std::size_t kMostDiffRows = 12;

std::string runText(const std::string& input, const MeasuredRun& run, Nanoseconds length,
                    const RunDiff& diff) {
  std::string text = input + ": " + countText(run.shape.places.size(), "rank");
  if (run.shape.pipelines > 1) {
    text += " in " + countText(run.shape.pipelines, "pipeline");
  }
  text += ", " + (run.isAsynchronous ? countText(run.steps.size(), "stretch", "stretches")
                                     : countText(run.steps.size(), "step"));
  if (run.microBatches > 0) {
    text += " of " + countText(run.microBatches, "micro-batch", "micro-batches");
  }
  text += ", " + run.schedule;
  if (diff.how.refusal.empty() && diff.how.isPerMicroBatch) {
    text += ", " + formatDuration(length) + " a micro-batch in the mean";
  }
  if (!run.isAsynchronous && !run.steps.empty()) {
    const std::optional<Nanoseconds> known = meanBetweenOf(run);
    const Nanoseconds between = diff.wall ? known.value_or(0) : 0;
    text += ", " + formatDuration(meanStepOf(run) + between) + " a step in the mean";
    if (diff.wall && known) {
      text += " (" + formatDuration(between) + " of it until the next one begins)";
    }
  }
  return text;
}

std::vector<std::string> row(const std::string& name, Nanoseconds a, Nanoseconds b,
                             Nanoseconds whole) {
  return {name, formatDuration(a), formatDuration(b), signedTime(b - a),
          signedShare(ratio(static_cast<double>(b - a), static_cast<double>(whole)))};
}

/// Busy time by kind, idle time by class, and that between steps; they add up to the unit.
std::string sumsTable(const RunDiff& diff) {
  TextTable table({"", "A", "B", "difference",
                   "of A's " + std::string(diff.how.isPerMicroBatch ? "micro-batch" : "step")});
  for (const DiffSum& sum : sumsOf(diff)) {
    table.addRow(row(sum.name, sum.a, sum.b, diff.unit().a));
  }
  table.addRow(row(unitText(diff), diff.unit().a, diff.unit().b, diff.unit().a));
  return "\nwhat " +
         std::string(diff.how.isPerMicroBatch ? "the time of a micro-batch" : "a step") +
         " consists of, in the mean over ranks and steps: jobs, idle time by cause" +
         (diff.wall ? ", then the time until the next step begins\n" : "\n") + table.toText();
}

std::string partsTable(const RunDiff& diff) {
  const std::vector<const DiffPart*> parts = partsThatDiffer(diff);
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
  std::string text = std::string("\nparts of it that differ") +
                     (diff.isNoiseKnown() ? " beyond noise" : "") +
                     ", the largest first; in brackets: who is to blame\n" + table.toText();
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
    add(changeName(job), job);
  }
  for (const LinkChange& link : diff.links) {
    add(changeName(link), link);
  }
  const std::size_t compared = diff.jobs.size() + diff.links.size();
  if (rows.empty()) {
    return std::string("\nno jobs and no messages take longer or less time") +
           (diff.isNoiseKnown() ? " beyond noise (" : ", by 1 % or more (") +
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

std::string diffTextOfA(const DiffReport& report) {
  return runText(report.inputOfA, report.diff.a, report.diff.unit().a, report.diff);
}

std::string diffTextOfB(const DiffReport& report) {
  return runText(report.inputOfB, report.diff.b, report.diff.unit().b, report.diff);
}

std::string diffText(const DiffReport& report) {
  const RunDiff& diff = report.diff;
  std::string text = fitLine(diffAnswer(diff)) + "\n";
  text += fitLine("A  " + diffTextOfA(report)) + fitLine("B  " + diffTextOfB(report));
  for (const std::string& note : diffNotes(diff)) text += fitLine("   " + note);
  if (diff.how.refusal.empty()) text += sumsTable(diff) + partsTable(diff);
  return text + changesTable(diff);
}

}  // namespace pipetrace
