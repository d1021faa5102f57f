#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/present/advice_report.h"
#include "analysis/present/doubt_sentences.h"
#include "analysis/present/finding_sentences.h"
#include "analysis/present/run_figures.h"
#include "analysis/present/run_report.h"
#include "analysis/present/summary_report.h"
#include "analysis/run/bubbles/bubbles.h"
#include "analysis/run/graph/job_name.h"

namespace pipetrace {
namespace {

using Json = nlohmann::ordered_json;

const char* severityName(Severity severity) {
  switch (severity) {
    case Severity::kError: return "error";
    case Severity::kWarning: return "warning";
    default: return "note";
  }
}

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

Json pauseJson(const Pauses& pauses) {
  Json object = {{"step", pauses.step},   {"begin_ns", pauses.begin}, {"end_ns", pauses.end},
                 {"count", pauses.count}, {"steps", pauses.steps},    {"time_ns", pauses.time}};
  if (pauses.usual > 0) object["usual_ns"] = pauses.usual;
  if (pauses.mayBeUpdates) object["may_be_updates"] = true;
  if (pauses.reason == Pauses::Reason::kUnknown) return object;
  object["reason"] = reasonName(pauses.reason);
  if (pauses.rank >= 0) object["rank"] = pauses.rank;
  object["work"] = workText(pauses);
  object["work_ns"] = pauses.workTime;
  return object;
}

Json lengthsJson(const UnevenMicroBatches& lengths) {
  Json stages = Json::array();
  for (const auto& [number, stage] : lengths.stages()) {
    stages.push_back({{"stage", number},
                      {"pairs", stage.pairs},
                      {"correlation", stage.correlation},
                      {"variation", stage.variation},
                      {"longest", stage.longest}});
  }
  return {{"stages", lengths.uneven()}, {"by_stage", stages}};
}

Json scatteredJson(const ScatteredPauses& pauses) {
  return {{"ranks", pauses.ranks()},
          {"count", pauses.count()},
          {"steps", pauses.steps()},
          {"median_ns", pauses.median()}};
}

Json deviceJson(const DeviceState& device) {
  Json object = Json::object();
  const auto add = [&](const char* key, const std::optional<double>& value) {
    if (value) object[key] = *value;
  };
  add("clock_mhz", device.clock);
  add("others_clock_mhz", device.peersClock);
  add("held_by_power", device.byPower);
  add("held_by_heat", device.byHeat);
  add("nvlink_errors", device.linkErrors);
  add("memory_of_others_bytes", device.othersMemory);
  return object;
}

Json whereJson(const Finding& finding) {
  const Whereabouts all = whereaboutsOf(finding);
  Json object = Json::object();
  if (!all.ranks.empty()) object["ranks"] = all.ranks;
  if (!all.stages.empty()) object["stages"] = all.stages;
  for (const auto& [from, to] : all.links) object["links"].push_back({from, to});
  if (!all.steps.empty()) object["steps"] = all.steps;
  return object;
}

/// Adds the figures that only some findings have to their evidence.
void addFigures(const Finding& finding, Json& evidence) {
  if (finding.inside > 0) evidence["inside_ns"] = finding.inside;
  if (const auto* facts = finding.factsOf<SlowerRanks::Rank>()) {
    evidence["factor"] = facts->change ? facts->change->factor : facts->byItself();
    if (finding.inside > 0) evidence["standard_error"] = facts->standardError;
  }
  if (const auto* facts = finding.factsOf<StagesBesideOthers>()) {
    evidence["factor"] = facts->change ? facts->change->factor : facts->ofSlowOnes.byItself();
    if (facts->lackPeers) evidence["peers_lack_logs"] = true;
  }
  if (const auto* facts = finding.factsOf<SlowReduction>()) evidence["factor"] = facts->factor;
  if (const auto* facts = finding.factsOf<SlowOptimizer>()) {
    evidence["factor"] = static_cast<double>(facts->length) /
                         static_cast<double>(std::max<Nanoseconds>(facts->others, 1));
  }
  if (const auto* facts = finding.factsOf<SlowReplica>()) evidence["factor"] = facts->factor;
  if (finding.device) evidence["device"] = deviceJson(*finding.device);
  if (const auto* facts = finding.factsOf<Peers::Load>()) {
    evidence["load"] = {{"ranks", facts->ranks},
                        {"correlation", facts->correlation},
                        {"variation", facts->variation},
                        {"busiest", facts->busiest}};
  }
  if (const auto* facts = finding.factsOf<Peers::SlowSet>()) {
    evidence["group"] = {{"ranks", facts->ranks},         {"kind", logName(facts->kind)},
                         {"use", axisWords(facts->axis)}, {"moving_ns", facts->moving},
                         {"others_ns", facts->others},    {"factor", facts->factor()}};
  }
  if (const auto* facts = finding.factsOf<Peers::Exposed>()) {
    evidence["exposed"] = {{"per_rank_and_step_ns", facts->perStep},
                           {"compute_before_ns", facts->before}};
  }
  if (const auto* facts = finding.factsOf<Peers::Contention>()) {
    evidence["contention"] = {{"factor", facts->factor},
                              {"jobs", facts->jobs},
                              {"per_rank_and_step_ns", facts->perStep},
                              {"critical_path_ns", facts->onPath}};
  }
  if (const auto* facts = finding.factsOf<Pauses>()) evidence["pause"] = pauseJson(*facts);
  if (const auto* facts = finding.factsOf<UnevenMicroBatches>()) {
    evidence["micro_batches"] = lengthsJson(*facts);
  }
  if (const auto* facts = finding.factsOf<ScatteredPauses>()) {
    evidence["scattered_pauses"] = scatteredJson(*facts);
  }
  if (const auto* facts = finding.factsOf<HeldLines>(); facts != nullptr && facts->inTime) {
    const Nanoseconds usual = facts->inTime->usual;
    evidence["predicted_step_ns"] = facts->inTime->length;
    evidence["gain"] =
        static_cast<double>(usual - facts->inTime->length) / static_cast<double>(usual);
  }
}

/// Jobs and messages of a run as members of its report.
class JobsAsJson {
 public:
  /// Both must outlive it.
  JobsAsJson(const Timeline& timeline, const JobGraph& graph)
      : timeline_(timeline), graph_(graph) {}

