#include "chart/draw/text_width.h"

#include <array>

#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

// Thousandths of the font size, for the characters from space to tilde.
constexpr std::array<short, 95> kAdvance = {
    318, 401, 460, 838, 636, 951, 780, 275, 391, 391, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 687, 699, 771, 632,
    576, 775, 752, 295, 295, 656, 558, 863, 749, 788, 604, 788, 695, 635,  611, 732, 684, 989, 686,
    611, 686, 391, 337, 391, 838, 500, 500, 613, 635, 550, 635, 616, 353,  635, 634, 278, 278, 580,
    278, 975, 634, 612, 635, 635, 412, 521, 393, 634, 592, 818, 592, 592,  525, 637, 337, 637, 838};
constexpr int kOther = 700;
constexpr int kWide = 1000;
constexpr char32_t kFirstWide = 0x1100;  // Hangul, then the other scripts of East Asia

int advance(char32_t c) {
  if (c >= ' ' && c <= '~') return kAdvance[c - ' '];
  const bool isPunctuation = c >= 0x2000 && c < 0x2100;
  return c >= kFirstWide && !isPunctuation ? kWide : c == U'…' ? kWide : kOther;
}

}  // namespace

int estimatedTextWidth(std::string_view text, const TextStyle& style) {
  int sum = 0;
  while (!text.empty()) sum += advance(takeCharacter(text));
  if (style.bold) sum = sum * 113 / 100;
  return (sum * style.size + 999) / 1000;
}

}  // namespace pipetrace
