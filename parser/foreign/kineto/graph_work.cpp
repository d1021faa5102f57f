#include "parser/foreign/kineto/graph_work.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "parser/foreign/found_jobs/find_graph_jobs.h"

namespace pipetrace {
namespace {

/// A part of the name of NCCL's and RCCL's kernels for messages.
constexpr std::string_view kMessageKernel = "SendRecv";

class GraphReader {
 public:
  GraphReader(std::span<ForeignTrace::Lane* const> devices, const KinetoWords& words,
              ForeignNames& names, const std::function<std::int32_t(const Event&)>& stepOf,
              Timeline& timeline)
      : devices_(devices), words_(words), names_(names), stepOf_(stepOf), timeline_(timeline) {}

  GraphWork read() {
    takeNamed();
    if (work_.jobs.empty()) findJobs();
    for (std::size_t i = 0; i < work_.jobs.size(); ++i) {
      work_.jobs[i].job = static_cast<std::int64_t>(i);
    }
    return std::move(work_);
  }

 private:
  void takeNamed() {
    const StringId key = timeline_.strings.intern("name");
    std::map<std::tuple<std::int64_t, std::int32_t, StringId>, Event> jobs;
    for (ForeignTrace::Lane* const lane : devices_) {
      std::erase_if(lane->thread->events, [&](Event& event) {
        if (words_.categoryOf(event) != KinetoCategory::kKernel) return false;
        const StringId text = textArgument(event, key);
        if (text == 0) return false;
        const JobName& name = names_.known(text);
        const bool isMessage = isTransfer(name.kind);
        if (!isMessage && !isCompute(name.kind)) return false;
        Event job;
        job.begin = event.begin;
        job.end = event.end;
        job.kind = name.kind;
        job.name = text;
        job.step = stepOf_(event);
        names_.give(job, name);
        if (isMessage) {
          (isSend(name.kind) ? work_.sends : work_.receives).push_back(job);
          return true;
        }
        if (words_.isCommunication(event)) return false;  // a collective of the job
        const std::int64_t launch = words_.numbersOf(event).correlation.value_or(0);
        const auto [known, isNew] = jobs.try_emplace({launch, job.step, text}, job);
        known->second.begin = std::min(known->second.begin, job.begin);
        known->second.end = std::max(known->second.end, job.end);
        return false;
      });
    }
    for (const auto& [of, job] : jobs) work_.jobs.push_back(job);
    std::sort(work_.jobs.begin(), work_.jobs.end(), startsBefore);
  }

  StringId textArgument(const Event& event, StringId key) const {
    for (const Argument& argument : timeline_.argumentsOf(event)) {
      if (argument.key == key && argument.type == ArgumentType::kText) return argument.text;
    }
    return 0;
  }

  void findJobs() {
    std::vector<GraphKernel> kernels;
    bool hasMessages = false;  // of graphs or not
    for (const ForeignTrace::Lane* const lane : devices_) {
      for (const Event& event : lane->thread->events) {
        if (words_.categoryOf(event) != KinetoCategory::kKernel) continue;
        const KinetoWords::Numbers numbers = words_.numbersOf(event);
        const bool isMessage =
            timeline_.strings[event.name].find(kMessageKernel) != std::string_view::npos;
        hasMessages = hasMessages || isMessage;
        if (!numbers.graphNode) continue;
        work_.hasGraphs = true;
        if (words_.isCommunication(event) && !isMessage) continue;
        kernels.push_back({.begin = event.begin,
                           .end = event.end,
                           .launch = numbers.correlation.value_or(0),
                           .node = *numbers.graphNode,
                           .step = stepOf_(event),
                           .name = event.name,
                           .isMessage = isMessage});
      }
    }
    if (!hasMessages) return;  // no pipeline
    const GraphJobs found = findGraphJobs(std::move(kernels));
    work_.arePairs = found.arePairs;
    work_.jobsFound = static_cast<std::int64_t>(found.jobs.size());
    for (const GraphJob& job : found.jobs) {
      Event& event = work_.jobs.emplace_back();
      event.begin = job.begin;
      event.end = job.end;
      event.kind = job.kind;
      event.step = job.step;
      event.microBatch = job.microBatch;
    }
  }

  std::span<ForeignTrace::Lane* const> devices_;
  const KinetoWords& words_;
  ForeignNames& names_;
  const std::function<std::int32_t(const Event&)>& stepOf_;
  Timeline& timeline_;
  GraphWork work_;
};

}  // namespace

GraphWork graphWork(std::span<ForeignTrace::Lane* const> devices, const KinetoWords& words,
                    ForeignNames& names, const std::function<std::int32_t(const Event&)>& stepOf,
                    Timeline& timeline) {
  return GraphReader(devices, words, names, stepOf, timeline).read();
}

}  // namespace pipetrace
