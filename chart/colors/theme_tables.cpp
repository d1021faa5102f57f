#include "chart/colors/theme.h"

// The colours of all themes. The tests of theme_test.cpp say what they must hold.
namespace pipetrace {
namespace {

constexpr Color kNoColor{};  // of kinds whose colour is asked for elsewhere

/// The tints of bubbles, which the rows of their classes have.
constexpr std::array<Color, kBubbleClassCount> tintsOf(ThemeName name, bool isDark) {
  std::array<Color, kBubbleClassCount> tints{};
  for (std::size_t i = 0; i < tints.size(); ++i) {
    const BubbleTints& all = kBubbleClasses[i].tints;
    const BubbleTints::Forms& forms = name == ThemeName::kPaper    ? all.paper
                                      : name == ThemeName::kPaddle ? all.paddle
                                                                   : all.colourBlind;
    const std::uint32_t tint = isDark ? forms.dark : forms.light;
    tints[i] = {static_cast<std::uint8_t>(tint >> 16U), static_cast<std::uint8_t>(tint >> 8U),
                static_cast<std::uint8_t>(tint)};
  }
  return tints;
}

/// A theme with what all of one form share, and its tints.
constexpr Theme light(ThemeName name) {
  Theme theme;
  theme.name = name;
  theme.tints = tintsOf(name, false);
  theme.paper = {255, 255, 255};
  theme.ink = {27, 31, 36};
  theme.faintInk = {95, 104, 115};
  theme.grid = {225, 229, 234};
  theme.stepLine = {150, 158, 168};
  theme.rowShade = {247, 248, 250};
  return theme;
}

constexpr Theme dark(ThemeName name) {
  Theme theme;
  theme.name = name;
  theme.isDark = true;
  theme.tints = tintsOf(name, true);
  theme.paper = {23, 25, 30};
  theme.ink = {233, 236, 241};
  theme.faintInk = {158, 166, 178};
  theme.grid = {48, 52, 60};
  theme.stepLine = {104, 112, 124};
  theme.rowShade = {33, 36, 42};
  return theme;
}

constexpr Theme paperLight() {
  Theme theme = light(ThemeName::kPaper);
  theme.jobs = {{
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
      {170, 122, 150},  // checkpoint
      {158, 168, 180},  // kernel
      kNoColor,         // bubble
      {192, 180, 186},  // other
  }};
  return theme;
}

constexpr Theme paperDark() {
  Theme theme = dark(ThemeName::kPaper);
  theme.jobs = {{
      {206, 188, 84},   // lr
      {78, 130, 216},   // forward
      {134, 208, 122},  // backward
      {96, 204, 214},   // backward_input
      {44, 140, 88},    // backward_weight
      {178, 94, 150},   // forward_backward
      {166, 190, 232},  // recompute
      {240, 164, 56},   // optimizer
      {190, 128, 90},   // data
      {126, 134, 146},  // default
      {88, 112, 148},   // send_forward
      {70, 88, 116},    // recv_forward
      {88, 126, 86},    // send_backward
      {70, 98, 68},     // recv_backward
      {122, 102, 142},  // all_reduce
      {106, 88, 124},   // all_gather
      {136, 114, 158},  // reduce_scatter
      {126, 114, 98},   // copy
      {166, 116, 146},  // checkpoint
      {98, 106, 118},   // kernel
      kNoColor,         // bubble
      {116, 106, 112},  // other
  }};
  return theme;
}

/// Catapult's reserved colours. PaddlePaddle's script names those of forward, backward, optimizer
/// and default; the other kinds have further ones of Catapult.
constexpr std::array<Color, kJobKindCount> kPaddleJobs = {{
    {199, 155, 125},  // lr: thread_state_unknown, as default
    {126, 200, 148},  // forward: thread_state_running
    {238, 142, 0},    // backward: rail_idle
    {204, 102, 0},    // backward_input: heap_dump_child_node_arrow
    {222, 222, 75},   // backward_weight: cq_build_attempt_runnig, Catapult's spelling
    {0, 180, 180},    // forward_backward: background_memory_dump
    {133, 160, 210},  // recompute: thread_state_runnable
    {67, 135, 253},   // optimizer: rail_response
    {199, 155, 125},  // data, as default
    {199, 155, 125},  // default: thread_state_unknown
    {165, 217, 181},  // send_forward: paler than the job
    {195, 229, 205},  // recv_forward
    {244, 187, 102},  // send_backward
    {248, 212, 158},  // recv_backward
    {182, 125, 143},  // all_reduce: thread_state_uninterruptible
    {205, 165, 178},  // all_gather
    {164, 107, 125},  // reduce_scatter
    {187, 187, 187},  // copy: cq_build_abandoned
    {199, 155, 125},  // checkpoint, as default
    {125, 125, 125},  // kernel: generic_work
    kNoColor,         // bubble
    {221, 221, 221},  // other: grey
}};

constexpr Theme paddleLight() {
  Theme theme = light(ThemeName::kPaddle);
  theme.jobs = kPaddleJobs;
  return theme;
}

constexpr Theme paddleDark() {
  Theme theme = dark(ThemeName::kPaddle);
  theme.jobs = kPaddleJobs;
  theme.jobs[static_cast<std::size_t>(JobKind::kSendForward)] = {82, 130, 98};
  theme.jobs[static_cast<std::size_t>(JobKind::kRecvForward)] = {62, 98, 76};
  theme.jobs[static_cast<std::size_t>(JobKind::kSendBackward)] = {150, 96, 20};
  theme.jobs[static_cast<std::size_t>(JobKind::kRecvBackward)] = {112, 74, 24};
  theme.jobs[static_cast<std::size_t>(JobKind::kOther)] = {116, 116, 116};
  return theme;
}

constexpr Theme colourBlindLight() {
  Theme theme = light(ThemeName::kColourBlind);
  theme.jobs = {{
      {160, 160, 160},  // lr
      {0, 114, 178},    // forward: blue
      {230, 159, 0},    // backward: orange
      {240, 228, 66},   // backward_input: yellow
      {213, 94, 0},     // backward_weight: vermilion
      {204, 121, 167},  // forward_backward: reddish purple
      {128, 184, 216},  // recompute
      {86, 180, 233},   // optimizer: sky blue
      {0, 158, 115},    // data: bluish green
      {110, 110, 110},  // default
      {140, 184, 212},  // send_forward
      {186, 212, 228},  // recv_forward
      {236, 200, 124},  // send_backward
      {244, 224, 182},  // recv_backward
      {200, 172, 190},  // all_reduce
      {216, 194, 208},  // all_gather
      {184, 152, 172},  // reduce_scatter
      {190, 190, 180},  // copy
      {150, 158, 166},  // kernel
      kNoColor,         // bubble
      {196, 188, 192},  // other
  }};
  return theme;
}

constexpr Theme colourBlindDark() {
  Theme theme = dark(ThemeName::kColourBlind);
  theme.jobs = {{
      {140, 140, 140},  // lr
      {30, 130, 196},   // forward: blue
      {230, 159, 0},    // backward: orange
      {240, 228, 66},   // backward_input: yellow
      {213, 94, 0},     // backward_weight: vermilion
      {204, 121, 167},  // forward_backward: reddish purple
      {120, 172, 204},  // recompute
      {100, 190, 240},  // optimizer: sky blue
      {0, 158, 115},    // data: bluish green
      {120, 120, 120},  // default
      {56, 100, 130},   // send_forward
      {46, 78, 100},    // recv_forward
      {138, 104, 36},   // send_backward
      {104, 82, 38},    // recv_backward
      {126, 96, 114},   // all_reduce
      {108, 84, 98},    // all_gather
      {142, 110, 130},  // reduce_scatter
      {110, 110, 100},  // copy
      {94, 102, 110},   // kernel
      kNoColor,         // bubble
      {114, 106, 110},  // other
  }};
  return theme;
}

}  // namespace

const Theme& themeOf(ThemeName name, bool isDark) {
  static constexpr std::array<Theme, 2> kPaper{paperLight(), paperDark()};
  static constexpr std::array<Theme, 2> kPaddle{paddleLight(), paddleDark()};
  static constexpr std::array<Theme, 2> kColourBlind{colourBlindLight(), colourBlindDark()};
  const std::size_t form = isDark ? 1 : 0;
  switch (name) {
    case ThemeName::kPaper: return kPaper[form];
    case ThemeName::kPaddle: return kPaddle[form];
    case ThemeName::kColourBlind: return kColourBlind[form];
  }
  return kPaper[form];
}

}  // namespace pipetrace
