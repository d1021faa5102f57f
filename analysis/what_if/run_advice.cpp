#include "analysis/what_if/run_advice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/causes/findings.h"
#include "analysis/causes/peers.h"
#include "analysis/causes/slow_optimizers.h"
#include "analysis/causes/slower_than_others.h"
#include "analysis/causes/unsteady_jobs.h"
#include "analysis/run/steps/median_step.h"
#include "trace/error.h"
#include "trace/step_windows.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

constexpr std::size_t kMostRanks = 16;  ///< of slow ranks and links, that are computed one by one

class RunAdvisor {
 public:
  explicit RunAdvisor(const RunAdviceInputs& run)
      : run_(run),
        graph_(run.run.graph()),
        threads_(run.run.threads()),
        usual_(graph_, threads_, run.counted),
        slowerStages_(run.run.timeline(), graph_, usual_, run.counted, threads_),
        lengths_(graph_, run.counted, threads_) {}

  std::vector<Advice> advice() {
    balance();
    stages();
    ranks();
    links();
    launches();
    lengths();
    pauses();
    loads();
    optimizers();
    insideJobs();
    variation();
    return std::move(all_);
  }

 private:
  /// The windows of the steps that count.
  std::vector<Nanoseconds> windowsOf(const Timeline& timeline) const {
    std::vector<Nanoseconds> windows;
    const Phase phase = countedPhaseOf(timeline);
    for (const StepWindow& window : stepWindows(timeline, run_.run.topology())) {
      const bool counts = window.phase == phase && run_.counted.contains(window.step);
      if (counts) windows.push_back(window.window());
    }
    return windows;
  }
  static double meanOf(const std::vector<Nanoseconds>& windows) {
    double sum = 0;
    for (const Nanoseconds window : windows) sum += static_cast<double>(window);
    return windows.empty() ? 0 : sum / static_cast<double>(windows.size());
  }

  void add(Advice advice, const RunChanges& changes, const std::string& options) {
    if (run_.progress != nullptr) run_.progress->next();
    try {
      const Timeline again = run_.again.runJobs(changes);
      const MedianStep step = medianStepOf(again, run_.run.topology(), run_.counted);
      advice.step = step.window;
      if (run_.wall) advice.step = step.wall.value_or(step.window + *run_.wall - run_.step);
      const MeanStep mean = meanStepOf(again, run_.run.topology(), run_.counted);
      advice.meanStep = std::llround(mean.paid(run_.wall.has_value()));
    } catch (const Error&) {
      return;  // such as jobs that name no stages
    }
    advice.gain = 1 - static_cast<double>(advice.step) / paid();
    if (!options.empty()) advice.command = "pipe-trace what-if " + run_.logs + " " + options;
    all_.push_back(std::move(advice));
  }

  void balance() {
    if (graph_.ranks().size() < 2) return;
    Advice advice{.of = Advice::Of::kBalance,
                  .what = "cut the model so that all stages take equally long",
                  .options = optionsOfPartition()};
    const std::string shares = sharesText();
    if (!shares.empty()) advice.notes.push_back(shares);
    add(std::move(advice), {.balancesStages = true}, "--balance stages");
  }

  /// "stage 2 takes 1.62 times as long as the median of stages".
  std::string sharesText() const {
    if (slowerStages_.count() < 2) return {};
    const std::int32_t slowest = slowerStages_.slowest();
    const SlowerStages::Factor factor = slowerStages_.besideOthers({slowest});
    return "stage " + std::to_string(slowest) + " takes " + fixedText(factor.times, 2) +
           " times as long as " + factor.others();
  }

  /// Where ranks meet inside jobs. Stages of the same ranks are slow together. What makes them
  /// slow, layers or devices, is not known, so this is an answer to findings and no advice.
  void stages() {
    const bool isAsked = !graph_.inside().empty() || graph_.areLinesHeld();
    if (!isAsked || graph_.ranks().size() < 2) return;
    std::map<std::set<int>, std::vector<std::int32_t>> ofRanks;
    std::set<std::int32_t> all;
    for (const JobGraph::Node& node : graph_.nodes().first(graph_.jobCount())) {
      if (isCompute(node.kind) && node.stage >= 0) all.insert(node.stage);
    }
    for (const std::int32_t stage : all) ofRanks[slowerStages_.of(stage).ranks].push_back(stage);
    for (const auto& [ranks, ofThem] : ofRanks) {
      const std::vector<std::int32_t> slow = slowerStages_.slowOnes(ofThem);
      const SlowerStages::Factor factor = slowerStages_.besideOthers(slow);
      if (!factor.isKnown || factor.times < SlowerRanks::kSlow) continue;
      std::vector<ScaleOption> scales;
      std::string options;
      for (const std::int32_t stage : slow) {
        const std::string scale =
            "stage=" + std::to_string(stage) + ":" + fixedText(1 / factor.times, 4);
        scales.push_back(parseScale(scale));
        options += (options.empty() ? "--scale " : " --scale ") + scale;
      }
      add({.of = Advice::Of::kStage, .stages = slow, .what = "make slow stages as fast as others"},
          {.scales = std::move(scales)}, options);
    }
  }

