#include "parser/fuzz/ring_image.h"

#include <algorithm>
#include <cstring>

#include "trace/event.h"
#include "trace/job_kind.h"
#include "trace/log/ring_format.h"

namespace pipetrace::fuzz {
namespace {

namespace rf = ring_format;

constexpr std::uint32_t kSlots = 4;
constexpr std::uint64_t kForwardText = 0x5000;
constexpr std::uint64_t kMemoryText = 0x6000;

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

template <std::size_t kSize>
void setText(std::array<char, kSize>& to, std::string_view text) {
  std::copy(text.begin(), text.end(), to.begin());
}

rf::FileHeader header() {
  rf::FileHeader header{};
  header.magic = rf::kMagic;
  rf::describeLayout(header, kSlots);
  header.wallOffset = 1'697'793'307'000'000'000;
  setText(header.meta, " version = 1, rank = 1, world_size = 2, num_stages = 2, host = \"a b\"");
  header.anchorCount = 3;
  for (std::uint64_t i = 0; i < 3; ++i) {
    header.anchors[i] = {.ticks = 1000 + 3000 * i,
                         .monotonic = static_cast<Nanoseconds>(500 + 1000 * i)};
  }
  header.laneOffset[0] = rf::kFrontSize;
  header.laneOffset[1] = rf::kFrontSize + rf::laneSize(kSlots);
  return header;
}

void appendLane(std::string& image, bool isCompute) {
  rf::LaneHeader lane{};
  setText(lane.name, isCompute ? "compute" : "send");
  lane.isCompute = isCompute ? 1 : 0;
  lane.marksTicks = isCompute ? 0 : 1;
  lane.isAsynchronous = isCompute ? 0 : 1;
  lane.begun = 4;
  lane.dropped = isCompute ? 2 : 0;
  append(image, lane);
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    rf::Slot slot{};
    slot.sequence = i == 3 ? 0 : i + 1;  // the last job is open
    slot.kind = static_cast<std::uint8_t>(isCompute ? JobKind::kForward : JobKind::kSendForward);
    slot.begin = 2000 + 1000 * i;
    slot.end = slot.begin + 700;
    slot.id = i;
    slot.action = isCompute ? kForwardText : 0;
    slot.bytesOrDetails = isCompute ? packedDetails(JobDetails{.part = 1, .version = 7}) : 4096;
    slot.microBatch = static_cast<std::int32_t>(i);
    slot.stage = slot.step = 1;
    slot.peer = isCompute ? kNotGiven : 0;
    append(image, slot);
  }
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    const Nanoseconds begin = 1'697'793'307'000'002'000 + 1000 * i;
    append(image, rf::Times{.begin = begin, .end = begin + 700, .sequence = i == 0 ? 1U : 0U});
  }
}

}  // namespace

std::string ringOf(std::string_view image) {
  std::string file(image.substr(0, sizeof(rf::FileHeader)));
  image.remove_prefix(file.size());
  if (file.size() < sizeof(rf::FileHeader)) return file;
  file.resize(rf::kFrontSize);
  for (int i = 0; i < kImageTexts && image.size() >= sizeof(rf::Text); ++i) {
    rf::Text text{};
    std::memcpy(&text, image.data(), sizeof(text));
    image.remove_prefix(sizeof(text));
    std::memcpy(file.data() + rf::kTextsAt + rf::textPlace(text.address) * sizeof(text), &text,
                sizeof(text));
  }
  const std::size_t samples = std::min(image.size(), kImageSamples * sizeof(rf::CounterSlot));
  std::memcpy(file.data() + rf::kCountersAt, image.data(), samples);
  file.append(image.substr(samples));
  return file;
}

std::string sampleRingImage() {
  std::string image;
  append(image, header());
  for (int i = 0; i < kImageTexts; ++i) {
    rf::Text text{};
    if (i == 0) text.address = kForwardText;
    if (i == 1) text.address = kMemoryText;
    setText(text.text, i == 0 ? "1F2" : "memory");
    append(image, text);
  }
  for (std::uint64_t i = 0; i < kImageSamples; ++i) {
    append(image, rf::CounterSlot{.turn = i + 1,
                                  .name = kMemoryText,
                                  .unit = i == 0 ? kForwardText : 0,
                                  .monotonic = static_cast<Nanoseconds>(2000 + i),
                                  .value = 0.5 * static_cast<double>(i)});
  }
  appendLane(image, true);
  appendLane(image, false);
  return image;
}

}  // namespace pipetrace::fuzz
