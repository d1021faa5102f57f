#include "analysis/page/run_page.h"

#include <algorithm>
#include <cctype>

#include "analysis/page/run_cards.h"
#include "analysis/page/run_tables.h"
#include "analysis/page/step_chart.h"
#include "analysis/page/steps_chart.h"
#include "analysis/present/diagnostic_lines.h"
#include "analysis/present/finding_sentences.h"
#include "analysis/present/run_figures.h"
#include "analysis/present/run_report.h"
#include "analysis/present/summary_report.h"
#include "chart/text/bubble_text.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

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