  void ranks() {
    const SlowerRanks slower(graph_, run_.counted, threads_);
    std::vector<std::pair<double, int>> slow;
    for (const JobGraph::Rank& rank : graph_.ranks()) {
      const double factor = slower.of(rank.number).factor;
      if (slower.of(rank.number).isSlower()) slow.emplace_back(factor, rank.number);
    }
    std::sort(slow.rbegin(), slow.rend());
    for (std::size_t i = 0; i < std::min(slow.size(), kMostRanks); ++i) {
      const auto [factor, number] = slow[i];
      const std::string scale = "rank=" + std::to_string(number) + ":" + fixedText(1 / factor, 4);
      Advice advice{.of = Advice::Of::kRank,
                    .rank = number,
                    .what = "make rank " + std::to_string(number) + ", whose jobs take " +
                            fixedText(factor, 2) + " times as long as those of its peers, as " +
                            "fast as they are"};
      advice.notes.emplace_back(
          "look at its clock rate, its temperature and what else runs on its host");
      add(std::move(advice), {.scales = {parseScale(scale)}}, "--scale " + scale);
    }
  }

  void links() {
    const LinkTimes times(graph_, run_.counted);
    std::set<LinkTimes::Link> links;
    const RunNetwork& network = run_.again.network();
    for (RunNetwork::Index i = 0; i < network.wholeCount(); ++i) {
      const RunNetwork::Operation& work = network.operations()[i];
      if (!run_.again.isMessage(work)) continue;
      const auto [from, to] = run_.again.ranksOf(work);
      if (from >= 0 && to >= 0) links.insert({std::min(from, to), std::max(from, to)});
    }
    std::vector<std::pair<double, LinkTimes::Link>> slow;
    for (const LinkTimes::Link& link : links) {
      if (link.first == link.second) continue;  // messages that were taken for another's
      const auto others = times.ofOthers(link);
      if (times.isEarly(link) || !others || *others <= 0) continue;
      const double factor = static_cast<double>(times.of(link)) / static_cast<double>(*others);
      if (factor >= LinkTimes::kSlow) slow.emplace_back(factor, link);
    }
    std::sort(slow.rbegin(), slow.rend());
    for (std::size_t i = 0; i < std::min(slow.size(), kMostRanks); ++i) {
      const auto [factor, link] = slow[i];
      const Nanoseconds usual = *times.ofOthers(link);
      const std::string ends = std::to_string(link.first) + "-" + std::to_string(link.second);
      const std::string text = ends + "=" + std::to_string(usual) + "ns";
      Advice advice{.of = Advice::Of::kLink,
                    .what = "make the link " + ends + ", whose messages take " +
                            fixedText(factor, 1) + " times as long, as fast as the others"};
      advice.notes.emplace_back(
          areOnOneHost()
              ? "look at how their devices are connected: PCIe, NVLink, and the processor's "
                "sockets between them"
              : "look at the network between their hosts, or give these ranks hosts that are "
                "nearer");
      add(std::move(advice), {.links = {{link.first, link.second, usual, "--link " + text}}},
          "--link " + text);
    }
  }

  /// Whether the logs of all ranks name one host.
  bool areOnOneHost() const {
    std::set<std::string> hosts;
    for (const auto& [rank, info] : run_.run.timeline().ranks) hosts.insert(info.host);
    return hosts.size() == 1 && !hosts.begin()->empty();
  }

  /// Whether ranks have no logs: what jobs waited for there is not known.
  bool lacksRanks() const {
    const auto lacks = [&](const JobGraph::Node& node) {
      return node.lacksInput && run_.counted.contains(node.step);
    };
    return std::any_of(graph_.nodes().begin(), graph_.nodes().end(), lacks);
  }

  static std::string usualLaunchesOf(const std::vector<int>& ranks) {
    std::string options;
    for (const int rank : ranks) {
      options += (options.empty() ? "--usual-launch " : " --usual-launch ") + std::to_string(rank);
    }
    return options;
  }

