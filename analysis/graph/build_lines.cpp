// Lines: streams on which messages run one after the other.
#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "analysis/graph/job_graph_builder.h"
#include "trace/event_arguments.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

/// Traces have times to the microsecond: begin and end of two kernels of one stream may be off by
/// as much.
constexpr Nanoseconds kKernelRounding = kNsPerUs;

bool isNamed(std::string_view lines, std::string_view lane) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find(';'), lines.size());
    if (lines.substr(0, end) == lane) return true;
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return false;
}

bool isSameKernel(const Event& a, const Event& b) { return a.begin == b.begin && a.end == b.end; }

}  // namespace

/// The device and the stream of a message whose lane is that of its kind; not given: the trace does
/// not say them.
std::pair<std::int64_t, std::int64_t> JobGraphBuilder::streamOf(const Event& event) const {
  std::pair<std::int64_t, std::int64_t> found{kNotGiven, kNotGiven};
  for (const Argument& argument : timeline_.argumentsOf(event)) {
    if (argument.type != ArgumentType::kInteger) continue;
    if (argument.key == streamKey_) found.second = argument.integer;
    if (argument.key == deviceKey_) found.first = argument.integer;
  }
  return found;
}

Nanoseconds JobGraphBuilder::postDelayOf(const Event& event) const {
  if (!postDelayKey_) return 0;
  for (const Argument& argument : timeline_.argumentsOf(event)) {
    if (argument.key == postDelayKey_ && argument.type == ArgumentType::kInteger) {
      return argument.integer;
    }
  }
  return 0;
}

/// The lines of a rank, each with its ends in order.
std::vector<JobGraphBuilder::Line> JobGraphBuilder::linesOf(std::uint32_t r,
                                                            const RankEvents& events) const {
  const Pipeline& pipeline = pipelines_[pipelineOf_[r]];
  const auto info = timeline_.ranks.find(graph_.ranks_[r].number);
  const std::string_view named =
      info == timeline_.ranks.end() ? std::string_view() : std::string_view(info->second.lines);
  struct Candidate {
    Line ends;
    bool isLine = false;  // whatever it holds
    bool sends = false;
    bool receives = false;
  };
  using Key = std::tuple<std::uint32_t, std::int64_t, std::int64_t>;  // a track, or a stream
  constexpr std::uint32_t kOfStream = ~std::uint32_t{0};
  std::map<Key, Candidate> candidates;
  Candidate* ofTrack = nullptr;
  std::uint32_t track = kOfStream;
  bool isOfKind = false;
  for (const End& end : events.ends) {
    if (end.track != track) {
      track = end.track;
      const std::string_view lane = timeline_.tracks[track].lane;
      const bool isNamedLine = isNamed(named, lane);
      isOfKind = (isSendLane(lane) || isRecvLane(lane)) && !isNamedLine;
      ofTrack = isOfKind ? nullptr : &candidates[{track, 0, 0}];
      if (isNamedLine) ofTrack->isLine = true;
    }
    const JobGraph::Message& message = pipeline.messages[end.message];
    const bool isSendEvent = isSend(end.event->kind);
    if ((isSendEvent ? message.send : message.receive) != end.event) continue;  // an earlier part
    Candidate* candidate = ofTrack;
    if (isOfKind) {
      if (!streamKey_) continue;
      const auto [device, stream] = streamOf(*end.event);
      if (stream < 0) continue;
      candidate = &candidates[{kOfStream, device, stream}];
      candidate->isLine = true;
    }
    (isSendEvent ? candidate->sends : candidate->receives) = true;
    const Id id = pipeline.firstMessage + end.message;
    candidate->ends.push_back({end.event, isSendEvent ? graph_.sendOf(id) : graph_.receiveOf(id)});
  }
  std::vector<Line> lines;
  for (auto& [key, candidate] : candidates) {
    if (!candidate.isLine && !(candidate.sends && candidate.receives)) continue;
    Line& line = candidate.ends;
    std::stable_sort(line.begin(), line.end(), [](const OnLine& a, const OnLine& b) {
      return startsBefore(*a.event, *b.event);
    });
    const bool overlaps =
        std::adjacent_find(line.begin(), line.end(), [](const auto& a, const auto& b) {
          return b.event->begin < a.event->end - kKernelRounding &&
                 !isSameKernel(*a.event, *b.event);
        }) != line.end();
    if (!overlaps) lines.push_back(std::move(line));
  }
  return lines;
}

/// Notes the end before each on its line, and from when on it held the line. That is once the one
/// before it had ended, or once the host had posted it, where the trace says that this was later.
void JobGraphBuilder::placeOnLine(std::uint32_t r, const Line& line) {
  std::size_t before = line.size();  // the last end of another kernel
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (i > 0 && !isSameKernel(*line[i - 1].event, *line[i].event)) before = i - 1;
    JobGraph::LineEnd& end = graph_.lineEnds_[line[i].end];
    end.isOnLine = true;
    end.rank = r;
    end.heldFrom = line[i].event->begin;
    if (before == line.size()) continue;
    end.before = line[before].end;
    end.heldFrom = std::min(end.heldFrom, line[before].event->end + postDelayOf(*line[i].event));
  }
}

/// A receive that is there alone began when its turn on the line came. Its data came later.
void JobGraphBuilder::beginWithData(const Line& line) {
  for (const OnLine& on : line) {
    const Id id = graph_.messageOf(on.end);
    JobGraph::Node& node = graph_.nodes_[id];
    if (graph_.message(id).send != nullptr || node.inputs[0] == JobGraph::kNone) continue;
    node.begin = std::clamp(graph_.nodes_[node.inputs[0]].end, node.begin, node.end);
  }
}

void JobGraphBuilder::placeLines() {
  if (graph_.isNumbered_) return;  // its lanes are no streams
  streamKey_ = timeline_.strings.find("stream");
  deviceKey_ = timeline_.strings.find("device");
  postDelayKey_ = timeline_.strings.find(message_arguments::kPostDelay);
  std::vector<std::vector<Line>> lines(events_.size());
  forRanks([&](std::uint32_t r, RankEvents& events) { lines[r] = linesOf(r, events); });
  const bool hasAny =
      std::any_of(lines.begin(), lines.end(), [](const auto& ofRank) { return !ofRank.empty(); });
  if (!hasAny) return;
  graph_.lineEnds_.resize(2 * graph_.messages_.size());
  inParallel(threads_, lines.size(), [&](std::size_t r) {
    for (const Line& line : lines[r]) {
      placeOnLine(static_cast<std::uint32_t>(r), line);
      beginWithData(line);
    }
  });
}

}  // namespace pipetrace
