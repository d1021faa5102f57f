#include "analysis/present/page/run_page.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "analysis/present/class_times.h"
#include "analysis/present/diagnostic_lines.h"
#include "analysis/present/finding_sentences.h"
#include "analysis/present/page/page.h"
#include "analysis/present/page/step_chart.h"
#include "analysis/present/page/steps_chart.h"
#include "analysis/present/run_figures.h"
#include "analysis/present/run_report.h"
#include "analysis/present/summary_report.h"
#include "analysis/present/waiting_map.h"
#include "analysis/ratio.h"
#include "analysis/run/bubbles/bubbles.h"
#include "analysis/run/steps/median_step.h"
#include "chart/text/bubble_text.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

// The tables of a run's page, as HTML; empty where there is nothing to list. Long ones have the
// rows that cost most, and say so.

/// Busy and idle time of each rank, with a bar of its work and of its bubbles by class. It has the
/// classes of this run and of `beside`, if that is not null.
std::string rankTableHtml(const Explanation& run, const Explanation* beside = nullptr);

/// Which rank waits for which. Colours go up to the largest time of this run and of `beside`.
std::string costTableHtml(const Explanation& run, const Explanation* beside = nullptr);

constexpr std::size_t kMostPageRows = 400;
constexpr std::size_t kMostPageColumns = 24;

Nanoseconds timeOf(const ClassTimes& times, BubbleClass bubbleClass) {
  return times[static_cast<std::size_t>(bubbleClass)];
}

double shareOf(Nanoseconds part, Nanoseconds whole) {
  return ratio(static_cast<double>(part), static_cast<double>(whole));
}

std::string noteOf(std::size_t shown, std::size_t all, const char* what,
                   const std::string& options = "--json") {
  if (shown >= all) return {};
  return "<p class=\"note\">The " + std::to_string(shown) + " of " + std::to_string(all) + " " +
         htmlText(what) + "; <code>pipe-trace report " + options + "</code> has all.</p>\n";
}

std::string barPart(double share, const std::string& style, const std::string& name) {
  if (share <= 0) return {};
  char width[32];
  std::snprintf(width, sizeof width, "%.3f%%", share * 100);
  return "<i style=\"width:" + std::string(width) + ";" + style + "\" title=\"" + htmlText(name) +
         " " + shareCell(share).text + "\"></i>";
}

/// The time of a rank from left to right: its work, then its bubbles by class.
std::string barOf(const ExplainedRank& rank) {
  const Nanoseconds whole = rank.busy + rank.idle;
  const auto work = [](bool isDark) {
    return themeOf(ThemeName::kPaper, isDark).jobs[static_cast<std::size_t>(JobKind::kForward)];
  };
  std::string parts = barPart(shareOf(rank.busy, whole),
                              "background:" + bothColors(work(false), work(true)), "work");
  for (const BubbleClass c : kReportedClasses) {
    parts +=
        barPart(shareOf(timeOf(rank.bubbles, c), whole), hatchingStyle(c), bubbleClassWords(c));
  }
  return "<span class=\"bar\">" + parts + "</span>";
}

bool hasClass(const Explanation& run, BubbleClass c) {
  return std::any_of(run.ranks.begin(), run.ranks.end(),
                     [&](const auto& rank) { return timeOf(rank.bubbles, c) > 0; });
}

std::vector<BubbleClass> classesSeen(const Explanation& run, const Explanation* beside) {
  std::vector<BubbleClass> seen;
  for (const BubbleClass c : kReportedClasses) {
    if (hasClass(run, c) || (beside != nullptr && hasClass(*beside, c))) seen.push_back(c);
  }
  return seen;
}

Nanoseconds largestCost(const Explanation& run) {
  Nanoseconds largest = 0;
  for (const auto& [pair, time] : run.culprits.byRanks) largest = std::max(largest, time);
  return largest;
}

