#include "parser/device_time/communication.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "parser/foreign/names/group_names.h"
#include "trace/event_arguments.h"
#include "trace/log/log_format.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

constexpr std::string_view kCall = "record_param_comms";
constexpr std::string_view kSendName = "nccl:send";
constexpr std::string_view kRecvName = "nccl:recv";
constexpr std::string_view kPipelineName = "PP:";

/// "4 5 6"
std::string textOf(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) {
    if (!text.empty()) text += ' ';
    text += std::to_string(number);
  }
  return text;
}

}  // namespace

std::int64_t bytesOfElement(std::string_view type) {
  constexpr std::pair<std::string_view, std::int64_t> kSizes[] = {
      {"Double", 8}, {"Long", 8},     {"Float", 4},         {"Int", 4},
      {"Half", 2},   {"BFloat16", 2}, {"Short", 2},         {"Byte", 1},
      {"Char", 1},   {"Bool", 1},     {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
  for (const auto& [name, size] : kSizes) {
    if (name == type) return size;
  }
  return 0;
}

std::vector<std::int64_t> numbersInList(std::string_view list) {
  std::vector<std::int64_t> numbers;
  if (list.starts_with('[')) list.remove_prefix(1);
  while (true) {
    const std::size_t end = std::min(list.find_first_of(",]"), list.size());
    const auto number = parseNumber<std::int64_t>(list.substr(0, end));
    if (!number) return numbers;
    numbers.push_back(*number);
    list.remove_prefix(std::min(end + 1, list.size()));
    while (list.starts_with(' ')) list.remove_prefix(1);
  }
}

/// The facts that calls give about the messages of a kernel.
struct CommunicationCalls::Facts {
  bool isSend = false;
  bool isRecv = false;
  bool reduces = false;  // a collective that adds up
  bool isAllToAll = false;
  std::optional<std::int64_t> sequence;     // in the group
  std::optional<std::int64_t> peer;         // a rank of the run
  std::optional<std::int64_t> peerInGroup;  // its place in the group
  std::optional<std::int64_t> elements;
  std::string_view type;
  std::string_view groupRanks;
  std::string_view groupName;
  std::string_view groupPurpose;
  std::string_view inSplits;  // elements for each member of the group, "[0, 4096]"
  std::string_view outSplits;
  const JobName* inPipeline = nullptr;

  std::int64_t bytes() const { return elements.value_or(0) * bytesOfElement(type); }
};

/// A send or a receive as the host posted it.
struct CommunicationCalls::Post {
  bool isSend = false;
  Nanoseconds time = 0;
  std::int32_t peer = kNotGiven;
  std::int64_t bytes = 0;
  const JobName* inPipeline = nullptr;
  std::optional<bool> isForward;  // where the peer's place in the group decides
  std::vector<std::int64_t> groupRanks;
  std::string groupUse;
};

CommunicationCalls::CommunicationCalls(const std::vector<ThreadEvents>& threads, int rank,
                                       const RanksOfGroups& ranksOfGroups, Timeline& timeline,
                                       ForeignNames& names, const HostJobs& jobs)
    : timeline_(timeline),
      names_(names),
      jobs_(jobs),
      ranksOfGroups_(ranksOfGroups),
      rank_(rank),
      calls_(threads.size()),
      launches_(threads.size()) {
  for (std::size_t t = 0; t < threads.size(); ++t) {
    processes_.push_back(threads[t].process);
    for (const Event& event : *threads[t].events) {
      const std::string_view name = timeline_.strings[event.name];
      const bool mayPost = threads[t].arePosts || name.starts_with(kPipelineName);
      const bool isPost = mayPost && isTransfer(names.known(event.name).kind);
      const bool isCall =
          isPost || name == kCall || name.starts_with(kSendName) || name.starts_with(kRecvName);
      if (isCall) calls_[t].push_back({event.begin, event.end, event, isPost});
      if (name != kCall) continue;
      Facts facts;
      addFacts(event, facts);
      addUse(facts, facts.reduces, HostPlace{static_cast<std::uint32_t>(t), event.begin});
    }
  }
  areUsesOfCalls_ = !uses_.empty();
}

void CommunicationCalls::addKernel(const Event& kernel, const Launch* launch) {
  const bool isOnHost = launch != nullptr && launch->thread < launches_.size();
  if (isOnHost) {
    std::vector<Nanoseconds>& launches = launches_[launch->thread];
    launches.insert(std::upper_bound(launches.begin(), launches.end(), launch->time), launch->time);
  }
  if (areUsesOfCalls_) return;
  Facts facts;
  addFacts(kernel, facts);
  const auto at = isOnHost ? std::optional(HostPlace{launch->thread, launch->time}) : std::nullopt;
  addUse(facts, isReduction(kernel.kind), at);
}

void CommunicationCalls::addUse(const Facts& facts, bool reduces,
                                const std::optional<HostPlace>& at) {
  if (facts.groupRanks.empty()) return;
  const auto [found, isNew] = uses_.try_emplace({facts.groupRanks, facts.groupName});
  GroupUse& use = found->second;
  if (isNew) {
    for (const std::int64_t rank : ranksOf(facts)) {
      if (rank >= 0 && rank <= kHighestRank) use.group.ranks.push_back(static_cast<int>(rank));
    }
  }
  if (use.group.axis == GroupAxis::kUnknown) use.group.axis = axisOfGroupName(facts.groupPurpose);
  use.group.reduces = use.group.reduces || reduces;
  if (!at) return;
  if (facts.isSend && !isInJob(*at)) use.sendsBetweenJobs = true;
  const std::int32_t job = reduces ? jobs_.openAt(at->thread, at->time) : HostJobs::kNone;
  if (job != HostJobs::kNone && jobs_[job].kind == JobKind::kForward) ++use.reductionsInForwards;
}

/// The ranks of the group; PyTorch cuts long lists, but not those of `pg_config`.
std::vector<std::int64_t> CommunicationCalls::ranksOf(const Facts& facts) const {
  constexpr std::string_view kCut = "...";
  if (facts.groupRanks.find(kCut) == std::string_view::npos) return numbersInList(facts.groupRanks);
  const auto known = ranksOfGroups_.find(facts.groupName);
  if (known == ranksOfGroups_.end()) return {};
  return {known->second.begin(), known->second.end()};
}

/// The peer among the ranks of the run; without a list of the group's, its place counts as rank.
std::int32_t CommunicationCalls::peerRank(const Facts& facts) const {
  std::optional<std::int64_t> found = facts.peer;
  if (!found && facts.peerInGroup) {
    const std::vector<std::int64_t> ranks = ranksOf(facts);
    const auto place = static_cast<std::size_t>(*facts.peerInGroup);
    if (facts.groupRanks.empty()) found = facts.peerInGroup;
    if (place < ranks.size()) found = ranks[place];
  }
  const bool isRank = found && *found >= 0 && *found <= kHighestRank;
  return isRank ? static_cast<std::int32_t>(*found) : std::int32_t{kNotGiven};
}

bool CommunicationCalls::isInJob(const HostPlace& at) const {
  return jobs_.openAt(at.thread, at.time) != HostJobs::kNone ||
         !jobs_.backwardsOpenAt(processes_[at.thread], at.time).empty();
}

/// Whether a message is one between ranks that share a stage.
bool CommunicationCalls::isOfStage(const Facts& facts, const Launch* launch) const {
  const bool isOnHost = launch != nullptr && launch->thread < processes_.size();
  const auto use = uses_.find({facts.groupRanks, facts.groupName});
  const bool isKnown = use != uses_.end();
  GroupAxis axis = isKnown ? use->second.group.axis : GroupAxis::kUnknown;
  if (axis == GroupAxis::kUnknown) axis = axisOfGroupName(facts.groupPurpose);
  if (axis != GroupAxis::kUnknown) {
    return axis != GroupAxis::kPipeline && axis != GroupAxis::kOther;
  }
  if (!isKnown || facts.inPipeline != nullptr || !isOnHost) return false;
  if (!isInJob({launch->thread, launch->time})) return false;
  return !use->second.sendsBetweenJobs &&
         std::any_of(uses_.begin(), uses_.end(),
                     [](const auto& each) { return each.second.sendsBetweenJobs; });
}

std::vector<CommunicationGroup> CommunicationCalls::groups() const {
  std::int64_t forwards = 0;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (jobs_[static_cast<std::int32_t>(i)].kind == JobKind::kForward) ++forwards;
  }
  std::vector<CommunicationGroup> groups;
  for (const auto& [ranks, use] : uses_) {
    if (use.group.ranks.empty()) continue;
    CommunicationGroup group = use.group;
    // A sum of losses is in some of them only.
    group.reducesInForwards = forwards > 0 && use.reductionsInForwards >= forwards;
    groups.push_back(std::move(group));
  }
  return groups;
}

/// "nccl:send 0->1" and "nccl:recv 1<-0": places in the group.
void CommunicationCalls::addNamed(std::string_view name, Facts& facts) const {
  facts.isSend = facts.isSend || name.starts_with(kSendName);
  facts.isRecv = facts.isRecv || name.starts_with(kRecvName);
  const std::string_view arrow = name.starts_with(kSendName) ? "->" : "<-";
  const std::size_t at = name.find(arrow);
  if (at != std::string_view::npos && !facts.peerInGroup) {
    facts.peerInGroup = parseNumber<std::int64_t>(name.substr(at + arrow.size()));
  }
}

void CommunicationCalls::addFacts(const Event& event, Facts& facts) const {
  std::optional<std::int64_t> source;
  std::optional<std::int64_t> target;
  for (const Argument& argument : timeline_.argumentsOf(event)) {
    const std::string_view key = timeline_.strings[argument.key];
    if (argument.type == ArgumentType::kText) {
      const std::string_view text = timeline_.strings[argument.text];
      if (key == "Collective name") {
        facts.isSend = facts.isSend || text == "send";
        facts.isRecv = facts.isRecv || text == "recv";
        // "allreduce", "_reduce_scatter_base", "allreduce_coalesced", "reduce_scatter_tensor"
        facts.reduces = facts.reduces || text.find("allreduce") != std::string_view::npos ||
                        text.find("reduce_scatter") != std::string_view::npos;
        // "all_to_all", "all_to_allv", "alltoall_base"
        facts.isAllToAll =
            facts.isAllToAll || text.starts_with("all_to_all") || text.starts_with("alltoall");
      }
      if (key == "dtype" && facts.type.empty()) facts.type = text;
      if (key == "Process Group Ranks" && facts.groupRanks.empty()) facts.groupRanks = text;
      if (key == "Process Group Name" && facts.groupName.empty()) facts.groupName = text;
      if (key == "Process Group Description" && facts.groupPurpose.empty()) {
        facts.groupPurpose = text;
      }
      if (key == "In split size" && facts.inSplits.empty()) facts.inSplits = text;
      if (key == "Out split size" && facts.outSplits.empty()) facts.outSplits = text;
    } else if (argument.type == ArgumentType::kInteger) {
      if (key == "Src Rank") source = argument.integer;
      if (key == "Dst Rank") target = argument.integer;
      if (key == "Seq" && !facts.sequence) facts.sequence = argument.integer;
      if (key == "In msg nelems" || key == "Out msg nelems") {
        facts.elements = std::max(facts.elements.value_or(0), argument.integer);
      }
    }
  }
  const std::optional<std::int64_t>& peer = facts.isSend ? target : source;
  if (!facts.peer && (facts.isSend || facts.isRecv)) facts.peer = peer;
}

void CommunicationCalls::addCall(const Call& call, Facts& facts) const {
  const std::string_view name = timeline_.strings[call.event.name];
  if (call.isPost) {
    facts.inPipeline = &names_.known(call.event.name);
  } else if (name == kCall) {
    addFacts(call.event, facts);
  } else {
    addNamed(name, facts);
  }
}

/// From the calls that were open at the launch, the inner ones first.
void CommunicationCalls::addAround(const Launch& launch, Facts& facts) const {
  const std::vector<Call>& calls = calls_[launch.thread];
  auto next = std::partition_point(calls.begin(), calls.end(),
                                   [&](const Call& c) { return c.begin <= launch.time; });
  // Open calls nest three deep. Before them may lie those of a whole group, two each.
  constexpr int kMostBack = 64;
  for (int i = 0; i < kMostBack && next != calls.begin(); ++i) {
    const Call& call = *--next;
    if (call.end > launch.time) addCall(call, facts);
  }
}

/// The calls that were over before the launch and after the launch before it: a group of NCCL runs
/// once it ends. Those between ranks that share a stage, or the others.
std::vector<CommunicationCalls::Post> CommunicationCalls::postedInGroup(const Launch& launch,
                                                                        bool inStage) const {
  const std::vector<Nanoseconds>& launches = launches_[launch.thread];
  const auto here = std::lower_bound(launches.begin(), launches.end(), launch.time);
  const Nanoseconds after = here == launches.begin() ? kNsMin : *(here - 1);
  const std::vector<Call>& calls = calls_[launch.thread];
  auto call = std::partition_point(calls.begin(), calls.end(),
                                   [&](const Call& c) { return c.begin <= after; });
  std::vector<Post> posts;
  while (call != calls.end() && call->end <= launch.time) {
    Facts facts;
    const Nanoseconds end = call->end;
    const Nanoseconds begin = call->begin;
    for (; call != calls.end() && call->begin < end; ++call) addCall(*call, facts);
    if (facts.isSend == facts.isRecv || isOfStage(facts, &launch) != inStage) continue;
    const std::int32_t peer = peerRank(facts);
    const auto same = std::find_if(posts.begin(), posts.end(), [&](const Post& p) {
      return p.isSend == facts.isSend && p.peer == peer;
    });
    if (same != posts.end()) {
      same->bytes += facts.bytes();
    } else {
      posts.push_back({facts.isSend,
                       begin,
                       peer,
                       facts.bytes(),
                       nullptr,
                       {},
                       ranksOf(facts),
                       std::string(useOf(facts))});
    }
  }
  return posts;
}

/// Where a group sends to two peers, or receives from two, one message is of a forward and the
/// other of a backward. A forward goes from a rank to the next one of the group.
void CommunicationCalls::setDirections(std::vector<Post>& posts) const {
  for (const bool isSend : {true, false}) {
    const auto isOfKind = [&](const Post& p) { return p.isSend == isSend; };
    if (std::count_if(posts.begin(), posts.end(), isOfKind) < 2) continue;
    for (Post& post : posts) {
      if (post.isSend != isSend) continue;
      const std::vector<std::int64_t>& ranks = post.groupRanks;
      const auto own = std::find(ranks.begin(), ranks.end(), rank_);
      const auto peer = std::find(ranks.begin(), ranks.end(), post.peer);
      if (own == ranks.end() || peer == ranks.end()) continue;
      const auto size = static_cast<std::ptrdiff_t>(ranks.size());
      const std::ptrdiff_t distance = (peer - own + size) % size;
      if (distance == 1 && size > 2) post.isForward = isSend;
      if (distance == size - 1 && size > 2) post.isForward = !isSend;
    }
  }
}

void CommunicationCalls::addBytes(Event& event, std::int64_t bytes) const {
  if (bytes <= 0) return;
  const Argument argument = Argument::ofInteger(timeline_.strings.intern("bytes"), bytes);
  timeline_.addArguments(event, {&argument, 1});
}

/// What the group of a collective is for.
std::string_view CommunicationCalls::useOf(const Facts& facts) {
  const std::string_view name = facts.groupPurpose.empty() ? facts.groupName : facts.groupPurpose;
  const std::string_view words =
      axisWords(trainsSameWeights(name) ? GroupAxis::kData : axisOfGroupName(name));
  return words.empty() ? name : words;
}

/// Those of the group to which an all-to-all sends anything, or from which it receives. Nothing
/// where its sizes are not all given, as they are not where all are alike.
std::optional<std::vector<std::int64_t>> CommunicationCalls::partnersOf(
    const Facts& facts, const std::vector<std::int64_t>& ranks) const {
  const std::vector<std::int64_t> sent = numbersInList(facts.inSplits);
  const std::vector<std::int64_t> received = numbersInList(facts.outSplits);
  if (sent.size() != ranks.size() || received.size() != ranks.size()) return std::nullopt;
  std::vector<std::int64_t> partners;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] != rank_ && (sent[i] > 0 || received[i] > 0)) partners.push_back(ranks[i]);
  }
  return partners;
}

