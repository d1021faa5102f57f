#include "parser/perfetto/state.h"

#include <array>
#include <utility>

#include "parser/perfetto/format.h"
#include "parser/perfetto/wire.h"
#include "parser/profile/common_format.h"
#include "trace/text/log_numbers.h"
#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

namespace cf = common_format;
namespace pf = perfetto_format;

StringId internUtf8(std::string_view text, StringTable& strings) {
  return isUtf8(text) ? strings.intern(text) : strings.intern(toUtf8(text));
}

/// The key after `arg.<position>.`; the whole key when it has another form.
std::string_view unescaped(std::string_view key) {
  if (!key.starts_with(cf::kEscapedKey)) return key;
  const std::string_view rest = key.substr(cf::kEscapedKey.size());
  const std::size_t dot = rest.find('.');
  const bool isEscaped =
      dot != std::string_view::npos && parseNumber<std::uint32_t>(rest.substr(0, dot));
  return isEscaped ? rest.substr(dot + 1) : key;
}

}  // namespace

PerfettoState::Key PerfettoState::keyOf(std::string_view name, StringTable& strings) {
  using Field = Key::Field;
  constexpr std::array<std::pair<std::string_view, Field>, 11> kFields = {
      {{cf::kJob, Field::kJob},
       {cf::kStep, Field::kStep},
       {cf::kMicroBatch, Field::kMicroBatch},
       {cf::kStage, Field::kStage},
       {cf::kChunk, Field::kChunk},
       {cf::kPart, Field::kPart},
       {cf::kNumber, Field::kNumber},
       {cf::kPeer, Field::kPeer},
       {cf::kPhase, Field::kPhase},
       {cf::kClass, Field::kClass},
       {cf::kOwnName, Field::kOwnName}}};
  Key key;
  for (const auto& [text, field] : kFields) {
    if (text == name) key.field = field;
  }
  key.text = internUtf8(unescaped(name), strings);
  return key;
}

void PerfettoState::clear() { *this = {}; }

void PerfettoState::addInterned(std::string_view message, StringTable& strings) {
  WireFields fields(message);
  for (WireField field; fields.next(field);) {
    if (!field.isBytes) continue;
    std::uint64_t iid = 0;
    std::string_view text;
    WireFields entry(field.bytes);
    for (WireField part; entry.next(part);) {
      if (part.isVarint(pf::interned::kIid)) iid = part.value;
      if (part.isBytesOf(pf::interned::kText)) text = part.bytes;
    }
    switch (field.number) {
      case pf::interned::kCategories:
        categories_[iid] = {internUtf8(text, strings), jobKindFromLogName(text)};
        break;
      case pf::interned::kEventNames: names_[iid] = {internUtf8(text, strings)}; break;
      case pf::interned::kAnnotationNames: keys_[iid] = keyOf(text, strings); break;
      case pf::interned::kTexts: texts_[iid] = {internUtf8(text, strings)}; break;
      default: break;
    }
  }
}

void PerfettoState::setDefaults(std::string_view message) {
  WireFields fields(message);
  for (WireField field; fields.next(field);) {
    if (field.isVarint(pf::defaults::kTimestampClock)) clock = field.value;
    if (!field.isBytesOf(pf::defaults::kTrackEvent)) continue;
    WireFields ofEvents(field.bytes);
    for (WireField part; ofEvents.next(part);) {
      if (part.isVarint(pf::defaults::kTrack)) track = part.value;
    }
  }
}

}  // namespace pipetrace
