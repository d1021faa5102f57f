#pragma once

#include <string_view>

namespace pipetrace {

/// The texts of report_page.css, and of the three scripts of this room as one. The build puts them
/// into the library.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

}  // namespace pipetrace