  /// Where one pipeline begins its steps later than others, which wait for it at their end.
  void openings() {
    const std::vector<int> late = run_.again.lateOpenings();
    if (late.empty() || 2 * late.size() > graph_.pipelines().size()) return;
    Advice advice{.of = Advice::Of::kLaunches,
                  .what = "make " + ranksText(late) + " begin " +
                          (late.size() == 1 ? "its" : "their") +
                          " steps as soon as other pipelines do"};
    advice.notes.emplace_back(
        "look at what is done there before a step: most often it loads data, which nothing "
        "records");
    add(std::move(advice), {.usualLaunches = late}, usualLaunchesOf(late));
  }

  void launches() {
    if (lacksRanks()) return;
    openings();
    Advice advice{.of = Advice::Of::kLaunches,
                  .what = "begin jobs as soon as their inputs are there, without launches between"};
    if (runsOnProcessors(run_.run.timeline())) {
      advice.notes.emplace_back(
          "the logs name no GPU, so these are waits for a processor: give each rank one of its "
          "own; CUDA graphs and the like are of no use there");
    } else {
      advice.options = optionsOfLaunches();
      advice.notes.emplace_back(
          "where ranks share processors, these are also waits for one of them");
    }
    const RunAgain::LateRanks late = run_.again.lateRanks();
    if (late.ranks.empty()) {
      add(std::move(advice), {.leavesOutLaunches = true}, "--no-launch");
      return;
    }
    advice.lateRanks = late.ranks;
    const std::string whose = late.ranks.size() == 1 ? "its" : "their";
    advice.what = "make " + ranksText(late.ranks) + " begin " + whose + " jobs" +
                  (late.sendLate ? ", and send " + whose + " messages," : "") +
                  " as soon after their inputs as others do";
    add(std::move(advice), {.usualLaunches = late.ranks}, usualLaunchesOf(late.ranks));
  }

  void optimizers() {
    for (const SlowOptimizer& slow : slowOptimizersOf(run_.run, run_.counted)) {
      add({.of = Advice::Of::kOptimizer,
           .rank = slow.rank,
           .what = "make the optimizer of rank " + std::to_string(slow.rank) + ", which takes " +
                   formatDuration(slow.length) +
                   " a step, as fast as those of other ranks, which "
                   "take " +
                   formatDuration(slow.others) + " at most"},
          {.optimizers = {{slow.rank,
                           static_cast<double>(slow.others) / static_cast<double>(slow.length)}}},
          "");
    }
  }

  void lengths() {
    if (lengths_.uneven().empty()) return;
    Advice advice{.of = Advice::Of::kLengths,
                  .what =
                      "give all micro-batches as many tokens, as long forwards have long "
                      "backwards (correlation " +
                      fixedText(lengths_.correlation(), 2) + ")",
                  .options = optionsOfTokens()};
    add(std::move(advice), {.evenStages = lengths_.uneven()}, "");
  }

  void pauses() {
    const ScatteredPauses pauses(graph_, usual_, run_.counted, lengths_, threads_);
    if (pauses.jobs().empty()) return;
    Advice advice{.of = Advice::Of::kPauses,
                  .what = "collect garbage on all ranks at the same step, as " +
                          std::to_string(pauses.ranks().size()) +
                          " ranks pause at steps of their own",
                  .options = optionsOfCollection()};
    advice.notes.emplace_back("the step is in the mean of all that count, as most have no pause");
    const double measured = meanOf(windowsOf(run_.again.runJobs()));
    const std::vector<Nanoseconds> without =
        windowsOf(run_.again.runJobs({.withoutPauses = pauses.jobs()}));
    const auto ranks = static_cast<double>(pauses.ranks().size());
    const double together = std::ceil(static_cast<double>(pauses.count()) / ranks);
    const double mean = meanOf(without) + together * static_cast<double>(pauses.median()) /
                                              static_cast<double>(without.size());
    const auto step = static_cast<double>(run_.step);
    advice.gain = step / paid() * (1 - mean / measured);
    advice.step = std::llround(paid() * (1 - advice.gain));
    all_.push_back(std::move(advice));
  }

  /// What jobs vary by chance costs: an answer to a finding and no advice, as nobody can change it.
  /// What micro-batches and pauses make long is none of it.
  void variation() {
    if (!graph_.inside().empty() || graph_.ranks().size() < 2) return;
    const ScatteredPauses pauses(graph_, usual_, run_.counted, lengths_, threads_);
    RunChanges changes{.evenStages = lengths_.uneven(), .withoutPauses = pauses.jobs()};
    const auto meanOfRun = [&] {
      const Timeline again = run_.again.runJobs(changes);
      return meanStepOf(again, run_.run.topology(), run_.counted).paid(run_.wall.has_value());
    };
    const double varying = meanOfRun();
    changes.isSteady = true;
    const double gain = varying > 0 ? 1 - meanOfRun() / varying : 0;
    if (gain <= 0) return;
    const MeanStep mean = meanStepOf(run_.run.summary(), run_.counted);
    Advice advice{.of = Advice::Of::kVariation, .what = "jobs that do not vary by chance"};
    advice.gain = gain;
    advice.step = std::llround(paid() * (1 - gain));
    advice.meanStep = std::llround(mean.paid(run_.wall.has_value()) * (1 - gain));
    all_.push_back(std::move(advice));
  }

  /// Of ranks that meet inside jobs.
  void insideJobs() {
    const Peers peers(graph_, run_.counted, threads_);
    if (!peers.loads().empty()) {
      double busiest = 1;
      std::vector<std::vector<int>> uneven;
      for (const Peers::Load& load : peers.loads()) {
        busiest = std::max(busiest, load.busiest);
        uneven.push_back(load.ranks);
      }
      Advice advice{.of = Advice::Of::kLoad,
                    .what =
                        "spread work evenly over ranks that share it, such as tokens over "
                        "experts: the busiest computes " +
                        fixedText(busiest, 2) + " times the mean of its peers",
                    .options = optionsOfLoad()};
      add(std::move(advice), {.evenGroups = std::move(uneven)}, "");
    }
    std::set<std::vector<int>> groups;
    for (const Peers::SlowSet& slow : peers.slowSets()) {
      if (groups.size() == kMostRanks || !groups.insert(slow.ranks).second) continue;
      Advice advice{.of = Advice::Of::kGroup,
                    .group = slow.ranks,
                    .what = "make the collectives of " + ranksText(slow.ranks) + ", which move " +
                            fixedText(slow.factor(), 1) +
                            " times as long as those of other groups, as fast as those"};
      advice.notes.emplace_back(
          "look at what carries that group's data: NVLink or the network cards of its hosts");
      std::vector<RunChanges::Group> changes;
      for (const Peers::SlowSet& each : peers.slowSets()) {
        if (each.ranks != slow.ranks) continue;
        changes.push_back({each.ranks, each.kind, each.axis, 1 / each.factor()});
      }
      add(std::move(advice), {.groups = std::move(changes)}, "");
    }
    if (peers.exposed()) {
      Advice advice{.of = Advice::Of::kWeights,
                    .what = "hide the gathers and scatters of weights behind compute",
                    .options = optionsOfWeights()};
      add(std::move(advice), {.hidesWeights = true}, "");
    }
    if (const auto& contention = peers.contention()) {
      Advice advice{.of = Advice::Of::kContention,
                    .what =
                        "keep the collectives of replicas from slowing down kernels beside "
                        "them, which take " +
                        fixedText(contention->factor, 2) + " times as long"};
      advice.notes.emplace_back(
          "that is a bound: fewer channels or smaller buckets slow kernels down less, and the "
          "collectives take longer");
      add(std::move(advice),
          {.contended = RunChanges::Contended{contention->beside, 1 / contention->factor}}, "");
    }
  }

  void loads() {
    const auto isLoad = [](const JobGraph::Node& node) { return loadsData(node.kind); };
    if (std::none_of(graph_.nodes().begin(), graph_.nodes().end(), isLoad)) return;
    Advice advice{.of = Advice::Of::kData,
                  .what = "load batches ahead of the steps that need them",
                  .options = optionsOfLoading()};
    advice.notes.emplace_back("or give them faster storage, or less work for each sample");
    add(std::move(advice), {.scales = {parseScale("kind=data:0", ZeroScale::kOfKinds)}},
        "--scale kind=data:0");
  }

  double paid() const { return static_cast<double>(run_.wall.value_or(run_.step)); }

  const RunAdviceInputs& run_;
  const JobGraph& graph_;
  const int threads_;
  const MedianDurations usual_;
  const SlowerStages slowerStages_;
  const UnevenMicroBatches lengths_;
  std::vector<Advice> all_;
};

}  // namespace

std::vector<Advice> adviceOfRun(const RunAdviceInputs& run) { return RunAdvisor(run).advice(); }

}  // namespace pipetrace
