// SPDX-License-Identifier: GPL-3.0-or-later
// What a device can be asked to do, as data. Shapes: B samples, I inputs, O outputs, P parameters,
// C classes or channels, H rows and W columns of an image. Floating tensors of one op share one
// dtype (fp32 or fp64, or of 16 bits: core/compute/halves.h) unless said otherwise; statistics are
// fp64 always. B may be 0 (a rank without samples in a tail step): sums over samples are then 0. An
// optional tensor is left out by leaving it empty.
//
// Images lie [B,H,W,C], channels last: so oneDNN convolves as fast as in layouts of its own (see
// backends/cpu/convolution.h), and all else is a matter of rows of C channels. To flatten an image
// is then only to call it [B, H W C].
#pragma once

#include <variant>
#include <vector>

#include "core/compute/compression/power_sgd_layout.h"
#include "core/compute/compression/scheme.h"
#include "core/compute/tensor.h"

namespace trainyard::compute {

enum class Activation : std::uint8_t { none, relu, tanh };

// What products take of their factors (linear layers and convolutions, all three of their passes).
// `bfloat16`, as a TPU's matrix unit does (Wang and Kanwar 2019): every factor is rounded to
// bfloat16 (bfloat16.h), products and their sums stay fp32. Only of fp32 tensors; these are
// themselves not rounded, nor is what is not multiplied: biases, and sums of gradients for them.
// `tf32`, of fp32 tensors too: a device may take 11 significant bits of every factor, as tensor
// cores do of fp32 (NVIDIA A100 whitepaper 2020), which rounds as it likes; one that gains nothing
// by it takes all.
enum class Multiplies : std::uint8_t { full, bfloat16, tf32 };

// output = activation(input weight^T + bias)      input [B,I], weight [O,I], bias [O] or empty, output [B,O]
struct LinearForward {
  Tensor input, weight, bias, output;
  Activation activation = Activation::none;
  Multiplies multiplies = Multiplies::full;
};

// output = activation(input + bias)               input [B,O], bias [O] or empty, output [B,O]; output may be the input
struct AddBias {
  Tensor input, bias, output;
  Activation activation = Activation::none;
};

// output = column sums of input                   [B,O] -> [O]
struct SumRows {
  Tensor input, output;
};

// output[r, output_first + c] = input[r, input_first + c] for c in [0, columns); other columns
// stay. [R,I] -> [R,O]
struct CopyColumns {
  Tensor input, output;
  std::int64_t input_first = 0, output_first = 0, columns = 0;
};

// gradient *= activation'(.), written through the activation's output: relu' = [y > 0], tanh' = 1 -
// y^2. In place.
struct ActivationBackward {
  Tensor output, gradient;  // [B,O]
  Activation activation = Activation::none;
};

// input_gradient = output_gradient weight         [B,O] [O,I] -> [B,I]
struct LinearBackwardInput {
  Tensor output_gradient, weight, input_gradient;
  Multiplies multiplies = Multiplies::full;
};

// weight_gradient = output_gradient^T input, bias_gradient = column sums of output_gradient, or
// empty; both overwritten. squared_norm (fp64 [1], may be empty) = sum of squares of both, while
// they are warm in the cache.
struct LinearBackwardWeight {
  Tensor input, output_gradient, weight_gradient, bias_gradient, squared_norm;
  Multiplies multiplies = Multiplies::full;
};

// A bag of rows of a table, S of them (slot_count), added up in the order of their columns:
// output[b,w] = sum over s in [0, S) of table[input[b,s], w]. The columns after them are handed on:
// output[b, W + d] = input[b, S + d]. A number that is no row of the table (row_number.h) makes the
// sum NaN. input [B,I], table [R,W], output [B, W + I - S]; of fp32 R is at most 2^24, up to which
// every row has a number. (torch.nn.EmbeddingBag of mode sum)
//
// A table may be some rows of a larger one: those from `first_row` on of `all_rows`, by which
// numbers count. A number of a row elsewhere adds 0.
struct EmbeddingBagForward {
  Tensor input, table, output;
  std::int64_t slot_count = 1;
  std::int64_t first_row = 0, all_rows = 0;  // 0: the table is all there is
};

// A bag added to what is there: output[b,w] = input[b,w] + sum over s in [0, S) of
// table[samples[b,s], w], in this order. What is no row makes it NaN. input [B,W], samples [B,I],
// table [R,W], output [B,W], which may be the input; R as above. The wide part of wide and deep
// (Cheng et al. 2016).
struct AddBag {
  Tensor input, samples, table, output;
  std::int64_t slot_count = 1;
};

// Of either: table_gradient[r,w] = sum of output_gradient[b,w] over all b and s of which input[b,s]
// is r, in that order: so it depends on no number of threads. Overwritten: rows that no sample has
// are 0. What is no row gets nothing. squared_norm as of LinearBackwardWeight.
struct EmbeddingBagBackwardWeight {
  Tensor input, output_gradient, table_gradient,
      squared_norm;  // [B,I], [B, W + I - S] or of AddBag [B,W], [R,W]
  std::int64_t slot_count = 1;
  std::int64_t first_row = 0, all_rows = 0;  // as above
};

// A square window that slides over an image, in pixels. The image is `padding` wider on every side;
// from H rows come `outputs(H)`. Outside the image an input is 0, but never a maximum.
struct Window {
  std::int64_t kernel = 1, stride = 1, padding = 0;

