#pragma once

#include <string>
#include <string_view>

#include "schedule/partition/block_table.h"

namespace pipetrace {

/// Reads a blocks file (docs/schedules.md): a JSON object with the costs of a model's blocks, each
/// alone on a stage.
/// - blocks: an array of objects with forward_ms. They may have name, count (of blocks that are
///   like it), backward_ms, backward_input_ms, backward_weight_ms, optimizer_ms,
///   activation_bytes, freed_by_input_bytes, shared_bytes, working_bytes, message_bytes,
///   parameter_bytes, updating_bytes. Missing backwards follow from the others as completeCosts()
///   says; other costs are 0.
/// - transfer_ms, lr_ms, bandwidth_gbs: as in a costs file.
///
/// Times are read digit by digit, to the nanosecond. `//` and `/* */` comments are skipped.
///
/// Throws Error, whose text begins with `name`. For invalid JSON it names line and column, else the
/// block, counted from 0, and the key. Errors are an unknown key (with the nearest known one), a
/// doubled key, and a number that is none, or negative. So are a block without forward_ms, or
/// without activation_bytes where others have them, a half that is longer than its backward, and
/// more freed or shared memory than there is.
BlockTable readBlocksFile(std::string_view text, const std::string& name);

/// A blocks file, a line for each block, that reads back to the same table. Costs of 0 are left
/// out.
std::string toBlocksFile(const BlockTable& table);

}  // namespace pipetrace
