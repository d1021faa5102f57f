#include "analysis/present/comparison_report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/present/plan_report.h"
#include "analysis/present/summary_report.h"
#include "analysis/present/text_table.h"
#include "schedule/fingerprint.h"
#include "trace/text/decimal_time.h"
#include "trace/text/folded_line.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {

namespace {

/// The order in which the messages have to be, and what torch's order costs where that differs.
std::string orderText(const ComparedPlan& plan) {
  if (!plan.needsOrderInTime()) return "any";
  if (!plan.inTorchOrder) return "in time";
  const Nanoseconds more = *plan.inTorchOrder - *plan.inTime;
  return "in time (torch's: +" + percentText(more, *plan.inTime) + ")";
}

std::string weightsText(const ComparedPlan& plan) {
  if (plan.hasWeightsTwice) return "of two stages";
  if (!plan.isAsynchronous) return "1 version";
  return countText(plan.weightVersions, "version") + ", no flush";
}

std::string planTable(const CompareInput& input, const std::vector<ComparedPlan>& plans) {
  const bool hasWeights = std::any_of(plans.begin(), plans.end(), [](const ComparedPlan& plan) {
    return plan.hasWeightsTwice || plan.isAsynchronous;
  });
  std::vector<Nanoseconds> lengths;
  for (const ComparedPlan& plan : plans) lengths.push_back(plan.length);
  const std::vector<std::string> steps = distinctDurations(lengths);
  std::vector<std::string> header = {"schedule", "chunks", "step", "bubble ratio",
                                     "peak activations"};
  if (input.hasMemory) header.emplace_back("peak memory");
  header.insert(header.end(), {"messages", "order"});
  if (hasWeights) header.emplace_back("weights");
  TextTable table(header);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const ComparedPlan& plan = plans[i];
    std::vector<std::string> row = {std::string(plan.schedule), std::to_string(plan.chunks),
                                    steps[i], ratioText(plan.bubbleRatio),
                                    fixedText(plan.peakActivations, 2)};
    if (input.hasMemory) row.push_back(bytesText(plan.peakMemory));
    row.push_back(std::to_string(plan.messages));
    row.push_back(orderText(plan));
    if (hasWeights) row.push_back(weightsText(plan));
    table.addRow(row);
  }
  return table.toText();
}

/// Says what the steps of plans without a flush are; empty: there are none.
std::string withoutFlushText(const std::vector<ComparedPlan>& plans, std::size_t width) {
  std::string names;
  std::string steady;
  std::set<Nanoseconds> times;
  int count = 0;
  for (const ComparedPlan& plan : plans) {
    if (!plan.isAsynchronous) continue;
    names += (count++ == 0 ? "" : ", ") + std::string(plan.schedule);
    if (!plan.steadyStep) continue;
    times.insert(*plan.steadyStep);
    steady += (steady.empty() ? "" : ", ") + formatDuration(*plan.steadyStep) + " (" +
              std::string(plan.schedule) + ")";
  }
  if (count == 0) return {};
  std::string text = "no flush: the " + std::string(count == 1 ? "step" : "steps") + " of " +
                     names + (count == 1 ? " is" : " are") +
                     " of a batch alone, which fills the pipeline and drains it";
  if (times.size() == 1) steady = formatDuration(*times.begin());
  if (!steady.empty()) text += ". A run does that once; each batch more adds " + steady;
  return foldedLine(text, width) + "\n";
}

/// "FThenB, GPipe with 1 chunk (8.00 activations on rank 0)".
std::string leftOutItem(const std::string& names, const LeftOutPlan& plan, int mostChunks) {
  std::string text = names;
  if (static_cast<int>(plan.chunks.size()) < mostChunks) {
    text += " with " + numbersText(plan.chunks);
    text += plan.chunks == std::vector<int>{1} ? " chunk" : " chunks";
  }
  return plan.detail.empty() ? text : text + " (" + plan.detail + ")";
}

