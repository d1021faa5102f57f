#include "profiler/log/pending_lines.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <utility>

#include "profiler/ring/ring_texts.h"
#include "trace/job_kind.h"

namespace pipetrace {

static_assert(RecordingState::kMaxLanes <= 64, "a bit for each lane");

namespace {

std::string_view textAt(std::uint64_t address) {
  if (address == 0) return {};
  return shortText(reinterpret_cast<const char*>(static_cast<std::uintptr_t>(address)));
}

}  // namespace

void PendingLines::setNow(Nanoseconds now) {
  now_ = now;
  writer_.setNow(state_.clock.at(now));
  looks_ = true;
}

StreamLineWriter& PendingLines::writerOf(std::int32_t lane) {
  while (writers_.size() <= static_cast<std::size_t>(lane)) {
    const Lane& next = state_.laneAt(static_cast<int>(writers_.size()));
    writers_.emplace_back(writer_, next.name(), next.isCompute());
  }
  return writers_[static_cast<std::size_t>(lane)];
}

void PendingLines::add(const TimedJob& timed) {
  const Lane& lane = state_.laneAt(timed.lane);
  const ring_format::Slot& job = lane.slot(timed.slot);
  StreamJob line{.kind = jobKindOfNumber(job.kind),
                 .chunk = job.chunk,
                 .microBatch = job.microBatch,
                 .step = job.step,
                 .stage = job.stage,
                 .begin = timed.begin,
                 .end = timed.end,
                 .id = job.id,
                 .peer = job.peer,
                 .action = textAt(job.action),
                 .phase = ring_format::phaseOf(job)};
  if (lane.isCompute()) {
    line.details = unpackedDetails(job.bytesOrDetails, ring_format::kVersion);
  } else {
    line.bytes = job.bytesOrDetails;
  }
  writerOf(timed.lane).append(text_, line);
  places_.push_back({.lane = timed.lane, .slot = timed.slot, .line = count_});
  addLine();
}

void PendingLines::add(const ring_format::CounterSlot& sample) {
  writer_.append(text_, CounterLine{.name = textAt(sample.name),
                                    .time = state_.clock.at(sample.monotonic),
                                    .value = sample.value,
                                    .unit = textAt(sample.unit)});
  ++samples_;
  addLine();
}

void PendingLines::addLine() {
  if (count_++ == 0) since_ = now_;
  if (count_ >= kMostLines) writeAll();
}

void PendingLines::writeOld() {
  if (count_ >= kLines || now_ - since_ >= kPatience) writeAll();
}

void PendingLines::sayLoss() const {
  const char* const why = file_.isThere() ? std::strerror(file_.firstError()) : "it was deleted";
  std::fprintf(stderr,
               "pipetrace: cannot write the job log %s: %s; the program goes on, lines are lost\n",
               file_.path().c_str(), why);
}

/// The last `lost` lines did not get into the file.
void PendingLines::noteFirstLoss(std::int64_t lost) {
  if (lostSince_ != kNotGiven) return;
  for (const Place& place : places_) {
    if (place.line < count_ - lost) continue;
    lostSince_ = state_.laneAt(place.lane).slot(place.slot).step;
    if (lostSince_ != kNotGiven) return;
  }
}

void PendingLines::writeAll() {
  if (count_ == 0) return;
  const std::int64_t lost = file_.append(text_.text(), std::exchange(looks_, false));
  lost_ += lost;
  written_ += count_ - lost;
  if (lost > 0) {
    state_.front.noteLost(lost);  // before the slots are given back
    noteFirstLoss(lost);
    if (!std::exchange(saidLoss_, true)) sayLoss();
  }
  std::uint64_t lanes = 0;  // a bit for each
  for (const Place& place : places_) {
    state_.laneAt(place.lane).release(place.slot);
    lanes |= std::uint64_t{1} << place.lane;
  }
  for (; lanes != 0; lanes &= lanes - 1) state_.laneAt(std::countr_zero(lanes)).giveBack();
  state_.counters.free(samples_);
  places_.clear();
  samples_ = 0;
  text_.clear();
  count_ = 0;
}

}  // namespace pipetrace
