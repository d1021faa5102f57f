#pragma once

#include "parser/job_log/lines/log_fields.h"
#include "trace/argument.h"

namespace pipetrace {

/// The argument that a `key = value` of a log line is: a number where it prints as it stands there,
/// so that keeping the number loses nothing; else, or where it is quoted, a text.
Argument argumentFromLog(const LogFields::Field& field, StringTable& strings);

}  // namespace pipetrace