/// Those with one reason. Neighbours that are left out alike share what is said about them.
std::string leftOutItems(const std::vector<LeftOutPlan>& leftOut, const std::string& reason,
                         int mostChunks) {
  std::vector<const LeftOutPlan*> plans;
  for (const LeftOutPlan& each : leftOut) {
    if (each.reason == reason) plans.push_back(&each);
  }
  std::string text;
  std::string names;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    names += (names.empty() ? "" : ", ") + std::string(plans[i]->schedule);
    const bool isLikeNext = i + 1 < plans.size() && plans[i + 1]->chunks == plans[i]->chunks &&
                            plans[i + 1]->detail == plans[i]->detail;
    if (isLikeNext) continue;
    text += (text.empty() ? "" : "; ") + leftOutItem(names, *plans[i], mostChunks);
    names.clear();
  }
  return text;
}

/// One line for each reason.
std::string leftOutText(const CompareInput& input, const std::vector<LeftOutPlan>& leftOut,
                        std::size_t width) {
  std::string text;
  std::set<std::string> done;
  for (const LeftOutPlan& each : leftOut) {
    if (!done.insert(each.reason).second) continue;
    const std::string line =
        "left out, " + each.reason + ": " + leftOutItems(leftOut, each.reason, input.mostChunks);
    text += foldedLine(line, width) + "\n";
  }
  return text;
}

std::string costsText(const ComparedRun& run, std::size_t width) {
  if (run.replicas < 2) return {};
  return foldedLine("the costs are those of replica " + std::to_string(run.replica) + " of " +
                        std::to_string(run.replicas) +
                        ", whose jobs end last; no other one is taken to be slower after a change",
                    width) +
         "\n";
}

/// Says that the costs of plans have no launches.
std::string launchText(const ComparedRun& run, std::size_t width) {
  if (run.launch <= 0) return {};
  return foldedLine("jobs of the run began " + formatDuration(run.launch) +
                        " after their last input in the median; the table has no launches, "
                        "what-if --schedule has them",
                    width) +
         "\n";
}

/// The measured step beside that of the run's own schedule.
std::string runText(const ComparedRun& run, const ComparedPlans& compared, std::size_t width) {
  if (run.step <= 0) return {};
  std::string text = "the run took " + formatDuration(run.step) + " a step in the median";
  const ComparedPlan* const row = rowOf(run, compared);
  if (row == nullptr) {
    text += run.schedule.empty() ? "; no schedule is known that has its order"
                                 : " under " + run.schedule + ", which the table lacks";
    return foldedLine(text, width) + "\n";
  }
  constexpr double kMuch = 0.1;
  const double off = static_cast<double>(row->length - run.step) / static_cast<double>(run.step);
  const std::string percent = fixedText(100 * std::abs(off), 1);
  text += " under " + run.schedule + "; the table has it at " + formatDuration(row->length);
  if (percent != "0.0") text += ", " + percent + (off < 0 ? " % less" : " % more");
  if (std::abs(off) > kMuch) {
    text +=
        ". The costs lack something that holds the run up, such as launches, or processors that "
        "ranks share; other rows may be off as much";
  }
  return foldedLine(text, width) + "\n";
}

}  // namespace

const ComparedPlan* rowOf(const ComparedRun& run, const ComparedPlans& compared) {
  const auto found =
      std::find_if(compared.plans.begin(), compared.plans.end(), [&](const ComparedPlan& plan) {
        return plan.schedule == run.schedule && plan.chunks == run.chunks;
      });
  return found == compared.plans.end() ? nullptr : &*found;
}

std::vector<std::string> distinctDurations(const std::vector<Nanoseconds>& times) {
  const Nanoseconds longest = times.empty() ? 0 : *std::max_element(times.begin(), times.end());
  const bool isInSeconds = longest >= 10 * kNsPerSecond;
  const bool isInMs = longest >= 10 * kNsPerUs;
  const double unit = isInSeconds ? 1e9 : isInMs ? 1e6 : 1e3;
  const char* const name = isInSeconds ? " s" : isInMs ? " ms" : " us";
  const std::size_t different = std::set<Nanoseconds>(times.begin(), times.end()).size();
  constexpr int kMostDecimals = 6;
  std::vector<std::string> texts;
  for (int decimals = 2; decimals <= kMostDecimals; ++decimals) {
    texts.clear();
    for (const Nanoseconds time : times) {
      texts.push_back(fixedText(static_cast<double>(time) / unit, decimals) + name);
    }
    if (std::set<std::string>(texts.begin(), texts.end()).size() == different) break;
  }
  return texts;
}

std::string comparisonText(const CompareInput& input, const ComparedPlans& compared, int width,
                           const std::optional<ComparedRun>& run) {
  const auto columns = static_cast<std::size_t>(std::max(width, 0));
  std::string text = countText(input.ranks, "rank") + ", " +
                     countText(input.microBatches, "micro-batch", "micro-batches");
  text += compared.plans.empty() ? ": no plan is left\n" : ", the shortest step first\n\n";
  if (!compared.plans.empty()) text += planTable(input, compared.plans);
  const std::string withoutFlush = withoutFlushText(compared.plans, columns);
  if (!withoutFlush.empty()) text += "\n" + withoutFlush;
  if (run)
    text += "\n" + runText(*run, compared, columns) + costsText(*run, columns) +
            launchText(*run, columns);
  const std::string leftOut = leftOutText(input, compared.leftOut, columns);
  return leftOut.empty() ? text : text + "\n" + leftOut;
}

namespace {

using ComparisonObject = nlohmann::ordered_json;

ComparisonObject timeJson(const std::optional<Nanoseconds>& time) {
  return time ? ComparisonObject(*time) : ComparisonObject(nullptr);
}

ComparisonObject comparedJson(const CompareInput& input, const ComparedPlan& plan) {
  ComparisonObject json = {{"schedule", plan.schedule},
                           {"chunks", plan.chunks},
                           {"name", plan.name},
                           {"fingerprint", fingerprintText(plan.fingerprint)},
                           {"length_ns", plan.length},
                           {"bubble_ratio", plan.bubbleRatio},
                           {"peak_activations", plan.peakActivations}};
  json["peak_memory_bytes"] =
      input.hasMemory ? ComparisonObject(plan.peakMemory) : ComparisonObject(nullptr);
  json["messages"] = plan.messages;
  json["order"] = plan.needsOrderInTime() ? "in-time" : "any";
  json["torch_order_ns"] = timeJson(plan.inTorchOrder);
  json["in_time_ns"] = timeJson(plan.inTime);
  json["asynchronous"] = plan.isAsynchronous;
  json["steady_step_ns"] = timeJson(plan.steadyStep);
  json["weight_versions"] = plan.weightVersions;
  json["weights_of_two_stages"] = plan.hasWeightsTwice;
  return json;
}

}  // namespace

std::string comparisonJson(const CompareInput& input, const ComparedPlans& compared,
                           const std::optional<ComparedRun>& run) {
  ComparisonObject plans = ComparisonObject::array();
  for (const ComparedPlan& plan : compared.plans) plans.push_back(comparedJson(input, plan));
  ComparisonObject leftOut = ComparisonObject::array();
  for (const LeftOutPlan& plan : compared.leftOut) {
    const std::string detail = plan.detail.empty() ? "" : ": " + plan.detail;
    leftOut.push_back(
        {{"schedule", plan.schedule}, {"chunks", plan.chunks}, {"reason", plan.reason + detail}});
  }
  ComparisonObject json = {{"ranks", input.ranks},
                           {"micro_batches", input.microBatches},
                           {"plans", plans},
                           {"left_out", leftOut}};
  if (run) {
    const ComparedPlan* const row = rowOf(*run, compared);
    json["run"] = {{"schedule", run->schedule}, {"chunks", run->chunks}};
    json["run"]["step_ns"] = timeJson(run->step > 0 ? std::optional(run->step) : std::nullopt);
    json["run"]["length_ns"] = timeJson(row == nullptr ? std::nullopt : std::optional(row->length));
    if (run->replicas > 1) {
      json["run"]["replica"] = run->replica;
      json["run"]["replicas"] = run->replicas;
    }
  }
  return json.dump(2, ' ', false, ComparisonObject::error_handler_t::replace) + "\n";
}

}  // namespace pipetrace
