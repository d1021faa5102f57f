#include "analysis/present/advice_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/present/run_report.h"
#include "trace/text/decimal_time.h"
#include "trace/text/fit_to_print.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

using Json = nlohmann::ordered_json;

std::string percentOfRun(double share) { return fixedText(100 * share, 1) + " %"; }

const char* kindName(Advice::Of of) {
  switch (of) {
    case Advice::Of::kSchedule: return "schedule";
    case Advice::Of::kMicroBatches: return "micro_batches";
    case Advice::Of::kMessageOrder: return "message_order";
    case Advice::Of::kMessageLines: return "message_lines";
    case Advice::Of::kWarmUp: return "warm_up";
    case Advice::Of::kPartition: return "partition";
    case Advice::Of::kBalance: return "balance";
    case Advice::Of::kStage: return "stage";
    case Advice::Of::kRank: return "rank";
    case Advice::Of::kLink: return "link";
    case Advice::Of::kLaunches: return "launches";
    case Advice::Of::kLengths: return "lengths";
    case Advice::Of::kPauses: return "pauses";
    case Advice::Of::kData: return "data";
    case Advice::Of::kLoad: return "load";
    case Advice::Of::kGroup: return "group";
    case Advice::Of::kWeights: return "weights";
    case Advice::Of::kContention: return "contention";
    case Advice::Of::kOptimizer: return "optimizer";
    case Advice::Of::kVariation: return "variation";
  }
  return "";
}

/// Names what takes as long as a step: steps of an asynchronous run have no end of their own.
const char* subjectOf(const AdviceList& list) { return list.isWholeRun ? "the run" : "the step"; }

/// Where messages may or may not wait for each other.
std::string orderOf(const Advice& advice) {
  if (!advice.dependsOnOrder()) return "";
  const double gain = advice.inLine->gain;
  return " if its messages wait for no others; " + formatDuration(advice.inLine->step) + ", " +
         percentOfRun(std::abs(gain)) + (gain < 0 ? " more" : " less") +
         ", if those of a rank go one after the other, as in torch.distributed.pipelining";
}

std::string sentenceOf(const Advice& advice, const AdviceList& list) {
  return advice.what + ": " + subjectOf(list) + " takes " + formatDuration(advice.step) +
         (list.wall ? " of wall time, " : ", ") + percentOfRun(advice.gain) + " less" +
         orderOf(advice);
}

std::string priceOf(const Advice& advice, const AdviceList& list) {
  std::string text = advice.isByModel ? "error " + percentOfRun(advice.error) + " (simulated)"
                                      : std::string("no error of a model (the run itself again)");
  if (advice.peak > 0) {
    text += "; activations of a rank " + fixedText(advice.peak, 2) + ", " +
            fixedText(list.peak, 2) + " today";
  }
  if (advice.messages > 0) text += "; " + std::to_string(advice.messages) + " messages a step";
  return text;
}

std::string nothingText(const AdviceList& list) {
  return "nothing gains more than " + fixedText(100 * AdviceList::kLeastGain, 0) + " % (" +
         countText(list.tried, "change was", "changes were") + " computed)";
}

std::string textOf(const Advice& advice, int number, const AdviceList& list) {
  constexpr const char* kIndent = "   ";
  std::size_t width = 0;
  for (const FrameworkOption& option : advice.options) {
    width = std::max(width, option.framework.size());
  }
  std::string text = fitLine(std::to_string(number) + ". " + sentenceOf(advice, list));
  text += kIndent + priceOf(advice, list) + "\n";
  for (const std::string& note : advice.notes) text += fitLine(kIndent + note);
  for (const FrameworkOption& option : advice.options) {
    text +=
        fitLine(kIndent + option.framework + std::string(width + 2 - option.framework.size(), ' ') +
                (option.exists ? "" : "cannot: ") + option.text);
  }
  if (!advice.command.empty()) text += kIndent + std::string("look: ") + advice.command + "\n";
  return text;
}

}  // namespace

