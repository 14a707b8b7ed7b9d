// SPDX-License-Identifier: GPL-3.0-or-later
// Ops of a device, as data. Floating-point tensors of one op share one dtype (fp32, fp64, or 16
// bits: core/compute/half_precision.h) unless stated otherwise; statistics are always fp64. B may
// be 0, if a rank has no samples in a step; sums over samples are then 0. An optional tensor is
// omitted by leaving it empty.
//
// Letters in shapes: B samples, I inputs, O outputs, P parameters, C classes or channels, H rows
// and W columns of an image. In formulas, names side by side are multiplied (tensors as matrices),
// ^T transposes, and [condition] is 1 if the condition is true, else 0.
//
// Images are [B,H,W,C], channels last. oneDNN's convolution is as fast with this layout as with its
// own layouts (see backends/cpu/convolution.h), and all other ops work on rows of C channels.
// Flattening an image only reinterprets it as [B, H W C].
#pragma once

#include <variant>
#include <vector>

#include "core/compute/compression/power_sgd_layout.h"
#include "core/compute/compression/scheme.h"
#include "core/compute/layer_options.h"
#include "core/compute/tensor.h"

namespace trainyard::compute {

// output = activation(input weight^T + bias)
// input [B,I], weight [O,I], bias [O] or empty, output [B,O]
struct LinearForward {
  Tensor input, weight, bias, output;
  Activation activation = Activation::none;
  Multiplies multiplies = Multiplies::full;
};

// output = activation(input + bias)
// input [B,O], bias [O] or empty, output [B,O], which may be the input
struct AddBias {
  Tensor input, bias, output;
  Activation activation = Activation::none;
};

// output = column sums of input; [B,O] -> [O]
struct SumRows {
  Tensor input, output;
};

// output[r, output_first + c] = input[r, input_first + c] for c in [0, columns); other columns are
// unchanged. [R,I] -> [R,O]
struct CopyColumns {
  Tensor input, output;
  std::int64_t input_first = 0, output_first = 0, columns = 0;
};

// gradient *= derivative of the activation, in place. The derivative is computed from the
// activation's output y: relu' = [y > 0], tanh' = 1 - y^2.
struct ActivationBackward {
  Tensor output, gradient;  // [B,O]
  Activation activation = Activation::none;
};

// input_gradient = output_gradient weight; [B,O] [O,I] -> [B,I]
struct LinearBackwardInput {
  Tensor output_gradient, weight, input_gradient;
  Multiplies multiplies = Multiplies::full;
};

// weight_gradient = output_gradient^T input; bias_gradient (may be empty) = column sums of
// output_gradient. Both tensors are overwritten. squared_norm (fp64 [1], may be empty) = sum of
// squares of both gradients, computed while they are in the cache.
struct LinearBackwardWeight {
  Tensor input, output_gradient, weight_gradient, bias_gradient, squared_norm;
  Multiplies multiplies = Multiplies::full;
};

// Embedding bag (torch.nn.EmbeddingBag with mode sum). The first S = slot_count columns of the
// input are row numbers of the table, whose rows are summed in that order:
// output[b,w] = sum over s in [0, S) of table[input[b,s], w]
// The other columns are passed on: output[b, W + d] = input[b, S + d]. A number that is not a row
// of the table (row_number.h) makes the sum NaN. input [B,I], table [R,W], output [B, W + I - S].
// For fp32, R is at most 2^24, up to which every row number is exact.
//
// A table may be a shard of a larger one: the rows from `first_row` on of `all_rows`. Row numbers
// refer to the full table. Rows of other shards add 0.
struct EmbeddingBagForward {
  Tensor input, table, output;
  std::int64_t slot_count = 1;
  std::int64_t first_row = 0, all_rows = 0;  // 0: the table is complete.
};

// Adds a bag to the input, as the wide part of a wide and deep model does (Cheng et al. 2016):
// output[b,w] = input[b,w] + sum over s in [0, S) of table[samples[b,s], w], in this order
// An invalid row number makes the sum NaN. input [B,W], samples [B,I], table [R,W], output [B,W],
// which may be the input. R is limited as for EmbeddingBagForward.
struct AddBag {
  Tensor input, samples, table, output;
  std::int64_t slot_count = 1;
};

// Table gradient of EmbeddingBagForward and AddBag: table_gradient[r,w] = sum of
// output_gradient[b,w] over all b and s with input[b,s] = r, in that order, so that the result does
// not depend on the number of threads. All rows are overwritten; those that no sample uses become
// 0. Invalid row numbers are ignored. squared_norm as in LinearBackwardWeight.
struct EmbeddingBagBackwardWeight {
  Tensor input, output_gradient, table_gradient,
      squared_norm;  // [B,I]; [B, W + I - S] or for AddBag [B,W]; [R,W]
  std::int64_t slot_count = 1;
  // First row of a table shard and number of rows of the full table, as in EmbeddingBagForward.
  std::int64_t first_row = 0, all_rows = 0;
};

// output[b,y,x,o] = activation(bias[o] + sum over i, r, s of weight[o,i,r,s] input[b, y stride + r
// - padding, x stride + s - padding, i])
// input [B,H,W,I], weight [O,I,K,K], bias [O], output [B,H',W',O]      (torch.nn.Conv2d)
struct Conv2dForward {
  Tensor input, weight, bias, output;
  Window window;
  Activation activation = Activation::none;
  Multiplies multiplies = Multiplies::full;
};

// Gradient of the input of Conv2dForward, computed from the gradient before the activation.
struct Conv2dBackwardInput {
  Tensor output_gradient, weight, input_gradient;  // [B,H',W',O], [O,I,K,K], [B,H,W,I]
  Window window;
  Multiplies multiplies = Multiplies::full;
};

// Gradients of weight and bias of a convolution; both are overwritten. squared_norm as in
// LinearBackwardWeight.
struct Conv2dBackwardWeight {
  Tensor input, output_gradient, weight_gradient, bias_gradient, squared_norm;
  Window window;
  Multiplies multiplies = Multiplies::full;
};

// Maximum of each window, or sum of each window / (K K), per channel: [B,H,W,C] -> [B,H',W',C]. The
// padding is at most half the kernel.
struct PoolForward {
  Tensor input, output;
  Window window;
  Pooling pooling = Pooling::maximum;
};

// For a maximum, the gradient goes to the first input of the window (row-major) that equals it.
// `input` and `output` are only read for a maximum, and otherwise may be empty.
struct PoolBackward {
  Tensor input, output, output_gradient, input_gradient;
  Window window;
  Pooling pooling = Pooling::maximum;
};

// Batch normalization (Ioffe and Szegedy 2015) per channel, where C is the last dimension of the
// input and N the product of all others. It is split into several ops, so that sums over samples
// can be all-reduced in between.
//
// sums (fp64 [2C+1]) = {sum of x by channel, sum of x^2 by channel, N}
struct BatchNormSums {
  Tensor input, sums;
};

// Normalizes with the mean m and variance v (over N) that follow from the sums:
// output = activation(weight (x - m) / sqrt(v + epsilon) + bias)
// If `running` [2,C] (means and variances) is given, it is updated:
// running += momentum ({m, v N / (N - 1)} - running), with v instead of v N / (N - 1) for N = 1
// Non-finite statistics do not update `running`. The sums may cover more samples than the input,
// such as those of all ranks, and the input may be empty. If N = 0 the op does nothing.
struct BatchNormForward {
  Tensor input, weight, bias, sums, running,
      output;  // [..,C], [C], [C], fp64 [2C+1], [2,C], [..,C]
  double epsilon = 1e-5, momentum = 0.1;
  Activation activation = Activation::none;
};

// Normalizes like BatchNormForward, but with running means and variances instead of the statistics
// of the batch.
struct BatchNormEvaluate {
  Tensor input, weight, bias, running, output;
  double epsilon = 1e-5;
  Activation activation = Activation::none;
};

// weight_gradient = sum of g xhat, bias_gradient = sum of g, where g is the gradient before the
// activation and xhat = (x - m) / sqrt(v + epsilon); the same in fp64 in gradient_sums [2C].
// squared_norm as in LinearBackwardWeight.
struct BatchNormBackwardWeight {
  Tensor input, output_gradient, sums, weight_gradient, bias_gradient, gradient_sums, squared_norm;
  double epsilon = 1e-5;
};

// input_gradient = weight / sqrt(v + epsilon) (g - (sum of g + xhat sum of g xhat) / N)
struct BatchNormBackwardInput {
  Tensor input, output_gradient, weight, sums, gradient_sums, input_gradient;
  double epsilon = 1e-5;
};

// Normalizes each row; C is the last dimension of the input. For a row x with mean m (or 0) and
// variance v = mean of (x - m)^2: xhat = (x - m) / sqrt(v + epsilon), output = weight xhat + bias.
// Statistics are recomputed in every pass and not stored. (torch.nn.LayerNorm, RMSNorm)
struct RowNormForward {
  Tensor input, weight, bias, output;  // [..,C], [C], [C] or empty for a root mean square, [..,C]
  RowNorm norm = RowNorm::layer;
  double epsilon = 1e-5;
};

// Gradients of weight and bias of a row normalization. With g the output gradient, sums over all
// rows: weight_gradient = sum of g xhat, bias_gradient = sum of g. squared_norm as in
// LinearBackwardWeight.
struct RowNormBackwardWeight {
  Tensor input, output_gradient, weight_gradient, bias_gradient, squared_norm;
  RowNorm norm = RowNorm::layer;
  double epsilon = 1e-5;
};

// Gradient of the input of a row normalization. With h = weight g and means over the row:
// input_gradient = (h - mean of h - xhat mean of (h xhat)) / sqrt(v + epsilon). For a root mean
// square the mean of h is taken as 0.
struct RowNormBackwardInput {
  Tensor input, output_gradient, weight, input_gradient;
  RowNorm norm = RowNorm::layer;
  double epsilon = 1e-5;
};

// output = x Phi(x), where Phi is the distribution function of the standard normal distribution: (1
// + erf(x / sqrt 2)) / 2. Hendrycks and Gimpel 2016.
struct GeluForward {
  Tensor input, output;
};

// Gradient of GeluForward: input_gradient = output_gradient (Phi(x) + x phi(x)), where phi(x) =
// exp(-x^2 / 2) / sqrt(2 pi)
struct GeluBackward {
  Tensor input, output_gradient, input_gradient;
};

// Causal self-attention with H heads (Vaswani et al. 2017; torch scaled_dot_product_attention with
// is_causal), without the linear layers before and after it. A sample has T rows of input, each of
// which is {query, key, value} with D numbers each. Head h uses the D/H numbers of each from
// h D/H on. For row i and rows j <= i of the same sample, and for each head:
// scores s_ij = query_i . key_j / sqrt(D/H), weights p_i = softmax of s_i,
// output_i = sum over j of p_ij value_j
// Only a few rows of scores are in memory at a time, so memory is O(T) instead of O(T^2); backward
// recomputes the scores. input [B,T,3D], output [B,T,D]; D is a multiple of H.
struct AttentionForward {
  Tensor input, output;
  std::int64_t heads = 1;
};

// Gradients of AttentionForward (Dao et al. 2022, appendix B.4). With g_i the gradient of output_i,
// d_ij = p_ij (g_i . value_j - g_i . output_i) / sqrt(D/H),
// where g_i . output_i equals the sum over j of p_ij (g_i . value_j). The gradient of query_i is
// the sum over j of d_ij key_j; that of key_j is the sum over i of d_ij query_i; that of value_j is
// the sum over i of p_ij g_i. `output` is the result of the forward op.
struct AttentionBackward {
  Tensor input, output, output_gradient, input_gradient;  // [B,T,3D], [B,T,D], [B,T,D], [B,T,3D]
  std::int64_t heads = 1;
};

// Dropout (Srivastava et al. 2014), scaled in training: output = input / (1 - probability) for
// elements that are kept, else 0. The forward pass applies it to values, the backward pass to
// gradients. Whether an element is dropped depends only on its index e in the sample, the sample's
// number in the data set, the step and the seed. With key = bits(step) of Random(seed, dropout,
// layer), it is dropped if word e mod 4 of block(e / 4) of Random(key, dropout, sample) is below
// 2^32 probability. So one device and n ranks drop the same elements.
struct Dropout {
  Tensor input, output;
  Tensor samples;  // int32 [B]
  Tensor step;     // fp64 [1]
  std::uint64_t seed = 0;
  std::uint32_t layer = 0;
  double probability = 0.5;  // [0, 1)
};

// output = activation(left + right), all of one shape.
struct Add {
  Tensor left, right, output;
  Activation activation = Activation::none;
};

// output += input
struct Accumulate {
  Tensor input, output;
};

// output = input; rounds or widens if one is 16-bit and the other fp32.
struct Copy {
  Tensor input, output;
};

// output = factor input; both may be the same tensor.
struct Scale {
  Tensor input, output;
  double factor = 1;
};

// Softmax cross-entropy loss, for each row i of logits and its label:
// loss_i = log(sum over c of exp(logit_ic)) - logit of the label
// gradient_ic = scale (softmax_ic - [c = label_i])
// metrics (fp64 [2]) = {sum of loss_i, number of rows whose largest logit is that of the label}. Of
// equal logits the first counts as the largest. A label outside [0, C) makes the loss NaN. An empty
// gradient is not computed, nor are empty metrics. If a sample has several labels, its rows are
// consecutive, and `part` is 1 / labels per sample, by which the metrics are multiplied. The
// gradient is also multiplied by the value that `loss_scale` (fp64 [1], may be empty) has when the
// op runs.
struct SoftmaxCrossEntropy {
  Tensor logits, labels, gradient, metrics;  // [B,C], int32 [B], [B,C], fp64 [2]
  double scale = 1;
  double part = 1;
  Tensor loss_scale = {};
};

// Vocabulary-parallel loss (Shoeybi et al. 2019): classes are split into k consecutive parts, one
// per rank. This is the first of two ops, for the part whose first class is `first_class`. For each
// row, summary (fp64 [4,B]) has: the largest logit (-infinity if there is none), its class, the sum
// of exp(logit - largest), and the logit of the label (-infinity if the label is in another part).
// All four are NaN if a logit is NaN or the label is outside [0, all_classes).
struct SoftmaxSummary {
  Tensor logits, labels, summary;  // [B,C], int32 [B], fp64 [4,B]
  std::int64_t first_class = 0, all_classes = 0;
};

// Second op of the vocabulary-parallel loss. Combines the summaries of all parts (fp64 [k,4,B]), in
// order, and computes metrics, gradient (of the local part's logits) and loss_scale as in
// SoftmaxCrossEntropy.
struct SoftmaxCrossEntropyPart {
  Tensor logits, labels, summaries, gradient, metrics;
  std::int64_t first_class = 0;
  double scale = 1;
  double part = 1;
  Tensor loss_scale = {};
};

// output (fp64 [1]) = sum of squares
struct SquaredNorm {
  Tensor input, output;
};

// Factor by which clipping multiplies gradients, as torch.nn.utils.clip_grad_norm_:
// factor (fp64 [1]) = min(1, maximum / (norm + 1e-6))
// norm is the square root of the sum of `squared_norms` (fp64 [k]); the maximum may be infinite. If
// the norm is not finite, the factor is NaN, or, with `skip_non_finite`, 0, which skips the update.
// If gradients were multiplied by `loss_scale` (fp64 [1], may be empty), its value when the op runs
// divides both the norm and the factor.
struct ClipFactor {
  Tensor squared_norms, factor;
  double maximum = 1;
  bool skip_non_finite = false;
  Tensor loss_scale = {};
};

// Returns the value of the loss scale, or 1 if the tensor is empty. For devices whose memory this
// process can access.
inline double loss_scale_value(const Tensor& loss_scale) {
  return loss_scale.empty() ? 1 : *loss_scale.as<double>();
}

struct Zero {
  Tensor output;
};

// output = the sum of weights[k] inputs[k], in this order and in fp64, rounded once per element.
// Flat tensors of one length, at least one input; the output may be one of them.
struct WeightedSum {
  std::vector<Tensor> inputs;
  std::vector<double> weights;
  Tensor output;
};

// Inputs common to all updates. Scalars are fp64 tensors, so that a step can change them without
// preparing the op again. `factor` may be empty, which means 1.
struct UpdateInputs {
  Tensor parameters, gradient;  // [P]
  Tensor learning_rate;         // fp64 [1]
  // fp64 [1], multiplies the gradient first; 0: parameters and moments are unchanged.
  Tensor factor;
  // fp64 [3], written: sum of gradient^2 (before `factor`), of (new - old)^2, of new^2.
  Tensor statistics;
  // [P], destination of the new parameters (or of the old ones, if the factor is 0). `parameters`
  // are then only read, so peers may read them at the same time. The destination must start at the
  // same address as `parameters`, or not overlap them. Empty: the update is in place.
  Tensor updated = {};
  // [P], replaces the parameters as the tensor from which the step is subtracted: updated = origin
  // - step. The step is computed from the parameters as usual. For decentralized training: the
  // gradient is computed from the local parameters, and `origin` is the average with neighbors.
  // `origin` is only read, and must not overlap `updated`. Empty: the parameters.
  Tensor origin = {};