  Json job(JobGraph::Id id) const;
  /// With the rank that it comes from.
  Json message(JobGraph::Id id) const;
  /// The culprit of a bubble, or of a group of them, which must have one. kBlocked and late
  /// messages have the end of a message.
  Json culprit(const Bubble& bubble) const;
  Json culprit(const CulpritGroup& group) const;

 private:
  const Timeline& timeline_;
  const JobGraph& graph_;
};

Json JobsAsJson::job(JobGraph::Id id) const {
  const JobGraph::Node& node = graph_.node(id);
  Json job = {{"rank", graph_.ranks()[node.rank].number}, {"job", jobName(timeline_, node)}};
  if (node.step >= 0) job["step"] = node.step;
  if (node.event->job >= 0) job["id"] = node.event->job;
  return job;
}

Json JobsAsJson::message(JobGraph::Id id) const {
  const JobGraph::Node& node = graph_.node(id);
  Json message = {{"rank", graph_.ranks()[node.rank].number},
                  {"job", std::string(logName(node.kind)) + " " + std::to_string(node.microBatch)}};
  if (node.inputs[0] != JobGraph::kNone) {
    message["from"] = graph_.ranks()[graph_.node(node.inputs[0]).rank].number;
  }
  return message;
}

Json JobsAsJson::culprit(const Bubble& bubble) const {
  const bool isOfMessage = bubble.bubbleClass == BubbleClass::kBlocked ||
                           lateMessageOf(graph_, bubble) != JobGraph::kNone;
  if (!isOfMessage) return job(bubble.culprit);
  const Event& end = culpritEventOf(graph_, bubble);
  Json message = {{"rank", graph_.ranks()[culpritRankOf(graph_, bubble)].number},
                  {"job", culpritName(timeline_, graph_, bubble)}};
  if (end.step >= 0) message["step"] = end.step;
  if (end.job >= 0) message["id"] = end.job;
  return message;
}

Json JobsAsJson::culprit(const CulpritGroup& group) const {
  const bool isLate = group.lateMessage != JobGraph::kNone;
  return culprit({.cause = isLate ? group.lateMessage : group.job,
                  .culprit = group.job,
                  .bubbleClass = group.bubbleClass,
                  .isAtSender = group.isAtSender});
}

class RunJson {
 public:
  explicit RunJson(const RunReport& report)
      : report_(report),
        run_(report.explanation),
        graph_(*report.explanation.graph),
        jobs_(report.explanation.of.timeline(), graph_) {}

