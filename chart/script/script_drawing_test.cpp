#include "chart/script/script_drawing.h"

#include <gmock/gmock.h>

#include <sstream>

#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

constexpr Color kBlack{0, 0, 0};
constexpr Color kWhite{255, 255, 255};
constexpr Color kRed{255, 0, 0};

/// The numbers of a JSON array.
std::vector<std::int64_t> numbersIn(const std::string& json) {
  std::vector<std::int64_t> numbers;
  std::istringstream in(json.substr(1));
  char after = ',';
  for (std::int64_t number = 0; in >> number >> after;) numbers.push_back(number);
  EXPECT_EQ(after, ']') << json;
  return numbers;
}

/// Records what `draw(canvas, ink)` draws with two inks.
template <typename Draw>
std::vector<std::int64_t> commandsOf(ScriptDrawing& drawing, const Draw& draw) {
  RecordedCanvas light;
  draw(light, kBlack);
  RecordedCanvas dark;
  draw(dark, kWhite);
  return numbersIn(drawing.commands(light.commands(), dark.commands()));
}

TEST(ScriptDrawingTest, CommandsAreNumbersThatReferToTables) {
  ScriptDrawing drawing;
  const TextStyle style{12, true, kRed, TextAlign::kCenter};
  EXPECT_EQ(commandsOf(drawing,
                       [&](Canvas& canvas, Color ink) {
                         canvas.fill({5, 10, 20, 8}, ink);
                         canvas.text({5, 10, 20, 8}, "F3", style);
                         canvas.hatch({30, 10, 4, 8}, {kRed, ink, BubblePattern::kUpright});
                         canvas.text({2, 20, 9, 8}, "F3", style);
                         canvas.veil({2, 20, 9, 8}, ink, 0.25);
                       }),
            std::vector<std::int64_t>({0, 10, 8, 2, 5,   20, 0, 0, 0,  // row, rectangle with text
                                       3, 25, 4, 1, 0,   2,            // from the start of that
                                       0, 20, 8, 4, -28, 9,  0, 0,     // another row, text alone
                                       7, 0,  9, 0, 25}));
  EXPECT_EQ(drawing.tables(), R"("colors":[["#000000","#ffffff"],["#ff0000","#ff0000"]],)"
                              R"("styles":[[12,1,1,1]],"texts":["F3"],)"
                              R"("hatchings":[[0,85,0],[1,85,0],[2,60,0],[3,60,0],[2,60,0,3,60,0],)"
                              R"([0,85,0,1,85,0],[0,42,42],[1,42,42],[3,30,30],[3,15,45]])");
}

TEST(NumberListTest, IsAJsonArray) {
  NumberList numbers;
  EXPECT_EQ(numbers.json(), "[]");
  numbers.add({0, -1, 1'234'567'890'123});
  EXPECT_EQ(numbers.json(), "[0,-1,1234567890123]");
}

TEST(ScriptDrawingTest, LinesAndAreasHaveTenthsOfPixels) {
  ScriptDrawing drawing;
  EXPECT_EQ(
      commandsOf(drawing,
                 [](Canvas& canvas, Color ink) {
                   const PixelPoint points[] = {{0, 1}, {2.5, 3}};
                   canvas.line(points, {.color = ink, .width = 1.5, .isDashed = true});
                   const PixelPoint corners[] = {{0, 0}, {4, 0}, {4, 4}};
                   canvas.polygon(corners, ink);
                 }),
      std::vector<std::int64_t>({5, 0, 15, 1, 2, 0, 10, 25, 30, 6, 0, 3, 0, 0, 40, 0, 40, 40}));
}

TEST(ScriptDrawingTest, EqualNeighboursAreOneRectangle) {
  ScriptDrawing drawing;
  const Column columns[] = {{3, 4, kRed}, {4, 4, kRed}, {5, 6, kRed}, {7, 6, kRed}};
  EXPECT_EQ(
      commandsOf(drawing, [&](Canvas& canvas,
                              Color) { canvas.columns(10, 8, ColumnEdge::kBottom, columns); }),
      std::vector<std::int64_t>({0, 14, 4, 1, 3, 2, 0, 0, 12, 6, 1, 2, 1, 0, 1, 2, 1, 0}));
}

TEST(ScriptDrawingTest, ColoursThatDifferInOneFormAloneStayApart) {
  RecordedCanvas light;
  light.fill({0, 0, 1, 1}, kBlack);
  light.fill({1, 0, 1, 1}, kBlack);
  RecordedCanvas dark;
  dark.fill({0, 0, 1, 1}, kBlack);
  dark.fill({1, 0, 1, 1}, kWhite);
  EXPECT_EQ(numbersIn(ScriptDrawing().commands(light.commands(), dark.commands())),
            std::vector<std::int64_t>({0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1}));
}

TEST(ScriptDrawingTest, TheClipCutsDrawingsOff) {
  ScriptDrawing drawing;
  EXPECT_EQ(commandsOf(drawing,
                       [](Canvas& canvas, Color ink) {
                         canvas.pushClip({10, 0, 10, 10});
                         canvas.fill({0, 0, 15, 20}, ink);
                         canvas.fill({30, 0, 5, 5}, ink);
                         canvas.text({12, 0, 30, 10}, "its middle is outside", {});
                         canvas.popClip();
                       }),
            std::vector<std::int64_t>({0, 0, 10, 1, 10, 5, 0}));
}

TEST(ScriptDrawingTest, FormsThatDifferInMoreThanColoursAreRefused) {
  RecordedCanvas light;
  light.fill({0, 0, 1, 1}, kBlack);
  RecordedCanvas dark;
  dark.fill({0, 0, 2, 1}, kBlack);
  ScriptDrawing drawing;
  const auto both = [&] { drawing.commands(light.commands(), dark.commands()); };
  EXPECT_THAT(both, ThrowsMessage<Error>(HasSubstr("differ in more than their colours")));
  dark.fill({0, 0, 2, 1}, kBlack);
  EXPECT_THAT(both, ThrowsMessage<Error>(HasSubstr("differ in more than their colours")));
}

TEST(ScriptDrawingTest, NoTextEndsTheScriptThatItStandsIn) {
  ScriptDrawing drawing;
  drawing.textNumber("</script><img src=x onerror=alert(1)>");
  drawing.textNumber("<!-- & \"quoted\" \\ \n \xff");
  EXPECT_THAT(drawing.tables(), Not(HasSubstr("<")));
  EXPECT_THAT(drawing.tables(),
              HasSubstr(R"("texts":["\u003c/script\u003e\u003cimg src=x onerror=alert(1)\u003e",)"
                        R"("\u003c!-- \u0026 \"quoted\" \\ \u000a )"
                        "\xEF\xBF\xBD\"]"));
}

}  // namespace
}  // namespace pipetrace
