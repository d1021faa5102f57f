#include "chart/search/job_matcher.h"

#include <charconv>
#include <utility>

#include "trace/error.h"
#include "trace/text/display_name.h"
#include "trace/text/typed_text.h"

namespace pipetrace {
namespace {

constexpr std::size_t kMostTexts = 64;
constexpr std::int64_t kMostMicroBatches = 10'000;  // whose names are kept

}  // namespace

Nanoseconds beginOf(const Timeline& timeline) {
  Nanoseconds begin = kNsMax;
  for (const Track& track : timeline.tracks) {
    if (!track.events.empty()) begin = std::min(begin, track.events.front().begin);
  }
  return begin == kNsMax ? 0 : begin;
}

JobMatcher::JobMatcher(const Timeline& timeline, SearchQuery query,
                       std::shared_ptr<const UsualTimes> usual)
    : timeline_(timeline),
      query_(std::move(query)),
      usual_(std::move(usual)),
      texts_(query_.words) {
  if (query_.own && !usual_) usual_ = std::make_shared<const UsualTimes>(timeline);
  texts_.insert(texts_.end(), query_.names.begin(), query_.names.end());
  if (texts_.size() > kMostTexts) {
    throw Error("a query has at most " + std::to_string(kMostTexts) + " words");
  }
  if (query_.at) instant_ = beginOf(timeline) + *query_.at;
  all_ = texts_.size() == kMostTexts ? ~std::uint64_t{0} : (std::uint64_t{1} << texts_.size()) - 1;
  for (std::size_t kind = 0; kind < inKind_.size(); ++kind) {
    const std::string_view name = logName(static_cast<JobKind>(kind));
    for (std::size_t i = 0; i < query_.words.size(); ++i) {
      if (name.find(texts_[i]) != std::string_view::npos) inKind_[kind] |= std::uint64_t{1} << i;
    }
  }
  for (const std::string& word : query_.words) actions_.push_back(actionOf(word));
  inName_.resize(timeline.strings.size());
}

std::optional<JobMatcher::Action> JobMatcher::actionOf(std::string_view word) {
  Action action;
  const auto takeNumber = [&word](std::int64_t& number) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc()) return false;
    word.remove_prefix(static_cast<std::size_t>(end - word.data()));
    return true;
  };
  if (word.empty() || word.front() == '-') return std::nullopt;
  takeNumber(action.stage);
  if (word.empty()) return std::nullopt;
  switch (word.front()) {
    case 'f': action.kind = JobKind::kForward; break;
    case 'b': action.kind = JobKind::kBackward; break;
    case 'i': action.kind = JobKind::kBackwardInput; break;
    case 'w': action.kind = JobKind::kBackwardWeight; break;
    case 'r': action.kind = JobKind::kRecompute; break;
    default: return std::nullopt;
  }
  word.remove_prefix(1);
  if (word.empty() || word.front() == '-') return std::nullopt;
  if (!takeNumber(action.microBatch) || !word.empty()) return std::nullopt;
  return action;
}

bool JobMatcher::allowsLane(int rank, std::string_view lane) const {
  if (!allows(query_.ranks, rank)) return false;
  if (query_.lanes.empty()) return true;
  const std::string lower = lowerCase(lane);
  return std::any_of(query_.lanes.begin(), query_.lanes.end(), [&](const std::string& part) {
    return lower.find(part) != std::string::npos;
  });
}

bool JobMatcher::allowsNumbers(const Event& event) const {
  return allows(query_.steps, event.step) && allows(query_.microBatches, event.microBatch) &&
         allows(query_.stages, event.stage) && allows(query_.chunks, event.chunk) &&
         allows(query_.peers, event.peer) && allows(query_.jobs, event.job);
}

bool JobMatcher::allowsTimes(const Event& event) const {
  if (query_.longerThan && event.duration() < *query_.longerThan) return false;
  if (query_.shorterThan && event.duration() > *query_.shorterThan) return false;
  if (query_.own) {
    const auto factor = usual_->factorOf(event);
    if (!factor || !query_.own->contains(*factor)) return false;
  }
  if (!instant_) return true;
  const bool hasBegun = event.begin <= *instant_;
  return hasBegun && (*instant_ < event.end || event.begin == *instant_);
}

std::uint64_t JobMatcher::textsIn(std::string_view lowerName) const {
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    if (lowerName.find(texts_[i]) != std::string_view::npos) found |= std::uint64_t{1} << i;
  }
  return found;
}

std::uint64_t JobMatcher::textsInName(const Event& event) {
  if (event.name == 0) return textsInMadeUpName(event);
  KnownTexts& known = inName_[event.name];
  if (!known) known = textsIn(lowerCase(timeline_.strings[event.name]));
  return *known;
}

/// Such a name says the kind, and the micro-batch or the class of a bubble.
std::uint64_t JobMatcher::textsInMadeUpName(const Event& event) {
  const auto of = [&] { return textsIn(FallbackName(event).text()); };
  const std::int64_t key = event.kind == JobKind::kBubble
                               ? static_cast<std::int64_t>(event.bubbleClass)
                               : std::int64_t{event.microBatch} + 1;
  if (key < 0 || key >= kMostMicroBatches) return of();
  const auto index = static_cast<std::size_t>(key);
  std::vector<KnownTexts>& names = inMadeUp_[static_cast<std::size_t>(event.kind)];
  if (names.size() <= index) names.resize(index + 1);
  if (!names[index]) names[index] = of();
  return *names[index];
}

bool JobMatcher::allowsTexts(const Event& event) {
  if (texts_.empty()) return true;
  std::uint64_t found = inKind_[static_cast<std::size_t>(event.kind)];
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    if (!actions_[i] || actions_[i]->kind != event.kind) continue;
    if (actions_[i]->microBatch != event.microBatch) continue;
    if (actions_[i]->stage == kNotGiven || actions_[i]->stage == event.stage) {
      found |= std::uint64_t{1} << i;
    }
  }
  return found == all_ || (found | textsInName(event)) == all_;
}

bool JobMatcher::matches(const Event& event) {
  const auto hasBit = [](std::uint32_t bits, auto value) {
    return bits == 0 || (bits >> static_cast<unsigned>(value) & 1U) != 0;
  };
  return hasBit(query_.kinds, event.kind) && hasBit(query_.classes, event.bubbleClass) &&
         hasBit(query_.phases, event.phase) && allowsNumbers(event) && allowsTimes(event) &&
         allowsTexts(event);
}

}  // namespace pipetrace
