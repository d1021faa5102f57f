#include "parser/foreign/kineto/nested_jobs.h"

#include "parser/foreign/kineto/schedule_names.h"

namespace pipetrace {

bool NestedJobs::isStageJob(const Event& annotation) const {
  return isStageJobName(timeline_.strings[annotation.name]);
}

bool NestedJobs::areInside(const std::vector<Event>& events, const std::vector<std::size_t>& named,
                           std::size_t n) const {
  const Event& outer = events[named[n]];
  if (!isScheduleName(timeline_.strings[outer.name])) return false;
  for (++n; n < named.size() && events[named[n]].begin < outer.end; ++n) {
    const Event& inner = events[named[n]];
    if (inner.end > outer.end) continue;  // the next one, which begins too early by rounding
    if (words_.categoryOf(inner) == KinetoCategory::kAnnotation && isStageJob(inner)) return true;
  }
  return false;
}

bool NestedJobs::isEmptyCollective(const std::vector<Event>& events, std::size_t index) const {
  const Event& mark = events[index];
  if (!isCollective(mark.kind) || !isScheduleName(timeline_.strings[mark.name])) return false;
  for (++index; index < events.size() && events[index].begin < mark.end; ++index) {
    if (words_.isOfProcessGroup(events[index])) return false;
  }
  return true;
}

void NestedJobs::takeNameOf(const Event& around, Event& job) {
  const JobName& outer = names_.known(around.name);
  const JobName& inner = names_.known(job.name);
  if (!isStageJob(around) || outer.stage != inner.stage || outer.microBatch != inner.microBatch) {
    return;
  }
  job.name = around.name;
  job.kind = outer.kind;
}

}  // namespace pipetrace
