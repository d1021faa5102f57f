#include "runtime/record/device_transfers.h"

namespace pipetrace {

void DeviceTransfers::begins() {
  if (records() && recorded_.line) recorded_.recorder->begin(*recorded_.line, next_);
}

void DeviceTransfers::ended(std::int64_t bytes) {
  if (records() && recorded_.line) recorded_.recorder->end(*recorded_.line, bytes);
}

void DeviceTransfers::posted(const Job& transfer) {
  if (!records()) return;
  Receives& receives = receivesOf(transfer);
  if (receives.posted++ > 0) return;
  DeviceStream& stream = recorded_.recorder->stream(recorded_.of(transfer));
  stream.markStart();
  receives.begin = stream.mark();
}

void DeviceTransfers::arrived(const Job& transfer, const Message& message) {
  if (!records()) return;
  Receives& receives = receivesOf(transfer);
  const StreamId lane = recorded_.of(transfer);
  recorded_.recorder->begin(lane, transfer);
  recorded_.recorder->beganAt(lane, receives.begin);
  if (message.made != nullptr) {
    message.made->block(device_.receives(isForwardTransfer(transfer.kind)));
  }
  receives.begin = recorded_.recorder->stream(lane).mark();
  recorded_.recorder->endAt(lane, receives.begin, message.bytes());
  --receives.posted;
}

void DeviceTransfers::made(const Job& transfer, std::int64_t bytes) {
  if (!records()) return;
  const StreamId lane = recorded_.of(transfer);
  recorded_.recorder->begin(lane, transfer);
  recorded_.recorder->end(lane, bytes);
}

}  // namespace pipetrace
