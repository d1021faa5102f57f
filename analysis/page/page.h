#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chart/colors/theme.h"

namespace pipetrace {

/// A part of a page: a heading, and the HTML under it.
struct PageSection {
  std::string id;     ///< of the element; once in a page, letters and "-"
  std::string title;  ///< plain text; empty: no heading
  std::string html;
};

/// Sections that stand beside each other where the window is wide enough: one, or the same section
/// of two runs.
using PageRow = std::vector<PageSection>;

/// A page for browsers: one file that needs no network, with a style sheet and a script of its own.
/// It is light or dark as the browser is, or as its switch says; on paper it is light.
struct Page {
  std::string title;              ///< plain text
  std::vector<std::string> head;  ///< plain lines under the title
  std::vector<PageRow> rows;
  std::string foot;  ///< plain text
};

/// The whole file. Everything from a run has to be in it through htmlText() or
/// appendScriptString().
std::string pageText(const Page& page);

/// A text as HTML, also for attributes in quotes. Nothing in it is markup.
std::string htmlText(std::string_view text);

/// An element that report_page.js turns into a chart. `json`: one of StepChart or StepsChart.
/// `name`: what it shows, for those who do not see it; plain text.
std::string chartElement(const std::string& json, const std::string& name);

/// CSS: a colour for light and one for dark pages.
std::string bothColors(Color light, Color dark);

/// CSS: the ground of a bubble, which report_page.css hatches as charts do.
std::string hatchingStyle(BubbleClass bubbleClass);

}  // namespace pipetrace
