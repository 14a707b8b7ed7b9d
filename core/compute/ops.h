// SPDX-License-Identifier: GPL-3.0-or-later
// What a device can be asked to do, as data. Shapes: B samples, I inputs, O outputs, P parameters, C classes. Floating
// tensors of one op share one dtype (fp32 or fp64) unless said otherwise; statistics are fp64 always. B may be 0 (a rank
// without samples in a tail step): sums over samples are then 0. An optional tensor is left out by leaving it empty.
#pragma once

#include <variant>

#include "core/compute/tensor.h"

namespace trainyard::compute {

enum class Activation : std::uint8_t { none, relu, tanh };

// output = activation(input weight^T + bias)      input [B,I], weight [O,I], bias [O], output [B,O]
struct LinearForward {
  Tensor input, weight, bias, output;
  Activation activation = Activation::none;
};

// gradient *= activation'(.), written through the activation's output: relu' = [y > 0], tanh' = 1 - y^2. In place.
struct ActivationBackward {
  Tensor output, gradient;  // [B,O]
  Activation activation = Activation::none;
};

// input_gradient = output_gradient weight         [B,O] [O,I] -> [B,I]
struct LinearBackwardInput {
  Tensor output_gradient, weight, input_gradient;
};

// weight_gradient = output_gradient^T input, bias_gradient = column sums of output_gradient; both overwritten.
// squared_norm (fp64 [1], may be empty) = sum of squares of both, while they are warm in the cache.
struct LinearBackwardWeight {
  Tensor input, output_gradient, weight_gradient, bias_gradient, squared_norm;
};

// loss_i = log sum_c exp(logit_ic) - logit_i,label ; gradient_ic = scale (softmax_ic - [c = label_i]); an empty gradient
// is not computed. metrics (fp64 [2]) = {sum of loss_i, samples whose largest logit is the label}; of equal logits the
// first counts as the largest. A label outside [0, C) makes the loss NaN.
struct SoftmaxCrossEntropy {
  Tensor logits, labels, gradient, metrics;  // [B,C], int32 [B], [B,C], fp64 [2]
  double scale = 1;
};

// output (fp64 [1]) = sum of squares
struct SquaredNorm {
  Tensor input, output;
};

// factor (fp64 [1]) = min(1, maximum / (norm + 1e-6)), norm = sqrt of the sum of `squared_norms` (fp64 [k]); the rule of
// torch.nn.utils.clip_grad_norm_.
struct ClipFactor {
  Tensor squared_norms, factor;
  double maximum = 1;
};

struct Zero {
  Tensor output;
};

// What an update needs to know of the moment; fp64, so that a step writes it without rebinding. factor may be empty (1).
struct UpdateInputs {
  Tensor parameters, gradient;  // [P]
  Tensor learning_rate;         // fp64 [1]
  Tensor factor;                // fp64 [1], multiplies the gradient first
  Tensor statistics;            // fp64 [3], written: sum of gradient^2 (before `factor`), of (new - old)^2, of new^2
};

// g = factor gradient + weight_decay p ; m = momentum m + g ; p -= learning_rate m.   (torch.optim.SGD, dampening 0)
// With momentum 0 the moment is not touched and may be empty: m = g.
struct SgdUpdate {
  UpdateInputs common;
  Tensor moment;  // [P]
  double momentum = 0, weight_decay = 0;
};

// Kingma and Ba 2015, algorithm 1; decoupled: Loshchilov and Hutter 2019 (AdamW), p -= learning_rate weight_decay p first;
// else weight_decay p is added to the gradient. `step` (fp64 [1]) counts from 1.
struct AdamUpdate {
  UpdateInputs common;
  Tensor first_moment, second_moment, step;  // [P], [P], fp64 [1]
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = false;
};

using Op = std::variant<LinearForward, ActivationBackward, LinearBackwardInput, LinearBackwardWeight, SoftmaxCrossEntropy, SquaredNorm, ClipFactor, Zero,
                        SgdUpdate, AdamUpdate>;

}  // namespace trainyard::compute