/// CSS: the stronger, the more of the largest value.
std::string heatStyle(double share) {
  char style[64];
  std::snprintf(style, sizeof style, "--heat:%.1f%%", std::clamp(share, 0.0, 1.0) * 70);
  return style;
}

std::string rankTableHtml(const Explanation& run, const Explanation* beside) {
  std::vector<PageTable::Column> columns = {
      {"rank"},
      {"time", true, "work, then idle time by class; sorts by the bubble ratio"},
      {"busy"},
      {"idle"},
      {"bubble ratio"}};
  const std::vector<BubbleClass> classes = classesSeen(run, beside);
  for (const BubbleClass c : classes) {
    columns.push_back({bubbleClassWords(c), true, rowOf(c).meaning});
  }
  std::vector<const ExplainedRank*> ranks;
  for (const ExplainedRank& rank : run.ranks) ranks.push_back(&rank);
  if (ranks.size() > kMostPageRows) {
    std::stable_sort(ranks.begin(), ranks.end(),
                     [](const auto* a, const auto* b) { return a->idle > b->idle; });
    ranks.resize(kMostPageRows);
  }
  std::sort(ranks.begin(), ranks.end(),
            [](const auto* a, const auto* b) { return a->rank < b->rank; });
  PageTable table("bubbles by rank", std::move(columns));
  for (const ExplainedRank* const rank : ranks) {
    const Nanoseconds whole = rank->busy + rank->idle;
    const double idle = shareOf(rank->idle, whole);
    std::vector<PageCell> row = {countCell(rank->rank),
                                 {"", idle, "", barOf(*rank)},
                                 timeCell(rank->busy),
                                 timeCell(rank->idle),
                                 shareCell(idle)};
    for (const BubbleClass c : classes) {
      row.push_back(shareCell(shareOf(timeOf(rank->bubbles, c), whole)));
    }
    table.addRow(row);
  }
  return "<p>Shares are of the steps' time.</p>\n" + table.html() +
         noteOf(ranks.size(), run.ranks.size(), "ranks that are idle for longest");
}

/// A heat map of what ranks wait inside jobs.
std::string waitingMapHtml(const WaitingMap& map) {
  const std::size_t shownColumns = std::min(map.columns.size(), kMostPageColumns);
  std::vector<PageTable::Column> columns = {{"rank"}};
  for (std::size_t i = 0; i < shownColumns; ++i) columns.push_back({map.columns[i]});
  PageTable table(map.title, std::move(columns));
  for (const WaitingMap::Row& each : map.rows) {
    if (table.rows() == kMostPageRows) break;
    std::vector<PageCell> row = {countCell(each.rank)};
    for (std::size_t i = 0; i < shownColumns; ++i) {
      const Nanoseconds time = each.waiting[i];
      row.push_back(timeCell(time));
      if (time == 0) row.back().text = "-";
      row.back().style = heatStyle(shareOf(time, map.longest));
    }
    table.addRow(row);
  }
  return "<details><summary>" + htmlText(map.title) + "</summary>\n" + table.html() +
         noteOf(shownColumns, map.columns.size(), "first columns") + "</details>\n";
}

