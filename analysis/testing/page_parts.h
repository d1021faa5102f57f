#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pipetrace::test {

/// The data that the scripts of a page read, in their order.
inline std::vector<nlohmann::json> chartsOf(const std::string& page) {
  constexpr std::string_view kBegin = "<script type=\"application/json\">";
  std::vector<nlohmann::json> charts;
  for (std::size_t at = page.find(kBegin); at != std::string::npos; at = page.find(kBegin, at)) {
    at += kBegin.size();
    charts.push_back(nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at)));
  }
  return charts;
}

/// The numbers by which the columns of a table are sorted, by row: those of `html`, which has one
/// table.
inline std::vector<std::vector<double>> numbersOfTable(const std::string& html) {
  constexpr std::string_view kNumber = "<td data-v=\"";
  std::vector<std::vector<double>> rows;
  for (std::size_t at = html.find("<tbody>"); at != std::string::npos;) {
    const std::size_t row = html.find("<tr>", at);
    if (row == std::string::npos) break;
    const std::size_t end = html.find("</tr>", row);
    std::vector<double>& numbers = rows.emplace_back();
    for (std::size_t cell = html.find(kNumber, row); cell < end; cell = html.find(kNumber, cell)) {
      cell += kNumber.size();
      numbers.push_back(std::stod(html.substr(cell)));
    }
    at = end;
  }
  return rows;
}

}  // namespace pipetrace::test
