#include "analysis/run_report/finding_figures.h"

namespace pipetrace {
namespace {

using FigureJson = nlohmann::ordered_json;

const char* reasonName(Pauses::Reason reason) {
  switch (reason) {
    case Pauses::Reason::kData: return "data";
    case Pauses::Reason::kCheckpoint: return "checkpoint";
    case Pauses::Reason::kEvaluation: return "evaluation";
    case Pauses::Reason::kPrediction: return "prediction";
    case Pauses::Reason::kUnknown: break;
  }
  return "unknown";
}

FigureJson pauseJson(const Pauses& pauses) {
  FigureJson object = {{"step", pauses.step},
                       {"begin_ns", pauses.begin},
                       {"end_ns", pauses.end},
                       {"count", pauses.count},
                       {"time_ns", pauses.time}};
  if (pauses.reason == Pauses::Reason::kUnknown) return object;
  object["reason"] = reasonName(pauses.reason);
  if (pauses.rank >= 0) object["rank"] = pauses.rank;
  object["work"] = pauses.work;
  object["work_ns"] = pauses.workTime;
  return object;
}

FigureJson lengthsJson(const UnevenMicroBatches& lengths) {
  FigureJson stages = FigureJson::array();
  for (const auto& [number, stage] : lengths.stages()) {
    stages.push_back({{"stage", number},
                      {"pairs", stage.pairs},
                      {"correlation", stage.correlation},
                      {"variation", stage.variation},
                      {"longest", stage.longest}});
  }
  return {{"stages", lengths.uneven()}, {"by_stage", stages}};
}

FigureJson scatteredJson(const ScatteredPauses& pauses) {
  return {{"ranks", pauses.ranks()},
          {"count", pauses.count()},
          {"steps", pauses.steps()},
          {"median_ns", pauses.median()}};
}

}  // namespace

void addFigures(const Finding& finding, nlohmann::ordered_json& evidence) {
  if (finding.pauses) evidence["pause"] = pauseJson(*finding.pauses);
  if (finding.lengths) evidence["micro_batches"] = lengthsJson(*finding.lengths);
  if (finding.scattered) evidence["scattered_pauses"] = scatteredJson(*finding.scattered);
}

}  // namespace pipetrace