/// What jobs of each rank are made of; empty where no ranks meet inside jobs.
std::string insideTableHtml(const Explanation& run) {
  if (run.inside.empty()) return {};
  std::vector<PageTable::Column> columns = {
      {"rank"},
      {"own", true, "kernels of the rank compute"},
      {"waiting", true, "for the last member of a collective"},
      {"moving", true, "collectives, once all members are there"},
      {"launch-bound", true, "the device has nothing to do"}};
  const auto groups = groupsOf(run.inside);
  const bool haveGroups = groups.size() > 1;
  for (const auto& [use, kind] : groups) {
    if (!haveGroups) break;
    columns.push_back({"waiting, " + groupText(use, kind)});
    columns.push_back({"moving, " + groupText(use, kind)});
  }
  Nanoseconds longest = 1;
  for (const InsideTimes& times : run.inside) {
    if (times.steps > 0) longest = std::max(longest, times.parts.waiting / times.steps);
  }
  PageTable table("inside jobs", std::move(columns));
  std::size_t shown = 0;
  for (const InsideTimes& times : run.inside) {
    if (times.steps == 0 || shown == kMostPageRows) continue;
    ++shown;
    const auto cell = [&](Nanoseconds time) {
      PageCell made = timeCell(time / times.steps);
      if (time == 0) made.text = "-";
      return made;
    };
    const auto waitCell = [&](Nanoseconds time) {
      PageCell made = cell(time);
      made.style = heatStyle(shareOf(time / times.steps, longest));
      return made;
    };
    std::vector<PageCell> row = {countCell(times.rank), cell(times.parts.own),
                                 waitCell(times.parts.waiting), cell(times.parts.moving),
                                 cell(times.parts.launchBound)};
    for (const auto& [use, kind] : groups) {
      if (!haveGroups) break;
      const InsideTimes::OfGroups* const of = times.of(use, kind);
      row.push_back(waitCell(of == nullptr ? 0 : of->waiting));
      row.push_back(cell(of == nullptr ? 0 : of->moving));
    }
    table.addRow(row);
  }
  std::string maps;
  for (const WaitingMap& map : waitingMaps(run.inside)) maps += waitingMapHtml(map);
  return "<p>Times are of a step, in the mean of those that count. Ranks that meet in collectives "
         "inside their jobs wait for the last of them: their jobs are all as long then. Of the "
         "ranks of a stage a slow one has the longest own time, and waits least.</p>\n" +
         table.html() + noteOf(shown, run.inside.size(), "first ranks") + maps;
}

std::string costTableHtml(const Explanation& run, const Explanation* beside) {
  std::map<std::uint32_t, Nanoseconds> ofCulprit;
  std::map<std::uint32_t, Nanoseconds> ofWaiting;
  const Nanoseconds largest =
      std::max(largestCost(run), beside == nullptr ? 0 : largestCost(*beside));
  for (const auto& [pair, time] : run.culprits.byRanks) {
    ofWaiting[pair.first] += time;
    ofCulprit[pair.second] += time;
  }
  if (ofCulprit.empty()) return {};
  const auto culprits = mostExpensive(run, ofCulprit, kMostPageColumns);
  const auto waiting = mostExpensive(run, ofWaiting, kMostPageRows);
  std::vector<PageTable::Column> columns = {{"rank that waits"}};
  for (const std::uint32_t culprit : culprits) {
    columns.push_back({"for rank\u00a0" + std::to_string(run.ranks[culprit].rank)});
  }
  columns.push_back({"for all"});
  PageTable table("who costs whom", std::move(columns));
  for (const std::uint32_t r : waiting) {
    std::vector<PageCell> row = {countCell(run.ranks[r].rank)};
    for (const std::uint32_t culprit : culprits) {
      const auto found = run.culprits.byRanks.find({r, culprit});
      const Nanoseconds time = found == run.culprits.byRanks.end() ? 0 : found->second;
      row.push_back(timeCell(time));
      if (time == 0) row.back().text = "-";
      row.back().style = heatStyle(shareOf(time, largest));
    }
    row.push_back(timeCell(ofWaiting.at(r)));
    table.addRow(row);
  }
  const std::string what = run.inside.empty() ? "Idle time" : "Idle time and waits inside jobs";
  return "<p>" + what + " with a culprit, in the steps that count.</p>\n" + table.html() +
         noteOf(waiting.size(), ofWaiting.size(), "ranks that wait for longest") +
         noteOf(culprits.size(), ofCulprit.size(), "ranks that cost most");
}

