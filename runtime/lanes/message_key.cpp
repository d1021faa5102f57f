#include "runtime/lanes/message_key.h"

namespace pipetrace {

std::string toText(const MessageKey& key) {
  using Of = MessageKindRow::Of;
  const MessageKindRow& row = rowOf(key.kind);
  std::string text(row.text);
  if (row.of == Of::kMicroBatch) {
    if (key.tensor != 0) text = "tensor " + std::to_string(key.tensor) + " of " + text;
    text += " of micro-batch " + std::to_string(key.microBatch) + " for stage " +
            std::to_string(key.stage) + " in step";
  }
  if (row.of == Of::kStage) text += " of stage " + std::to_string(key.stage) + " in step";
  return row.of == Of::kRun ? text : text + " " + std::to_string(key.step);
}

}  // namespace pipetrace