void CommunicationCalls::addGroupOf(Event& collective, const Facts& facts) const {
  if (facts.isAllToAll && collective.kind == JobKind::kKernel) {
    collective.kind = JobKind::kAllToAll;
  }
  const std::vector<std::int64_t> ranks = ranksOf(facts);
  addMembers(collective, ranks, partnersOf(facts, ranks), useOf(facts), facts.sequence);
}

/// Messages between ranks that share a stage hold up its jobs as an all-to-all does that sends
/// nothing to the others.
void CommunicationCalls::addExchange(Event& kernel, const std::vector<Post>& posts) const {
  std::int64_t bytes = 0;
  std::vector<std::int64_t> partners;
  for (const Post& post : posts) {
    bytes += post.bytes;
    partners.push_back(post.peer);
  }
  addBytes(kernel, bytes);
  kernel.kind = JobKind::kAllToAll;
  const Post& first = posts.front();
  addMembers(kernel, first.groupRanks, partners, first.groupUse, std::nullopt);
  if (posts.size() > 1) return;
  // Its send and its receive meet, and not the message that goes back.
  const std::int64_t peer = first.peer;
  addText(kernel, collective_arguments::kMessage,
          textOf(first.isSend ? std::vector<std::int64_t>{rank_, peer}
                              : std::vector<std::int64_t>{peer, rank_}));
}

