#pragma once

#include <string_view>

namespace pipetrace {

/// The texts of report_page.css and report_page.js, which the build puts into the library.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

}  // namespace pipetrace
