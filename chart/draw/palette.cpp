#include "chart/draw/palette.h"

#include <algorithm>
#include <array>

namespace pipetrace {
namespace {

constexpr int kDarkerPerChunk = 34;  // of 256
constexpr int kDarkest = 136;

constexpr std::array<Color, kJobKindCount> kColors = {{
    {240, 222, 110},  // lr
    {58, 110, 196},   // forward
    {126, 203, 118},  // backward
    {88, 190, 200},   // backward_input
    {46, 139, 87},    // backward_weight
    {110, 55, 130},   // forward_backward
    {176, 199, 238},  // recompute
    {232, 150, 32},   // optimizer
    {196, 132, 92},   // data
    {140, 148, 158},  // default
    {152, 178, 214},  // send_forward
    {188, 206, 230},  // recv_forward
    {166, 202, 162},  // send_backward
    {198, 222, 194},  // recv_backward
    {190, 168, 208},  // all_reduce
    {206, 188, 222},  // all_gather
    {174, 150, 196},  // reduce_scatter
    {204, 190, 172},  // copy
    {158, 168, 180},  // kernel
    {},               // bubble: bubbleColor()
    {192, 180, 186},  // other
}};

constexpr std::array<Color, kBubbleClassCount> kBubbleColors = {{
    palette::kBubbleColumn,
    {227, 232, 241},  // warm_up
    {200, 199, 196},  // steady
    {231, 224, 195},  // drain
    {187, 169, 234},  // sync
    {235, 233, 145},  // launch
    {181, 103, 170},  // transfer
    {228, 168, 154},  // peer_wait
    {209, 76, 78},    // imbalance
    palette::kBubbleColumn,
}};

}  // namespace

Color bubbleColor(BubbleClass bubbleClass) {
  return kBubbleColors[static_cast<std::size_t>(bubbleClass)];
}

bool isHatched(const Event& bubble) {
  return bubble.bubbleClass == BubbleClass::kUnknown || bubble.bubbleClass == BubbleClass::kNone;
}

Color jobColor(const Event& event) {
  if (event.kind == JobKind::kBubble) return bubbleColor(event.bubbleClass);
  const Color color = kColors[static_cast<std::size_t>(event.kind)];
  if (!isCompute(event.kind) || event.chunk <= 0) return color;
  return mix(color, Color{0, 0, 0}, std::min(event.chunk * kDarkerPerChunk, kDarkest));
}

Color textColorOn(Color background) {
  // Black, not ink: on some colours neither ink nor white could be read.
  constexpr Color kBlack{0, 0, 0};
  return contrast(background, kBlack) >= contrast(background, palette::kPaper) ? kBlack
                                                                               : palette::kPaper;
}

}  // namespace pipetrace