  constexpr std::int64_t outputs(std::int64_t inputs) const {
    return (inputs + 2 * padding - kernel) / stride + 1;
  }
  constexpr bool operator==(const Window&) const = default;
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

// The gradient at the input of the above, from the one before the activation.
struct Conv2dBackwardInput {
  Tensor output_gradient, weight, input_gradient;  // [B,H',W',O], [O,I,K,K], [B,H,W,I]
  Window window;
  Multiplies multiplies = Multiplies::full;
};

// Those of weight and bias; both overwritten. squared_norm as of LinearBackwardWeight.
struct Conv2dBackwardWeight {
  Tensor input, output_gradient, weight_gradient, bias_gradient, squared_norm;
  Window window;
  Multiplies multiplies = Multiplies::full;
};

enum class Pooling : std::uint8_t { maximum, average };

// The largest of each window, or the sum of each window over K K, channel by channel: [B,H,W,C] ->
// [B,H',W',C]. The padding is at most half the kernel.
struct PoolForward {
  Tensor input, output;
  Window window;
  Pooling pooling = Pooling::maximum;
};

// Of a maximum, the gradient goes to the first input of the window, row by row, that equals it.
// `input` and `output` are read for a maximum only, and else may be empty.
struct PoolBackward {
  Tensor input, output, output_gradient, input_gradient;
  Window window;
  Pooling pooling = Pooling::maximum;
};

// Batch normalisation (Ioffe and Szegedy 2015), channel by channel, the last extent of the input
// being C; N = all others together. It comes in parts, so that what is summed over samples can be
// summed over ranks between them.
//
// sums (fp64 [2C+1]) = {sum of x by channel, sum of x^2 by channel, N}
struct BatchNormSums {
  Tensor input, sums;
};

// mean m and variance v (over N) follow from the sums; output = activation(weight (x - m) / sqrt(v
// + epsilon) + bias). Where there is a `running` [2,C] of means and variances: running += momentum
// ({m, v N / (N - 1)} - running); of N = 1 the variance counts as it is. What is not finite is not
// followed. The sums may be over more than the input: over the samples of all ranks, where the
// input may even be empty; of N = 0 nothing comes.
struct BatchNormForward {
  Tensor input, weight, bias, sums, running,
      output;  // [..,C], [C], [C], fp64 [2C+1], [2,C], [..,C]
  double epsilon = 1e-5, momentum = 0.1;
  Activation activation = Activation::none;
};

// The same with the running means and variances in the place of the batch's.
struct BatchNormEvaluate {
  Tensor input, weight, bias, running, output;
  double epsilon = 1e-5;
  Activation activation = Activation::none;
};

// weight_gradient = sum of g xhat, bias_gradient = sum of g, where g is the gradient before the
// activation and xhat = (x - m) / sqrt(v + epsilon); the same in fp64 in gradient_sums [2C].
// squared_norm as of LinearBackwardWeight.
struct BatchNormBackwardWeight {
  Tensor input, output_gradient, sums, weight_gradient, bias_gradient, gradient_sums, squared_norm;
  double epsilon = 1e-5;
};

// input_gradient = weight / sqrt(v + epsilon) (g - (sum of g + xhat sum of g xhat) / N)
struct BatchNormBackwardInput {
  Tensor input, output_gradient, weight, sums, gradient_sums, input_gradient;
  double epsilon = 1e-5;
};

// Which statistics of its own a row is normalised by: mean and variance (layer normalisation, Ba,
// Kiros, Hinton 2016), or its root mean square (Zhang and Sennrich 2019), where the mean counts as
// 0 and there is no bias.
enum class RowNorm : std::uint8_t { layer, root_mean_square };

// Row by row, the last extent of the input being C: of a row x with mean m (or 0) and variance v =
// mean of (x - m)^2, xhat = (x - m) / sqrt(v + epsilon), output = weight xhat + bias. Statistics
// are made anew in every pass: nothing is kept. (torch.nn.LayerNorm, RMSNorm)
struct RowNormForward {
  Tensor input, weight, bias, output;  // [..,C], [C], [C] or of a root mean square empty, [..,C]
  RowNorm norm = RowNorm::layer;
  double epsilon = 1e-5;
};

// With g the gradient at the output, sums over all rows: weight_gradient = sum of g xhat,
// bias_gradient = sum of g. squared_norm as of LinearBackwardWeight.
struct RowNormBackwardWeight {
  Tensor input, output_gradient, weight_gradient, bias_gradient, squared_norm;
  RowNorm norm = RowNorm::layer;
  double epsilon = 1e-5;
};

// With h = weight g, means over the row: input_gradient = (h - mean of h - xhat mean of (h xhat)) /
// sqrt(v + epsilon), where of a root mean square the mean of h counts as 0.
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

// input_gradient = output_gradient (Phi(x) + x phi(x)), where phi(x) = exp(-x^2 / 2) / sqrt(2 pi)
struct GeluBackward {
  Tensor input, output_gradient, input_gradient;
};

// Causal self-attention of H heads (Vaswani et al. 2017), whose linear layers stand before and
// after it. A row of the input, T rows a sample, is {query, key, value} of D numbers each, of which
// head h has those from h D/H on. With scores s_ij = query_i . key_j / sqrt(D/H) of the rows j <= i
// of the same sample, and p_i = softmax of s_i: output_i = sum of p_ij value_j, head by head. No op
// keeps more than a few rows of scores at a time, so its memory grows with T and not with its
// square; backward makes them anew. input [B,T,3D], output [B,T,D], D a multiple of H. (torch
// scaled_dot_product_attention, is_causal)
struct AttentionForward {
  Tensor input, output;
  std::int64_t heads = 1;
};

// With g_i the gradient at output_i, as forward left that, and d_ij = p_ij (g_i . value_j - g_i .
// output_i) / sqrt(D/H), where g_i . output_i is the sum of p_ij (g_i . value_j): of query_i: sum
// of d_ij key_j; of key_j: sum of d_ij query_i; of value_j: sum of p_ij g_i. (Dao et al. 2022,
// appendix B.4)
struct AttentionBackward {
  Tensor input, output, output_gradient, input_gradient;  // [B,T,3D], [B,T,D], [B,T,D], [B,T,3D]
  std::int64_t heads = 1;
};

// output = input / (1 - probability) where it is kept, else 0; forward of values, and backward of
// gradients. What is kept depends on the element's place in its sample, the sample's number in the
// data set, the step and the seed: with key = bits(step) of Random(seed, dropout, layer), element e
// is dropped if word e mod 4 of block(e / 4) of Random(key, dropout, sample) is below 2^32
// probability. So one device and n ranks drop the same. Srivastava et al. 2014, scaled in training.
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

// output = input; where one is of 16 bits and the other fp32, rounded or widened
struct Copy {
  Tensor input, output;
};

// output = factor input; both may be one.
struct Scale {
  Tensor input, output;
  double factor = 1;
};

// loss_i = log sum_c exp(logit_ic) - logit_i,label ; gradient_ic = scale (softmax_ic - [c =
// label_i]); an empty gradient is not computed. metrics (fp64 [2]) = {sum of loss_i, samples whose
// largest logit is the label}; of equal logits the first counts as the largest. A label outside [0,
// C) makes the loss NaN. Empty metrics are not computed. Where a sample has several labels, its
// rows follow one another, and `part` is that of a label in its sample: metrics = part {..}. By
// what `loss_scale` (fp64 [1], may be empty) holds when the op runs, the gradient is multiplied
// besides.
struct SoftmaxCrossEntropy {
  Tensor logits, labels, gradient, metrics;  // [B,C], int32 [B], [B,C], fp64 [2]
  double scale = 1;
  double part = 1;
  Tensor loss_scale = {};
};

// The same of classes in parts, of which there are k, one after another, each by a rank (Shoeybi et
// al. 2019, "vocabulary parallel"). First, of the part from `first_class` on: summary (fp64 [4,B])
// = of each row the largest logit (of none: -infinity), its class, the sum of exp(logit - largest),
// and the logit of the label, or -infinity where the label is of another part. A logit that is NaN,
// or a label outside [0, all_classes), makes these NaN.
struct SoftmaxSummary {
  Tensor logits, labels, summary;  // [B,C], int32 [B], fp64 [4,B]
  std::int64_t first_class = 0, all_classes = 0;
};

// Then, of the summaries of all parts in order (fp64 [k,4,B]), combined in this order: metrics as
// above, and of the own part gradient_ic = scale (softmax_ic - [c = label_i]). Either may be empty:
// then it is not computed. loss_scale as above.
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

// factor (fp64 [1]) = min(1, maximum / (norm + 1e-6)), norm = sqrt of the sum of `squared_norms`
// (fp64 [k]); the rule of torch.nn.utils.clip_grad_norm_. The maximum may be infinite. A norm that
// is not finite makes the factor NaN or, to skip the update, 0. Of gradients that were multiplied
// by `loss_scale` (fp64 [1], may be empty): norm / loss_scale counts, and the factor is divided by
// it, as it is when the op runs.
struct ClipFactor {
  Tensor squared_norms, factor;
  double maximum = 1;
  bool skip_non_finite = false;
  Tensor loss_scale = {};
};

// What that holds; 1 where it is empty. For devices whose memory this process can touch.
inline double held_by(const Tensor& loss_scale) {
  return loss_scale.empty() ? 1 : *loss_scale.as<double>();
}

struct Zero {
  Tensor output;
};

// output = the sum of weights[k] inputs[k], each element's in this order and in fp64, rounded once.
// Flat tensors of one length, one input at least; the output may be one of them.
struct WeightedSum {
  std::vector<Tensor> inputs;
  std::vector<double> weights;
  Tensor output;
};

// What an update needs to know of the moment; fp64, so that a step writes it without rebinding.
// factor may be empty (1).
struct UpdateInputs {
  Tensor parameters, gradient;  // [P]
  Tensor learning_rate;         // fp64 [1]
  Tensor factor;  // fp64 [1], multiplies the gradient first; 0: parameters and moments stay as they
                  // are
  Tensor statistics;  // fp64 [3], written: sum of gradient^2 (before `factor`), of (new - old)^2,
                      // of new^2
  // [P], where the new parameters go, or with factor 0 the old ones; `parameters` are then only
  // read, so that peers may read them too. It begins where they begin or lies apart from them: they
  // never overlap in part. Empty: in place.
  Tensor updated = {};
  // [P], what the step is taken from, instead of the parameters: updated = origin - step, where the
  // step follows from the parameters as ever (decentralised training: the gradient is that at the
  // rank's own parameters, and the step is taken from the average of neighbours). Only read; apart
  // from `updated`. Empty: the parameters.
  Tensor origin = {};

