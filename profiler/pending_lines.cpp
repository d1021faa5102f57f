#include "profiler/pending_lines.h"

namespace pipetrace {
namespace {

std::string_view textAt(const char* address) { return address == nullptr ? "" : address; }

}  // namespace

void PendingLines::setNow(Nanoseconds now) {
  now_ = now;
  writer_.setNow(state_.clock.at(now));
}

void PendingLines::add(const TimedJob& timed) {
  Lane& lane = state_.laneAt(timed.lane);
  const Job& job = timed.job;
  if (lane.isCompute()) {
    writer_.append(text_, JobLine{.type = logName(job.kind),
                                  .number = job.microBatch,
                                  .microBatch = job.microBatch,
                                  .begin = timed.begin,
                                  .end = timed.end,
                                  .id = job.id,
                                  .step = job.step,
                                  .stage = job.stage,
                                  .chunk = job.chunk,
                                  .stream = lane.name(),
                                  .action = textAt(job.action)});
  } else {
    writer_.append(text_, StreamLine{.type = logName(job.kind),
                                     .microBatch = job.microBatch,
                                     .begin = timed.begin,
                                     .end = timed.end,
                                     .stream = lane.name(),
                                     .peer = job.peer,
                                     .bytes = job.bytes,
                                     .job = job.id,
                                     .step = job.step,
                                     .stage = job.stage,
                                     .chunk = job.chunk});
  }
  places_.push_back({&lane, timed.number});
  addLine();
}

void PendingLines::add(const ring_format::CounterSlot& sample) {
  const auto text = [](std::uint64_t address) {
    return textAt(reinterpret_cast<const char*>(static_cast<std::uintptr_t>(address)));
  };
  writer_.append(text_, CounterLine{.name = text(sample.name),
                                    .time = state_.clock.at(sample.monotonic),
                                    .value = sample.value,
                                    .unit = text(sample.unit)});
  ++samples_;
  addLine();
}

void PendingLines::addLine() {
  if (count_++ == 0) since_ = now_;
  if (count_ >= kLines) writeAll();
}

void PendingLines::writeOld() {
  if (count_ > 0 && now_ - since_ >= kPatience) writeAll();
}

void PendingLines::writeAll() {
  if (count_ == 0) return;
  const std::int64_t lost = file_.append(text_);
  lost_ += lost;
  written_ += count_ - lost;
  for (const Place& place : places_) place.lane->release(place.number);
  state_.counters.free(samples_);
  places_.clear();
  samples_ = 0;
  text_.clear();
  count_ = 0;
}

}  // namespace pipetrace
