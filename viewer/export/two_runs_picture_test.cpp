#include "viewer/export/two_runs_picture.h"

#include <gmock/gmock.h>

#include <QTemporaryDir>

#include "trace/error.h"
#include "viewer/export/export_picture.h"
#include "viewer/testing/compared_runs.h"

#include "chart/draw/svg_canvas.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class TwoRunsPictureTest : public testing::Test {
 protected:
  ExportOptions options() const {
    return {.second = {.profile = b_, .answer = "steps of B take longer"}};
  }
  std::string svg(const ExportOptions& options) const {
    return renderSvg(*drawingOf(*a_, options), "both");
  }
  /// The x of a text, of its first or its last occurrence.
  static double xOf(const std::string& svg, const std::string& text, bool isLast) {
    const std::string end = ">" + text + "<";
    const std::size_t at = isLast ? svg.rfind(end) : svg.find(end);
    const std::size_t begin = svg.rfind(" x=\"", at);
    return at == std::string::npos ? -1 : std::stod(svg.substr(begin + 4));
  }

  std::shared_ptr<const LoadedProfile> a_ = SimulatedRun().profile("before");
  std::shared_ptr<const LoadedProfile> b_ =
      SimulatedRun{.steps = 12, .backwardOfStage2 = 1.5}.profile("after");
};

TEST_F(TwoRunsPictureTest, StandBelowEachOtherUnderTheAnswer) {
  const std::string text = svg(options());
  EXPECT_THAT(text, AllOf(HasSubstr("steps of B take longer"), HasSubstr("A  1F1B, 4 ranks"),
                          HasSubstr("B  1F1B, 4 ranks"), HasSubstr("before: step 1 of 0 to 2"),
                          HasSubstr("after: step ")));
  const auto both = drawingOf(*a_, options());
  const auto alone = drawingOf(*a_, {.steps = StepChoice{1, 1}});
  EXPECT_GT(both->height(), 2 * alone->height());
}

TEST_F(TwoRunsPictureTest, HaveOneTimeScaleFromTheBeginsOfTheirSteps) {
  // Both axes label the same times of their steps at the same places: 100 ms after the begin.
  const std::string text = svg({.steps = StepChoice{0, 0}, .second = options().second});
  EXPECT_GT(xOf(text, "100 ms", false), 0);
  EXPECT_EQ(xOf(text, "100 ms", false), xOf(text, "100 ms", true));
}

TEST_F(TwoRunsPictureTest, AStepThatOneRunLacksIsNamedWithTheRun) {
  EXPECT_THAT(
      [&] {
        svg({.steps = StepChoice{7, 7}, .second = options().second});
      },
      ThrowsMessage<Error>(HasSubstr("before has no step 7")));
}

TEST_F(TwoRunsPictureTest, AStretchOfTimeIsThatMuchLaterInTheSecond) {
  ExportOptions wanted = options();
  const Nanoseconds begin = a_->model().steps()[1].begin;
  wanted.second.later = b_->model().steps()[2].begin - begin;
  wanted.time = Timeline::Span{begin, begin + 50 * kNsPerMs};
  const std::string text = svg(wanted);
  EXPECT_THAT(text, HasSubstr(">step 2<")) << "which B begins there";
}

TEST_F(TwoRunsPictureTest, HaveTheColoursAndTheSizeThatAreAskedFor) {
  ExportOptions wanted = options();
  wanted.theme = ThemeName::kColourBlind;
  wanted.isDark = true;
  wanted.width = 900;
  wanted.height = 700;
  const Theme own = b_->model().theme();
  {
    const ColoursForExport colours(*a_, wanted);
    EXPECT_EQ(b_->model().theme(), themeOf(ThemeName::kColourBlind, true));
    const auto both = drawingOf(*a_, wanted);
    EXPECT_EQ(both->width(), 900);
    EXPECT_EQ(both->height(), 700);
  }
  EXPECT_EQ(b_->model().theme(), own);
}

}  // namespace
}  // namespace pipetrace
