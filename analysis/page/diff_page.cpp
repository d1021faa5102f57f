#include "analysis/page/diff_page.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/page/diff_tables.h"
#include "analysis/page/page.h"
#include "analysis/page/run_cards.h"
#include "analysis/page/run_page.h"
#include "analysis/page/step_chart.h"
#include "analysis/present/run_figures.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

/// The comparison in words: the answer, the runs, and what it rests on.
std::string answerHtml(const DiffReport& report) {
  std::string html = "<p class=\"answer\" data-verdict=\"" + diffVerdict(report.diff) + "\">" +
                     htmlText(sentenceText(diffAnswer(report.diff))) + "</p>\n";
  const auto addRun = [&](const char* run, const std::string& text) {
    html += "<p>" + runMark(run) + htmlText(text) + "</p>\n";
  };
  addRun("A", diffTextOfA(report));
  addRun("B", diffTextOfB(report));
  std::string notes;
  for (const std::string& note : diffNotes(report.diff)) {
    notes += "<li>" + htmlText(sentenceText(note)) + "</li>\n";
  }
  return notes.empty() ? html : html + "<ul class=\"note\">\n" + notes + "</ul>\n";
}

/// The figures of both runs, one above the other.
std::string bothCardsHtml(const Explanation& a, const Explanation& b) {
  const std::vector<RunCard> cardsOfB = runCards(b);
  std::string html;
  for (const RunCard& card : runCards(a)) {
    const auto other = std::find_if(cardsOfB.begin(), cardsOfB.end(),
                                    [&](const RunCard& each) { return each.name == card.name; });
    if (other == cardsOfB.end()) continue;
    const auto figure = [&](const char* run, const RunCard& each) {
      html += "<b title=\"" + htmlText(each.detail) + "\">" + runMark(run) + htmlText(each.figure) +
              "</b>";
    };
    html += "<div class=\"card\">";
    figure("A", card);
    figure("B", *other);
    html += "<span>" + htmlText(card.name) + "</span></div>\n";
  }
  return html.empty() ? html : "<div class=\"cards\">\n" + html + "</div>\n";
}

/// The charts of both median steps, below each other: so the same times are above each other.
std::string bothStepsHtml(const DiffPageOptions& options) {
  struct Shown {
    const char* run;
    const RunReport& report;
    ShownStretch stretch;
  };
  std::vector<Shown> shown;
  Nanoseconds longest = 0;
  for (const auto& [run, report] : {std::pair("A", &options.a), std::pair("B", &options.b)}) {
    if (countedSteps(report->explanation) == 0) continue;
    shown.push_back({run, *report, medianStretch(report->explanation)});
    const Timeline::Span& time = shown.back().stretch.time;
    longest = std::max(longest, time.end - time.begin);
  }
  std::string html;
  std::string legend;
  for (const Shown& each : shown) {
    const StepChart chart = stepChart(each.report.explanation.of.timeline(),
                                      each.report.explanation, each.stretch, longest);
    const Timeline::Span& time = each.stretch.time;
    html +=
        "<div class=\"whole\">\n<h3>" + runMark(each.run) +
        htmlText(sentenceText(each.stretch.words + ": " + formatDuration(time.end - time.begin))) +
        "</h3>\n";
    if (chart.legend != legend) html += chart.legend;
    legend = chart.legend;
    html += chartElement(chart.json, "Gantt chart of " + each.stretch.words + " of " + each.run,
                         each.run);
    if (!chart.note.empty()) html += paragraphHtml(chart.note, "note");
    html += "</div>\n";
  }
  return html.empty() ? html : "<div class=\"linked\">\n" + html + "</div>\n";
}

/// The sections of both runs in pairs. Where one run lacks a section, it says so.
std::vector<PageRow> runRows(const DiffPageOptions& options) {
  const Explanation& a = options.a.explanation;
  const Explanation& b = options.b.explanation;
  std::array<std::vector<PageSection>, 2> sections = {
      runSections(options.a, {.run = "A", .beside = &b}),
      runSections(options.b, {.run = "B", .beside = &a})};
  std::vector<std::pair<std::string, std::string>> names;  // id, title
  for (const std::vector<PageSection>& each : sections) {
    for (const PageSection& section : each) {
      const std::pair<std::string, std::string> name(section.id.substr(2), section.title);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::vector<PageRow> rows;
  for (const auto& [id, title] : names) {
    PageRow& row = rows.emplace_back();
    for (const std::size_t run : {0, 1}) {
      const std::string idOfRun = std::string(run == 0 ? "a-" : "b-") + id;
      const auto found = std::find_if(sections[run].begin(), sections[run].end(),
                                      [&](const PageSection& each) { return each.id == idOfRun; });
      row.push_back(found != sections[run].end()
                        ? std::move(*found)
                        : PageSection{idOfRun, title,
                                      paragraphHtml("There is nothing to list.", "note"),
                                      run == 0 ? "A" : "B"});
    }
  }
  return rows;
}

}  // namespace

std::string diffPage(const DiffPageOptions& options) {
  const RunDiff& diff = options.diff.diff;
  Page page;
  page.title = options.diff.inputOfA + " (A) and " + options.diff.inputOfB + " (B): PipeTrace diff";
  for (const auto& [run, report] : {std::pair("A", &options.a), std::pair("B", &options.b)}) {
    for (const std::string& line : doubtLines(*report)) {
      page.doubts.push_back(run + (": " + sentenceText(line)));
    }
  }
  const auto add = [&](PageRow sections) {
    std::erase_if(sections, [](const PageSection& section) { return section.html.empty(); });
    if (!sections.empty()) page.rows.push_back(std::move(sections));
  };
  const std::string unit = diff.how.isPerMicroBatch ? "micro-batch" : "step";
  add({{"answer", "", answerHtml(options.diff)}});
  add({{"figures", "", bothCardsHtml(options.a.explanation, options.b.explanation)}});
  add({{"reasons", "What explains it", reasonTableHtml(diff)},
       {"sums", "What a " + unit + " consists of", sumTableHtml(diff)}});
  add({{"both-step", "The median steps", bothStepsHtml(options)}});
  add({{"parts", "Parts that differ", partTableHtml(diff)},
       {"lengths", "Jobs and messages", lengthTableHtml(diff)}});
  for (PageRow& row : runRows(options)) page.rows.push_back(std::move(row));
  page.foot = "Written by PipeTrace" + (options.version.empty() ? "" : " " + options.version) +
              ". docs/diff.md says how runs are compared.";
  return pageText(page);
}

}  // namespace pipetrace