/// The figures of each step.
std::string stepTableHtml(const Explanation& run) {
  const bool hasPipelines = run.basis->pipelines().size() > 1;
  std::vector<PageTable::Column> columns = {{"step"}};
  if (hasPipelines) columns.push_back({"pipeline"});
  for (const StepFigure& figure : stepFigures()) {
    if (figure.isInTables()) columns.push_back({figure.heading});
  }
  columns.push_back({"counts", false});
  std::vector<const ExplainedStep*> steps;
  for (const ExplainedStep& step : run.steps) steps.push_back(&step);
  if (steps.size() > kMostPageRows) {
    std::stable_sort(steps.begin(), steps.end(), [](const auto* a, const auto* b) {
      return a->summary.window() > b->summary.window();
    });
    steps.resize(kMostPageRows);
  }
  std::sort(steps.begin(), steps.end(), [](const auto* a, const auto* b) {
    return std::pair(a->summary.step, a->summary.replica) <
           std::pair(b->summary.step, b->summary.replica);
  });
  PageTable table("figures of the steps", std::move(columns));
  for (const ExplainedStep* const step : steps) {
    std::vector<PageCell> row = {countCell(step->summary.step)};
    if (step->summary.isWholeRun) {
      row.back().text += " to " + std::to_string(step->summary.last());
    }
    if (hasPipelines) row.push_back(countCell(step->summary.replica));
    for (const StepFigure& figure : stepFigures()) {
      if (!figure.isInTables()) continue;
      const bool isKnown = figure.isKnown(*step);
      const double value = figure.of(*step);
      const bool isTime = std::string_view(figure.key).ends_with("_ns");
      row.push_back(!isKnown ? PageCell{"-", -1}
                    : isTime ? timeCell(static_cast<Nanoseconds>(value))
                             : numberCell(value));
    }
    row.push_back({!step->isCounted ? "no" : step->isWhole ? "yes" : "yes, but jobs are missing"});
    table.addRow(row);
  }
  return table.html() + noteOf(steps.size(), run.steps.size(), "longest steps");
}

/// How long jobs and messages of each stage take, and how much later jobs could end.
std::string stageTableHtml(const RunReport& report) {
  const Explanation& run = report.explanation;
  const std::vector<StageTimes> stages = stageTimesOf(report.explanation.of.timeline());
  std::set<JobKind> kinds;
  for (const StageTimes& stage : stages) {
    for (const auto* const medians : {&stage.medians, &stage.others}) {
      for (const auto& [kind, median] : *medians) kinds.insert(kind);
    }
  }
  if (stages.empty()) return {};
  std::vector<PageTable::Column> columns = {{"stage"}, {"ranks", false}};
  for (const JobKind kind : kinds) columns.push_back({std::string(logName(kind))});
  columns.push_back({"least slack", true, "how much later its jobs could end"});
  columns.push_back({"median slack"});
  PageTable table("median times of the stages", std::move(columns));
  const PageCell unknown{"-", -1};
  for (const StageTimes& stage : stages) {
    if (table.rows() == kMostPageRows) break;
    std::vector<PageCell> row = {countCell(stage.stage),
                                 {ranksText({stage.ranks.begin(), stage.ranks.end()})}};
    for (const JobKind kind : kinds) {
      row.push_back(unknown);
      for (const auto* const medians : {&stage.medians, &stage.others}) {
        for (const auto& [each, median] : *medians) {
          if (each == kind) row.back() = timeCell(median);
        }
      }
    }
    const auto slack = run.slackByStage.find(stage.stage);
    const bool isKnown = slack != run.slackByStage.end();
    row.push_back(isKnown ? timeCell(slack->second.least) : unknown);
    row.push_back(isKnown ? timeCell(slack->second.median) : unknown);
    table.addRow(row);
  }
  return "<p>Median lengths over all steps, and how much later jobs could end in a step of the "
         "same "
         "length. Receives last with the wait for the other rank.</p>\n" +
         table.html() + noteOf(table.rows(), stages.size(), "first stages");
}

