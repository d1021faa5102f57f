#include "runtime/train/stage_sums.h"
