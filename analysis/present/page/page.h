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
  std::string run{};  ///< "A": of which run it is, on a page of several; plain text
};

/// Sections that stand beside each other where the window is wide enough: one, or the same section
/// of two runs.
using PageRow = std::vector<PageSection>;

/// A page for browsers: one file that needs no network, with a style sheet and a script of its own.
/// It is light or dark as the browser is, or as its switch says; on paper it is light.
struct Page {
  std::string title;                  ///< plain text
  std::vector<std::string> doubts{};  ///< plain lines under the title, before all else
  std::vector<std::string> head;      ///< plain lines under these
  std::vector<PageRow> rows;
  std::string foot;  ///< plain text
};

/// The whole file. Everything from a run has to be in it through htmlText() or
/// appendScriptString().
std::string pageText(const Page& page);

/// A text as HTML, also for attributes in quotes. Nothing in it is markup.
std::string htmlText(std::string_view text);

/// A text as a paragraph of a class; "": of none.
std::string paragraphHtml(const std::string& text, const std::string& ofClass = "");

/// A sentence that may lack its capital and its full stop; empty stays empty.
std::string sentenceText(std::string text);

/// The mark of a run, on a page of several: "A".
std::string runMark(const std::string& run);

/// An element that page_chart.js turns into a chart. `json`: one of StepChart or StepsChart.
/// `name`: what it shows, for those who do not see it; plain text. `run`: as of PageSection.
std::string chartElement(const std::string& json, const std::string& name,
                         const std::string& run = "");

/// CSS: a colour for light and one for dark pages.
std::string bothColors(Color light, Color dark);

/// CSS: the ground of a bubble, which report_page.css hatches as charts do.
std::string hatchingStyle(BubbleClass bubbleClass);

/// A cell of a PageTable.
struct PageCell {
  std::string text;     ///< plain text, as shown and copied
  double number = 0;    ///< what it is sorted by, in columns of numbers
  std::string style{};  ///< CSS; empty: none
  std::string html{};   ///< shown in place of the text; empty: the text
  bool isTime = false;  ///< the number is one of nanoseconds
};

/// A cell of a number, or of a time.
PageCell numberCell(double number);
PageCell countCell(long long number);
PageCell timeCell(long long nanoseconds);
/// A share such as "12.5 %", which is copied as such.
PageCell shareCell(double share);

/// A table that the script of a page sorts by the column that is clicked on, and copies.
class PageTable {
 public:
  struct Column {
    std::string heading;  ///< plain text
    bool isNumber = true;
    std::string hint{};     ///< shown under the pointer; plain text; empty: none
    bool hasTimes = false;  ///< set by a cell of a time
  };

  /// `name`: what it lists, for the button that copies it and for those who do not see it.
  PageTable(std::string name, std::vector<Column> columns);

  /// `cells`: one for each column.
  void addRow(const std::vector<PageCell>& cells);
  bool empty() const { return rows_ == 0; }
  std::size_t rows() const { return rows_; }
  /// The element with its button.
  std::string html() const;

 private:
  std::string name_;
  std::vector<Column> columns_;
  std::string body_;
  std::size_t rows_ = 0;
};

/// The texts of report_page.css, and of the three scripts of this room as one. The build puts them
/// into the library.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

}  // namespace pipetrace
