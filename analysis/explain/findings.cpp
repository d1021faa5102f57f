#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/explain/causes.h"
#include "analysis/explain/finding.h"
#include "analysis/explain/finding_texts.h"
#include "analysis/explain/steps_that_lack_jobs.h"
#include "analysis/ratio.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// A share of the idle time from which on a finding is a warning.
constexpr double kWarningShare = 0.05;
/// Clocks are read less exactly than that.
constexpr Nanoseconds kLeastEarly = 10 * kNsPerUs;

/// The message between two ranks that is received longest before it is sent.
Id earliestMessage(const JobGraph& graph, LinkTimes::Link link, const CountedSteps& counted) {
  Id earliest = JobGraph::kNone;
  Nanoseconds least = kNsMax;
  for (auto id = static_cast<Id>(graph.jobCount()); id < graph.messageEnd(); ++id) {
    const JobGraph::Node& node = graph.node(id);
    if (node.inputs[0] == JobGraph::kNone || node.end - node.begin >= least) continue;
    if (!counted.contains(node.step)) continue;
    const int from = graph.ranks()[graph.node(node.inputs[0]).rank].number;
    const int to = graph.ranks()[node.rank].number;
    if (std::pair(std::min(from, to), std::max(from, to)) != link) continue;
    earliest = id;
    least = node.end - node.begin;
  }
  return earliest;
}

/// Whether the program means to pause.
bool isWanted(const Pauses& pauses) {
  return pauses.reason == Pauses::Reason::kEvaluation ||
         pauses.reason == Pauses::Reason::kPrediction;
}

/// The steps of the pipelines that no rank is missing of, of those that count. Where a rank is
/// missing, the time between steps may be warm-up and drain.
RunSummary stepsOfWholePipelines(const FindingInputs& run) {
  std::set<int> whole;
  for (const PipelineBasis& pipeline : run.basis.pipelines()) {
    const bool isWhole = std::none_of(pipeline.windows.begin(), pipeline.windows.end(),
                                      [](const BubbleWindow& window) { return window.lacksRanks; });
    if (isWhole) whole.insert(pipeline.replica);
  }
  RunSummary steps;
  steps.phase = run.summary.phase;
  steps.otherSteps = run.summary.otherSteps;
  for (const StepSummary& step : run.summary.steps) {
    if (whole.contains(step.replica) && run.counted.contains(step.step))
      steps.steps.push_back(step);
  }
  return steps;
}

using Examples = std::vector<std::pair<std::uint32_t, Bubble>>;

Nanoseconds lengthOf(const std::pair<std::uint32_t, Bubble>& example) {
  return example.second.end - example.second.begin;
}

void keepLongest(Examples& examples) {
  std::stable_sort(examples.begin(), examples.end(),
                   [](const auto& a, const auto& b) { return lengthOf(a) > lengthOf(b); });
  examples.resize(std::min(examples.size(), kMostExamples));
}

/// Sums and longest bubbles by class, in the steps that count.
struct ClassSums {
  std::array<Examples, kBubbleClassCount> longest;
  ClassTimes times{};
  Nanoseconds idle = 0;

  explicit ClassSums(const FindingInputs& run) {
    for (std::uint32_t rank = 0; rank < run.bubbles.byRank.size(); ++rank) {
      for (const Bubble& bubble : run.bubbles.byRank[rank]) {
        if (run.counted.contains(bubble.step)) add(rank, bubble);
      }
    }
  }

 private:
  void add(std::uint32_t rank, const Bubble& bubble) {
    const auto index = static_cast<std::size_t>(bubble.bubbleClass);
    const Nanoseconds length = bubble.end - bubble.begin;
    times[index] += length;
    idle += length;
    Examples& examples = longest[index];
    if (examples.size() == kMostExamples && length <= lengthOf(examples.back())) return;
    examples.emplace_back(rank, bubble);
    keepLongest(examples);
  }
};