void CommunicationCalls::addText(Event& event, std::string_view key,
                                 const std::string& text) const {
  StringTable& strings = timeline_.strings;
  const Argument argument = Argument::ofText(strings.intern(key), strings.intern(text));
  timeline_.addArguments(event, {&argument, 1});
}

/// `partners`: those that it waits for; nothing: all.
void CommunicationCalls::addMembers(Event& collective, const std::vector<std::int64_t>& ranks,
                                    std::optional<std::vector<std::int64_t>> partners,
                                    std::string_view use,
                                    std::optional<std::int64_t> sequence) const {
  const bool isInside = isCollective(collective.kind) && collective.job >= 0 &&
                        isCompute(jobs_[static_cast<std::int32_t>(collective.job)].kind);
  if (ranks.size() < 2) return;
  if (!isInside) {
    // Ranks meet in it between their jobs, as in those of job logs.
    if (isCollective(collective.kind)) addText(collective, log_format::kMembers, textOf(ranks));
    return;
  }
  if (partners) {
    std::sort(partners->begin(), partners->end());
    partners->erase(std::unique(partners->begin(), partners->end()), partners->end());
    const bool areMembers = std::all_of(partners->begin(), partners->end(), [&](std::int64_t rank) {
      return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    });
    if (partners->empty() || !areMembers) return;
    if (partners->size() + 1 == ranks.size()) partners.reset();
  }
  addText(collective, collective_arguments::kGroup, textOf(ranks));
  if (!use.empty()) addText(collective, collective_arguments::kUse, std::string(use));
  if (partners) addText(collective, collective_arguments::kPartners, textOf(*partners));
  if (!sequence) return;
  const Argument argument =
      Argument::ofInteger(timeline_.strings.intern(collective_arguments::kSequence), *sequence);
  timeline_.addArguments(collective, {&argument, 1});
}

