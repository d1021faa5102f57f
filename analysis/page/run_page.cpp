#include "analysis/page/run_page.h"

#include <algorithm>
#include <sstream>

#include "analysis/page/run_tables.h"
#include "analysis/page/step_chart.h"
#include "analysis/page/steps_chart.h"
#include "analysis/report/diagnostic_lines.h"
#include "analysis/report/text_report.h"
#include "analysis/run_report/run_figures.h"
#include "analysis/run_report/run_sentences.h"
#include "chart/text/bubble_text.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

/// On the critical path; more make a line that nobody reads.
constexpr std::size_t kMostNamedStages = 16;

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos) lines.push_back(line.substr(first));
  }
  return lines;
}

std::string paragraph(const std::string& text, const char* of = "") {
  return std::string("<p") + of + ">" + htmlText(text) + "</p>\n";
}

/// A sentence that may lack its full stop.
std::string sentence(std::string text) {
  if (text.empty()) return text;
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

std::string card(const std::string& figure, const std::string& name, const std::string& detail) {
  return "<div class=\"card\"><b>" + htmlText(figure) + "</b><span>" + htmlText(name) +
         "</span><small>" + htmlText(detail) + "</small></div>\n";
}

/// The figures that are asked for first.
std::string cardsText(const Explanation& run) {
  std::string cards;
  for (const StepFigure& figure : stepFigures()) {
    const std::string key = figure.key;
    const auto over = overSteps(run, figure);
    if (!over) continue;
    if (key == "duration_ns") {
      const auto time = [](double ns) { return formatDuration(static_cast<Nanoseconds>(ns)); };
      cards += card(time(over->median), "length of a step",
                    "median; mean " + time(over->mean) + ", 99 % " + time(over->p99));
    } else if (key == "bubble_ratio" || key == "load_balance" || key == "schedule_efficiency" ||
               key == "communication_efficiency") {
      cards += card(shareCell(over->mean).text, figure.heading,
                    "mean; median " + shareCell(over->median).text);
    }
  }
  if (run.slowdown.reason.empty()) {
    cards += card(ratioText(run.slowdown.total), "times its ideal", "with equal work everywhere");
  }
  if (run.communication.all > 0) {
    cards +=
        card(percentText(run.communication.exposed, run.communication.all), "exposed communication",
             "of " + formatDuration(run.communication.all) + " on all ranks");
  }
  if (run.tokensPerSecond) {
    cards += card(std::to_string(static_cast<long long>(*run.tokensPerSecond)), "tokens a second",
                  "of the whole run");
  }
  if (run.modelFlopsUtilization) {
    cards += card(shareCell(*run.modelFlopsUtilization).text, "model FLOPs utilization",
                  "of the devices' peak");
  }
  return "<div class=\"cards\">\n" + cards + "</div>\n";
}

std::string findingText(const RunReport& report, const Finding& finding) {
  const bool isOfOneClass = finding.bubbleClass != BubbleClass::kNone;
  std::string html = "<li><p>";
  if (isOfOneClass) {
    html += "<i class=\"mark\" style=\"" + hatchingStyle(finding.bubbleClass) + "\" title=\"" +
            htmlText(bubbleClassWords(finding.bubbleClass)) + "\"></i>";
  }
  html += htmlText(sentence(finding.text)) + "</p>\n";
  if (!finding.advice.empty()) {
    html += "<p class=\"next\"><b>Next:</b> " + htmlText(finding.advice) + ".</p>\n";
  }
  const std::string command = findCommandOf(report, finding);
  if (!command.empty()) {
    html += "<p class=\"command\"><code>" + htmlText(command) +
            "</code><button type=\"button\" class=\"copy-text\">copy</button></p>\n";
  }
  return html + "</li>\n";
}

std::string findingsHtml(const RunReport& report) {
  const Explanation& run = report.explanation;
  const ShownFindings shown = shownFindings(report);
  std::string html;
  for (const Finding* const finding : shown.list) html += findingText(report, *finding);
  html = html.empty() ? paragraph(sentence(noFindings(run)))
                      : "<ol class=\"findings\">\n" + html + "</ol>\n";
  std::string others;
  for (const Finding& finding : run.findings) {
    const bool isShown =
        std::find(shown.list.begin(), shown.list.end(), &finding) != shown.list.end();
    if (!isShown) others += findingText(report, finding);
  }
  if (!others.empty()) {
    const std::size_t count = run.findings.size() - shown.list.size();
    html += "<details><summary>" + htmlText(numbered(count, "more cause", "more causes")) +
            ", of which each costs little</summary>\n<ol class=\"findings\" start=\"" +
            std::to_string(shown.list.size() + 1) + "\">\n" + others + "</ol></details>\n";
  }
  std::string path = pathText(run);
  if (run.pathShares.byStage.size() > kMostNamedStages) path.resize(path.find('\n') + 1);
  for (const std::string& line : linesOf(slowdownText(run) + path + communicationText(run))) {
    html += paragraph(sentence(line));
  }
  return html;
}

/// The one place where advice stands in the page.
std::string adviceHtml(const std::vector<std::string>& advice) {
  std::string html = "<ol>\n";
  for (const std::string& line : advice) html += "<li>" + htmlText(sentence(line)) + "</li>\n";
  return html + "</ol>\n";
}

std::string stepHtml(const RunReport& report, const ShownStretch& stretch) {
  const StepChart chart = stepChart(report.timeline, report.explanation, stretch);
  std::string html = paragraph(sentence(stretch.words + ": " +
                                        formatDuration(stretch.time.end - stretch.time.begin))) +
                     chart.legend + chartElement(chart.json, "Gantt chart of " + stretch.words);
  if (!chart.note.empty()) html += paragraph(chart.note, " class=\"note\"");
  return html;
}

std::string stepsHtml(const Explanation& run) {
  const StepsChart chart = stepsChart(run);
  std::string html =
      chart.scale +
      chartElement(chart.json, "lengths of steps, and the bubble ratio of each rank in each step");
  if (!chart.note.empty()) html += paragraph(chart.note, " class=\"note\"");
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
  for (const std::string& line : diagnosticLines(report.diagnostics)) add(line);
  if (html.empty()) add("The logs are whole, and nothing had to be inferred.");
  return "<ul>\n" + html + "</ul>\n" +
         paragraph("docs/metrics.md of PipeTrace defines every number.");
}

}  // namespace

