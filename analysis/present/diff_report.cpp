#include "analysis/present/diff_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "analysis/present/diff_reasons.h"
#include "analysis/present/text_table.h"
#include "analysis/ratio.h"
#include "trace/text/decimal_time.h"
#include "trace/text/fit_to_print.h"
#include "trace/text/number_text.h"
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
    if (isLarge && !each.isNoise && reasons.size() < kMostReasons)
      reasons.push_back(std::move(each));
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

using Json = nlohmann::ordered_json;

Json intervalJson(const std::optional<ConfidenceInterval>& sure) {
  if (!sure) return nullptr;
  return {{"low_ns", std::llround(sure->low)}, {"high_ns", std::llround(sure->high)}};
}

void addFigure(const DiffFigure& figure, Json& object) {
  object["a_ns"] = figure.a;
  object["b_ns"] = figure.b;
  object["difference_ns"] = figure.difference();
  object["interval"] = intervalJson(figure.sure);
}

Json figureJson(const std::optional<DiffFigure>& figure) {
  if (!figure) return nullptr;
  Json object = Json::object();
  addFigure(*figure, object);
  return object;
}

void addPlace(int stage, int position, Json& object) {
  if (stage >= 0) object["stage"] = stage;
  if (position >= 0) object["position"] = position;
}

std::string kindName(JobKind kind) {
  return kind == JobKind::kOther ? "all" : std::string(logName(kind));
}

Json partJson(const DiffPart& part) {
  Json object = Json::object();
  if (part.isBusy) {
    object["kind"] = kindName(part.kind);
  } else {
    object["class"] = bubbleClassName(part.bubbleClass);
  }
  addPlace(part.stage, part.position, object);
  if (part.peer >= 0) {
    object["ranks"] = {part.rank, part.peer};
  } else if (part.rank >= 0) {
    object["rank"] = part.rank;
  }
  addFigure(part, object);
  return object;
}

template <typename Change>
void addChange(const Change& change, Json& object) {
  object["a_ns"] = std::llround(change.a);
  object["b_ns"] = std::llround(change.b);
  object["factor"] = change.a > 0 ? Json(change.b / change.a) : Json();
  object["interval"] = intervalJson(change.sure);
  object["clear"] = change.isClear;
}

Json jobsJson(const RunDiff& diff) {
  Json list = Json::array();
  for (const JobChange& change : diff.jobs) {
    Json object = {{"kind", kindName(change.kind)}};
    addPlace(change.stage, change.position, object);
    object["ranks"] = change.ranks;
    addChange(change, object);
    if (change.isClear && change.rank >= 0) object["only_rank"] = change.rank;
    if (change.isClear && change.microBatch >= 0) object["only_micro_batch"] = change.microBatch;
    list.push_back(std::move(object));
  }
  return list;
}

Json linksJson(const RunDiff& diff) {
  Json list = Json::array();
  for (const LinkChange& change : diff.links) {
    Json object = {{"ranks", {change.link.first, change.link.second}}};
    addChange(change, object);
    list.push_back(std::move(object));
  }
  return list;
}

Json runJson(const MeasuredRun& run, const std::string& input) {
  Json object = {{"input", input},
                 {"ranks", run.shape.places.size()},
                 {"pp", run.shape.depth},
                 {"pipelines", run.shape.pipelines},
                 {"stages", run.shape.stages},
                 {"schedule", run.schedule},
                 {"steps", run.steps.size()},
                 {"micro_batches", run.microBatches > 0 ? Json(run.microBatches) : Json()},
                 {"asynchronous", run.isAsynchronous}};
  return object;
}

Json reasonsJson(const std::vector<DiffReason>& reasons) {
  Json list = Json::array();
  for (const DiffReason& reason : reasons) {
    list.push_back({{"text", reason.text}, {"time_ns", reason.time}});
  }
  return list;
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

std::string diffJson(const DiffReport& report) {
  const RunDiff& diff = report.diff;
  const bool isComparable = diff.how.refusal.empty();
  const char* const places = diff.how.places == Comparison::Places::kStages      ? "stage"
                             : diff.how.places == Comparison::Places::kPositions ? "position"
                                                                                 : "kind";
  Json object = {{"answer", diffAnswer(diff)},
                 {"verdict", diffVerdict(diff)},
                 {"slower_beyond_tolerance", diff.isSlower()},
                 {"tolerance", diff.tolerance},
                 {"unit", diff.how.isPerMicroBatch ? "micro_batch" : "step"},
                 {"compared_by", places},
                 {"paired", diff.isPaired},
                 {"a", runJson(diff.a, report.inputOfA)},
                 {"b", runJson(diff.b, report.inputOfB)},
                 {"notes", diffNotes(diff)},
                 {"step", isComparable ? figureJson(diff.step) : Json()},
                 {"step_wall", figureJson(diff.wall)},
                 {"whole_step", figureJson(diff.wholeStep)},
                 {"between_steps", figureJson(diff.between)},
                 {"data_between_steps", figureJson(diff.loads)},
                 {"reasons", isComparable ? reasonsJson(reasonsOf(diff)) : Json::array()},
                 {"changes", reasonsJson(changeReasons(diff))}};
  Json& parts = object["parts"] = Json::array();
  for (const DiffPart& part : diff.parts) parts.push_back(partJson(part));
  object["jobs"] = jobsJson(diff);
  object["links"] = linksJson(diff);
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipetrace
