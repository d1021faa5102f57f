#include "analysis/present/summary_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "analysis/median.h"
#include "analysis/present/class_times.h"
#include "analysis/present/doubt_sentences.h"
#include "analysis/present/text_table.h"
#include "analysis/ratio.h"
#include "trace/text/decimal_time.h"
#include "trace/text/fit_to_print.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"
#include "trace/topology.h"

namespace pipetrace {

namespace {

std::string asynchronousLine(const RunSummary& summary) {
  std::map<int, int> windows;  // by replica
  for (const StepSummary& step : summary.steps) windows[step.replica] += step.isWholeRun ? 1 : 0;
  int most = 0;
  for (const auto& [replica, count] : windows) most = std::max(most, count);
  if (most == 0) return {};
  return std::string("weights change inside steps: ") +
         (most == 1 ? "the run counts as one step"
                    : "all steps up to those of another phase count as one") +
         ", from the first backward of " + (most == 1 ? "its" : "the") +
         " first rank to its last "
         "forward";
}

}  // namespace

std::vector<OtherPhase> otherPhasesOf(const RunSummary& summary) {
  std::map<Phase, std::map<std::int32_t, Nanoseconds>> phases;
  for (const StepWindow& step : summary.otherSteps) {
    Nanoseconds& time = phases[step.phase][step.step];
    time = std::max(time, step.window());
  }
  std::vector<OtherPhase> others;
  for (const auto& [phase, steps] : phases) {
    OtherPhase& other = others.emplace_back();
    other.phase = phase;
    for (const auto& [number, time] : steps) {
      other.steps.push_back(number);
      other.time += time;
    }
  }
  return others;
}

std::vector<std::string> phaseLines(const RunSummary& summary) {
  std::vector<std::string> lines;
  if (std::string line = asynchronousLine(summary); !line.empty()) lines.push_back(std::move(line));
  if (summary.phase != Phase::kTraining) {
    lines.push_back("no step is of training: all figures are about the phase " +
                    std::string(logName(summary.phase)));
  }
  for (const OtherPhase& other : otherPhasesOf(summary)) {
    const bool isOne = other.steps.size() == 1;
    lines.push_back((isOne ? "step " : "steps ") + numbersText(other.steps) +
                    (isOne ? " is" : " are") + " of the phase " +
                    std::string(logName(other.phase)) + (isOne ? " and takes " : " and take ") +
                    formatDuration(other.time) +
                    (isOne ? "; no figure counts it" : "; no figure counts them"));
  }
  return lines;
}

std::string textOfLines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += fitLine(line);
  return text;
}