std::vector<CommunicationCalls::Message> CommunicationCalls::describe(Event& kernel,
                                                                      const Launch* launch,
                                                                      Nanoseconds& lastEnd) const {
  std::vector<Message> messages = messagesOf(kernel, launch);
  if (messages.empty()) return messages;
  if (launch != nullptr && launch->time > lastEnd) {
    const Argument argument = Argument::ofInteger(
        timeline_.strings.intern(message_arguments::kPostDelay), launch->time - lastEnd);
    for (Message& message : messages) timeline_.addArguments(message.event, {&argument, 1});
  }
  lastEnd = kernel.end;
  return messages;
}

std::vector<CommunicationCalls::Message> CommunicationCalls::messagesOf(
    Event& kernel, const Launch* launch) const {
  Facts facts;
  addFacts(kernel, facts);
  const bool isOnHost = launch != nullptr && launch->thread < calls_.size();
  if (isOnHost) addAround(*launch, facts);
  std::vector<Post> posts;
  const bool isCollectiveKernel = isCollective(kernel.kind) || facts.isAllToAll;
  if (isOnHost && !facts.isSend && !facts.isRecv && !isCollectiveKernel) {
    posts = postedInGroup(*launch, false);
    setDirections(posts);
    const std::vector<Post> exchanged =
        posts.empty() ? postedInGroup(*launch, true) : std::vector<Post>();
    if (!exchanged.empty()) {
      addExchange(kernel, exchanged);
      return {};
    }
  }
  const JobName* const inPipeline = facts.inPipeline;
  if (posts.empty()) {
    const bool sends = facts.isSend || (inPipeline != nullptr && isSend(inPipeline->kind));
    const bool receives = facts.isRecv || (inPipeline != nullptr && isRecv(inPipeline->kind));
    if (sends == receives) {  // a collective, or nobody knows
      addBytes(kernel, facts.bytes());
      addGroupOf(kernel, facts);
      return {};
    }
    const Nanoseconds posted = launch != nullptr ? launch->time : kernel.begin;
    posts.push_back({sends,
                     posted,
                     peerRank(facts),
                     facts.bytes(),
                     nullptr,
                     {},
                     ranksOf(facts),
                     std::string(useOf(facts))});
    if (isOfStage(facts, launch)) {
      addExchange(kernel, posts);
      return {};
    }
  }
  std::vector<Message> messages;
  for (Post& post : posts) {
    const bool isOfPipeline = inPipeline != nullptr &&
                              (post.isSend ? isSend(inPipeline->kind) : isRecv(inPipeline->kind));
    if (isOfPipeline) post.inPipeline = inPipeline;
    messages.push_back(messageOf(kernel, post, launch));
  }
  return messages;
}

