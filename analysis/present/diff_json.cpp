#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/present/diff_reasons.h"
#include "analysis/present/diff_report.h"
#include "analysis/ratio.h"

namespace pipetrace {
namespace {

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