/// The longest bubbles with their culprits.
std::string bubbleTableHtml(const RunReport& report) {
  const Explanation& run = report.explanation;
  const Nanoseconds begin = report.explanation.of.timeline().span().begin;
  PageTable table(
      "the longest bubbles",
      {{"rank"}, {"step"}, {"begin"}, {"length"}, {"class", false}, {"culprit", false}});
  for (const auto& [rank, bubble] : largestBubbles(run.bubbles, kBubblesShown, run.counted)) {
    std::string culprit = "-";
    if (bubble->culprit != JobGraph::kNone) {
      const int number = run.graph->ranks()[culpritRankOf(*run.graph, *bubble)].number;
      culprit = culpritName(report.explanation.of.timeline(), *run.graph, *bubble) + " on rank " +
                std::to_string(number);
    }
    table.addRow({countCell(run.graph->ranks()[rank].number),
                  countCell(bubble->step),
                  timeCell(bubble->begin - begin),
                  timeCell(bubble->end - bubble->begin),
                  {bubbleClassWords(bubble->bubbleClass)},
                  {culprit}});
  }
  if (table.empty()) return {};
  return "<p>Begins count from the start of the run.</p>\n" + table.html();
}

/// RunReport::names.
std::string nameTableHtml(const RunReport& report) {
  if (report.names == nullptr || report.names->empty()) return {};
  PageTable table(
      "time by name",
      {{"name", false}, {"rank"}, {"calls"}, {"own", true, "without what ran inside"}, {"total"}});
  for (const TimeByName& each : *report.names) {
    if (table.rows() == kMostPageRows) break;
    table.addRow({{each.name},
                  countCell(each.rank),
                  countCell(each.calls),
                  timeCell(each.own),
                  timeCell(each.total)});
  }
  return "<p>Operators, kernels, jobs and messages of the whole recording.</p>\n" + table.html() +
         noteOf(table.rows(), report.names->size(), "rows with the most own time",
                "--json --by-name");
}

std::string cardsHtml(const Explanation& run) {
  std::string cards;
  for (const RunCard& card : runCards(run)) {
    cards += "<div class=\"card\"><b>" + htmlText(card.figure) + "</b><span>" +
             htmlText(card.name) + "</span><small>" + htmlText(card.detail) + "</small></div>\n";
  }
  return "<div class=\"cards\">\n" + cards + "</div>\n";
}

/// A command to copy; empty without one.
std::string commandHtml(const std::string& command) {
  if (command.empty()) return {};
  return "<p class=\"command\"><code>" + htmlText(command) +
         "</code><button type=\"button\" class=\"copy-text\">copy</button></p>\n";
}

std::string findingHtml(const RunReport& report, const Finding& finding) {
  const bool isOfOneClass = finding.bubbleClass != BubbleClass::kNone;
  std::string html = "<li><p>";
  if (isOfOneClass) {
    html += "<i class=\"mark\" style=\"" + hatchingStyle(finding.bubbleClass) + "\" title=\"" +
            htmlText(bubbleClassWords(finding.bubbleClass)) + "\"></i>";
  }
  html += htmlText(sentenceText(findingText(finding))) + "</p>\n";
  html += "<p class=\"next\"><b>Next:</b> " + htmlText(remedyText(finding)) + ".</p>\n";
  const std::string gain = gainText(report, finding);
  if (!gain.empty()) html += "<p class=\"next\"><b>Gain:</b> " + htmlText(gain) + ".</p>\n";
  return html + commandHtml(findCommandOf(report, finding)) + "</li>\n";
}

