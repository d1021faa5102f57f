#include "chart/utf8.h"

#include <algorithm>
#include <array>

namespace pipetrace {
namespace {

struct Form {
  unsigned char mask;
  unsigned char lead;
  std::size_t length;
  char32_t smallest;  // anything less has a shorter form
};
constexpr std::array<Form, 3> kForms = {
    {{0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}}};

bool isSurrogate(char32_t c) { return c >= 0xD800 && c <= 0xDFFF; }

}  // namespace

char32_t takeCharacter(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) {
    text.remove_prefix(1);
    return lead;
  }
  const auto* form = std::find_if(kForms.begin(), kForms.end(),
                                  [&](const Form& f) { return (lead & f.mask) == f.lead; });
  char32_t character = kReplacementCharacter;
  std::size_t taken = 1;
  if (form != kForms.end() && text.size() >= form->length) {
    char32_t value = lead & static_cast<unsigned char>(~form->mask);
    std::size_t i = 1;
    for (; i < form->length; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if ((byte & 0xC0) != 0x80) break;
      value = value << 6 | (byte & 0x3F);
    }
    if (i == form->length && value >= form->smallest && value <= 0x10FFFF && !isSurrogate(value)) {
      character = value;
      taken = form->length;
    }
  }
  text.remove_prefix(taken);
  return character;
}

}  // namespace pipetrace
