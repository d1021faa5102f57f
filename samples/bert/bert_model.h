#pragma once

#include <cstdint>

#include "runtime/train/model/model.h"
#include "samples/bert/bert_config.h"

namespace pipetrace {

/// BERT (Devlin et al., 2019) as a masked language model of 2 * layers + 1 blocks, which are those
/// of VPipe (hku-systems/vpipe): it cuts behind each sum with an input. Block 0 has the embeddings
/// and the first attention. Then feed-forward and attention take turns, each behind the norm of the
/// sum before it. The last block has the last norm and the head. So 24 layers are 49 blocks.
///
/// The batch is that of MaskedText. One tensor goes from block to block; `mask` goes from the batch
/// to each attention. The loss is the mean over the rows of a row's mean cross-entropy of the
/// pieces that are to be predicted. `isTied`: the weights of the head are those of the pieces'
/// embedding, as in the paper. Throws Error as requireFits() does.
Model makeBertModel(const BertConfig& config, bool isTied);

/// Counts the operations of a row's forward and backward as Chowdhery et al. do ("PaLM", 2022,
/// appendix B). A piece takes 6 for each weight of a matrix. Its attention takes 12 * layers *
/// width * length.
double flopsOfBertRow(const BertConfig& config, std::int64_t length);

}  // namespace pipetrace