CommunicationCalls::Message CommunicationCalls::messageOf(const Event& kernel, const Post& post,
                                                          const Launch* launch) const {
  Message message{kernel, post.isSend};
  addBytes(message.event, post.bytes);
  message.event.peer = post.peer;
  if (post.inPipeline != nullptr) {
    message.event.kind = post.inPipeline->kind;
    message.event.microBatch = post.inPipeline->microBatch;
    message.event.stage = post.inPipeline->stage;
  }
  if (launch != nullptr) giveJob(message, post, launch->thread);
  return message;
}

/// Gives a message its job, and unless an annotation said them, the kind and the numbers that
/// follow from it. Without an annotation its job is that which it was posted for.
void CommunicationCalls::giveJob(Message& message, const Post& post, std::uint32_t thread) const {
  Event& event = message.event;
  const bool isNumbered = isTransfer(event.kind) && event.microBatch != kNotGiven;
  if (isNumbered && event.job == kNotGiven) {
    const std::int32_t own = jobs_.withMessage(thread, post.time, event);
    if (own != HostJobs::kNone) event.job = own;
  }
  if (isNumbered && event.job != kNotGiven) return;
  auto isForward = post.isForward;
  if (isTransfer(event.kind) && !isNumbered) isForward = isForwardTransfer(event.kind);
  const std::int32_t number = jobs_.ofMessage(thread, post.time, post.isSend, isForward);
  if (number == HostJobs::kNone) return;
  const HostJob& job = jobs_[number];
  auto isOfForward = isForwardMessageOf(job.kind);
  // Which of its messages are of its forward is known when it has its stages.
  if (isFoundPair(job.kind, job.stage)) isOfForward = isForward.value_or(true);
  if (!isOfForward) return;
  const JobKind kind = transferKind(post.isSend, *isOfForward);
  if (isTransfer(event.kind)) {  // its own job may be another one than that next to it
    if (event.kind != kind || (isNumbered && event.microBatch != job.microBatch)) return;
  }
  event.kind = kind;
  if (event.stage == kNotGiven) event.stage = job.stage;
  if (event.microBatch == kNotGiven) event.microBatch = job.microBatch;
  event.job = number;
}

}  // namespace pipetrace
