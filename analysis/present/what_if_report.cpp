#include "analysis/present/what_if_report.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/present/text_table.h"
#include "trace/text/decimal_time.h"
#include "trace/text/fit_to_print.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

using Json = nlohmann::ordered_json;
using Rank = WhatIfFigures::Rank;

constexpr int kNoClass = -1;  // work

/// The time of a rank in a class of bubbles, or in work.
double timeOf(const Rank& rank, int what) {
  return what == kNoClass ? rank.work : rank.bubbles[static_cast<std::size_t>(what)];
}

std::string nameOf(int what) {
  return what == kNoClass ? "work" : std::string(bubbleClassName(static_cast<BubbleClass>(what)));
}

/// By position, where one of both runs may have fewer ranks.
std::vector<std::pair<const Rank*, double>> differencesOf(const WhatIfAnswer& answer, int what) {
  std::vector<std::pair<const Rank*, double>> differences;
  for (const Rank& rank : answer.changed.ranks) {
    double before = 0;
    for (const Rank& other : answer.unchanged.ranks) {
      if (other.position == rank.position) before = timeOf(other, what);
    }
    differences.emplace_back(&rank, timeOf(rank, what) - before);
  }
  return differences;
}

std::string stagesText(const Rank& rank) {
  if (rank.stages.empty()) return "rank " + std::to_string(rank.position);
  std::string text = rank.stages.size() == 1 ? "stage " : "stages ";
  for (const std::int32_t stage : rank.stages) {
    text += (stage == rank.stages.front() ? "" : ",") + std::to_string(stage);
  }
  return text;
}

std::string timeText(double time) {
  return (time < 0 ? "-" : "") + formatDuration(std::llround(std::abs(time)));
}
std::string signedTimeText(double time) { return (time > 0 ? "+" : "") + timeText(time); }

std::string signedPercent(double share) {
  const std::string text = fixedText(100 * share, 2);
  const bool isZero = text == "0.00" || text == "-0.00";
  return (share > 0 && !isZero ? "+" : "") + (isZero ? "0.00" : text) + " %";
}

void addRow(TextTable& table, const char* name, const WhatIfFigures& figures,
            const std::string& change, bool isOfWall) {
  std::vector<std::string> row = {name, formatDuration(figures.step)};
  if (isOfWall) row.push_back(figures.wall ? formatDuration(*figures.wall) : "");
  row.insert(row.end(),
             {change, fixedText(figures.bubbleRatio, 4), fixedText(figures.perSecond, 2)});
  table.addRow(std::move(row));
}

struct Difference {
  int what = kNoClass;
  double time = 0;  // over all ranks
  std::string most;
};

/// Those of work and of all classes, if they are more than a thousandth of all time.
std::vector<Difference> differencesOf(const WhatIfAnswer& answer) {
  std::vector<int> all = {kNoClass};
  for (const BubbleClass each : kReportedClasses) all.push_back(static_cast<int>(each));
  const double least = 1e-3 * static_cast<double>(answer.unchanged.step) *
                       static_cast<double>(answer.unchanged.ranks.size());
  std::vector<Difference> list;
  for (const int what : all) {
    Difference difference{.what = what};
    const auto byRank = differencesOf(answer, what);
    const std::pair<const Rank*, double>* most = nullptr;
    for (const auto& each : byRank) difference.time += each.second;
    for (const auto& each : byRank) {
      // On the side of the sum.
      const double own = difference.time < 0 ? -each.second : each.second;
      const double best = most == nullptr ? 0 : difference.time < 0 ? -most->second : most->second;
      if (own > best) most = &each;
    }
    if (std::abs(difference.time) < least) continue;
    if (most != nullptr) {
      difference.most = stagesText(*most->first) + ": " + signedTimeText(most->second);
    }
    list.push_back(std::move(difference));
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return std::abs(a.time) > std::abs(b.time);
  });
  return list;
}

std::string differencesText(const WhatIfAnswer& answer) {
  std::string text;
  const std::vector<Difference> all = differencesOf(answer);
  for (const bool goes : {true, false}) {
    std::string lines;
    for (const Difference& each : all) {
      if ((each.time < 0) != goes) continue;
      lines += fitLine("  " + nameOf(each.what) + " " + signedTimeText(each.time) +
                       (each.most.empty() ? "" : ", most at " + each.most));
    }
    if (lines.empty()) continue;
    text += std::string(goes ? "\nWhat goes away" : "\nWhat appears") +
            ", a step, over all ranks of a pipeline:\n" + lines;
  }
  return text;
}

std::string peaksText(const std::vector<double>& peaks) {
  std::string text;
  for (const double peak : peaks) {
    const bool isWhole = std::abs(peak - std::round(peak)) < 1e-3;
    text += (text.empty() ? "" : " ") + fixedText(peak, isWhole ? 0 : 2);
  }
  return text;
}