  const Tensor& start() const { return origin.empty() ? parameters : origin; }
  const Tensor& destination() const { return updated.empty() ? parameters : updated; }
};

// SGD with momentum (torch.optim.SGD, dampening 0): g = factor gradient + weight_decay p; m =
// momentum m + g; p -= learning_rate m. With momentum 0 the moment is not used and may be empty: m
// = g.
struct SgdUpdate {
  UpdateInputs common;
  Tensor moment;  // [P]
  double momentum = 0, weight_decay = 0;
};

// Adam (Kingma and Ba 2015, algorithm 1). Decoupled weight decay (AdamW, Loshchilov and Hutter
// 2019): p -= learning_rate weight_decay p first. Otherwise weight_decay p is added to the
// gradient. `step` (fp64 [1]) counts from 1.
struct AdamUpdate {
  UpdateInputs common;
  Tensor first_moment, second_moment, step;  // [P], [P], fp64 [1]
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = false;
};

// Compresses a gradient (core/compute/compression, one scheme per file). If there is a residual,
// the gradient is first added to the residual, which afterwards holds what was not sent.
// squared_error (fp64 [1]) = sum of squares of what was not sent. The gradient is unchanged.
struct CompressGradient {
  Tensor gradient;  // fp32 [P]
  Tensor residual;  // fp32 [P], or empty
  Tensor encoded;   // [E] of the scheme's wire_dtype
  Tensor squared_error;
  Tensor step;  // fp64 [1], for random_k.
  compression::CompressionSpec spec;
  std::uint64_t seed = 0;
  std::uint32_t bucket = 0;
};

// Decompresses a sum over ranks [E], or gathered encodings [parts E], which are added in the order
// of ranks.
struct DecompressGradient {
  Tensor encoded, gradient, step;
  compression::CompressionSpec spec;
  std::int64_t parts = 1;
  std::uint64_t seed = 0;
  std::uint32_t bucket = 0;
};

// PowerSGD in three ops (core/compute/compression/power_sgd.h): before the first collective,
// between the two, and after the second. All fp32, flat; sizes as in the layout. `residual` may be
// empty.
struct PowerSgdLeft {
  Tensor gradient, residual, guess, left;
  compression::PowerSgdLayout layout;
  std::uint64_t seed = 0;
  std::uint32_t bucket = 0;
};
struct PowerSgdRight {
  // The residual, to which PowerSgdLeft has added the gradient; without a residual, the gradient.
  Tensor source;
  Tensor left, basis, right;
  compression::PowerSgdLayout layout;
};
struct PowerSgdDecode {
  Tensor left, basis, right, gradient, residual, guess;
  Tensor squared_error;  // fp64 [1]
  compression::PowerSgdLayout layout;
  std::int64_t ranks = 1;
};

// Any op.
using AnyOp = std::variant<
    LinearForward, AddBias, SumRows, CopyColumns, ActivationBackward, LinearBackwardInput,
    LinearBackwardWeight, EmbeddingBagForward, AddBag, EmbeddingBagBackwardWeight, Conv2dForward,
    Conv2dBackwardInput, Conv2dBackwardWeight, PoolForward, PoolBackward, BatchNormSums,
    BatchNormForward, BatchNormEvaluate, BatchNormBackwardWeight, BatchNormBackwardInput,
    RowNormForward, RowNormBackwardWeight, RowNormBackwardInput, GeluForward, GeluBackward,
    AttentionForward, AttentionBackward, Dropout, Add, Accumulate, Copy, Scale, SoftmaxCrossEntropy,
    SoftmaxSummary, SoftmaxCrossEntropyPart, SquaredNorm, ClipFactor, Zero, WeightedSum, SgdUpdate,
    AdamUpdate, CompressGradient, DecompressGradient, PowerSgdLeft, PowerSgdRight, PowerSgdDecode>;

struct Op : AnyOp {
  using AnyOp::AnyOp;
};

}  // namespace trainyard::compute
