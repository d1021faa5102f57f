#pragma once

#include "runtime/engine/config/config_file.h"
#include "runtime/engine/config/config_keys.h"
#include "runtime/engine/config/run_config.h"

namespace pipetrace {

/// Says the drivers' keys in the words of the engine's options, and appends them to
/// `config.options`, which has the program's own already: these count where both say the same.
///
/// `sync_mode: asp` is PipeDream, `bsp` 1F1B. `batch_size` is that of a micro-batch under asp, as a
/// minibatch of PipeDream is what a stage works on at a time, and that of a step under bsp. A step
/// has as many micro-batches as there are stages under bsp. Under asp it has twice as many, which
/// fills all weight versions, or `num_minibatches` if these are fewer. Throws Error as "FILE:LINE:
/// …".
void addDriverWords(const ConfigValues& values, const ConfigPaths& paths, RunConfig& config);

}  // namespace pipetrace