/// The time of the steps that count, on all ranks.
Nanoseconds timeOfSteps(const FindingInputs& run) {
  Nanoseconds time = 0;
  for (const StepSummary& step : run.summary.steps) {
    if (!run.counted.contains(step.step)) continue;
    for (const RankStep& rank : step.ranks) time += rank.busy + rank.idle;
  }
  return time;
}

/// The idle time that no cause is known for: why more is unknown than the causes that were not
/// found, and what to do.
FindingText unknownText(const RunBasis& basis, const CountedSteps& counted) {
  const std::string allLogs = rowOf(BubbleClass::kUnknown).advice;
  for (const PipelineBasis& pipeline : basis.pipelines()) {
    const bool lacksPlan = std::any_of(
        pipeline.windows.begin(), pipeline.windows.end(), [](const BubbleWindow& window) {
          return window.isWhole && window.lacksRanks && !window.hasPlan;
        });
    if (lacksPlan) {
      return {
          "; the schedule's own share is part of it, as ranks have no logs and the others "
          "do not show the schedule",
          allLogs};
    }
  }
  const StepsThatLackJobs lacking = stepsThatLackJobs(basis, counted);
  if (lacking.steps.empty()) return {"", allLogs};
  return {"; " + lacking.text() + ", so nobody knows what ranks waited for there",
          lacking.whole ? lacking.leaveOutText() : "give the whole logs of all ranks"};
}

class Findings {
 public:
  explicit Findings(const FindingInputs& run)
      : run_(run),
        sums_(run),
        stepTime_(timeOfSteps(run)),
        texts_(run.timeline, run.basis.graph(), run.times, run.stages, run.ranks, run.links,
               run.lengths, run.scattered, run.counted, sums_.idle) {}

  std::vector<Finding> all() {
    addEarlyMessages();
    addCauses();
    addPauses();
    addClasses({BubbleClass::kWarmUp, BubbleClass::kSteady, BubbleClass::kDrain});
    for (const BubbleClass c : kReportedClasses) {
      if (!isOfSchedule(c) && rowOf(c).blame == BubbleBlame::kNobody) addClasses({c});
    }
    std::stable_partition(findings_.begin(), findings_.end(),
                          [](const Finding& finding) { return !finding.isMinor; });
    return std::move(findings_);
  }

 private:
  /// Clocks that differ make all else doubtful.
  void addEarlyMessages() {
    const auto& early = run_.links.early();
    const auto most =
        std::max_element(early.begin(), early.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == early.end() || most->second < kLeastEarly) return;
    Finding finding{.severity = Severity::kWarning, .text = betweenRanks(most->first)};
    if (early.size() > 1) {
      finding.text += " and on " + std::to_string(early.size() - 1) + " more link" +
                      (early.size() == 2 ? "" : "s");
    }
    finding.text += " arrive before they are sent, by " + formatDuration(most->second) +
                    " in the median: clocks differ, so that idle time may have the wrong culprits";
    finding.advice = "compare the clocks of the hosts, or let --align causal move them";
    finding.culprit.rank = most->first.first;
    finding.culprit.peer = most->first.second;
    finding.earliestMessage = earliestMessage(run_.basis.graph(), most->first, run_.counted);
    findings_.push_back(std::move(finding));
  }

  void addCauses() {
    const std::vector<IdleCause> causes =
        causesOf(run_.basis.graph(), run_.culprits, run_.stages, run_.ranks, run_.links,
                 run_.lengths, run_.scattered);
    for (const IdleCause& cause : causes) {
      FindingText text = texts_.of(cause);
      Finding& finding = add(std::move(text), cause.group.time);
      finding.bubbleClass = cause.group.bubbleClass;
      finding.classes = {cause.group.bubbleClass};
      finding.ranks = cause.ranks;
      finding.culprit = cause.group;
      finding.examples = cause.group.examples;
      if (cause.kind == IdleCause::Kind::kUnevenMicroBatches) finding.lengths = run_.lengths;
      if (cause.kind == IdleCause::Kind::kScatteredPauses) finding.scattered = run_.scattered;
      if (cause.kind == IdleCause::Kind::kEarlyLink) finding.severity = Severity::kWarning;
    }
  }