  const Tensor& start() const { return origin.empty() ? parameters : origin; }
  const Tensor& destination() const { return updated.empty() ? parameters : updated; }
};

// g = factor gradient + weight_decay p ; m = momentum m + g ; p -= learning_rate m.   (torch.optim.SGD, dampening 0)
// With momentum 0 the moment is not touched and may be empty: m = g.
struct SgdUpdate {
  UpdateInputs common;
  Tensor moment;  // [P]
  double momentum = 0, weight_decay = 0;
};

// Kingma and Ba 2015, algorithm 1; decoupled: Loshchilov and Hutter 2019 (AdamW), p -=
// learning_rate weight_decay p first; else weight_decay p is added to the gradient. `step` (fp64
// [1]) counts from 1.
struct AdamUpdate {
  UpdateInputs common;
  Tensor first_moment, second_moment, step;  // [P], [P], fp64 [1]
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = false;
};

// What travels of a gradient (core/compute/compression, a scheme a file). Where there is a
// residual, it first takes up the gradient and then keeps what is not sent. squared_error (fp64
// [1]) = the sum of squares of what is not. The gradient itself stays.
struct CompressGradient {
  Tensor gradient;  // fp32 [P]
  Tensor residual;  // fp32 [P], or empty
  Tensor encoded;   // [E] of the scheme's wire_dtype
  Tensor squared_error;
  Tensor step;  // fp64 [1], where the scheme is random_k
  compression::CompressionSpec spec;
  std::uint64_t seed = 0;
  std::uint32_t bucket = 0;
};

// Back: of a sum over ranks, [E], or of what was gathered, [parts E], which is added up in that
// order.
struct DecompressGradient {
  Tensor encoded, gradient, step;
  compression::CompressionSpec spec;
  std::int64_t parts = 1;
  std::uint64_t seed = 0;
  std::uint32_t bucket = 0;
};

// PowerSGD in its three parts (core/compute/compression/power_sgd.h): before the first collective,
// between the two, and after. All fp32, flat; extents are those of the layout. `residual` may be
// empty.
struct PowerSgdLeft {
  Tensor gradient, residual, guess, left;
  compression::PowerSgdLayout layout;
  std::uint64_t seed = 0;
  std::uint32_t bucket = 0;
};
struct PowerSgdRight {
  Tensor source;  // the residual that took up the gradient, or the gradient
  Tensor left, basis, right;
  compression::PowerSgdLayout layout;
};
struct PowerSgdDecode {
  Tensor left, basis, right, gradient, residual, guess;
  Tensor squared_error;  // fp64 [1]
  compression::PowerSgdLayout layout;
  std::int64_t ranks = 1;
};

using Op = std::variant<
    LinearForward, AddBias, SumRows, CopyColumns, ActivationBackward, LinearBackwardInput,
    LinearBackwardWeight, EmbeddingBagForward, AddBag, EmbeddingBagBackwardWeight, Conv2dForward,
    Conv2dBackwardInput, Conv2dBackwardWeight, PoolForward, PoolBackward, BatchNormSums,
    BatchNormForward, BatchNormEvaluate, BatchNormBackwardWeight, BatchNormBackwardInput,
    RowNormForward, RowNormBackwardWeight, RowNormBackwardInput, GeluForward, GeluBackward,
    AttentionForward, AttentionBackward, Dropout, Add, Accumulate, Copy, Scale, SoftmaxCrossEntropy,
    SoftmaxSummary, SoftmaxCrossEntropyPart, SquaredNorm, ClipFactor, Zero, WeightedSum, SgdUpdate,
    AdamUpdate, CompressGradient, DecompressGradient, PowerSgdLeft, PowerSgdRight, PowerSgdDecode>;

}  // namespace trainyard::compute
