#include "runtime/lanes/message_header.h"

namespace pipetrace {

std::string problemOf(const MessageHeader& got, const MessageHeader& expected) {
  if (got.key == expected.key && got.sequence == expected.sequence) return "";
  if (got.sequence < expected.sequence) {
    return toText(got.key) + " came twice, where " + toText(expected.key) + " was due";
  }
  if (got.sequence > expected.sequence) {
    return toText(expected.key) + " did not come: it was lost, or overtaken by " + toText(got.key);
  }
  return "the peer sent " + toText(got.key) + " instead of " + toText(expected.key) +
         "; do all ranks run the same schedule?";
}

}  // namespace pipetrace
