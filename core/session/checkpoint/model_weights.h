// SPDX-License-Identifier: GPL-3.0-or-later
// Weights of a full model in host memory: read from a checkpoint, or initialized as ranks do it.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/resolve.h"
#include "core/session/checkpoint/checkpoint.h"

namespace trainyard::session {

// Returns the dtype of stored parameters: fp64 if the experiment trains in fp64, else fp32.
base::DType weight_dtype(const experiment::Resolved& e);

// Parameters [elements of the model] and training state besides parameters [state elements of the
// model], both flat. Zero after construction.
class ModelWeights {
 public:
  explicit ModelWeights(const experiment::Resolved& e);

  compute::Tensor parameters();
  compute::Tensor state();  // Empty for a model without state.
  CheckpointTensors tensors() { return {parameters(), state()}; }

  // Returns the xxh64 of the parameters, as the result of a run states it for a rank that has all
  // parameters.
  std::string parameters_xxh64() const;

 private:
  base::DType dtype_;
  std::vector<std::byte> parameters_, state_;
};

// Returns the weights before the first step, from the seed of the experiment.
ModelWeights initial_weights(const experiment::Resolved& e);

// Returns the bytes of a safetensors file with all tensors, by the names that checkpoints use:
// "1.weight", "1.running_mean". Linear weights are [outputs, inputs] and convolutions [outputs,
// inputs, height, width], as in a PyTorch state dict.
std::string to_safetensors(const model::Model& model, ModelWeights& weights);

}  // namespace trainyard::session