namespace {

/// A number of the summary as both reports show it.
struct SummaryFigure {
  const char* key;      ///< in the JSON; ends with _ns if it is a time
  const char* heading;  ///< of its column in the tables for people; empty: not shown there
  std::variant<Nanoseconds, double> value;  ///< a time or a ratio
};

// In the order in which the reports show them.

std::vector<SummaryFigure> figuresOf(const RankSummary& rank) {
  return {{"busy_ns", "busy", rank.busy},
          {"idle_ns", "idle", rank.idle},
          {"bubble_ratio", "bubble ratio", rank.bubbleRatio}};
}

std::vector<SummaryFigure> figuresOf(const StepSummary& step) {
  return {{"begin_ns", "", step.begin},
          {"end_ns", "", step.end},
          {"duration_ns", "", step.duration()},
          {"window_ns", "length", step.window()},
          {"between_steps_ns", "until next", step.betweenSteps},
          {"bubble_ratio", "bubble ratio", step.bubbleRatio},
          {"span_bubble", "span bubble", step.spanBubble}};
}

// Half of these steps are the first ones, half the last ones. The JSON report has all steps.
constexpr std::size_t kShownSteps = 16;

std::size_t replicaCount(const RunSummary& summary) {
  std::set<int> replicas;
  for (const RankSummary& rank : summary.ranks) replicas.insert(rank.replica);
  return replicas.size();
}

std::string headline(const Timeline& timeline, const RunSummary& summary) {
  std::set<std::int32_t> steps;
  for (const StepSummary& step : summary.steps) steps.insert(step.step);
  std::string text = countText(summary.ranks.size(), "rank");
  if (const std::size_t replicas = replicaCount(summary); replicas > 1) {
    text += " in " + std::to_string(replicas) + " pipelines";
  }
  text += ", " + countText(steps.size(), "step");
  const RankInfo& info = timeline.ranks.at(summary.ranks.front().rank);
  if (!info.schedule.empty()) text += ", schedule " + info.schedule;
  if (info.numMicroBatches) {
    text += ", " + countText(std::max(0, *info.numMicroBatches), "micro-batch", "micro-batches");
  }
  return fitLine(text) + textOfLines(phaseLines(summary));
}

/// The contents of a run in which nothing can be measured: "1 rank, 2 streams (recv, send), 480
/// events".
std::string contentsLine(const Timeline& timeline) {
  constexpr std::size_t kNamed = 8;
  std::set<int> ranks;
  std::set<std::string> streams;
  std::size_t events = 0;
  for (const Track& track : timeline.tracks) {
    const bool isBubbles = !track.events.empty() && track.events.front().kind == JobKind::kBubble;
    if (track.events.empty() || isBubbles) continue;
    ranks.insert(track.rank);
    streams.insert(track.lane);
    events += track.events.size();
  }
  std::string names;
  std::size_t named = 0;
  for (const std::string& stream : streams) {
    if (named++ == kNamed) break;
    names += (names.empty() ? "" : ", ") + stream;
  }
  if (streams.size() > kNamed) names += ", …";
  return countText(ranks.size(), "rank") + ", " + countText(streams.size(), "stream") +
         (names.empty() ? "" : " (" + names + ")") + ", " + countText(events, "event") + "\n";
}

std::string headingOf(const SummaryFigure& figure) { return figure.heading; }

std::string valueOf(const SummaryFigure& figure) {
  const auto* const time = std::get_if<Nanoseconds>(&figure.value);
  return time != nullptr ? formatDuration(*time) : ratioText(std::get<double>(figure.value));
}

/// A row of a table: what it is about, its pipeline (empty: the table has no such column), and the
/// figures that have a heading.
std::vector<std::string> tableRow(const std::string& number, const std::string& pipeline,
                                  const std::vector<SummaryFigure>& figures,
                                  std::string (*text)(const SummaryFigure&)) {
  std::vector<std::string> cells = {number};
  if (!pipeline.empty()) cells.push_back(pipeline);
  for (const SummaryFigure& figure : figures) {
    if (*figure.heading != '\0') cells.push_back(text(figure));
  }
  return cells;
}

/// The classes that occur, each a column.
std::vector<BubbleClass> shownClasses(const std::map<int, ClassTimes>& classes) {
  std::vector<BubbleClass> shown;
  for (const BubbleClass c : kReportedClasses) {
    const bool occurs = std::any_of(classes.begin(), classes.end(), [&](const auto& rank) {
      return rank.second[static_cast<std::size_t>(c)] > 0;
    });
    if (occurs) shown.push_back(c);
  }
  return shown;
}

std::string rankTable(const Timeline& timeline, const RunSummary& summary, int threads) {
  const bool replicas = replicaCount(summary) > 1;
  const std::map<int, ClassTimes> classes = classTimesOf(timeline, threads);
  const std::vector<BubbleClass> shown = shownClasses(classes);
  std::vector<std::string> header =
      tableRow("rank", replicas ? "pipeline" : "", figuresOf(RankSummary{}), headingOf);
  for (const BubbleClass c : shown) header.emplace_back(bubbleClassName(c));
  TextTable table(std::move(header));
  for (const RankSummary& rank : summary.ranks) {
    std::vector<std::string> row =
        tableRow(std::to_string(rank.rank), replicas ? std::to_string(rank.replica) : "",
                 figuresOf(rank), valueOf);
    const auto found = classes.find(rank.rank);
    for (const BubbleClass c : shown) {
      const Nanoseconds time =
          found == classes.end() ? 0 : found->second[static_cast<std::size_t>(c)];
      row.push_back(time == 0 ? "-" : formatDuration(time));
    }
    table.addRow(std::move(row));
  }
  return table.toText();
}

/// The kinds with a column in the table of stages: of jobs, and of all else that takes time.
std::set<JobKind> shownKinds(const std::vector<StageTimes>& stages) {
  std::set<JobKind> kinds;
  for (const StageTimes& stage : stages) {
    for (const auto& [kind, median] : stage.medians) kinds.insert(kind);
    for (const auto& [kind, median] : stage.others) {
      if (median > 0) kinds.insert(kind);
    }
  }
  return kinds;
}

std::string medianText(const StageTimes& stage, JobKind kind) {
  const auto& medians = isCompute(kind) ? stage.medians : stage.others;
  const auto found = std::find_if(medians.begin(), medians.end(),
                                  [&](const auto& median) { return median.first == kind; });
  return found == medians.end() ? "-" : formatDuration(found->second);
}

/// A row for each stage with the medians of its kinds, and the slowest; empty for one stage.
std::string stageTable(const Timeline& timeline, int threads) {
  constexpr std::size_t kMostStages = 64;
  const std::vector<StageTimes> stages = stageTimesOf(timeline, threads);
  if (stages.size() < 2 || stages.size() > kMostStages) return {};
  const std::set<JobKind> kinds = shownKinds(stages);
  // Ranks that take turns at a stage share its time.
  const std::vector<std::vector<int>> turns = statedStageRanks(timeline);
  std::vector<Nanoseconds> lengths;
  std::map<JobKind, std::vector<Nanoseconds>> ofKinds;
  for (const StageTimes& stage : stages) {
    const auto number = static_cast<std::size_t>(stage.stage);
    const auto ranks = static_cast<Nanoseconds>(number < turns.size() ? turns[number].size() : 1);
    lengths.push_back(stage.sum() / ranks);
    for (const auto& [kind, median] : stage.medians) ofKinds[kind].push_back(median / ranks);
  }
  std::vector<std::string> header = {"stage", "ranks"};
  for (const JobKind kind : kinds) header.emplace_back(logName(kind));
  TextTable table(std::move(header));
  for (const StageTimes& stage : stages) {
    std::vector<std::string> row = {std::to_string(stage.stage),
                                    std::to_string(stage.ranks.front())};
    if (stage.ranks.size() > 1) {
      row.back() += " and " + std::to_string(stage.ranks.size() - 1) + " more";
    }
    for (const JobKind kind : kinds) row.push_back(medianText(stage, kind));
    table.addRow(std::move(row));
  }
  const auto slowest = std::max_element(lengths.begin(), lengths.end());
  const Nanoseconds longest = *slowest;
  const StageTimes& slowestStage = stages[static_cast<std::size_t>(slowest - lengths.begin())];
  // As SlowerStages has it: the median of each kind over the stages that have it.
  Nanoseconds usual = 0;
  for (const auto& [kind, median] : slowestStage.medians) usual += medianOf(ofKinds.at(kind));
  const bool hasMessages = std::any_of(kinds.begin(), kinds.end(), isTransfer);
  std::string text = std::string("\nmedian lengths of jobs") +
                     (hasMessages ? " and messages" : "") + "\n" + table.toText();
  const auto waits = [](JobKind kind) { return isRecv(kind) || isCollective(kind); };
  if (std::any_of(kinds.begin(), kinds.end(), waits)) {
    text += "receives and collectives last with the wait for other ranks\n";
  }
  // Stages that differ by less than this are alike.
  constexpr double kAlike = 1.02;
  // The median of two is the mean of both.
  const bool areTwo = stages.size() == 2;
  const double factor =
      ratio(longest, areTwo ? *std::min_element(lengths.begin(), lengths.end()) : usual);
  if (factor < kAlike) return text;
  return text + "over all steps, stage " + std::to_string(slowestStage.stage) +
         " is the slowest: " + factorText(factor) +
         (areTwo ? " times the other stage\n" : " times the median of stages\n");
}

std::string stepTable(const RunSummary& summary) {
  const bool replicas = replicaCount(summary) > 1;
  const std::vector<std::string> header =
      tableRow("step", replicas ? "pipeline" : "", figuresOf(StepSummary{}), headingOf);
  TextTable table(header);
  for (std::size_t i = 0; i < summary.steps.size(); ++i) {
    const std::size_t fromEnd = summary.steps.size() - i;
    if (i >= kShownSteps / 2 && fromEnd > kShownSteps / 2) {
      if (i == kShownSteps / 2) table.addRow(std::vector<std::string>(header.size(), "..."));
      continue;
    }
    const StepSummary& step = summary.steps[i];
    table.addRow(tableRow(std::to_string(step.step), replicas ? std::to_string(step.replica) : "",
                          figuresOf(step), valueOf));
  }
  return table.toText();
}

std::string deviceTable(const RunSummary& summary) {
  TextTable table({"rank", "stage", "in jobs", "device busy", "comm inside", "launch-bound"});
  for (const StageDeviceWork& work : overSteps(summary.deviceWork)) {
    const auto share = [&](Nanoseconds part) {
      return formatDuration(part) + " (" + percentText(part, work.length) + ")";
    };
    table.addRow({std::to_string(work.rank),
                  work.stage == kNotGiven ? "-" : std::to_string(work.stage),
                  formatDuration(work.length), share(work.busy), share(work.commInside),
                  share(work.launchBound())});
  }
  return "inside jobs the device worked for them, ran their collectives, or waited for "
         "launches:\n" +
         table.toText();
}

}  // namespace

