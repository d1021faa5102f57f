#pragma once

#include <QImage>
#include <string>

#include "chart/draw/draw_chart.h"

namespace pipetrace {

/// The kinds of picture files, by the ending of their names in small letters.
inline constexpr const char* kPictureEndings = ".png, .pdf or .svg";

/// The ending of a file's name in small letters, such as ".pdf".
std::string pictureEnding(const std::string& path);

/// Throws Error unless `path` ends as a picture does.
void checkExportName(const std::string& path);

/// Draws the picture with `scale` pixels for each of its own. Needs a QGuiApplication. Throws Error
/// when there is not enough memory.
QImage imageOf(const Drawing& drawing, double scale);

/// The bytes of the file `path`, by its ending. A PNG has `scale` pixels for each of the picture's;
/// a PDF has one page of the picture's size at 96 pixels an inch, with its texts as text. Title:
/// of the document. Throws Error as the functions above do.
std::string pictureFile(const Drawing& drawing, const std::string& title, const std::string& path,
                        double scale);

}  // namespace pipetrace