std::vector<PageSection> runSections(const RunReport& report, const RunPageOptions& options) {
  const Explanation& run = report.explanation;
  std::vector<PageSection> sections;
  const auto add = [&](const char* id, const char* title, std::string html) {
    if (!html.empty()) sections.push_back({options.prefix + id, title, std::move(html)});
  };
  add("figures", "", cardsText(run));
  add("findings", "Findings", findingsHtml(report));
  if (!options.advice.empty()) add("advice", "What to change", adviceHtml(options.advice));
  if (countedSteps(run) > 0) {
    const ShownStretch stretch = medianStretch(run);
    add("step", stretch.title.c_str(), stepHtml(report, stretch));
  }
  add("ranks", "Bubbles by rank", rankTableHtml(run));
  if (!run.steps.empty()) add("steps", "Ranks and steps", stepsHtml(run));
  add("costs", "Who costs whom", costTableHtml(run));
  add("step-table", "Steps", stepTableHtml(run));
  add("stages", "Stages", stageTableHtml(report));
  add("bubbles", "The longest bubbles", bubbleTableHtml(report));
  add("basis", "What this rests on", basisHtml(report));
  return sections;
}

std::string runPage(const RunReport& report, const RunPageOptions& options) {
  Page page;
  page.title = options.name.empty() ? "PipeTrace report" : options.name + ": PipeTrace report";
  page.head = linesOf(runHeadline(report));
  for (PageSection& section : runSections(report, options)) {
    page.rows.push_back({std::move(section)});
  }
  page.foot = "Written by PipeTrace" + (options.version.empty() ? "" : " " + options.version) + ".";
  return pageText(page);
}

}  // namespace pipetrace
