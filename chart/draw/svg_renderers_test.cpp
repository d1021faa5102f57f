// Tests what renderers of SVG other than browsers make of a chart. Each test needs a program and is
// skipped without it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "chart/draw/svg_canvas.h"
#include "chart/testing/paper_colors.h"
#include "chart/testing/timelines.h"
#include "chart/testing/xml_check.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

/// A picture as plain bytes.
class Pixels {
 public:
  /// Reads a PPM file ("P6").
  explicit Pixels(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::string magic;
    int most = 0;
    in >> magic >> width_ >> height_ >> most;
    in.get();
    bytes_.resize(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_) * 3);
    in.read(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
    if (magic != "P6" || most != 255 || !in) throw std::runtime_error("no picture was made");
  }

  Color at(int x, int y) const {
    const std::size_t i = (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                           static_cast<std::size_t>(x)) *
                          3;
    const auto byte = [&](std::size_t k) { return static_cast<std::uint8_t>(bytes_.at(i + k)); };
    return {byte(0), byte(1), byte(2)};
  }

 private:
  int width_ = 0;
  int height_ = 0;
  std::string bytes_;
};

bool isLike(Color a, Color b) {
  constexpr int kLevels = 3;  // renderers round differently
  return std::abs(a.red - b.red) <= kLevels && std::abs(a.green - b.green) <= kLevels &&
         std::abs(a.blue - b.blue) <= kLevels;
}

class SvgRenderersTest : public testing::Test {
 protected:
  SvgRenderersTest() {
    std::string name = (fs::temp_directory_path() / "pipetrace-svg-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~SvgRenderersTest() override { fs::remove_all(folder_); }

  static bool has(const std::string& command) {
    return std::system(("(" + command + ") >/dev/null 2>&1").c_str()) == 0;
  }

  /// Draws the chart with a shell command that makes out.ppm of in.svg, and counts jobs, bubbles
  /// and texts in it.
  void expectTheChartFrom(const std::string& command) {
    const Timeline timeline = makeTestTimeline({.ranks = 4, .microBatches = 8, .steps = 1});
    const std::string svg = renderSvg(timeline, {.width = 1400});
    std::ofstream(folder_ / "in.svg") << svg;
    ASSERT_EQ(std::system(("cd " + folder_.string() + " && " + command).c_str()), 0) << command;
    const Pixels pixels(folder_ / "out.ppm");
    int jobs = 0;
    int missing = 0;
    for (const XmlElement& e : parseXml(svg)) {
      if (e.name != "rect") continue;
      const int x = std::stoi(e.attribute("x"));
      const int y = std::stoi(e.attribute("y"));
      const int height = std::stoi(e.attribute("height"));
      const bool isBar = height >= RowHeights{}.compute && std::stoi(e.attribute("width")) > 8;
      const std::string fill = e.attribute("fill");
      for (const JobKind kind : {JobKind::kForward, JobKind::kBackward}) {
        const Color color = kPaperColors.of({.kind = kind});
        if (!isBar || fill != toHex(color)) continue;
        ++jobs;
        if (!isLike(pixels.at(x + 3, y + 3), color)) ++missing;
      }
    }
    EXPECT_EQ(jobs, 4 * 8 * 2);
    EXPECT_EQ(missing, 0);
    EXPECT_GT(bubblePixels(pixels), 2000);
    EXPECT_GT(inkOfTheTitle(pixels), 200);
    EXPECT_TRUE(isLike(pixels.at(2, 2), kPaperTheme.paper)) << "no frame around it";
  }

 private:
  static int bubblePixels(const Pixels& pixels) {
    const Color ground = kPaperTheme.hatchingOf(BubbleClass::kUnknown).ground;
    int count = 0;
    for (int x = 120; x < 1380; ++x) {
      for (int y = 140; y < 300; ++y) count += isLike(pixels.at(x, y), ground) ? 1 : 0;
    }
    return count;
  }

  static int inkOfTheTitle(const Pixels& pixels) {
    int count = 0;
    for (int x = 16; x < 300; ++x) {
      for (int y = 16; y < 44; ++y) count += lightness(pixels.at(x, y)) < 40 ? 1 : 0;
    }
    return count;
  }

  fs::path folder_;
};

TEST_F(SvgRenderersTest, ImageMagicksOwnRendererDrawsEveryBar) {
  for (const char* program : {"magick", "convert", "convert-im6.q16"}) {
    const std::string name = program;
    if (!has(name + " -list format | grep MSVG")) continue;
    return expectTheChartFrom(name + " msvg:in.svg -depth 8 ppm:out.ppm");
  }
  GTEST_SKIP() << "ImageMagick is not there, or cannot draw SVG (Debian: imagemagick and "
                  "libmagickcore-6.q16-6-extra)";
}

TEST_F(SvgRenderersTest, LibrsvgDrawsEveryBar) {
  if (!has("rsvg-convert --version")) {
    GTEST_SKIP() << "rsvg-convert is not there (Debian: librsvg2-bin)";
  }
  if (!has("convert-im6.q16 -version")) {
    GTEST_SKIP() << "ImageMagick is not there, which makes plain pixels of a PNG";
  }
  expectTheChartFrom(
      "rsvg-convert -o out.png in.svg && convert-im6.q16 out.png -depth 8 ppm:out.ppm");
}

}  // namespace
}  // namespace pipetrace