  /// Member by member: all bubbles of a long run as one value would take much memory.
  std::string text() const {
    std::string text = "{";
    add(text, "trust", Json::parse(doubtsJson(report_.doubts)));
    add(text, "profile", profile());
    add(text, "findings", findings());
    add(text, "steps", steps());
    add(text, "summary", summary());
    add(text, "ranks", ranks());
    if (!run_.inside.empty()) add(text, "inside_jobs", insideJobs());
    addKey(text, "bubbles");
    addBubbles(text);
    add(text, "who_costs_whom", costs());
    add(text, "critical_path", criticalPath());
    if (report_.all) {
      addKey(text, "slack");
      addSlack(text);
    }
    add(text, "slowdown", slowdown());
    add(text, "expected", expected());
    if (report_.names != nullptr) {
      addKey(text, "by_name");
      addNames(text);
    }
    add(text, "diagnostics", diagnostics());
    if (report_.advice != nullptr) add(text, "advice", Json::parse(adviceJson(*report_.advice)));
    return text + "\n}\n";
  }

 private:
  static void addKey(std::string& text, const char* key) {
    if (text.back() != '{') text += ',';
    text += "\n\"" + std::string(key) + "\": ";
  }
  static void add(std::string& text, const char* key, const Json& value) {
    addKey(text, key);
    text += value.dump(1);
  }

  Json profile() const {
    const Arrangement arrangement = arrangementOf(run_);
    Json inferred = Json::array();
    if (run_.topology.inferred) inferred.push_back("topology");
    if (graph_.countedMicroBatches() > 0) inferred.push_back("micro_batches");
    Json clockError;
    if (report_.alignment != nullptr) {
      const std::vector<HostAlignment>& hosts = report_.alignment->hosts;
      const bool isKnown =
          std::all_of(hosts.begin(), hosts.end(), [](const auto& host) { return host.bound; });
      Nanoseconds error = 0;
      for (const HostAlignment& host : hosts) error = std::max(error, host.bound.value_or(0));
      if (isKnown) clockError = error;
      if (hosts.size() > 1 && report_.alignment->by == AlignBy::kCausal) {
        inferred.push_back("clocks");
      }
    }
    Json object = {{"ranks", arrangement.ranks},
                   {"pp", arrangement.pipelineRanks},
                   {"dp", arrangement.replicas},
                   {"vpp", arrangement.chunks},
                   {"schedule", nullptr},
                   {"steps", arrangement.steps.size()},
                   {"jobs", arrangement.jobs},
                   {"clock_error_ns", clockError},
                   {"inferred", std::move(inferred)}};
    if (arrangement.tensorRanks > 1) object["tp"] = arrangement.tensorRanks;
    const std::string& given = run_.schedule.given;
    if (!given.empty()) object["given_schedule"] = given;
    object["schedule"] = toText(run_.schedule.recognised);
    object["schedules"] = run_.schedule.recognised.names;
    if (!run_.schedule.ranksOfStage.empty()) {
      object["ranks_of_stage"] = run_.schedule.ranksOfStage;
    }
    addPhases(run_.summary, object);
    return object;
  }

  /// Which pipeline it is of: its data-parallel index, and its tensor-parallel one.
  void addPipeline(Json& object, int replica) const {
    object["dp"] = run_.topology.dataParallelIndex(replica);
    if (run_.topology.tensorRanks > 1) {
      object["tp"] = run_.topology.tensorParallelIndex(replica);
    }
  }

  /// Whether ranks that meet inside jobs all cost about as much.
  bool blamesNobody(const Finding& finding) const {
    if (finding.kind == FindingKind::kPeersVary || finding.isOfMany) return true;
    if (run_.inside.empty()) return false;
    const bool isOfMany =
        finding.kind == FindingKind::kLateJobs || finding.kind == FindingKind::kLateMessages;
    if (!isOfMany || finding.ranks.size() < 2) return false;
    Nanoseconds all = 0;
    Nanoseconds most = 0;
    for (const auto& [rank, time] : finding.ranks) {
      all += time;
      most = std::max(most, time);
    }
    return 2 * most <= all;
  }

  Json findings() const {
    Json list = Json::array();
    for (const Finding& finding : run_.findings) {
      if (isMinor(report_, finding) && !report_.all) continue;
      Json evidence = Json::object();
      if (!finding.classes.empty()) {
        evidence["class"] = nullptr;
        if (finding.classes.size() == 1) evidence["class"] = bubbleClassName(finding.bubbleClass);
        Json& classes = evidence["classes"] = Json::array();
        for (const BubbleClass c : finding.classes) classes.push_back(bubbleClassName(c));
        evidence["share_of_idle"] = finding.share;
      }
      if (!finding.classes.empty() || (finding.factsOf<Pauses>() != nullptr && finding.time > 0)) {
        evidence["time_ns"] = finding.time;
        evidence["share_of_steps"] = finding.shareOfSteps;
      }
      const CulpritGroup& culprit = finding.culprit;
      if (culprit.job != JobGraph::kNone && !blamesNobody(finding)) {
        evidence["culprit"] = jobs_.culprit(culprit);
        evidence["culprit"]["rank"] = culprit.rank;
        if (culprit.peer >= 0) evidence["culprit"]["peer"] = culprit.peer;
        if (culprit.stage >= 0) evidence["culprit"]["stage"] = culprit.stage;
      }
      for (const auto& [rank, time] : finding.ranks) {
        evidence["ranks"].push_back({{"rank", rank}, {"time_ns", time}});
      }
      for (const Evidence& each : finding.evidence) {
        if (each.role != Evidence::Role::kBubble) continue;
        evidence["bubbles"].push_back(
            {{"rank", each.rank}, {"begin_ns", each.bubble.begin}, {"end_ns", each.bubble.end}});
      }
      addFigures(finding, evidence);
      if (const Advice* const advice = adviceOf(report_, finding)) {
        evidence["predicted_step_ns"] = advice->step;
        if (advice->meanStep > 0) evidence["predicted_mean_step_ns"] = advice->meanStep;
        evidence["gain"] = advice->gain;
      }
      if (const Advice* const balanced = balanceOf(report_, finding)) {
        evidence["balanced_step_ns"] = balanced->step;
      }
      list.push_back({{"kind", findingKindName(finding.kind)},
                      {"where", whereJson(finding)},
                      {"severity", severityName(finding.severity)},
                      {"text", findingText(finding)},
                      {"advice", remedyText(finding)},
                      {"minor", isMinor(report_, finding)},
                      {"evidence", std::move(evidence)}});
      const std::string query = findQueryOf(report_, finding);
      if (!query.empty()) list.back()["find"] = query;
    }
    return list;
  }

  Json steps() const {
    Json list = Json::array();
    for (const ExplainedStep& step : run_.steps) {
      Json object = {{"step", step.summary.step}};
      addPipeline(object, step.summary.replica);
      object["begin_ns"] = step.summary.begin;
      object["counted"] = step.isCounted;
      if (step.summary.isWholeRun) object["whole_run"] = true;
      for (const StepFigure& figure : stepFigures()) {
        if (!figure.isKnown(step)) {
          object[figure.key] = nullptr;
        } else if (std::string_view(figure.key).ends_with("_ns")) {
          object[figure.key] = static_cast<Nanoseconds>(figure.of(step));
        } else {
          object[figure.key] = figure.of(step);
        }
      }
      list.push_back(std::move(object));
    }
    return list;
  }

  /// What jobs are made of, over the steps that count.
  Json insideJobs() const {
    Json list = Json::array();
    for (const InsideTimes& times : run_.inside) {
      Json groups = Json::array();
      for (const InsideTimes::OfGroups& each : times.groups) {
        groups.push_back({{"use", each.use},
                          {"kind", logName(each.kind)},
                          {"wait_inside_ns", each.waiting},
                          {"move_inside_ns", each.moving}});
      }
      list.push_back({{"rank", times.rank},
                      {"steps", times.steps},
                      {"own_ns", times.parts.own},
                      {"wait_inside_ns", times.parts.waiting},
                      {"move_inside_ns", times.parts.moving},
                      {"launch_bound_ns", times.parts.launchBound},
                      {"groups", std::move(groups)}});
    }
    return list;
  }

  Json summary() const {
    Json object = {{"steps", countedSteps(run_)}};
    if (const auto& leftOut = run_.counted.leftOut()) {
      object["left_out"] = {{"step", leftOut->step},
                            {"window_ns", leftOut->length},
                            {"usual_window_ns", leftOut->usual}};
    }
    for (const StepFigure& figure : stepFigures()) {
      const auto over = overSteps(run_, figure);
      if (!over) {
        object[figure.key] = nullptr;
        continue;
      }
      object[figure.key] = {{"mean", over->mean}, {"median", over->median}, {"p99", over->p99}};
    }
    object["communication_ns"] = run_.communication.all;
    object["exposed_communication_ns"] = run_.communication.exposed;
    object["overlap"] = run_.communication.overlap();
    if (run_.tokensPerSecond) object["tokens_per_second"] = *run_.tokensPerSecond;
    if (run_.modelFlopsUtilization) object["mfu"] = *run_.modelFlopsUtilization;
    return object;
  }

  Json ranks() const {
    Json list = Json::array();
    for (const ExplainedRank& rank : run_.ranks) {
      Json classes = Json::object();
      for (const BubbleClass c : kReportedClasses) {
        const Nanoseconds time = rank.bubbles[static_cast<std::size_t>(c)];
        if (isReported(c, time)) classes[std::string(bubbleClassName(c))] = time;
      }
      Json object = {{"rank", rank.rank}, {"stage", rank.position}};
      addPipeline(object, rank.replica);
      object["busy_ns"] = rank.busy;
      object["idle_ns"] = rank.idle;
      object["launch_bound_ns"] = rank.launchBound;
      object["bubbles"] = std::move(classes);
      list.push_back(std::move(object));
    }
    return list;
  }

  void addBubbles(std::string& text) const {
    std::vector<BubbleOfRank> list;
    if (!report_.all) list = largestBubbles(run_.bubbles, kBubblesShown, run_.counted);
    for (std::uint32_t r = 0; r < run_.bubbles.byRank.size() && report_.all; ++r) {
      for (const Bubble& bubble : run_.bubbles.byRank[r]) {
        if (run_.counted.contains(bubble.step)) list.emplace_back(r, &bubble);
      }
    }
    text += '[';
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto& [rank, bubble] = list[i];
      const JobGraph::Id culprit = bubble->culprit;
      const Json object = {
          {"rank", graph_.ranks()[rank].number},
          {"begin_ns", bubble->begin},
          {"end_ns", bubble->end},
          {"step", bubble->step},
          {"class", bubbleClassName(bubble->bubbleClass)},
          {"culprit", culprit == JobGraph::kNone ? Json() : jobs_.culprit(*bubble)}};
      text += i == 0 ? "\n " : ",\n ";
      text += object.dump();
    }
    text += list.empty() ? "]" : "\n]";
  }

  Json costs() const {
    Json list = Json::array();
    for (const auto& [pair, time] : run_.culprits.byRanks) {
      list.push_back({{"rank", graph_.ranks()[pair.first].number},
                      {"culprit", graph_.ranks()[pair.second].number},
                      {"time_ns", time}});
    }
    return list;
  }

  Json criticalPath() const {
    Json byStage = Json::object();
    for (const auto& [stage, time] : run_.pathShares.byStage) byStage[std::to_string(stage)] = time;
    Json jobs = Json::array();
    for (const StepPath::Link& link : run_.longestStep.links) {
      Json job = graph_.node(link.node).isMessage ? jobs_.message(link.node) : jobs_.job(link.node);
      job["begin_ns"] = link.begin;
      job["end_ns"] = link.end;
      job["wait_ns"] = link.wait;
      jobs.push_back(std::move(job));
    }
    Json object = {{"by_kind", run_.pathShares.byKind},
                   {"by_stage", std::move(byStage)},
                   {"step", run_.longestStep.step}};
    addPipeline(object, run_.longestStep.replica);
    object["jobs"] = std::move(jobs);
    Json& slack = object["slack_by_stage"] = Json::object();
    for (const auto& [stage, each] : run_.slackByStage) {
      slack[std::to_string(stage)] = {{"least_ns", each.least}, {"median_ns", each.median}};
    }
    return object;
  }