  void addPauses() {
    for (Pauses& pauses : pausesOf(run_.timeline, stepsOfWholePipelines(run_), run_.counted)) {
      findings_.push_back({.severity = isWanted(pauses) ? Severity::kNote : Severity::kWarning,
                           .text = toText(pauses),
                           .advice = adviceFor(pauses)});
      findings_.back().pauses = std::move(pauses);
    }
  }

  /// Says what the row of a class says, or more where the run tells it.
  FindingText textOf(BubbleClass bubbleClass, Nanoseconds time) const {
    const BubbleClassRow& row = rowOf(bubbleClass);
    const std::string share = " " + formatDuration(time) + ", " + percentText(time, sums_.idle);
    if (bubbleClass == BubbleClass::kUnknown) {
      FindingText unknown = unknownText(run_.basis, run_.counted);
      return {row.finding + share + unknown.text, std::move(unknown.advice)};
    }
    const JobGraph& graph = run_.basis.graph();
    const bool hasCollectives = graph.nodes().size() > graph.messageEnd();
    if (bubbleClass == BubbleClass::kSync && !hasCollectives) {
      return {"of the idle time optimizers take" + share,
              "see whether weights can be updated faster: a fused optimizer, or several ranks "
              "that update a part each"};
    }
    return {row.finding + share, row.advice};
  }

  /// One finding of classes that nobody is to blame for; the first has its text.
  void addClasses(std::initializer_list<BubbleClass> classes) {
    Nanoseconds time = 0;
    std::vector<BubbleClass> present;
    Examples examples;
    for (const BubbleClass c : classes) {
      const auto index = static_cast<std::size_t>(c);
      time += sums_.times[index];
      if (sums_.times[index] > 0) present.push_back(c);
      const Examples& own = sums_.longest[index];
      examples.insert(examples.end(), own.begin(), own.end());
    }
    if (time == 0) return;
    Finding& finding = add(textOf(*classes.begin(), time), time);
    finding.severity = Severity::kNote;
    if (present.size() == 1) finding.bubbleClass = present.front();
    finding.classes = std::move(present);
    keepLongest(examples);
    finding.examples = std::move(examples);
  }

  Finding& add(FindingText text, Nanoseconds time) {
    Finding& finding = findings_.emplace_back();
    finding.text = std::move(text.text);
    finding.advice = std::move(text.advice);
    finding.time = time;
    finding.share = ratio(time, sums_.idle);
    finding.shareOfSteps = ratio(time, stepTime_);
    finding.isMinor = finding.shareOfSteps < kMinorShare;
    const bool isWarning = finding.share >= kWarningShare && !finding.isMinor;
    finding.severity = isWarning ? Severity::kWarning : Severity::kNote;
    return finding;
  }

  const FindingInputs& run_;
  ClassSums sums_;
  Nanoseconds stepTime_;
  FindingTexts texts_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> findingsOf(const FindingInputs& run) { return Findings(run).all(); }

const char* noFindingsText(Nanoseconds idle) {
  return idle > 0 ? "no cause of idle time takes 1 % of the steps' time" : "no idle time";
}

std::string minorFindingsText(const std::vector<Finding>& findings) {
  std::size_t count = 0;
  double share = 0;
  for (const Finding& finding : findings) {
    if (!finding.isMinor) continue;
    ++count;
    share += finding.shareOfSteps;
  }
  if (count == 0) return {};
  constexpr Nanoseconds kWhole = 1'000'000;  // percentText() takes parts of a whole
  const std::string percent =
      percentText(static_cast<Nanoseconds>(share * static_cast<double>(kWhole)), kWhole);
  if (count == 1) return "1 more cause costs " + percent + " of the steps' time";
  return std::to_string(count) + " more causes cost less than 1 % of the steps' time each, " +
         percent + " together";
}

}  // namespace pipetrace
