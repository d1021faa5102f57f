#include "analysis/present/page/diff_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/diff/run_diff.h"
#include "analysis/present/diff_reasons.h"
#include "analysis/present/page/page.h"
#include "analysis/present/page/run_page.h"
#include "analysis/present/page/step_chart.h"
#include "analysis/present/run_figures.h"
#include "analysis/ratio.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {

namespace {

// The tables of the page of two runs, as HTML; empty where there is nothing to list, as where steps
// cannot be compared. Their rows are those of diffText(), and those that it has no room for.

constexpr std::size_t kMostDiffPageRows = 400;

const char* unitName(const RunDiff& diff) {
  return diff.how.isPerMicroBatch ? "micro-batch" : "step";
}

std::string noteOfRows(std::size_t shown, std::size_t all, const char* what) {
  if (shown >= all) return {};
  return "<p class=\"note\">The " + std::to_string(shown) + " of " + std::to_string(all) + " " +
         what + "; <code>pipe-trace diff --json</code> has all.</p>\n";
}

PageCell signedShareCell(double share) { return {signedShare(share), share}; }

/// The cell with a bar from the middle: to the right what takes longer, to the left what takes less
/// time.
PageCell withBar(PageCell cell, double largest) {
  const double share = largest > 0 ? std::clamp(cell.number / largest, -1.0, 1.0) : 0;
  char style[96];
  std::snprintf(style, sizeof style, "left:%.2f%%;width:%.2f%%", 50 + std::min(share, 0.0) * 50,
                std::abs(share) * 50);
  cell.html = "<span class=\"change\"><i class=\"" + std::string(share < 0 ? "less" : "more") +
              "\" style=\"" + style + "\"></i></span>" + htmlText(cell.text);
  return cell;
}

PageCell differenceCell(Nanoseconds time, double largest) {
  PageCell cell = timeCell(time);
  cell.text = signedTime(time);
  return withBar(std::move(cell), largest);
}

/// The interval of a difference, sorted by its low end.
PageCell intervalCell(const std::optional<ConfidenceInterval>& sure) {
  if (!sure) return {"-", 0};
  const auto low = static_cast<Nanoseconds>(std::llround(sure->low));
  const auto high = static_cast<Nanoseconds>(std::llround(sure->high));
  return {signedTime(low) + " to " + signedTime(high), sure->low};
}

constexpr const char* kBarHint = "bar to the right: longer in B; to the left: shorter";

/// The shortest time whose bar may be as long as bars are: less is not worth a look.
double leastBar(const RunDiff& diff) {
  return RunDiff::kLeastChange * static_cast<double>(diff.unit().a);
}

template <typename List, typename TimeOf>
double largestOf(const List& list, const TimeOf& timeOf, double least) {
  double largest = least;
  for (const auto& each : list) {
    largest = std::max(largest, std::abs(static_cast<double>(timeOf(each))));
  }
  return largest;
}

/// A row of jobs or messages.
struct LengthRow {
  std::string name;
  double a = 0;
  double b = 0;
  std::optional<ConfidenceInterval> sure;
  bool isClear = false;

  double change() const { return ratio(b - a, a); }
};

std::vector<LengthRow> lengthRows(const RunDiff& diff) {
  std::vector<LengthRow> rows;
  for (const JobChange& job : diff.jobs) {
    rows.push_back({changeName(job), job.a, job.b, job.sure, job.isClear});
  }
  for (const LinkChange& link : diff.links) {
    rows.push_back({changeName(link), link.a, link.b, link.sure, link.isClear});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const LengthRow& x, const LengthRow& y) {
    return std::pair(!x.isClear, -std::abs(x.change())) <
           std::pair(!y.isClear, -std::abs(y.change()));
  });
  return rows;
}

/// The reasons for the step's difference, which add up to it.
std::string reasonTableHtml(const RunDiff& diff) {
  if (!diff.how.refusal.empty()) return {};
  std::vector<DiffReason> reasons = reasonsOf(diff);
  std::erase_if(reasons, [](const DiffReason& each) { return each.time == 0; });
  const auto difference = static_cast<double>(diff.unit().difference());
  const bool isNoise = diff.unit().sure && !diff.unit().sure->isBeyondNoise();
  const double largest = largestOf(
      reasons, [](const DiffReason& each) { return each.time; }, leastBar(diff));
  PageTable table(
      "what explains the difference",
      {{"reason", false}, {"time", true, kBarHint}, {"share", true, "of the difference"}});
  for (const DiffReason& each : reasons) {
    if (table.rows() == kMostDiffPageRows) break;
    const double share = difference == 0 ? 0 : static_cast<double>(each.time) / difference;
    table.addRow({{listedText(each)},
                  differenceCell(each.time, largest),
                  isNoise ? PageCell{"-", 0} : signedShareCell(share)});
  }
  if (table.empty()) return {};
  return "<p>They add up to the difference of the " + unitText(diff) + ", " +
         signedTime(diff.unit().difference()) +
         (isNoise ? ", which is within noise.</p>\n" : ". What is above 0 makes B slower.</p>\n") +
         table.html() + noteOfRows(table.rows(), reasons.size(), "largest reasons");
}

