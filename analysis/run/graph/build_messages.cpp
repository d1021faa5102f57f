#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "analysis/run/graph/job_graph_builder.h"
#include "analysis/run/graph/job_index.h"
#include "trace/event_arguments.h"
#include "trace/threads/in_parallel.h"
#include "trace/threads/large_pages.h"

// The messages of a run: their two ends, which job made their data, and which waits for it. Also
// their lines: streams on which they run one after the other.

namespace pipetrace {
namespace {

/// The key of a message: the stage that it is for.
JobKey keyOfMessage(const Event& end, std::int32_t microBatch) {
  const bool isForward = isForwardTransfer(end.kind);
  std::int32_t stage = end.stage;
  if (isSend(end.kind) && stage >= 0) stage += isForward ? 1 : -1;
  return {end.step, stage, microBatch, isForward};
}

/// The key of the data that the stage `key` gets its own from; not known at the pipeline's ends.
JobKey sourceOf(const JobKey& key, std::int32_t stages) {
  JobKey source = key;
  source.stage += key.isForward ? -1 : 1;
  if (source.stage >= stages) source.stage = -1;
  return source;
}

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

bool JobGraphBuilder::isEarly(const Event& event) const {
  if (!early_) return false;
  for (const Argument& argument : timeline_.argumentsOf(event)) {
    if (argument.key == early_->first && argument.type == ArgumentType::kText) {
      return argument.text == early_->second;
    }
  }
  return false;
}

/// When an end of a message begins. A receive holds nothing up before its thread waits for it.
Nanoseconds JobGraphBuilder::beginOf(const Event& end) const {
  if (!waitedKey_ || !isRecv(end.kind)) return end.begin;
  for (const Argument& argument : timeline_.argumentsOf(end)) {
    if (argument.key == *waitedKey_ && argument.type == ArgumentType::kInteger) {
      return std::max(end.begin, end.end - argument.integer);
    }
  }
  return end.begin;
}

/// Finds the messages that the thread of the rank's jobs waited for.
void JobGraphBuilder::findWaits(const Pipeline& pipeline, RankEvents& events) const {
  std::sort(events.early.begin(), events.early.end(), isBefore);
  if (!waitedKey_) return;
  for (const End& end : events.ends) {
    if (end.message == JobGraph::kNone || !isRecv(end.event->kind)) continue;
    const auto arguments = timeline_.argumentsOf(*end.event);
    const bool isWaitedFor =
        std::any_of(arguments.begin(), arguments.end(),
                    [&](const Argument& argument) { return argument.key == *waitedKey_; });
    if (!isWaitedFor) continue;
    events.waits.emplace_back(end.event->end, pipeline.firstMessage + end.message);
  }
  std::sort(events.waits.begin(), events.waits.end());
}

/// Finds the ends of messages of a rank, and its collectives.
void JobGraphBuilder::findEnds(std::uint32_t r, RankEvents& events) {
  const int number = graph_.ranks_[r].number;
  const auto info = timeline_.ranks.find(number);
  if (info != timeline_.ranks.end()) events.stages = info->second.numStages.value_or(0);
  const auto& tracks = timeline_.tracks;
  auto track = std::partition_point(tracks.begin(), tracks.end(),
                                    [&](const Track& each) { return each.rank < number; });
  for (; track != tracks.end() && track->rank == number; ++track) {
    const auto t = static_cast<std::uint32_t>(track - tracks.begin());
    const std::size_t before = events.ends.size();
    JobCounter counter;
    for (const Event& event : track->events) {
      if (event.phase != graph_.phase_) continue;
      if (isCollective(event.kind)) {
        if (isOfJobs(event)) continue;
        events.collectives.push_back({.event = &event, .track = t});
      } else if (isTransfer(event.kind)) {
        graph_.ranks_[r].logsMessages = true;
        const JobKey key =
            keyOfMessage(event, event.microBatch < 0 ? counter.next(event) : event.microBatch);
        if (!key.isKnown()) continue;
        if (isEarly(event)) {
          if (isRecv(event.kind)) events.early.push_back(key);
          continue;
        }
        if (events.ends.size() == before) events.ends.reserve(before + track->events.size());
        events.ends.push_back({.event = &event, .key = key, .track = t});
      }
    }
  }
}

bool JobGraphBuilder::isBefore(const JobKey& a, const JobKey& b) {
  return std::tie(a.step, a.stage, a.microBatch, a.isForward) <
         std::tie(b.step, b.stage, b.microBatch, b.isForward);
}

void JobGraphBuilder::makeIndices(const std::vector<std::uint32_t>& ranks,
                                  Pipeline& pipeline) const {
  JobKey lowest = events_[ranks.front()].lowest;
  JobKey highest;
  std::size_t count = 0;
  for (const std::uint32_t r : ranks) {
    const RankEvents& events = events_[r];
    pipeline.stages = std::max(pipeline.stages, events.stages);
    count += events.made;
    if (events.made == 0) continue;
    widen(events.lowest, lowest, highest);
    widen(events.highest, lowest, highest);
  }
  pipeline.stages = std::max(pipeline.stages, highest.stage + 1);
  pipeline.jobs.emplace(lowest, highest, count);
  pipeline.arrived.emplace(lowest, highest, count);
}

void JobGraphBuilder::indexJobs(const std::vector<std::uint32_t>& ranks, Pipeline& pipeline) {
  for (const std::uint32_t r : ranks) {
    const JobGraph::Rank& rank = graph_.ranks_[r];
    for (Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& node = graph_.nodes_[id];
      visitMadeData(timeline_, node, [&](const JobKey& key) {
        if (!key.isKnown()) return;
        const Id other = pipeline.jobs->find(key);  // parts of a job: the last one counts
        if (other == JobGraph::kNone || graph_.nodes_[other].end < node.end) {
          pipeline.jobs->set(key, id);
        }
      });
    }
  }
}

void JobGraphBuilder::numberMessages(const std::vector<std::uint32_t>& ranks, Pipeline& pipeline) {
  std::size_t most = 0;
  for (const std::uint32_t r : ranks) most += events_[r].ends.size();
  reserveLarge(pipeline.messages, most);
  reserveLarge(pipeline.keys, most);
  reserveLarge(pipeline.receivers, most);
  for (const std::uint32_t r : ranks) {
    for (End& end : events_[r].ends) {
      Id number = pipeline.arrived->find(end.key);
      if (number == JobGraph::kNone) {
        number = static_cast<Id>(pipeline.messages.size());
        pipeline.messages.emplace_back();
        pipeline.keys.push_back(end.key);
        pipeline.receivers.push_back(r);
        pipeline.arrived->set(end.key, number);
      }
      JobGraph::Message& message = pipeline.messages[number];
      const bool isReceive = isRecv(end.event->kind);
      const Event*& known = isReceive ? message.receive : message.send;
      // The last of several parts counts.
      if (known == nullptr || known->end < end.event->end) known = end.event;
      if (isReceive) pipeline.receivers[number] = r;
      end.message = number;
    }
  }
}

/// Makes the nodes of messages, and connects them with jobs.
void JobGraphBuilder::placeMessages() {
  auto next = static_cast<Id>(graph_.jobCount_);
  for (Pipeline& pipeline : pipelines_) {
    pipeline.firstMessage = next;
    next += static_cast<Id>(pipeline.messages.size());
    graph_.messageRanges_.emplace_back(pipeline.firstMessage, next);
  }
  graph_.messageEnd_ = graph_.nodeCount_ = next;
  graph_.messages_.resize(next - graph_.jobCount_);
  struct Chunk {
    std::size_t pipeline = 0;
    std::size_t first = 0;
  };
  constexpr std::size_t kChunk = 16384;
  std::vector<Chunk> chunks;
  for (std::size_t p = 0; p < pipelines_.size(); ++p) {
    for (std::size_t m = 0; m < pipelines_[p].messages.size(); m += kChunk) {
      chunks.push_back({p, m});
    }
  }
  inParallel(threads_, chunks.size(), [&](std::size_t c) {
    const Pipeline& pipeline = pipelines_[chunks[c].pipeline];
    const std::size_t end = std::min(chunks[c].first + kChunk, pipeline.messages.size());
    for (std::size_t m = chunks[c].first; m < end; ++m) fillMessage(m, pipeline);
  });
  placeLines();
  // The two ends of a message may both be what held it up: one direction after the other.
  for (const bool areSends : {true, false}) {
    forRanks([&](std::uint32_t r, RankEvents& events) { orderMessages(r, events, areSends); });
  }
  forRanks([&](std::uint32_t r, RankEvents& events) {
    findWaits(pipelines_[pipelineOf_[r]], events);
    events.ends = {};
    addInputs(r, events);
    events.waits = {};
    events.early = {};
  });
}

void JobGraphBuilder::fillMessage(std::size_t m, const Pipeline& pipeline) {
  const JobGraph::Message& message = pipeline.messages[m];
  const Id id = pipeline.firstMessage + static_cast<Id>(m);
  graph_.messages_[id - graph_.jobCount_] = message;
  JobGraph::Node& node = graph_.nodes_.make(id);
  node.isMessage = true;
  node.event = message.receive != nullptr ? message.receive : message.send;
  node.begin = beginOf(*node.event);
  if (message.send != nullptr) node.begin = std::max(node.begin, message.send->begin);
  node.end = node.event->end;
  node.rank = pipeline.receivers[m];
  node.step = node.event->step;
  node.stage = node.event->stage;
  node.kind = node.event->kind;
  node.microBatch = pipeline.keys[m].microBatch;
  const JobKey source = sourceOf(pipeline.keys[m], pipeline.stages);
  if (source.isKnown()) node.inputs[0] = pipeline.jobs->find(source);
  node.lacksInput = node.inputs[0] == JobGraph::kNone;
}

/// Finds what the ends of messages waited for on their own rank. Only the end that came last can
/// have held its message up.
void JobGraphBuilder::orderMessages(std::uint32_t r, const RankEvents& events, bool areSends) {
  const Pipeline& pipeline = pipelines_[pipelineOf_[r]];
  std::uint32_t track = ~std::uint32_t{0};
  std::vector<Id> ended;  // messages of the track, in the order of their begins
  for (const End& end : events.ends) {
    if (end.track != track) ended.clear();
    track = end.track;
    const Id id = pipeline.firstMessage + end.message;
    JobGraph::Node& node = graph_.nodes_[id];
    const JobGraph::Message& message = pipeline.messages[end.message];
    const bool counts = end.event == (areSends ? message.send : message.receive);
    if (counts && beginOf(*end.event) == node.begin) {
      constexpr std::size_t kMostOpen = 256;
      const std::size_t most = std::min(ended.size(), kMostOpen);
      for (std::size_t i = 1; i <= most; ++i) {
        const Id other = ended[ended.size() - i];
        if (graph_.nodes_[other].end > node.begin || other == id) continue;
        takeLater(other, node);
        break;
      }
      const bool isPostedLast = message.send == nullptr || message.send->begin < node.begin;
      if (!areSends && isPostedLast) {
        takeLater(jobBefore(graph_.ranks_[r], node.begin), node);
      }
    }
    ended.push_back(id);
  }
}

void JobGraphBuilder::takeLater(Id other, JobGraph::Node& node) const {
  if (other == JobGraph::kNone) return;
  const bool isLater =
      node.before == JobGraph::kNone || graph_.nodes_[node.before].end < graph_.nodes_[other].end;
  if (isLater) node.before = other;
}

void JobGraphBuilder::addInputs(std::uint32_t r, const RankEvents& events) {
  const Pipeline& pipeline = pipelines_[pipelineOf_[r]];
  const JobGraph::Rank& rank = graph_.ranks_[r];
  for (Id id = rank.first; id < rank.end; ++id) {
    JobGraph::Node& node = graph_.nodes_[id];
    int count = 0;
    visitMadeData(timeline_, node,
                  [&](const JobKey& key) { addInput(key, pipeline, node, count); });
  }
  if (!graph_.isNumbered_) {
    addInputsOfRecomputations(rank);
    addInputsOfLoads(rank);
  }
  addWaits(rank, events);
}

/// A program may wait for the message of a later job before it runs the next one, as where a call
/// receives two at once. Then that job waited for it, too.
void JobGraphBuilder::addWaits(const JobGraph::Rank& rank, const RankEvents& events) {
  auto wait = events.waits.begin();
  for (Id id = rank.first; id < rank.end && wait != events.waits.end(); ++id) {
    JobGraph::Node& node = graph_.nodes_[id];
    if (!isCompute(node.kind)) continue;
    Id last = JobGraph::kNone;
    for (; wait != events.waits.end() && wait->first <= node.begin; ++wait) last = wait->second;
    if (last == JobGraph::kNone) continue;
    const auto hasEnded = [&](Id other) {
      return other == JobGraph::kNone || graph_.nodes_[other].end < graph_.nodes_[last].end;
    };
    // Only the wait that ended last can have held the job up.
    if (!hasEnded(node.before) || !hasEnded(node.inputs[0]) || !hasEnded(node.inputs[1])) continue;
    const int slot = node.inputs[0] == JobGraph::kNone ? 0 : 1;
    if (node.inputs[slot] == JobGraph::kNone) node.inputs[slot] = last;
  }
}

/// A recomputation needs no data of other ranks. But most programs recompute in the backward pass,
/// once its gradient is there: then both waited for that.
void JobGraphBuilder::addInputsOfRecomputations(const JobGraph::Rank& rank) {
  const JobGraph::Node* backward = nullptr;  // the next other compute job
  for (Id id = rank.end; id-- > rank.first;) {
    JobGraph::Node& node = graph_.nodes_[id];
    if (!isCompute(node.kind)) continue;
    if (node.kind != JobKind::kRecompute) {
      backward = &node;
      continue;
    }
    const bool isItsOwn = backward != nullptr && backward->kind != JobKind::kForward &&
                          backward->stage == node.stage && backward->step == node.step &&
                          backward->microBatch == node.microBatch;
    if (!isItsOwn) continue;
    int count = 0;
    for (const Id input : backward->inputs) {
      if (input == JobGraph::kNone || graph_.nodes_[input].end > node.begin) continue;
      node.inputs[count++] = input;
    }
    node.lacksInput = backward->lacksInput;
  }
}

/// A program may load a batch between the wait for a job's message and the job. Then that waited
/// for the message, too.
void JobGraphBuilder::addInputsOfLoads(const JobGraph::Rank& rank) {
  const JobGraph::Node* next = nullptr;  // the compute job behind
  for (Id id = rank.end; id-- > rank.first;) {
    JobGraph::Node& node = graph_.nodes_[id];
    if (isCompute(node.kind)) next = &node;
    if (!loadsData(node.kind) || next == nullptr) continue;
    int count = 0;
    for (const Id input : next->inputs) {
      if (input == JobGraph::kNone || graph_.nodes_[input].end > node.begin) continue;
      node.inputs[count++] = input;
    }
  }
}

void JobGraphBuilder::addInput(const JobKey& key, const Pipeline& pipeline, JobGraph::Node& node,
                               int& count) {
  if (!key.isKnown()) {
    node.lacksInput = true;  // nobody knows which it is
    return;
  }
  const JobKey source = sourceOf(key, pipeline.stages);
  if (!source.isKnown()) return;
  const Id producer = pipeline.jobs->find(source);
  const JobGraph::Rank& own = graph_.ranks_[node.rank];
  if (producer != JobGraph::kNone && own.first <= producer && producer < own.end) return;
  const Id message = pipeline.arrived->find(key);
  if (message != JobGraph::kNone) {
    node.inputs[count++] = pipeline.firstMessage + message;
  } else if (producer != JobGraph::kNone) {
    node.inputs[count++] = producer;
    const std::vector<JobKey>& early = events_[node.rank].early;
    if (!early.empty()) {
      node.gotDataEarly = std::binary_search(early.begin(), early.end(), key, isBefore);
    }
  } else {
    node.lacksInput = true;
  }
}

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