Json jsonOf(const WhatIfFigures& figures, bool isInTokens) {
  Json json{{"step_ns", figures.step},
            {"mean_step_ns", std::llround(figures.meanStep)},
            {"step_wall_ns", nullptr},
            {"mean_step_wall_ns", nullptr}};
  if (figures.wall) json["step_wall_ns"] = *figures.wall;
  if (figures.meanWall) json["mean_step_wall_ns"] = std::llround(*figures.meanWall);
  json["bubble_ratio"] = figures.bubbleRatio;
  json[isInTokens ? "tokens_per_second" : "steps_per_second"] = figures.perSecond;
  for (const Rank& rank : figures.ranks) {
    Json bubbles = Json::object();
    for (const BubbleClass each : kReportedClasses) {
      const double time = rank.bubbles[static_cast<std::size_t>(each)];
      if (isReported(each, std::llround(time))) {
        bubbles[std::string(bubbleClassName(each))] = std::llround(time);
      }
    }
    json["ranks"].push_back({{"position", rank.position},
                             {"stages", rank.stages},
                             {"work_ns", std::llround(rank.work)},
                             {"bubbles_ns", bubbles}});
  }
  return json;
}

/// What a simulated change comes to for the run that was measured.
std::string predictionText(const WhatIfReport& report) {
  const WhatIfAnswer& answer = report.answer;
  if (!answer.isByModel || !answer.refusal.empty() || report.asked.empty()) return "";
  const auto told = [&](double change) {
    return formatDuration(answer.predictedWith(change)) + ", " + signedPercent(change);
  };
  const char* const what = answer.isWholeRun ? "the run" : "the step";
  std::string text = std::string(what) + " then takes " + told(answer.change()) +
                     ": the measured " + formatDuration(answer.paid()) +
                     ", changed as much as the simulated one";
  if (answer.dependsOnOrder()) {
    text += ". That is if messages wait for no others; " +
            told(answer.changeTo(*answer.changedInLine)) +
            ", if those of a rank go one after the other, as in torch.distributed.pipelining. The "
            "run does not show which";
  }
  return fitLine(text);
}

}  // namespace

std::string whatIfErrorsText(const WhatIfAnswer& answer) {
  std::string text = "replay error " + formatDuration(answer.replayError) +
                     ": the run again, nothing changed, beside the run\n";
  if (answer.modelError) {
    text += "model error " + signedPercent(*answer.modelError) +
            ": its simulation with medians, nothing changed, beside the run\n";
  } else {
    text += "no model error: " + answer.noModel + "\n";
  }
  return text;
}

std::string whatIfText(const WhatIfReport& report) {
  const WhatIfAnswer& answer = report.answer;
  std::string asked;
  for (const std::string& each : report.asked) asked += (asked.empty() ? "" : " ") + each;
  std::string text =
      answer.schedule + (asked.empty() ? ", nothing changed" : ": " + asked) + "\n\n";
  const bool isOfWall = answer.isOfWall;
  std::vector<std::string> head = {"", "step"};
  if (isOfWall) head.emplace_back("wall time");
  head.insert(head.end(), {"change", "bubble ratio", answer.isInTokens ? "tokens/s" : "steps/s"});
  TextTable table(std::move(head));
  addRow(table, "measured", answer.measured, "", isOfWall);
  if (answer.isByModel ? answer.modelError.has_value() : true) {
    addRow(table, answer.isByModel ? "simulated" : "run again", answer.unchanged, "", isOfWall);
  }
  if (answer.refusal.empty() && !report.asked.empty()) {
    addRow(table, "changed", answer.changed, signedPercent(answer.change()), isOfWall);
  }
  text += table.toText();
  text += std::string(answer.isWholeRun
                          ? "the run is asynchronous: the step is the whole run, while its "
                            "pipeline is full; "
                          : "a step is a median, ") +
          (answer.isInTokens ? "tokens/s" : "steps/s") +
          " are means with the pauses between steps" +
          (isOfWall ? "; the change is that of the wall time" : "") + "\n" +
          predictionText(report) + "\n" + whatIfErrorsText(answer);
  if (!answer.refusal.empty()) return text + "\n" + fitLine(answer.refusal);
  text += differencesText(answer);
  if (!answer.peaks.empty()) {
    text += "\npeak activations by rank: " + peaksText(answer.peaks);
    if (answer.changedPeaks != answer.peaks) {
      text += "; changed: " + peaksText(answer.changedPeaks);
    }
    text += "\n";
  }
  if (!answer.assumptions.empty()) text += "\nThe answer rests on this:\n";
  for (const std::string& each : answer.assumptions) text += fitLine("  - " + each);
  return text;
}

std::string whatIfJson(const WhatIfReport& report) {
  const WhatIfAnswer& answer = report.answer;
  Json json{
      {"asked", report.asked},        {"schedule", answer.schedule},
      {"by_model", answer.isByModel}, {"replay_error_ns", answer.replayError},
      {"model_error", nullptr},       {"measured", jsonOf(answer.measured, answer.isInTokens)}};
  if (answer.modelError) {
    json["model_error"] = *answer.modelError;
  } else {
    json["no_model"] = answer.noModel;
  }
  if (!answer.isByModel || answer.modelError) {
    json["unchanged"] = jsonOf(answer.unchanged, answer.isInTokens);
  }
  json["rests_on"] = answer.assumptions;
  if (answer.refusal.empty()) {
    json["changed"] = jsonOf(answer.changed, answer.isInTokens);
    json["change"] = answer.change();
    if (answer.isByModel) {
      json["predicted_step_ns"] = answer.predictedWith(answer.change());
    }
    if (answer.changedInLine) json["change_in_line"] = answer.changeTo(*answer.changedInLine);
    json["peak_activations"] = {{"unchanged", answer.peaks}, {"changed", answer.changedPeaks}};
  } else {
    json["refusal"] = answer.refusal;
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipetrace
