#include "analysis/run_report/jobs_as_json.h"

#include <string>

#include "analysis/graph/job_name.h"

namespace pipetrace {

JobsAsJson::Json JobsAsJson::job(JobGraph::Id id) const {
  const JobGraph::Node& node = graph_.node(id);
  Json job = {{"rank", graph_.ranks()[node.rank].number}, {"job", jobName(timeline_, node)}};
  if (node.step >= 0) job["step"] = node.step;
  if (node.event->job >= 0) job["id"] = node.event->job;
  return job;
}

JobsAsJson::Json JobsAsJson::message(JobGraph::Id id) const {
  const JobGraph::Node& node = graph_.node(id);
  Json message = {{"rank", graph_.ranks()[node.rank].number},
                  {"job", std::string(logName(node.kind)) + " " + std::to_string(node.microBatch)}};
  if (node.inputs[0] != JobGraph::kNone) {
    message["from"] = graph_.ranks()[graph_.node(node.inputs[0]).rank].number;
  }
  return message;
}

JobsAsJson::Json JobsAsJson::culprit(const Bubble& bubble) const {
  if (bubble.bubbleClass != BubbleClass::kBlocked) return job(bubble.culprit);
  const Event& end = culpritEventOf(graph_, bubble);
  Json message = {{"rank", graph_.ranks()[culpritRankOf(graph_, bubble)].number},
                  {"job", culpritName(timeline_, graph_, bubble)}};
  if (end.step >= 0) message["step"] = end.step;
  if (end.job >= 0) message["id"] = end.job;
  return message;
}

JobsAsJson::Json JobsAsJson::culprit(const CulpritGroup& group) const {
  return culprit({.cause = group.job,
                  .culprit = group.job,
                  .bubbleClass = group.bubbleClass,
                  .isAtSender = group.isAtSender});
}

}  // namespace pipetrace