  void addSlack(std::string& text) const {
    text += '[';
    for (JobGraph::Id id = 0; id < run_.slack.size(); ++id) {
      if (run_.slack[id] < 0) continue;
      Json job = jobs_.job(id);
      job["slack_ns"] = run_.slack[id];
      text += text.back() == '[' ? "\n " : ",\n ";
      text += job.dump();
    }
    text += text.back() == '[' ? "]" : "\n]";
  }

  void addNames(std::string& text) const {
    text += '[';
    for (const TimeByName& each : *report_.names) {
      const Json object = {{"name", each.name},
                           {"rank", each.rank},
                           {"calls", each.calls},
                           {"own_ns", each.own},
                           {"total_ns", each.total}};
      text += text.back() == '[' ? "\n " : ",\n ";
      text += object.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    text += text.back() == '[' ? "]" : "\n]";
  }

  Json slowdown() const {
    const Slowdown& slowdown = run_.slowdown;
    if (!slowdown.reason.empty()) return {{"reason", slowdown.reason}};
    const auto byNumber = [](const std::map<int, double>& numbers) {
      Json object = Json::object();
      for (const auto& [number, value] : numbers) object[std::to_string(number)] = value;
      return object;
    };
    const auto orNull = [](const std::optional<double>& value) {
      return value ? Json(*value) : Json();
    };
    Json ranks = Json::array();
    for (const Slowdown::Rank& rank : slowdown.ranks) {
      ranks.push_back({{"rank", rank.number},
                       {"stage", rank.position},
                       {"dp", rank.replica},
                       {"score", rank.score}});
      if (rank.isBound) ranks.back()["at_most"] = true;
    }
    return {{"total", slowdown.total},
            {"launch", slowdown.launch},
            {"by_stage", byNumber(slowdown.byStage)},
            {"stages_at_most", slowdown.boundStages},
            {"by_dp", byNumber(slowdown.byReplica)},
            {"by_kind", slowdown.byKind},
            {"m_s", orNull(slowdown.mS)},
            {"m_w", orNull(slowdown.mW)},
            {"worst_ranks", slowdown.worstRanks},
            {"ranks", std::move(ranks)},
            {"step_ns", static_cast<Nanoseconds>(slowdown.tSim)},
            {"ideal_step_ns", static_cast<Nanoseconds>(slowdown.tIdeal)},
            {"steps", slowdown.steps.size()}};
  }

  Json expected() const {
    std::vector<double> lengths;
    for (const ExplainedStep& step : run_.steps) {
      const bool isKnown = step.isCounted && step.efficiency.planned > 0;
      if (isKnown) lengths.push_back(static_cast<double>(step.efficiency.planned));
    }
    Json object = {{"schedule", toText(run_.schedule.recognised)},
                   {"length_ns", nullptr},
                   {"deviations", Json::array()}};
    if (!run_.schedule.problem.empty()) object["problem"] = run_.schedule.problem;
    object["step"] = run_.schedule.step;
    for (const FollowedSchedule::Deviation& each : run_.schedule.deviations) {
      Json deviation = {{"rank", each.rank}, {"step", each.step}, {"job", each.job}};
      const auto place = [&](const char* key, int position) {
        deviation[key] = position < 0 ? Json() : Json(position);
      };
      place("planned_position", each.deviation.planned);
      place("measured_position", each.deviation.measured);
      object["deviations"].push_back(std::move(deviation));
    }
    object["deviation_count"] = run_.schedule.deviationCount;
    if (!lengths.empty()) {
      object["length_ns"] = static_cast<Nanoseconds>(distributionOf(std::move(lengths)).median);
    }
    return object;
  }

  Json diagnostics() const {
    Json list = Json::array();
    for (const Diagnostic& each : report_.diagnostics.list()) {
      Json object = {{"severity", severityName(each.severity)}, {"message", each.message}};
      if (!each.file.empty()) object["file"] = each.file;
      if (each.line > 0) object["line"] = each.line;
      if (!each.advice.empty()) object["advice"] = each.advice;
      if (each.count > 1) object["count"] = each.count;
      list.push_back(std::move(object));
    }
    return list;
  }

  const RunReport& report_;
  const Explanation& run_;
  const JobGraph& graph_;
  const JobsAsJson jobs_;
};

}  // namespace

std::string runReportJson(const RunReport& report) { return RunJson(report).text(); }

}  // namespace pipetrace