/// An asynchronous pipeline has one window, or one before and one after steps of other phases.
std::string ratioText(double ratio) { return fixedText(ratio, 4); }

std::string textReport(const Timeline& timeline, const RunSummary& summary, int threads,
                       const std::vector<Doubt>& doubts) {
  std::string text;
  for (const Doubt& doubt : doubts) text += fitLine(doubtLine(doubt));
  if (summary.ranks.empty()) {
    return text + contentsLine(timeline) +
           "no forward or backward jobs, so there are no steps and nothing to measure\n";
  }
  text += headline(timeline, summary);
  text += "bubble ratio " + ratioText(summary.bubbleRatio) + "\n\n";
  text += rankTable(timeline, summary, threads) + stageTable(timeline, threads) + "\n" +
          stepTable(summary);
  if (!summary.deviceWork.empty()) text += "\n" + deviceTable(summary);
  if (summary.topologyInferred) {
    text += "\nThe logs do not say how the ranks are arranged: the pipelines were inferred.\n";
  }
  return text;
}

namespace {

using Json = nlohmann::ordered_json;

void addFigures(Json& object, const std::vector<SummaryFigure>& figures) {
  for (const SummaryFigure& figure : figures) {
    std::visit([&](auto value) { object[figure.key] = value; }, figure.value);
  }
}

/// Which pipeline it is of: its data-parallel index, and its tensor-parallel one.
void addPipeline(Json& object, int number, int tensorRanks) {
  object["replica"] = number / tensorRanks;
  if (tensorRanks > 1) object["tensor_parallel_index"] = number % tensorRanks;
}

Json toJson(const StepSummary& step, int tensorRanks) {
  Json object = {{"step", step.step}};
  addPipeline(object, step.replica, tensorRanks);
  addFigures(object, figuresOf(step));
  if (step.isWholeRun) object["whole_run"] = true;
  Json& ranks = object["ranks"] = Json::array();
  for (const RankStep& rank : step.ranks) {
    ranks.push_back({{"rank", rank.rank}, {"busy_ns", rank.busy}, {"idle_ns", rank.idle}});
  }
  return object;
}

Json toJson(const RankSummary& rank, int tensorRanks) {
  Json object = {{"rank", rank.rank}};
  addPipeline(object, rank.replica, tensorRanks);
  addFigures(object, figuresOf(rank));
  return object;
}

Json toJson(const StageDeviceWork& work) {
  Json object = {{"rank", work.rank}};
  if (work.stage != kNotGiven) object["stage"] = work.stage;
  object["jobs"] = work.jobs;
  object["kernels"] = work.kernels;
  object["length_ns"] = work.length;
  object["device_busy_ns"] = work.busy;
  object["comm_inside_ns"] = work.commInside;
  object["launch_bound_ns"] = work.launchBound();
  return object;
}

Json stagesJson(const Timeline& timeline, int threads) {
  Json list = Json::array();
  for (const StageTimes& stage : stageTimesOf(timeline, threads)) {
    Json medians = Json::object();
    for (const auto& [kind, median] : stage.medians) medians[std::string(logName(kind))] = median;
    for (const auto& [kind, median] : stage.others) medians[std::string(logName(kind))] = median;
    list.push_back({{"stage", stage.stage}, {"ranks", stage.ranks}, {"medians_ns", medians}});
  }
  return list;
}

}  // namespace