/// The sums of both runs by kind of job and by class of idle time.
std::string sumTableHtml(const RunDiff& diff) {
  const std::vector<DiffSum> sums = sumsOf(diff);
  if (sums.empty()) return {};
  const std::string unit = unitName(diff);
  const double largest = largestOf(
      sums, [](const DiffSum& sum) { return sum.b - sum.a; }, leastBar(diff));
  PageTable table(
      "what a " + unit + " consists of",
      {{"time", false}, {"A"}, {"B"}, {"difference", true, kBarHint}, {"of A's " + unit}});
  const auto add = [&](const std::string& name, Nanoseconds a, Nanoseconds b) {
    table.addRow(
        {{name},
         timeCell(a),
         timeCell(b),
         differenceCell(b - a, largest),
         signedShareCell(ratio(static_cast<double>(b - a), static_cast<double>(diff.unit().a)))});
  };
  for (const DiffSum& sum : sums) add(sum.name, sum.a, sum.b);
  add("the " + unitText(diff), diff.unit().a, diff.unit().b);
  return std::string("<p>Means over ranks and steps: jobs, idle time by cause") +
         (diff.wall ? ", then the time until the next step begins" : "") + ".</p>\n" + table.html();
}

/// The parts of the step that differ beyond noise, with whoever is to blame.
std::string partTableHtml(const RunDiff& diff) {
  const std::vector<const DiffPart*> parts = partsThatDiffer(diff);
  if (parts.empty()) return {};
  const double largest =
      std::max(std::abs(static_cast<double>(parts.front()->difference())), leastBar(diff));
  PageTable table("parts that differ",
                  {{"part", false},
                   {"A"},
                   {"B"},
                   {"difference", true, kBarHint},
                   {"95 % of it", true, "how sure the difference is; sorts by the lower end"}});
  for (const DiffPart* const part : parts) {
    if (table.rows() == kMostDiffPageRows) break;
    table.addRow({{partName(*part)},
                  timeCell(part->a),
                  timeCell(part->b),
                  differenceCell(part->difference(), largest),
                  intervalCell(part->sure)});
  }
  return std::string(diff.isNoiseKnown()
                         ? "<p>Those beyond noise"
                         : "<p>A run has one step only, so nobody knows what is noise") +
         "; in brackets: who is to blame.</p>\n" + table.html() +
         noteOfRows(table.rows(), parts.size(), "largest parts");
}

/// The mean lengths of all jobs and messages that were compared.
std::string lengthTableHtml(const RunDiff& diff) {
  const std::vector<LengthRow> rows = lengthRows(diff);
  if (rows.empty()) return {};
  const double largest = largestOf(
      rows, [](const LengthRow& row) { return row.change(); }, RunDiff::kLeastChange);
  PageTable table(
      "lengths of jobs and messages",
      {{"mean length", false},
       {"A"},
       {"B"},
       {"change", true, kBarHint},
       {"95 % of it", true, "how sure the change is; sorts by the lower end"},
       diff.isNoiseKnown()
           ? PageTable::Column{"beyond noise", false, "of all that is compared, and 1 % or more"}
           : PageTable::Column{"1 % or more", false}});
  for (const LengthRow& row : rows) {
    if (table.rows() == kMostDiffPageRows) break;
    const std::string interval = intervalText(row.sure, row.a);
    table.addRow({{row.name},
                  timeCell(std::llround(row.a)),
                  timeCell(std::llround(row.b)),
                  row.a > 0 ? withBar(signedShareCell(row.change()), largest) : PageCell{"-", 0},
                  {interval.empty() ? "-" : interval, row.sure ? row.sure->low : 0},
                  {row.isClear ? "yes" : "no"}});
  }
  return std::string("<p>All that is in both runs, ") +
         (diff.isNoiseKnown()
              ? "clear changes first. One of less than 1 % is never clear."
              : "changes of 1 % or more first. A run has one step only, so nobody knows what is "
                "noise.") +
         "</p>\n" + table.html() + noteOfRows(table.rows(), rows.size(), "largest changes");
}

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
