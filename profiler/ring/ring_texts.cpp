#include "profiler/ring/ring_texts.h"

#include <atomic>
#include <cstdint>
#include <cstring>

namespace pipetrace {
namespace {

namespace rf = ring_format;

constexpr std::size_t kMostUsed = rf::kTexts / 4 * 3;

void put(rf::Text& place, std::uint64_t address, const char* text) noexcept {
  // No store below may come before this one, or a reader of the file would take half a text for a
  // whole one.
  std::atomic_ref(place.address).exchange(0, std::memory_order_acq_rel);
  std::strncpy(place.text.data(), text, place.text.size() - 1);
  std::atomic_ref(place.address).store(address, std::memory_order_release);
}

/// strncmp() for texts of a few characters: calling that takes longer than comparing.
bool holds(const rf::Text& place, const char* text) noexcept {
  for (std::size_t i = 0; i + 1 < place.text.size(); ++i) {
    if (place.text[i] != text[i]) return false;
    if (text[i] == '\0') return true;
  }
  return true;
}

}  // namespace

void RingTexts::note(const char* address) noexcept {
  if (address == nullptr) return;
  const auto wanted = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address));
  for (std::size_t i = rf::textPlace(wanted);; i = (i + 1) % rf::kTexts) {
    rf::Text& place = places_[i];
    if (place.address == wanted) {
      // The program may have put another text at the address of an older one.
      if (!holds(place, address)) put(place, wanted, address);
      return;
    }
    if (place.address != 0) continue;
    if (used_ == kMostUsed) return;
    ++used_;
    put(place, wanted, address);
    return;
  }
}

}  // namespace pipetrace