std::string jsonReport(const Timeline& timeline, const RunSummary& summary, int threads,
                       const std::vector<Doubt>& doubts) {
  const std::map<int, ClassTimes> classes = classTimesOf(timeline, threads);
  Json ranks = Json::array();
  for (const RankSummary& rank : summary.ranks) {
    ranks.push_back(toJson(rank, summary.tensorRanks));
    const auto found = classes.find(rank.rank);
    if (found == classes.end()) continue;
    Json& bubbles = ranks.back()["bubbles"] = Json::object();
    for (const BubbleClass c : kReportedClasses) {
      const Nanoseconds time = found->second[static_cast<std::size_t>(c)];
      if (isReported(c, time)) bubbles[std::string(bubbleClassName(c))] = time;
    }
  }
  Json steps = Json::array();
  for (const StepSummary& step : summary.steps) steps.push_back(toJson(step, summary.tensorRanks));
  Json report = {
      {"trust", Json::parse(doubtsJson(doubts))},      {"bubble_ratio", summary.bubbleRatio},
      {"topology_inferred", summary.topologyInferred}, {"ranks", ranks},
      {"stages", stagesJson(timeline, threads)},       {"steps", steps}};
  addPhases(summary, report);
  if (!summary.deviceWork.empty()) {
    Json& work = report["device_work"] = Json::array();
    for (const StageDeviceWork& each : overSteps(summary.deviceWork)) work.push_back(toJson(each));
  }
  return report.dump(2) + "\n";
}

}  // namespace pipetrace