std::string firstAdvice(const AdviceList& list) {
  return list.best.empty() ? nothingText(list) : sentenceOf(list.best.front(), list);
}

std::vector<AdviceSentence> adviceSentences(const AdviceList& list) {
  std::vector<AdviceSentence> sentences;
  for (const Advice& advice : list.best) {
    sentences.push_back(
        {sentenceOf(advice, list) + "; " + priceOf(advice, list), advice.command, advice.notes});
  }
  if (sentences.empty()) sentences.push_back({.text = nothingText(list), .isNone = true});
  return sentences;
}

std::string adviceText(const AdviceList& list) {
  std::string text = std::string(subjectOf(list)) + " takes " + formatDuration(list.step) +
                     (list.isWholeRun ? " while its pipeline is full" : " in the median");
  if (list.wall)
    text += ", " + formatDuration(*list.wall) + " of wall time to the next one's begin";
  text += ", schedule " + fitInLine(list.schedule);
  if (list.microBatches > 0)
    text += ", " + countText(list.microBatches, "micro-batch", "micro-batches");
  text += "\n";
  if (list.isWholeRun) {
    text +=
        "the run is asynchronous: it counts as one step, as none of its steps has an end of its "
        "own\n";
  }
  if (list.modelError) {
    text += "simulated as it was, the step takes " + formatDuration(list.simulatedStep) +
            ", off by " + percentOfRun(*list.modelError) +
            "; a predicted step is the measured one, changed as much as the simulated one\n";
  }
  if (list.peak > 0) {
    text += "a rank holds " + fixedText(list.peak, 2) + " activations at most, and may hold " +
            fixedText(list.limit, 2) + "\n";
  }
  text += "\n";
  if (list.best.empty()) text += nothingText(list) + "\n";
  int number = 0;
  for (const Advice& advice : list.best) {
    if (number > 0) text += "\n";
    text += textOf(advice, ++number, list);
  }
  if (!list.notes.empty()) text += "\n";
  for (const std::string& note : list.notes) text += fitLine(note);
  return text;
}

std::string adviceJson(const AdviceList& list) {
  Json json;
  json["step_ns"] = list.step;
  json["mean_step_ns"] = list.meanStep;
  json["step_wall_ns"] = list.wall ? Json(*list.wall) : Json(nullptr);
  if (list.isWholeRun) json["whole_run"] = true;
  json["schedule"] = list.schedule;
  json["micro_batches"] = list.microBatches > 0 ? Json(list.microBatches) : Json(nullptr);
  json["model_error"] = list.modelError ? Json(*list.modelError) : Json(nullptr);
  json["peak_activations"] = list.peak > 0 ? Json(list.peak) : Json(nullptr);
  json["limit_activations"] = list.limit > 0 ? Json(list.limit) : Json(nullptr);
  json["tried"] = list.tried;
  json["advice"] = Json::array();
  for (const Advice& advice : list.best) {
    Json one = {{"kind", kindName(advice.of)},
                {"text", advice.what},
                {"step_ns", advice.step},
                {"mean_step_ns", advice.meanStep > 0 ? Json(advice.meanStep) : Json(nullptr)},
                {"gain", advice.gain},
                {"step_in_line_ns", advice.inLine ? Json(advice.inLine->step) : Json(nullptr)},
                {"gain_in_line", advice.inLine ? Json(advice.inLine->gain) : Json(nullptr)},
                {"error", advice.error},
                {"simulated", advice.isByModel},
                {"peak_activations", advice.peak > 0 ? Json(advice.peak) : Json(nullptr)},
                {"messages", advice.messages > 0 ? Json(advice.messages) : Json(nullptr)},
                {"command", advice.command},
                {"notes", advice.notes},
                {"options", Json::array()}};
    for (const FrameworkOption& option : advice.options) {
      one["options"].push_back(
          {{"framework", option.framework}, {"text", option.text}, {"possible", option.exists}});
    }
    json["advice"].push_back(std::move(one));
  }
  json["notes"] = list.notes;
  return json.dump(2) + "\n";
}

}  // namespace pipetrace