std::string findingsHtml(const RunReport& report) {
  const Explanation& run = report.explanation;
  const ShownFindings shown = shownFindings(report);
  std::string html;
  for (const Finding* const finding : shown.list) html += findingHtml(report, *finding);
  html = html.empty() ? paragraphHtml(sentenceText(noFindings(run)))
                      : "<ol class=\"findings\">\n" + html + "</ol>\n";
  std::string others;
  for (const Finding& finding : run.findings) {
    const bool isShown =
        std::find(shown.list.begin(), shown.list.end(), &finding) != shown.list.end();
    if (!isShown) others += findingHtml(report, finding);
  }
  if (!others.empty()) {
    const std::size_t count = run.findings.size() - shown.list.size();
    html += "<details><summary>" + htmlText(countText(count, "more cause")) +
            ", of which each costs little</summary>\n<ol class=\"findings\" start=\"" +
            std::to_string(shown.list.size() + 1) + "\">\n" + others + "</ol></details>\n";
  }
  for (const Lines& lines : {slowdownLines(run), pathLines(run), communicationLines(run)}) {
    for (const std::string& line : lines) html += paragraphHtml(sentenceText(line));
  }
  return html;
}

/// The one place where advice stands in the page.
std::string adviceHtml(const RunPageOptions& options) {
  std::string html;
  std::string list;
  for (const AdviceSentence& each : options.advice) {
    if (each.isNone) {
      html += paragraphHtml(sentenceText(each.text));
      continue;
    }
    list += "<li><p>" + htmlText(sentenceText(each.text)) + "</p>\n";
    for (const std::string& note : each.notes) list += paragraphHtml(sentenceText(note), "note");
    list += commandHtml(each.command) + "</li>\n";
  }
  if (!list.empty()) html += "<ol class=\"findings\">\n" + list + "</ol>\n";
  for (const std::string& note : options.adviceNotes) {
    html += paragraphHtml(sentenceText(note), "note");
  }
  return html;
}

std::string stepHtml(const RunReport& report, const ShownStretch& stretch) {
  const StepChart chart = stepChart(report.explanation.of.timeline(), report.explanation, stretch);
  std::string html =
      paragraphHtml(sentenceText(stretch.words + ": " +
                                 formatDuration(stretch.time.end - stretch.time.begin))) +
      chart.legend + chartElement(chart.json, "Gantt chart of " + stretch.words);
  if (!chart.note.empty()) html += paragraphHtml(chart.note, "note");
  return html;
}

std::string stepsHtml(const Explanation& run, const Explanation* beside) {
  const StepsChart chart = stepsChart(run, beside);
  std::string html =
      chart.scale +
      chartElement(chart.json, "lengths of steps, and the bubble ratio of each rank in each step");
  if (!chart.note.empty()) html += paragraphHtml(chart.note, "note");
  return html;
}

/// Lists what was inferred, and what is wrong with the logs.
std::string basisHtml(const RunReport& report) {
  const Explanation& run = report.explanation;
  std::string html;
  const auto add = [&](const std::string& text) { html += "<li>" + htmlText(text) + "</li>\n"; };
  if (run.topology.inferred) {
    add("The logs do not say which ranks make up a pipeline; that was inferred.");
  }
  if (run.graph->countedMicroBatches() > 0) {
    add("Some jobs name no micro-batch; they were counted.");
  }
  const std::vector<JobGraph::Rank>& ranks = run.graph->ranks();
  const bool hasMessages = std::any_of(
      ranks.begin(), ranks.end(), [](const JobGraph::Rank& rank) { return rank.logsMessages; });
  if (!hasMessages && ranks.size() > 1) {
    add("No message between ranks is in the logs. The time from the end of a job to the start of "
        "the one that needs its data counts as transfer.");
  }
  if (!run.slowdown.reason.empty()) add("Slowdown is not known: " + run.slowdown.reason + ".");
  Diagnostics others;  // the page begins with those that are doubts
  for (const Diagnostic& each : report.diagnostics.list()) {
    if (report.doubts.empty() || each.doubt == DoubtKind::kNone) others.add(each);
  }
  for (const std::string& line : diagnosticLines(others)) add(line);
  if (html.empty()) add("The logs are whole, and nothing had to be inferred.");
  return "<ul>\n" + html + "</ul>\n" +
         paragraphHtml("docs/metrics.md of PipeTrace defines every number.");
}

}  // namespace

std::vector<RunCard> runCards(const Explanation& run) {
  std::vector<RunCard> cards;
  const auto card = [&](std::string figure, const char* name, std::string detail) {
    cards.push_back({std::move(figure), name, std::move(detail)});
  };
  for (const StepFigure& figure : stepFigures()) {
    const std::string key = figure.key;
    const auto over = overSteps(run, figure);
    if (!over) continue;
    if (figure.isLength) {
      const auto time = [](double ns) { return formatDuration(static_cast<Nanoseconds>(ns)); };
      if (medianStepOf(run.summary, run.counted).isWholeRun) {
        card(time(over->median), "length of the run", "while its pipeline is full");
      } else {
        card(time(over->median),
             figure.needsNext ? "median wall time of a step" : "median length of a step",
             "mean " + time(over->mean) + ", 99\u00a0% " + time(over->p99));
      }
    } else if (key == "bubble_ratio" || key == "load_balance" || key == "schedule_efficiency" ||
               key == "communication_efficiency") {
      card(shareCell(over->mean).text, figure.heading,
           "mean; median " + shareCell(over->median).text);
    }
  }
  if (run.slowdown.reason.empty()) {
    card(ratioText(run.slowdown.total), "times its ideal", "with equal work everywhere");
  }
  if (run.communication.all > 0) {
    card(percentText(run.communication.exposed, run.communication.all), "exposed communication",
         "of " + formatDuration(run.communication.all) + " on all ranks");
  }
  if (run.tokensPerSecond) {
    card(std::to_string(static_cast<long long>(*run.tokensPerSecond)), "tokens a second",
         "of the whole run");
  }
  if (run.modelFlopsUtilization) {
    card(shareCell(*run.modelFlopsUtilization).text, "model FLOPs utilization",
         "of the devices' peak");
  }
  return cards;
}

std::vector<PageSection> runSections(const RunReport& report, const RunPageOptions& options) {
  const Explanation& run = report.explanation;
  std::vector<PageSection> sections;
  const auto add = [&](const char* id, const char* title, std::string html) {
    if (html.empty()) return;
    std::string name = options.run;
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    sections.push_back({name.empty() ? id : name + "-" + id, title, std::move(html), options.run});
  };
  const Explanation* const beside = options.beside;
  if (beside == nullptr) add("figures", "", cardsHtml(run));
  add("findings", "Findings", findingsHtml(report));
  if (!options.advice.empty()) add("advice", "What to change", adviceHtml(options));
  if (beside == nullptr && countedSteps(run) > 0) {
    const ShownStretch stretch = medianStretch(run);
    add("step", stretch.title.c_str(), stepHtml(report, stretch));
  }
  add("ranks", "Bubbles by rank", rankTableHtml(run, beside));
  if (!run.steps.empty()) add("steps", "Ranks and steps", stepsHtml(run, beside));
  add("inside", "Inside jobs", insideTableHtml(run));
  add("costs", "Who costs whom", costTableHtml(run, beside));
  add("step-table", "Steps", stepTableHtml(run));
  add("stages", "Stages", stageTableHtml(report));
  add("bubbles", "The longest bubbles", bubbleTableHtml(report));
  add("names", "Time by name", nameTableHtml(report));
  add("basis", "What this rests on", basisHtml(report));
  return sections;
}

std::string runPage(const RunReport& report, const RunPageOptions& options) {
  Page page;
  page.title = options.name.empty() ? "PipeTrace report" : options.name + ": PipeTrace report";
  for (const std::string& line : doubtLines(report)) page.doubts.push_back(sentenceText(line));
  page.head = runHeadLines(report);
  for (PageSection& section : runSections(report, options)) {
    page.rows.push_back({std::move(section)});
  }
  page.foot = "Written by PipeTrace" + (options.version.empty() ? "" : " " + options.version) + ".";
  return pageText(page);
}

}  // namespace pipetrace
